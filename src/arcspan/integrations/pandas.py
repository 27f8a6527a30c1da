"""Parses as pandas tables: a row a word, or a row a constituent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from arcspan.errors import ArcspanError
from arcspan.parser import Parse

try:
    import pandas as pd
except ImportError:
    raise ArcspanError("arcspan.integrations.pandas needs pandas: pip install pandas") from None

WORDS = (
    *("sentence", "position", "word", "lemma", "tag", "upos", "features"),
    *("head", "head_word", "relation", "start", "end"),
)
CONSTITUENTS = ("sentence", "start", "end", "label", "depth", "parent", "head", "head_word", "text")


def to_dataframe(
    parses: Parse | Iterable[Parse], table: Literal["words", "constituents"] = "words"
) -> pd.DataFrame:
    """One parse, or several, as a `pandas.DataFrame`. Sentences are counted from 0.

    words         position (1..n), word, lemma, tag, upos, features, head (0 for the root), head_word, relation, and
                  the characters start..end of the text where the parse was made of text
    constituents  start and end (words start+1..end), label, depth and parent (the row of the constituent around
                  it within the sentence; -1 at the top), head (the position of its head word), head_word, text;
                  top-down, left to right, without the wrapper TOP

    >>> to_dataframe(parser("Logic plays a role."))[["word", "head_word", "relation"]]  # doctest: +SKIP
    """
    if isinstance(parses, Parse):
        parses = [parses]
    if table == "words":
        rows = [row for number, parse in enumerate(parses) for row in _words(number, parse)]
        frame = pd.DataFrame(rows, columns=list(WORDS))
        return frame.astype(dict.fromkeys(("start", "end"), "Int64"))
    if table == "constituents":
        rows = [row for number, parse in enumerate(parses) for row in _constituents(number, parse)]
        return pd.DataFrame(rows, columns=list(CONSTITUENTS))
    raise ArcspanError(f'table is "words" or "constituents", not {table!r}')


def _words(number: int, parse: Parse) -> Iterable[tuple[Any, ...]]:
    tree = parse.dependencies
    offsets = parse.offsets or [(None, None)] * len(parse.words)
    said = zip(parse.words, parse.lemmas, parse.tags, parse.upos, parse.features, strict=True)
    attached = zip(tree.heads, tree.relations, offsets, strict=True)
    for m, (own, (head, relation, place)) in enumerate(zip(said, attached, strict=True), 1):
        yield number, m, *own, head, parse.words[head - 1] if head else "", relation, *place


def _constituents(number: int, parse: Parse) -> Iterable[tuple[Any, ...]]:
    heads = parse.dependencies.heads
    around: list[tuple[int, int]] = []  # (row, end) of the constituents around the one at hand
    for row, (i, j, label) in enumerate(parse.constituency.spans[1:]):
        while around and around[-1][1] <= i:
            around.pop()
        # The one word whose head lies outside; of a SEP parser there may be several, then the first.
        head = next(m for m in range(i + 1, j + 1) if not i < heads[m - 1] <= j)
        parent = around[-1][0] if around else -1
        words = parse.words[i:j]
        yield number, i, j, label, len(around), parent, head, parse.words[head - 1], " ".join(words)
        around.append((row, j))
