"""Parses as pandas tables: one row per word, constituent or clause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from arcspan.errors import ArcspanError
from arcspan.integrations.rows import Row, rows_of
from arcspan.parser import Parse

try:
    import pandas as pd
except ImportError:
    raise ArcspanError("arcspan.integrations.pandas needs pandas: pip install pandas") from None

_WHOLE_NUMBERS = ("head", "start", "end", "start_char", "end_char")  # that may be missing


def to_dataframe(
    parses: Parse | Iterable[Parse | Iterable[Parse]],
    table: Literal["words", "constituents", "clauses"] = "words",
) -> pd.DataFrame:
    """Return a parse, parses, or those of several texts (`parser.stream`), as a `pandas.DataFrame`.

    Every row has `document`, the number of its text, and `sentence`, the number of its parse in it,
    both from 0.

    words         position (1..n), word, lemma, tag, upos, features, head (0 for the root),
                  head_word, relation, and the characters start..end of the text where the parse
                  was made of text
    constituents  start and end (words start+1..end), label, depth and parent (the row of the
                  constituent around it within the sentence; -1 at the top), head (the position of
                  its head word), head_word, text, and the characters start_char..end_char;
                  top-down, left to right, without the wrapper TOP
    clauses       start and end as above, kind, finite, verb, subject and objects as texts (objects
                  with " / " between them), parent (the row of the clause around it within the
                  sentence; -1 for main clauses), text, and the characters start_char..end_char

    What a model of one layer does not predict is missing.

    >>> table = to_dataframe(parser("Logic plays a role."))  # doctest: +SKIP
    >>> table[["word", "head_word", "relation"]]  # doctest: +SKIP
    """
    columns, sentence_rows = rows_of(table)
    rows: list[Row] = []
    lone_parses = 0  # parses that stand for themselves are sentences of document 0
    for number, element in enumerate([parses] if isinstance(parses, Parse) else parses):
        if isinstance(element, Parse):
            rows += [(0, lone_parses, *row) for row in sentence_rows(element)]
            lone_parses += 1
            continue
        for sentence, parse in enumerate(element):
            rows += [(number, sentence, *row) for row in sentence_rows(parse)]
    # pandas would make columns with missing numbers floating-point ones.
    frame = pd.DataFrame(rows, columns=["document", "sentence", *columns])
    return frame.astype({name: "Int64" for name in _WHOLE_NUMBERS if name in columns})
