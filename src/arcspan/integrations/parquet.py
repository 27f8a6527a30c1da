"""Parses as Arrow tables, and Parquet files in and out: one row per sentence.

| column | content |
|---|---|
| `row`, `sentence` | the row of the input, counted from 0, and the sentence in it |
| `text`, `words`, `tags`, `upos`, `lemmas`, `features`, `heads`, `relations` | as in `Parse` |
| `score`, `approximate`, `error` | as in `Parse` |
| `offsets` | (start, end) of each word in the text of the row; null where the input was words |
| `constituents` | (start, end, label), top-down, without the wrapper; words start+1..end |
| `brackets` | the constituency tree on one line |

What a model of one layer does not predict is null. Every other column of the input is kept, its
value repeated for each sentence of the row.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Any

from arcspan.errors import FileError, MissingExtraError
from arcspan.files import atomic_write
from arcspan.parser import Parse, Parser

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise MissingExtraError("Parquet", "ray") from None

_STRING = pa.string()
_STRINGS = pa.list_(_STRING)
_START_END = [("start", pa.int32()), ("end", pa.int32())]
SCHEMA = pa.schema(
    {
        "row": pa.int64(),
        "sentence": pa.int32(),
        "text": _STRING,
        "words": _STRINGS,
        "offsets": pa.list_(pa.struct(_START_END)),
        "tags": _STRINGS,
        "upos": _STRINGS,
        "lemmas": _STRINGS,
        "features": _STRINGS,
        "heads": pa.list_(pa.int32()),
        "relations": _STRINGS,
        "constituents": pa.list_(pa.struct([*_START_END, ("label", _STRING)])),
        "brackets": _STRING,
        "score": pa.float64(),
        "approximate": pa.bool_(),
        "error": _STRING,
    }
)
Target = str | IO[bytes]
"""A file's name, or an open file."""
ROWS = 256  # of the input that are parsed together


def to_table(parses: Iterable[Sequence[Parse]], first_row: int = 0) -> Any:
    """Return a `pyarrow.Table` of the parses of consecutive rows (`parser.stream`)."""
    records = []
    for row, row_parses in enumerate(parses, first_row):
        for sentence, parse in enumerate(row_parses):
            records.append({**_record(parse), "row": row, "sentence": sentence})
    return pa.Table.from_pylist(records, schema=SCHEMA)


def _record(parse: Parse) -> dict[str, Any]:
    record = {"error": None, **parse.to_dict()}
    if record["offsets"] is not None:
        record["offsets"] = [{"start": start, "end": end} for start, end in record["offsets"]]
    if record["constituents"] is not None:
        record["constituents"] = [
            {"start": i, "end": j, "label": label}
            for i, j, label in record["constituents"][1:]  # without the wrapper
        ]
    return record


def parse_column(
    parser: Parser, source: str, target: Target, column: str = "text", **options: Any
) -> tuple[int, int]:
    """Parse a column of a Parquet file, texts or lists of words, into another Parquet file.

    The options are those of `Parser.stream`. Return the number of sentences, and how many of them
    could not be parsed.
    """
    chunks = (
        (list(parser.stream(contents, errors="keep", **options)), others)
        for contents, others in read_column(source, column)
    )
    return _write(target, _tables(chunks))


def write_parses(parses: Iterable[Sequence[Parse]], target: Target) -> tuple[int, int]:
    """Write the parses of each row to a Parquet file; return what `parse_column` does."""
    # A table holds all its rows in memory.
    rows = iter(parses)
    chunks = iter(lambda: list(islice(rows, ROWS)), [])
    return _write(target, _tables((chunk, None) for chunk in chunks))


def _write(target: Target, tables: Iterable[Any]) -> tuple[int, int]:
    sentences = 0
    failures = 0
    with contextlib.ExitStack() as stack:
        file = target
        if isinstance(target, str):
            file = stack.enter_context(atomic_write(target, "wb"))
        writer = None
        for table in tables:
            # The first table has the schema: its extra columns are those of the input.
            writer = writer or stack.enter_context(pq.ParquetWriter(file, table.schema))
            writer.write_table(table)
            sentences += table.num_rows
            failures += table.num_rows - table.column("error").null_count
    return sentences, failures


def read_column(path: str | os.PathLike[str], column: str) -> Iterator[tuple[list[Any], Any]]:
    """Yield the contents to parse and the other columns, up to `ROWS` rows at a time.

    Null is an empty text.
    """
    try:
        source = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise FileError(f"not a Parquet file: {error}", path=path) from None
    with source:
        schema = source.schema_arrow
        if schema.names.count(column) != 1:
            problem = "two columns" if column in schema.names else "no column"
            names = ", ".join(schema.names)
            raise FileError(f"{problem} {column!r} (name one with --column): {names}", path=path)
        # Arrow has two types each for strings and lists, by the size of their offsets.
        column_type = schema.field(column).type
        has_words = pa.types.is_list(column_type) or pa.types.is_large_list(column_type)
        text_type = column_type.value_type if has_words else column_type
        if not (pa.types.is_string(text_type) or pa.types.is_large_string(text_type)):
            raise FileError(
                f"column {column!r} holds {column_type}; it must hold strings, or lists of strings",
                path=path,
            )
        # Other columns stand beside the parses in the output.
        clash = sorted((set(schema.names) - {column}) & set(SCHEMA.names))
        if clash:
            problem = f"columns {', '.join(clash)} have names that parses need: rename them"
            raise FileError(problem, path=path)
        empty: Any = [] if has_words else ""
        for batch in source.iter_batches(ROWS):
            table = pa.Table.from_batches([batch])
            cells = table.column(column).to_pylist()
            contents = []
            for cell in cells:
                contents.append(empty if cell is None else cell)
            yield contents, table.drop_columns([column])


def _tables(chunks: Iterable[tuple[Sequence[Sequence[Parse]], Any]]) -> Iterator[Any]:
    """Yield a table for each chunk of rows and their other columns.

    Without chunks there is one empty table.
    """
    first_row = 0
    for parses, others in chunks:
        table = to_table(parses, first_row)
        if others is not None:
            # The row of the chunk that each sentence belongs to.
            rows = pa.array(
                [row - first_row for row in table.column("row").to_pylist()], pa.int64()
            )
            for index, name in enumerate(others.column_names):
                cells = others.column(name).take(rows)
                table = table.add_column(index, others.schema.field(name), cells)
        first_row += len(parses)
        yield table
    # A file without rows still has its columns.
    if first_row == 0:
        yield to_table([])
