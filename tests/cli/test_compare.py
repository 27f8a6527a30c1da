"""`arcspan compare` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arcspan.cli import run
from tests.evaluation.samples import GOLD, PREDICTED, write


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    gold = write(tmp_path, "gold", GOLD * 10)
    return gold + write(tmp_path, "good", GOLD * 10) + write(tmp_path, "bad", PREDICTED * 10)


def test_the_better_system_is_found_and_named_by_its_file(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *files, "--samples", "500"]) == 0
    out = capsys.readouterr().out
    assert "20 sentences, 500 draws, seed 0" in out
    assert "good - bad" in out
    assert "+33.33" in out and "**" in out


def test_json_has_intervals_and_p_values(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["compare", *files, "--samples", "500", "--seed", "3", "--json", "-n", "A", "-n", "B"]
    assert run(call) == 0
    first = capsys.readouterr().out
    las = json.loads(first)["figures"]["las"]
    assert las["difference"] == pytest.approx(100 / 3)
    assert las["p_randomization"] < 0.01
    assert las["interval"][0] > 0
    assert run(call) == 0
    assert capsys.readouterr().out == first


def test_two_systems_are_needed(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *files[:4]]) == 2
    assert "gold files and 2 sets of predicted files are needed" in capsys.readouterr().err
    assert run(["compare", *files, "-n", "one"]) == 2
    assert "1 names for 2 systems" in capsys.readouterr().err
