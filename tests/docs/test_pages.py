"""Pages that are made from the program, or must keep up with it."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
from pathlib import Path

import pytest

from tests.docs.blocks import blocks

DOCS = Path(__file__).resolve().parents[2] / "docs"
MODEL = DOCS.parent / "src" / "arcspan" / "models" / "en" / "config.json"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]
# Its blocks are usages of commands, written by a script.
GENERATED = ("command-line.md",)
# The site shows lines of this width without scrolling sideways.
BLOCK_WIDTH = 88


def wide_lines(page: Path) -> list[str]:
    """Return the lines of a page's blocks that are too wide, each as `PAGE:LINE`."""
    wide = []
    for block in blocks(page):
        for number, line in enumerate(block.code.splitlines(), block.line):
            if len(line) > BLOCK_WIDTH:
                wide.append(f"{page.name}:{number}")
    return wide


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in GENERATED], ids=lambda page: page.name
)
def test_blocks_are_shown_without_scrolling(page: Path) -> None:
    assert wide_lines(page) == []


def test_a_line_that_is_too_wide_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    wide = "#" * (BLOCK_WIDTH + 1)
    page.write_text(f"{wide}\n\n```python\n{wide[1:]}\n{wide}\n```\n", encoding="utf-8")
    assert wide_lines(page) == ["page.md:5"]


def test_the_command_line_page_is_what_the_commands_say() -> None:
    spec = importlib.util.spec_from_file_location("command_line", DOCS / "command_line.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run docs/command_line.py"


def test_the_pages_glossary_is_that_of_the_documents() -> None:
    glossary = runpy.run_path(str(DOCS / "glossary.py"))["glossary"]()
    page = DOCS.parent / "src" / "arcspan" / "serving" / "page" / "glossary.json"
    assert page.read_text(encoding="utf-8") == glossary


def test_the_glossary_explains_every_name_that_the_english_model_uses() -> None:
    if not MODEL.is_file():
        pytest.skip("the package has no English model inside")
    inventories = json.loads(MODEL.read_text(encoding="utf-8"))["inventories"]
    rows = re.findall(
        r"^\| (.*?) \|", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    explained = {name for row in rows for name in re.findall(r"`([^` ]+)`", row)} | {"``"}
    used = {label for chain in inventories["labels"] for label in chain}
    used |= {*inventories["relations"], *inventories["tags"], *inventories["upos"]}
    assert used <= explained, f"not in the glossary: {sorted(used - explained)}"
