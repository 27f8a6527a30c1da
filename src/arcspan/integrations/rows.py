"""Parses as rows of tables, for spreadsheets, R and pandas: a row per word, constituent or clause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.parser import Parse
from arcspan.trees.constituency import parents
from arcspan.trees.dependency import outgoing_words

Row = tuple[Any, ...]

WORDS = (
    *("position", "word", "lemma", "tag", "upos", "features"),
    *("head", "head_word", "relation", "start", "end"),
)
CONSTITUENTS = (
    *("start", "end", "label", "depth", "parent", "head", "head_word", "text"),
    *("start_char", "end_char"),
)
CLAUSES = (
    *("start", "end", "kind", "finite", "verb", "subject", "objects", "parent", "text"),
    *("start_char", "end_char"),
)


def word_rows(parse: Parse) -> Iterator[Row]:
    """The `WORDS` of a parse; None where the model has no such layer, or the parse was not made of text."""
    n = len(parse.words)
    nothing = (None,) * n
    has_arcs = "dependency" in parse.layers
    heads, relations = (parse.heads, parse.relations) if has_arcs else (nothing, nothing)
    head_words = [parse.words[head - 1] if head else None if head is None else "" for head in heads]
    names = parse.words, parse.lemmas, parse.tags, parse.upos, parse.features
    offsets = parse.offsets or [(None, None)] * n
    for m, (*own, place) in enumerate(
        zip(*names, heads, head_words, relations, offsets, strict=True), 1
    ):
        yield m, *own, *place


def constituent_rows(parse: Parse) -> Iterator[Row]:
    """The `CONSTITUENTS` of a parse, top-down, without the wrapper TOP; none where the model has no such layer."""
    if "constituency" not in parse.layers:
        return
    heads = parse.heads if "dependency" in parse.layers else None
    spans = parse.constituency.spans[1:]
    depths: list[int] = []
    for (i, j, label), parent in zip(spans, parents(spans), strict=True):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        # The one word whose head lies outside; of a SEP parser there may be several, then the first.
        head = heads and next(outgoing_words(heads, i, j))
        place = (parse.offsets[i][0], parse.offsets[j - 1][1]) if parse.offsets else (None, None)
        text = " ".join(parse.words[i:j])
        yield i, j, label, depths[-1], parent, head, head and parse.words[head - 1], text, *place


def clause_rows(parse: Parse) -> Iterator[Row]:
    """The `CLAUSES` of a parse; none where the model has no dependencies."""
    found = parse.clauses if "dependency" in parse.layers else []
    rows = {id(clause): row for row, clause in enumerate(found)}
    for clause in found:
        subject = "" if clause.subject is None else clause.subject.text
        objects = " / ".join(phrase.text for phrase in clause.objects)
        said = clause.kind, clause.finite, clause.verb.text, subject, objects
        yield (
            *clause.span,
            *said,
            rows.get(id(clause.parent), -1),
            clause.text,
            clause.start,
            clause.end,
        )


def rows_of(table: str) -> tuple[tuple[str, ...], Callable[[Parse], Iterator[Row]]]:
    """The columns of a table, "words", "constituents" or "clauses", and what makes its rows of a parse."""
    if table == "words":
        return WORDS, word_rows
    if table == "constituents":
        return CONSTITUENTS, constituent_rows
    if table == "clauses":
        return CLAUSES, clause_rows
    raise ArcspanError(f'table is "words", "constituents" or "clauses", not {table!r}')
