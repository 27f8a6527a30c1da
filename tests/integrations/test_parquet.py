from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed (arcspan[ray])")

import pyarrow as pa
import pyarrow.parquet as pq

from arcspan.errors import FileError
from arcspan.integrations.parquet import ROWS, SCHEMA, parse_column, to_table, write_parses
from arcspan.parse import Parse
from arcspan.parser import Parser

TEXTS = ["Ada sees the tree. Kurt plays here.", None, "", "Logic plays a role."]


def parsed(parser: Parser, folder: Path, table: Any, column: str = "text") -> Any:
    pq.write_table(table, folder / "in.parquet")
    counts = parse_column(parser, str(folder / "in.parquet"), str(folder / "out.parquet"), column)
    found = pq.read_table(folder / "out.parquet")
    assert counts == (found.num_rows, found.num_rows - found.column("error").null_count)
    return found


def test_a_row_a_sentence_with_the_other_columns_beside_it(parser: Parser, tmp_path: Path) -> None:
    rows = parsed(parser, tmp_path, pa.table({"id": [10, 11, 12, 13], "text": TEXTS})).to_pylist()
    assert [(row["id"], row["row"], row["sentence"]) for row in rows] == [
        (10, 0, 0),
        (10, 0, 1),
        (13, 3, 0),
    ]
    expected = [*parser(TEXTS[0] or ""), *parser(TEXTS[3] or "")]
    for row, parse in zip(rows, expected, strict=True):
        assert row["brackets"] == parse.brackets()
        assert tuple(row["words"]) == parse.words
        assert tuple(row["heads"]) == parse.dependencies.heads
        assert tuple(row["relations"]) == parse.dependencies.relations
        assert [(struct["start"], struct["end"]) for struct in row["offsets"]] == list(
            parse.offsets or ()
        )
        spans = [
            (struct["start"], struct["end"], struct["label"]) for struct in row["constituents"]
        ]
        assert tuple(spans) == parse.constituency.spans[1:]
        assert row["error"] is None


def test_lists_of_words_are_not_split(parser: Parser, tmp_path: Path) -> None:
    table = pa.table({"words of it": [["Ada", "sees", "Kurt.", "Ada"], ["Kurt"]]})
    rows = parsed(parser, tmp_path, table, "words of it").to_pylist()
    assert [row["words"] for row in rows] == [["Ada", "sees", "Kurt.", "Ada"], ["Kurt"]]
    assert rows[0]["offsets"] is None


def test_rows_are_counted_through_many_batches(parser: Parser, tmp_path: Path) -> None:
    count = ROWS + 5
    table = parsed(
        parser, tmp_path, pa.table({"text": ["Ada plays."] * count, "id": list(range(count))})
    )
    assert table.column("row").to_pylist() == table.column("id").to_pylist() == list(range(count))


def test_no_rows_make_a_file_without_rows(parser: Parser, tmp_path: Path) -> None:
    assert parsed(parser, tmp_path, pa.table({"text": pa.array([], pa.string())})).num_rows == 0
    assert write_parses([], str(tmp_path / "none.parquet")) == (0, 0)
    assert pq.read_schema(tmp_path / "none.parquet").names == SCHEMA.names


def test_texts_from_elsewhere_are_rows_too(parser: Parser, tmp_path: Path) -> None:
    texts = ["Ada plays. Kurt plays.", "Ada sees Kurt."]
    assert write_parses(parser.stream(texts), str(tmp_path / "out.parquet")) == (3, 0)
    assert pq.read_table(tmp_path / "out.parquet") == to_table(parser.stream(texts))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pa.table({"body": ["a"]}), "no column 'text'.*body"),
        (pa.table({"text": [1]}), "int64"),
        (pa.table({"text": ["a"], "heads": [1]}), "heads.*rename"),
        (pa.Table.from_arrays([pa.array(["a"])] * 2, ["text"] * 2), "two columns 'text'"),
    ],
)
def test_a_file_that_does_not_fit_is_named_with_the_reason(
    parser: Parser, tmp_path: Path, table: Any, reason: str
) -> None:
    with pytest.raises(FileError, match=f"in.parquet: .*{reason}"):
        parsed(parser, tmp_path, table)
    assert not (tmp_path / "out.parquet").exists()


def test_a_row_that_is_not_words_has_an_error_and_its_neighbours_have_none(
    parser: Parser, tmp_path: Path
) -> None:
    """A null among the words of one row ended the file."""
    found = parsed(
        parser, tmp_path, pa.table({"text": [["Ada", "plays"], ["Ada", None], ["Kurt"]]})
    )
    assert [row["error"] for row in found.to_pylist()] == [
        None,
        "item 2: word 2 is NoneType, not a string: None",
        None,
    ]


def test_a_file_that_is_no_parquet_is_named(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "in.parquet").write_text("text")
    with pytest.raises(FileError, match=r"in.parquet: not a Parquet file"):
        parse_column(parser, str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"))


def test_lemmas_and_features_have_columns(whole_rows: Parse) -> None:
    (row,) = to_table([[whole_rows]]).to_pylist()
    assert row["lemmas"] == ["Ada", "see", "tree"]
    assert row["features"] == ["Number=Sing", "", "Case=Acc|Number=Plur"]


def test_what_a_parse_of_one_layer_does_not_have_is_null() -> None:
    only_arcs = Parse.from_conllu("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    only_spans = Parse.from_brackets("(TOP (S (VP (VB Go))))")
    table = to_table([[only_arcs, only_spans]])
    assert table.column("heads").to_pylist() == [[0], None]
    assert table.column("brackets").to_pylist() == [None, "(TOP (S (VP (VB Go))))"]
    assert [len(spans or ()) for spans in table.column("constituents").to_pylist()] == [0, 2]
