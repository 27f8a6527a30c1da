"""`arcspan measure`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.treebanks import write_brackets, write_conllu
from tests.syntax.test_syntax import PAIRS

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Twenty-one sentences of a hand-checked file, both trees."""
    pairs = list(PAIRS.values())[:21]
    write_brackets([c for c, _ in pairs], tmp_path / "a.ptb")
    write_conllu([d for _, d in pairs], tmp_path / "a.conllu")
    return str(tmp_path / "a.ptb"), str(tmp_path / "a.conllu")


def test_a_text_is_measured_as_a_table(files: tuple[str, str], capsys: Captured) -> None:
    assert run(["measure", *files, "--only", "sentences,W,MLS,C,dependency_distance"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == [files[0]] and [line[0] for line in lines[1:]] == [
        *("sentences", "W", "MLS", "C", "dependency_distance")
    ]
    assert lines[1][1:] == ["21"] and float(lines[3][1]) == pytest.approx(
        float(lines[2][1]) / 21, abs=1e-4
    )


def test_sentences_are_measured_as_csv(files: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "found.csv"
    assert run(["measure", *files, "--per", "sentence", "-o", str(out)]) == 0
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert len(rows) == 21 and rows[0]["sentence"] == "1"
    assert (rows[0]["W"], rows[0]["C"], rows[0]["dependency_distance"]) == ("7", "2", "1.5")


def test_one_tree_has_its_own_measures(files: tuple[str, str], capsys: Captured) -> None:
    assert run(["measure", files[1], "-f", "json"]) == 0
    shown, notes = capsys.readouterr()
    found = json.loads(shown)
    assert found["sentence"] is None and "C/T" not in found["measures"]
    assert found["measures"]["clauses_main"] > 20 and " MLS," in notes


def test_what_one_tree_alone_cannot_measure_is_named(
    files: tuple[str, str], capsys: Captured
) -> None:
    assert run(["measure", files[0], "--only", "W,head_final"]) == 0
    assert capsys.readouterr().err.endswith("only one kind of trees: head_final\n")


def test_several_parses_give_errors(tmp_path: Path, capsys: Captured) -> None:
    _, d = PAIRS["I know that you lied ."]
    other = d._trusted((2, 0, 5, 5, 1, 2), d.relations, *d._value()[2:])
    write_conllu([d, other], tmp_path / "k.conllu")
    one, two = (tmp_path / "k.conllu").read_text(encoding="utf-8").strip().split("\n\n")
    text = f"# rank = 1\n# score = 2\n{one}\n\n# rank = 2\n# score = 2\n{two}\n"
    (tmp_path / "k.conllu").write_text(text, encoding="utf-8")
    assert (
        run(["measure", str(tmp_path / "k.conllu"), "-f", "json", "--only", "dependency_distance"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["measures"]["dependency_distance"] == pytest.approx((7 + 8) / 2 / 4)
    assert found["errors"]["dependency_distance"] == pytest.approx(0.125)


def test_the_parts_of_a_compound_are_counted_on_request(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "a.ptb"
    path.write_text("(TOP (NP (JJ full) (HYPH -) (NN time) (NN job)))\n", encoding="utf-8")
    for options, count in (([], 2), (["--split-compounds"], 3)):
        assert run(["measure", str(path), "--only", "W", "-f", "json", *options]) == 0
        assert json.loads(capsys.readouterr().out)["measures"] == {"W": count}


def test_texts_are_parsed(toy_bundle: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "t.txt").write_text("Logic plays a role. Ada sees every tree.", encoding="utf-8")
    (tmp_path / "empty.txt").touch()
    command = [
        "measure",
        str(tmp_path / "t.txt"),
        str(tmp_path / "empty.txt"),
        "-m",
        str(toy_bundle),
    ]
    assert run([*command, "-f", "csv", "--only", "sentences,words", "-k", "2"]) == 0
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert rows[0] == ["file", "sentence", "sentences", "words", "sentences_error", "words_error"]
    assert rows[1][2:4] == rows[3][2:4] == ["2", "8"] and rows[2][2:4] == ["0", "0"]


def test_what_is_wrong_is_said(files: tuple[str, str], capsys: Captured) -> None:
    for arguments, reason in (
        ([files[0], "--only", "MTL"], "no measure 'MTL'; there are sentences"),
        ([files[0], "-o", files[0]], "is also the input"),
        (["nothing.conllu"], "nothing.conllu"),
    ):
        assert run(["measure", *arguments]) == 2
        assert reason in capsys.readouterr().err
