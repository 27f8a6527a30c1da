"""Parses as rows of tables (words, constituents, clauses), for spreadsheets, R and pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.parser import Parse
from arcspan.trees.constituency import parents
from arcspan.trees.dependency import outgoing_words

Row = tuple[Any, ...]

WORDS = (
    "position",
    "word",
    "lemma",
    "tag",
    "upos",
    "features",
    "head",
    "head_word",
    "relation",
    "start",
    "end",
)
CONSTITUENTS = (
    "start",
    "end",
    "label",
    "depth",
    "parent",
    "head",
    "head_word",
    "text",
    "start_char",
    "end_char",
)
CLAUSES = (
    "start",
    "end",
    "kind",
    "finite",
    "verb",
    "subject",
    "objects",
    "parent",
    "text",
    "start_char",
    "end_char",
)
_NO_OFFSETS = (None, None)


def word_rows(parse: Parse) -> Iterator[Row]:
    """Yield the `WORDS` of a parse.

    Cells are None where the model has no such layer, or the parse was not made of text.
    """
    layers = zip(parse.words, parse.lemmas, parse.tags, parse.upos, parse.features, strict=True)
    has_arcs = "dependency" in parse.layers
    for m, layer in enumerate(layers, 1):
        head = relation = head_word = None
        if has_arcs:
            head = parse.heads[m - 1]
            relation = parse.relations[m - 1]
            head_word = parse.words[head - 1] if head else ""
        offsets = parse.offsets[m - 1] if parse.offsets else _NO_OFFSETS
        yield m, *layer, head, head_word, relation, *offsets


def constituent_rows(parse: Parse) -> Iterator[Row]:
    """Yield the `CONSTITUENTS` of a parse, top-down, without the wrapper TOP.

    There are none without that layer.
    """
    if "constituency" not in parse.layers:
        return
    has_arcs = "dependency" in parse.layers
    spans = parse.constituency.spans[1:]  # in pre-order, so a parent comes before its children
    depths: list[int] = []
    for (i, j, label), parent in zip(spans, parents(spans), strict=True):
        depth = depths[parent] + 1 if parent >= 0 else 0
        depths.append(depth)
        head = head_word = None
        if has_arcs:
            # The one word whose head lies outside; of a SEP parser there may be several, then the
            # first.
            head = next(outgoing_words(parse.heads, i, j))
            head_word = parse.words[head - 1]
        offsets: tuple[Any, Any] = _NO_OFFSETS
        if parse.offsets:
            offsets = parse.offsets[i][0], parse.offsets[j - 1][1]
        text = " ".join(parse.words[i:j])
        yield i, j, label, depth, parent, head, head_word, text, *offsets


def clause_rows(parse: Parse) -> Iterator[Row]:
    """Yield the `CLAUSES` of a parse; none where the model has no dependencies."""
    clauses = parse.clauses if "dependency" in parse.layers else []
    # By identity: two clauses may have equal words.
    rows = {id(clause): row for row, clause in enumerate(clauses)}
    for clause in clauses:
        yield (
            *clause.span,
            clause.kind,
            clause.finite,
            clause.verb.text,
            "" if clause.subject is None else clause.subject.text,
            " / ".join(phrase.text for phrase in clause.objects),
            rows.get(id(clause.parent), -1),
            clause.text,
            clause.start,
            clause.end,
        )


_TABLES: dict[str, tuple[tuple[str, ...], Callable[[Parse], Iterator[Row]]]] = {
    "words": (WORDS, word_rows),
    "constituents": (CONSTITUENTS, constituent_rows),
    "clauses": (CLAUSES, clause_rows),
}


def rows_of(table: str) -> tuple[tuple[str, ...], Callable[[Parse], Iterator[Row]]]:
    """Return the columns of the table of that name and the function that yields its rows."""
    if table not in _TABLES:
        raise ArcspanError(f'table is "words", "constituents" or "clauses", not {table!r}')
    return _TABLES[table]
