"""Cells of tables that spreadsheets would compute."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.formats import FORMATS, write
from arcspan.parse import Parse

FORMULA = "=HYPERLINK(1)"


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_words_that_are_formulas_get_an_apostrophe_where_that_is_wanted(delimiter: str) -> None:
    parse = Parse.from_brackets("(TOP (S (NN =1+1) (NN +a) (NN -b) (NN @c) (NN d)))")
    name = {",": "csv", "\t": "tsv"}[delimiter]
    words = {}
    for safe in (False, True):
        text = write(parse, name, safe_cells=safe)
        assert isinstance(text, str)
        words[safe] = [row[3] for row in csv.reader(text.splitlines(), delimiter=delimiter)]
    assert words[False] == ["=1+1", "+a", "-b", "@c", "d"]
    assert words[True] == ["'=1+1", "'+a", "'-b", "'@c", "d"]


def test_every_format_of_tables_has_safe_cells() -> None:
    with_tables = {name for name, format in FORMATS.items() if "table" in format.options}
    assert with_tables == {
        name for name, format in FORMATS.items() if "safe_cells" in format.options
    }


def test_a_concordance_and_measures_have_safe_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("=a.ptb").write_text("(TOP (NP (NN =b) (NN c)))\n")
    for command in (["search", "NP", "--csv"], ["measure", "--format", "csv"]):
        assert run([*command, "--safe-cells", "-o", "out.csv", "=a.ptb"]) == 0
        rows = list(csv.reader(Path("out.csv").read_text().splitlines()))
        assert rows[1][0] == "'=a.ptb"
        assert not [cell for row in rows for cell in row if cell.startswith("=")]


def test_another_format_has_no_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["parse", "--safe-cells", "-f", "json", FORMULA]) == 2
    assert "--safe-cells needs --format csv or tsv, not json" in capsys.readouterr().err
