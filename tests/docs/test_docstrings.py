"""Docstrings become Markdown for the reference: columns are lists, examples are code."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("griffe")
SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "docstrings.py"


@pytest.fixture
def docstrings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docstrings", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_columns_are_a_list(docstrings: ModuleType) -> None:
    markdown = docstrings.to_markdown(
        "Parses.\n\npath     the folder;\n         or None\nthreads  how many\n\nThe end."
    )
    assert markdown.splitlines()[2:] == [
        "",
        "- `path`: the folder;",
        "  or None",
        "- `threads`: how many",
        "",
        "The end.",
    ]


def test_examples_are_fenced_to_the_end_of_their_output(docstrings: ModuleType) -> None:
    markdown = docstrings.to_markdown("Adds.\n\n>>> 1 + 1\n2\n\nMore.")
    assert "```pycon\n>>> 1 + 1\n2\n```\n\nMore." in markdown
    assert docstrings.to_markdown("Adds.\n>>> 1 + 1\n2").endswith("2\n```")


def test_marks_for_doctest_are_not_shown(docstrings: ModuleType) -> None:
    markdown = docstrings.to_markdown(
        "Adds.\n\n>>> load()  # doctest: +SKIP\none\n<BLANKLINE>\ntwo"
    )
    assert ">>> load()\none\n\ntwo\n```" in markdown


def test_prose_is_left_alone(docstrings: ModuleType) -> None:
    text = "The tree (i, j) of a sentence.\n\nA second paragraph,\nof two lines."
    assert docstrings.to_markdown(text) == text
