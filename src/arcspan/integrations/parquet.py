"""Parses as Arrow tables, and Parquet files in and out: one row per sentence.

| column | what it holds |
|---|---|
| `row`, `sentence` | the row of the input, counted from 0, and the sentence in it |
| `text`, `words`, `tags`, `upos`, `lemmas`, `features`, `heads`, `relations` | as in `Parse` |
| `score`, `approximate`, `error` | as in `Parse` |
| `offsets` | (start, end) of each word in the text of the row; null where the input was words |
| `constituents` | (start, end, label), top-down, without the wrapper; words start+1..end |
| `brackets` | the constituency tree on one line |

What a model of one layer does not predict is null. Every other column of the input is kept, its value repeated for
each sentence of the row.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Any

from arcspan.errors import FileError, MissingExtraError
from arcspan.files import atomic_write
from arcspan.parser import Input, Parse, Parser

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise MissingExtraError("Parquet", "ray") from None

_PAIRS = pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())]))
_SPANS = pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32()), ("label", pa.string())]))
_TEXTS = pa.list_(pa.string())
SCHEMA = pa.schema(
    [
        *(("row", pa.int64()), ("sentence", pa.int32()), ("text", pa.string())),
        *(("words", _TEXTS), ("offsets", _PAIRS)),
        *((name, _TEXTS) for name in ("tags", "upos", "lemmas", "features")),
        *(("heads", pa.list_(pa.int32())), ("relations", _TEXTS)),
        *(("constituents", _SPANS), ("brackets", pa.string())),
        *(("score", pa.float64()), ("approximate", pa.bool_()), ("error", pa.string())),
    ]
)
Target = str | IO[bytes]
"""A file's name, or an open file."""
ROWS = 256  # of the input that are parsed together


def to_table(parses: Iterable[Sequence[Parse]], first_row: int = 0) -> Any:
    """A `pyarrow.Table` of the parses of consecutive rows, such as `parser.stream(texts)` gives."""
    records = [
        {**_record(parse), "row": first_row + row, "sentence": sentence}
        for row, found in enumerate(parses)
        for sentence, parse in enumerate(found)
    ]
    return pa.Table.from_pylist(records, schema=SCHEMA)


def _record(parse: Parse) -> dict[str, Any]:
    found = {"error": None, **parse.to_dict()}
    for name, fields in (
        ("offsets", ("start", "end")),
        ("constituents", ("start", "end", "label")),
    ):
        if found[name] is not None:  # constituents without the wrapper
            rows = found[name][name == "constituents" :]
            found[name] = [dict(zip(fields, row, strict=True)) for row in rows]
    return found


def parse_column(
    parser: Parser, source: str, target: Target, column: str = "text", **options: Any
) -> tuple[int, int]:
    """Parse a column of a Parquet file, texts or lists of words, into another Parquet file.

    The options are those of `Parser.stream`. Return how many sentences there are, and how many of
    them could not be parsed.
    """
    chunks = read_column(source, column)
    return _write(target, _parsed(parser, chunks, options))


def parse_contents(parser: Parser, contents: Iterable[Input], target: Target) -> tuple[int, int]:
    """Parse texts or lists of words, each a row, into a Parquet file; return as `parse_column`."""
    return write_parses(parser.stream(contents, errors="keep"), target)


def write_parses(parses: Iterable[Sequence[Parse]], target: Target) -> tuple[int, int]:
    """Write the parses of each row to a Parquet file; return what `parse_column` does."""
    rows = iter(parses)
    chunks = iter(lambda: list(islice(rows, ROWS)), [])
    return _write(target, _tables(chunks))


def _tables(chunks: Iterable[Sequence[Sequence[Parse]]]) -> Iterator[Any]:
    """Yield a table for each chunk of rows; an empty one where there is no chunk."""
    first_row = 0
    for chunk in chunks:
        yield to_table(chunk, first_row)
        first_row += len(chunk)
    if first_row == 0:
        yield to_table([])


def _write(target: Target, tables: Iterable[Any]) -> tuple[int, int]:
    sentences = failures = 0
    with contextlib.ExitStack() as stack:
        file = (
            stack.enter_context(atomic_write(target, "wb")) if isinstance(target, str) else target
        )
        writer = None
        for table in tables:
            writer = writer or stack.enter_context(pq.ParquetWriter(file, table.schema))
            writer.write_table(table)
            sentences += table.num_rows
            failures += table.num_rows - table.column("error").null_count
    return sentences, failures


def read_column(path: str | os.PathLike[str], column: str) -> Iterator[tuple[list[Any], Any]]:
    """The contents to parse and the other columns, up to `ROWS` rows at a time; null is an empty text."""
    try:
        source = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise FileError(f"not a Parquet file: {error}", path=path) from None
    with source:
        schema = source.schema_arrow
        if schema.names.count(column) != 1:
            what = f"two columns {column!r}" if column in schema.names else f"no column {column!r}"
            raise FileError(
                f"{what} (name one with --column): {', '.join(schema.names)}", path=path
            )
        kind = schema.field(column).type
        words = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        inner = kind.value_type if words else kind
        if not (pa.types.is_string(inner) or pa.types.is_large_string(inner)):
            what = f"column {column!r} holds {kind}; it must hold strings, or lists of strings"
            raise FileError(what, path=path)
        clash = sorted((set(schema.names) - {column}) & (set(SCHEMA.names)))
        if clash:
            what = f"columns {', '.join(clash)} have names that parses need: rename them"
            raise FileError(what, path=path)
        empty: Any = [] if words else ""
        for batch in source.iter_batches(ROWS):
            table = pa.Table.from_batches([batch])
            contents = [empty if one is None else one for one in table.column(column).to_pylist()]
            yield contents, table.drop_columns([column])


def _parsed(
    parser: Parser, chunks: Iterable[tuple[list[Any], Any]], options: dict[str, Any]
) -> Iterator[Any]:
    """Yield a table for each chunk of contents and other columns; an empty one if there is no chunk."""
    first = 0
    for contents, others in chunks:
        table = to_table(parser.stream(contents, errors="keep", **options), first)
        rows = pa.array([row - first for row in table.column("row").to_pylist()], pa.int64())
        for position, name in enumerate(others.column_names):
            table = table.add_column(
                position, others.schema.field(name), others.column(name).take(rows)
            )
        first += len(contents)
        yield table
    if first == 0:
        yield to_table([])
