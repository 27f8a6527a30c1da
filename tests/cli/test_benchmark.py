from __future__ import annotations

import re
from pathlib import Path

import pytest

from arcspan.cli import run


def test_parsing_and_search_are_measured(
    toy_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--sentences", "4", "--words", "5", "--seconds", "0.001"]
    assert run(["benchmark", "-m", str(toy_bundle), *options]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in shown if line.strip("- ")] == [
        "sentences (words) per second",
        "search, first order, 5 words",
        "parse, words to both trees",
    ]
    assert all(re.search(r"[1-9][\d,]* \([1-9][\d,]*\)$", line) for line in shown[-2:])


def test_a_model_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["benchmark", "-m", "nosuch"]) == 2
    assert "nosuch" in capsys.readouterr().err
