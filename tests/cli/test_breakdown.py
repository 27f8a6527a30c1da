"""`arcspan breakdown` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.cli import run
from tests.evaluation.samples import GOLD, PREDICTED, write


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return (
        write(tmp_path, "gold", GOLD)
        + write(tmp_path, "SEP", PREDICTED)
        + write(tmp_path, "Joint2o", GOLD)
    )


def test_numbers_and_pictures_are_written(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "out"
    assert run(["breakdown", *files, "-o", str(folder), "--format", "svg"]) == 0
    assert {path.name for path in folder.iterdir()} == {
        "curves.csv",
        "labels.csv",
        "relations.csv",
        "curves.svg",
    }
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "curves.svg" in captured.err
    assert "SEP,f1_by_width,2,2,1,1,1,100.0,50.0,66.6667" in (folder / "curves.csv").read_text(
        encoding="utf-8"
    )


def test_numbers_alone_need_no_pictures(files: list[str], tmp_path: Path) -> None:
    call = [
        "-q",
        "breakdown",
        files[0],
        files[2],
        "-o",
        str(tmp_path / "out"),
        "--no-plots",
        "-n",
        "a/b c",
    ]
    assert run(call) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"curves.csv", "labels.csv"}


def test_the_same_name_twice_is_refused(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["breakdown", *files, "-n", "A", "-n", "A", "-o", str(tmp_path / "out")]) == 2
    assert "two systems have the same name" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_inputs_are_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trees, or parameters of EVALB, in a file of the folder that has a table's name were lost."""
    trees, rules = tmp_path / "curves.csv", tmp_path / "labels.csv"
    trees.write_text("(TOP (NP (NN dog)))\n")
    rules.write_text("LABELED 1\n")
    gold = write(tmp_path, "gold", GOLD)[0]
    for files in ([trees, trees], [gold, gold, "--prm", rules]):
        assert run(["breakdown", *map(str, files), "-o", str(tmp_path), "--no-plots"]) == 2
        assert "is also the input, which would be lost" in capsys.readouterr().err
    assert (trees.read_text(), rules.read_text()) == ("(TOP (NP (NN dog)))\n", "LABELED 1\n")
