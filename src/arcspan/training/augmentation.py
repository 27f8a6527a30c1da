"""Training sentences in forms that treebanks lack and users write: without punctuation, in capital or small letters,
as headlines, with the fillers of speech.

Both trees are changed alike and exactly: a word that goes leaves its constituents, and those that have no other word
go with it. A sentence that cannot be changed so, because a word would lose its head, is not shown in that form.
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
    """The forms of a sentence that fall to it: each by its share, drawn by the seed."""
    for name, share in shares.items():
        if random.Random(f"{name} {seed}").random() < share:
            changed = FORMS[name](pair)
            if changed is not None:
                yield changed


def _without(pair: Pair, gone: Collection[int]) -> Pair | None:
    """The sentence without some words (positions from 0); None where none goes, none stays, or a head would go."""
    kept = [place for place in range(len(pair.words)) if place not in gone]
    c, d = pair
    if not gone or not kept:
        return None
    if d is not None:
        new = {0: 0, -1: -1} | {old + 1: number for number, old in enumerate(kept, 1)}
        if any(d.heads[place] not in new for place in kept):
            return None
        columns = ([column[place] for place in kept] for column in d._value()[1:])
        d = d.loose([new[d.heads[place]] for place in kept], *columns)
    return Pair(None if c is None else c._keep(kept), d)  # type: ignore[arg-type]


def _with_words(pair: Pair, words: list[str]) -> Pair | None:
    """The sentence with other words; None where they are the same."""
    c, d = pair
    if tuple(words) == pair.words:
        return None
    if c is not None:
        c = type(c)(words, c.tags, c.spans)
    return Pair(c, None if d is None else d.with_words(words))  # type: ignore[arg-type]


def _exchanged(pair: Pair) -> Pair | None:
    """Another mark at the end; its lemma is the mark."""
    words = list(pair.words)
    if words[-1] not in _ENDS:
        return None
    words[-1] = _ENDS[(_ENDS.index(words[-1]) + 1 + len(words) % 3) % len(_ENDS)]
    changed = _with_words(pair, words)
    if changed is not None and changed.dependencies is not None:
        d = changed.dependencies
        lemmas = [*d.lemmas[:-1], words[-1]] if any(d.lemmas) else d.lemmas
        columns = (d.relations, d.words, d.tags, d.upos, lemmas, d.features)
        changed = Pair(changed.constituency, d.loose(d.heads, *columns))
    return changed


def _marks(pair: Pair) -> list[int]:
    return [place for place, word in enumerate(pair.words) if is_punctuation(word) or word == "``"]


def _headline(pair: Pair) -> Pair | None:
    """Without articles and the last mark, long words with a capital: "Senate Passes Bill on Taxes"."""
    marks = {len(pair.words) - 1} & set(_marks(pair))
    articles = {place for place, word in enumerate(pair.words) if word.lower() in _ARTICLES}
    shorter = _without(pair, marks | articles) if articles else None
    if shorter is None:
        return None
    words = [
        word[0].upper() + word[1:] if not k or len(word) > 3 else word
        for k, word in enumerate(shorter.words)
    ]
    return _with_words(shorter, words) or shorter


def _filled(pair: Pair) -> Pair | None:
    """With a filler before some word, on the highest word whose yield begins there and outside its constituents."""
    c, d = pair
    n, letters = len(pair.words), sum(map(len, pair.words))
    place, filler = letters % n, _FILLERS[letters // n % len(_FILLERS)]  # as good as random
    end = n
    if d is not None:
        if not d.is_tree:
            return None
        left, right, _ = extents(d.heads)
        head = place + 1
        while d.heads[head - 1] and left[d.heads[head - 1]] == place:
            head = d.heads[head - 1]
        end = right[head]
        heads = [one + (one > place) for one in d.heads]
        heads.insert(place, head + 1)
        columns = [list(column) for column in d._value()[1:]]
        own = ("discourse", filler, "UH", "INTJ", filler, "")
        for column, value in zip(columns, own, strict=True):
            column.insert(place, value if any(column) else "")
        d = d.loose(heads, *columns)
    if c is not None:
        words, tags = list(c.words), list(c.tags)
        words.insert(place, filler)
        tags.insert(place, "UH")
        spans = []
        for i, j, label in c.spans:
            after = i > place or (i == place and j <= end and (i, j) != (0, n))
            spans.append((i + after, j + (j > place), label))
        c = type(c)(words, tags, [*spans, (place, place + 1, "INTJ")])
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
