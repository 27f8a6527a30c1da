"""Training sentences in forms that users write and treebanks lack.

Without punctuation, in capital or small letters, as headlines, with the fillers of speech. Both
trees are changed alike and exactly: a word that is removed leaves its constituents, and those that
have no other word are removed with it. A sentence that cannot be changed so, because a word would
lose its head, is not shown in that form.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator

from arcspan.evaluation.attachment import is_punctuation
from arcspan.treebanks import Pair
from arcspan.trees.dependency import extents

_ENDS = (".", "!", "?", "...")
_ARTICLES = frozenset({"a", "an", "the"})
_FILLERS = ("uh", "um", "well", "er", "like", "oh")


def augmented(pair: Pair, shares: dict[str, float], seed: str) -> Iterator[Pair]:
    """Yield the forms that a sentence is drawn for: each by its share, by the seed."""
    for name, share in shares.items():
        if random.Random(f"{name} {seed}").random() < share:
            changed = FORMS[name](pair)
            if changed is not None:
                yield changed


def _without(pair: Pair, removed: Collection[int]) -> Pair | None:
    """Remove words (positions from 0); None if none is removed, none stays, or a head is lost."""
    remaining = [position for position in range(len(pair.words)) if position not in removed]
    c, d = pair
    if not removed or not remaining:
        return None
    if d is not None:
        new_heads = {0: 0, -1: -1}
        for new_number, position in enumerate(remaining, 1):
            new_heads[position + 1] = new_number
        heads = [d.heads[position] for position in remaining]
        if not new_heads.keys() >= set(heads):
            return None
        columns = [[column[position] for position in remaining] for column in d._value()[1:]]
        d = d.loose([new_heads[head] for head in heads], *columns)
    return Pair(None if c is None else c._keep(remaining), d)  # type: ignore[arg-type]


def _with_words(pair: Pair, words: list[str]) -> Pair | None:
    """Replace the words; None if they are the same."""
    c, d = pair
    if tuple(words) == pair.words:
        return None
    if c is not None:
        c = type(c)(words, c.tags, c.spans)
    return Pair(c, None if d is None else d.with_words(words))  # type: ignore[arg-type]


def _exchanged(pair: Pair) -> Pair | None:
    """Replace the mark at the end by another, whose lemma is the mark."""
    words = list(pair.words)
    if words[-1] not in _ENDS:
        return None
    # The length stands for chance: 1 to 3 steps further in the list.
    steps = 1 + len(words) % 3
    words[-1] = _ENDS[(_ENDS.index(words[-1]) + steps) % len(_ENDS)]
    changed = _with_words(pair, words)
    if changed is not None and changed.dependencies is not None:
        d = changed.dependencies
        lemmas = [*d.lemmas[:-1], words[-1]] if any(d.lemmas) else d.lemmas
        columns = (d.relations, d.words, d.tags, d.upos, lemmas, d.features)
        changed = Pair(changed.constituency, d.loose(d.heads, *columns))
    return changed


def _marks(pair: Pair) -> list[int]:
    return [k for k, word in enumerate(pair.words) if is_punctuation(word) or word == "``"]


def _headline(pair: Pair) -> Pair | None:
    """Remove articles and the last mark, capitalize long words: "Senate Passes Bill on Taxes"."""
    articles = {k for k, word in enumerate(pair.words) if word.lower() in _ARTICLES}
    last_mark = {len(pair.words) - 1} & set(_marks(pair))
    shorter = _without(pair, last_mark | articles) if articles else None
    if shorter is None:
        return None
    words = [
        word[0].upper() + word[1:] if not k or len(word) > 3 else word
        for k, word in enumerate(shorter.words)
    ]
    return _with_words(shorter, words) or shorter


def _filled(pair: Pair) -> Pair | None:
    """Insert a filler before a word.

    It is attached to the highest word whose yield begins there, outside its constituents.
    """
    c, d = pair
    n = len(pair.words)
    # The number of letters is as good as random, and the same in every run.
    letters = sum(map(len, pair.words))
    position = letters % n
    filler = _FILLERS[letters // n % len(_FILLERS)]
    end = n
    if d is not None:
        if not d.is_tree:
            return None
        left, right, _ = extents(d.heads)
        head = position + 1
        while d.heads[head - 1] and left[d.heads[head - 1]] == position:
            head = d.heads[head - 1]
        end = right[head]
        heads = [old + 1 if old > position else old for old in d.heads]
        heads.insert(position, head + 1)
        columns = [list(column) for column in d._value()[1:]]
        # relation, word, tag, upos, lemma, features
        row = ("discourse", filler, "UH", "INTJ", filler, "")
        for column, entry in zip(columns, row, strict=True):
            # A column that is empty throughout stays empty.
            column.insert(position, entry if any(column) else "")
        d = d.loose(heads, *columns)
    if c is not None:
        words, tags = list(c.words), list(c.tags)
        words.insert(position, filler)
        tags.insert(position, "UH")
        spans = []
        for i, j, label in c.spans:
            # Constituents of the head that begin at the filler begin behind it, but for the whole.
            if i > position or (i == position and j <= end and (i, j) != (0, n)):
                i += 1
                j += 1
            elif j > position:
                j += 1
            spans.append((i, j, label))
        # The filler's own constituent comes last: of equal spans, the first is the outermost.
        spans.append((position, position + 1, "INTJ"))
        c = type(c)(words, tags, spans)
    return Pair(c, d)  # type: ignore[arg-type]


FORMS: dict[str, Callable[[Pair], Pair | None]] = {
    "final": lambda pair: _without(pair, {len(pair.words) - 1} & set(_marks(pair))),
    "initial": lambda pair: _without(pair, {0} & set(_marks(pair))),
    "exchange": _exchanged,
    "bare": lambda pair: _without(pair, _marks(pair)),
    "lower": lambda pair: _with_words(pair, [word.lower() for word in pair.words]),
    "upper": lambda pair: _with_words(pair, [word.upper() for word in pair.words]),
    "headline": _headline,
    "filler": _filled,
}
