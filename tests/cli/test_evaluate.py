"""`arcspan evaluate` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arcspan.cli import run
from tests.evaluation.samples import DOGS, GOLD, PREDICTED, write


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return write(tmp_path, "gold", GOLD) + write(tmp_path, "predicted", PREDICTED)


def test_four_files_give_a_table(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", *files]) == 0
    out = capsys.readouterr().out
    assert ["LAS", "66.67"] in [line.split() for line in out.splitlines()]
    assert "[rules:COLLINS|tags:predicted|arcspan:" in out


def test_json_is_for_machines(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", *files, "--json", "--no-subtypes", "--punctuation", "none"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["las"] == pytest.approx(100 * 7 / 9)
    assert read["signatures"]["las"].startswith("las|punctuation:none|subtypes:ignored|arcspan:")


def test_one_kind_of_files_is_enough(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", files[0], files[2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["las"] is None
    assert run(["evaluate", files[1], files[3], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["f1"] is None


def test_raw_text_is_scored_by_aligned_words(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = "1\tDogsbark.\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    _, second = Path(files[3]).read_text(encoding="utf-8").split("\n\n", 1)
    one_word = tmp_path / "one_word.conllu"
    one_word.write_text(row + second, encoding="utf-8")
    assert run(["evaluate", "--raw", files[1], str(one_word)]) == 0
    assert ["Sentences", "100.00", "100.00", "100.00", "-"] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]
    assert run(["evaluate", "--raw", files[1], str(one_word), "--json"]) == 0
    words = json.loads(capsys.readouterr().out)["Words"]
    assert (words["gold"], words["predicted"], words["right"]) == (9, 7, 6)
    one_word.write_text(row.replace("Dogs", "Cats") + second, encoding="utf-8")
    assert run(["evaluate", "--raw", files[1], str(one_word)]) == 2
    assert "one_word.conllu:1: the text differs from" in capsys.readouterr().err


def test_further_predictions_are_further_runs(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", *files, *files[:2]]) == 0
    assert "2 runs over 2 sentences" in capsys.readouterr().out
    assert run(["evaluate", *files, *files[:2], "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["las"], read["deviation"]["las"]) == pytest.approx((250 / 3, 23.57), abs=0.01)


def test_labels_and_relations_are_listed_on_demand(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", *files, "--labels"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["NP", "2", "1", "100.00", "50.00", "66.67"] in lines
    assert ["nsubj", "1", "2", "50.00", "100.00", "66.67", "|", "2", "2", *["100.00"] * 3] in lines


def test_evalbs_own_summary_counts_error_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, predicted = tmp_path / "g.ptb", tmp_path / "p.ptb"
    gold.write_text("(TOP (S (NN a)))\n(TOP (S (NN a)))\n")
    predicted.write_text("(TOP (S (NN a)))\n(TOP (S (NN b)))\n")
    assert run(["evaluate", str(gold), str(predicted), "--evalb"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("=== Summary ===")
    assert "Number of Error sentence  =      1" in out
    assert run(["evaluate", str(gold), str(predicted)]) == 2
    assert "p.ptb: sentence 2, word 1: 'a' in the gold tree, 'b' in" in capsys.readouterr().err


def test_another_number_of_sentences_is_refused(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", *files[:2], *write(tmp_path, "short", [DOGS])]) == 2
    assert "the predicted trees end after sentence 1" in capsys.readouterr().err


def test_a_prm_file_changes_the_rules(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prm = tmp_path / "strict.prm"
    prm.write_text("DELETE_LABEL TOP\n")
    assert run(["evaluate", *files, "--prm", str(prm), "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["recall"] == pytest.approx(100 * 5 / 7)
    assert "rules:strict.prm" in read["signatures"]["f1"]


@pytest.mark.parametrize(
    ("chosen", "options", "message"),
    [
        ([0, 1], [], "at least 1 set of predicted files are needed"),
        ([0, 1, 2], [], "files come in pairs"),
        ([1, 3], ["--evalb"], "--evalb needs bracket files"),
        ([0, 2], ["--evalb", "--json"], "leave out --json and --labels"),
        ([0, 1], ["--raw"], "--raw takes two CoNLL-U files"),
        ([1, 3, 3], ["--raw"], "--raw takes two CoNLL-U files"),
        ([1, 3], ["--raw", "--punctuation", "none"], "leave out --punctuation"),
    ],
)
def test_wrong_calls_are_refused_with_a_reason(
    files: list[str],
    chosen: list[int],
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["evaluate", *(files[k] for k in chosen), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "no-such.ptb", "no-such.ptb"]) == 2
    assert "no-such.ptb" in capsys.readouterr().err
