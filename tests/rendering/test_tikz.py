"""LaTeX: what is written, and that it compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arcspan.rendering import to_tikz
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.rendering.examples import CHINESE, CHINESE_ARCS, LOGIC, LOGIC_ARCS

HOSTILE = [
    "a\\b",
    "100%",
    "$x_1^2$",
    "{[(",
    ")]}",
    "A&B",
    "#~",
    "<>|\"'",
    "=,",
    "--",
    "``",
    "é",
    "\x1b\u202e",
]


def hostile() -> tuple[ConstituencyTree, DependencyTree]:
    n = len(HOSTILE)
    tags = ["$", "#", "X&Y", "_", "{", "}", "", *["%"] * (n - 7)]
    c = ConstituencyTree(
        HOSTILE, tags, [(0, n, "S=,]"), (0, 6, "NP#1"), (1, 3, "\\end{forest}"), (6, 7, "^")]
    )
    return c, DependencyTree([0] + [1] * (n - 1), ["root"] + ["a&b_c%"] * (n - 1), HOSTILE)


def test_a_part_of_a_document_has_a_forest_and_arcs_and_nothing_around_them() -> None:
    part = to_tikz(LOGIC, LOGIC_ARCS, document=False)
    assert part.startswith("\\begin{forest}") and part.endswith("\\end{dependency}\n")
    assert (
        "[{NN}, edge={very thick} [{role}, edge={very thick}]]" in part and "[{DT} [{a}]]" in part
    )
    words, tags = part.split("\\begin{deptext}[column sep=1em]\n")[1].split("\n")[:2]
    assert words == " \\& ".join(f"{{{word}}}" for word in LOGIC.words) + " \\\\"
    assert tags == " \\& ".join(f"{{{tag}}}" for tag in LOGIC.tags) + " \\\\"
    assert "\\depedge{2}{1}{nsubj}" in part and "\\deproot[edge unit distance=5ex]{2}{root}" in part
    assert to_tikz(LOGIC, LOGIC_ARCS).count("\\documentclass") == 1


def test_one_tree_alone_is_written() -> None:
    assert "dependency}" not in to_tikz(LOGIC, None, document=False)
    assert "forest" not in to_tikz(None, LOGIC_ARCS, document=False)
    alone = to_tikz(LOGIC, LOGIC_ARCS, layers="constituency", document=False)
    assert "dependency}" not in alone and "edge={very thick}" in alone


def test_brackets_are_balanced_whatever_the_words_say() -> None:
    part = to_tikz(*hostile(), document=False)
    for escaped in ("\\\\", "\\{", "\\}"):
        part = part.replace(escaped, "")
    assert part.count("{") == part.count("}")


@pytest.mark.skipif(shutil.which("lualatex") is None, reason="lualatex is not installed")
@pytest.mark.parametrize("trees", [(LOGIC, LOGIC_ARCS), hostile(), (CHINESE, CHINESE_ARCS)])
def test_a_document_compiles(
    tmp_path: Path, trees: tuple[ConstituencyTree, DependencyTree]
) -> None:
    for file in ("tikz-dependency.sty", "forest.sty", "standalone.cls", "luaotfload-main.lua"):
        if subprocess.run(
            ["kpsewhich", "-progname=lualatex", file], capture_output=True
        ).returncode:
            pytest.skip(f"{file} is not installed for LaTeX")
    (tmp_path / "trees.tex").write_text(to_tikz(*trees), encoding="utf-8")
    command = ["lualatex", "-interaction=nonstopmode", "-halt-on-error", "trees.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "trees.pdf").read_bytes().startswith(b"%PDF")
