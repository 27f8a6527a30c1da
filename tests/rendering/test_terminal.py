"""Trees drawn with box lines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.rendering import draw_terminal
from arcspan.rendering.layout import columns
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.rendering.examples import (
    ARABIC,
    ARABIC_ARCS,
    CHINESE,
    CHINESE_ARCS,
    LOGIC,
    LOGIC_ARCS,
    random_pair,
)

WIDE = """\
         S
  ╭──────╂──────────────────────────╮
  │      VP                         │
  │      ┠────────────────┬────╮    │
  NP     ┃                NP  ADVP  │
  ┃      ┃    ╭─────┬─────┨    ┃    │
Logic  plays  a  maximal role here  .
  NN    VBZ   DT    JJ    NN   RB   .
  ▲     ╷▲╷   ▲     ▲    ╷▲    ▲    ▲
  ╰nsubj╯││   │     ╰amod┤│    │    │
         ││   ╰───det────╯│    │    │
         │├─────dobj──────╯    │    │
         │├───────advmod───────╯    │
         │╰──────────punct──────────╯
        root"""

TALL = """\
S
┠─NP━━Logic NN     1 ◂ nsubj 2
┡━VP
│ ┡━plays VBZ      2 ◆ root
│ ├─NP
│ │ ┠─a DT         3 ◂ det 5
│ │ ┠─maximal JJ   4 ◂ amod 5
│ │ ┗━role NN      5 ◂ dobj 2
│ ╰─ADVP━━here RB  6 ◂ advmod 2
╰─. .              7 ◂ punct 2"""

TALL_WITH_ARCS = """\
S
┠─NP━━LogicLogic NN      1 ◂ nsubj 2 ╶─╮
┡━VP                                   │
│ ┡━playsplays VBZ       2 ◆ root ╶────┴───┬─┬─╮
│ ├─NP                                     │ │ │
│ │ ┠─aa DT              3 ◂ det 5 ╶─────╮ │ │ │
│ │ ┠─maximalmaximal JJ  4 ◂ amod 5 ╶──╮ │ │ │ │
│ │ ┗━rolerole NN        5 ◂ dobj 2 ╶──┴─┴─╯ │ │
│ ╰─ADVP━━herehere RB    6 ◂ advmod 2 ╶──────╯ │
╰─.. .                   7 ◂ punct 2 ╶─────────╯"""


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def test_a_sentence_that_fits_stands_on_a_line() -> None:
    assert draw_terminal(LOGIC, LOGIC_ARCS, width=38) == WIDE


def test_a_sentence_that_is_too_wide_is_turned() -> None:
    assert draw_terminal(LOGIC, LOGIC_ARCS, width=37) == TALL


def test_the_turned_drawing_has_arcs_where_there_is_room() -> None:
    c = ConstituencyTree([word * 2 for word in LOGIC.words], LOGIC.tags, LOGIC.spans)
    assert draw_terminal(c, LOGIC_ARCS, width=50) == TALL_WITH_ARCS


def test_a_layout_can_be_named() -> None:
    assert draw_terminal(LOGIC, LOGIC_ARCS, width=10, layout="wide") == WIDE
    for layout in ("tall", "indented"):
        assert draw_terminal(LOGIC, LOGIC_ARCS, width=37, layout=layout) == TALL  # type: ignore[arg-type]


def test_wide_characters_take_two_columns() -> None:
    lines = draw_terminal(CHINESE, CHINESE_ARCS, width=100).split("\n")
    words = next(line for line in lines if "逻辑" in line)
    spines = lines[lines.index(words) - 1]
    for word, column in (("逻辑", spines.index("┃")), ("。", len(spines) - 1)):
        start = columns(words[: words.index(word)])
        assert start <= column < start + columns(word)


def test_a_script_from_right_to_left_begins_at_the_right_and_keeps_the_lines_order() -> None:
    words = next(
        line
        for line in draw_terminal(ARABIC, ARABIC_ARCS, width=100).split("\n")
        if "المنطق" in line
    )
    assert words.index("المنطق") < words.index("يلعب")
    assert "\u200eيلعب\u200e" in words


def test_colours_change_nothing_but_colour() -> None:
    for width in (100, 30):
        coloured = draw_terminal(LOGIC, LOGIC_ARCS, width=width, colour=True)
        assert "\x1b[" in coloured
        assert without_colours(coloured) == draw_terminal(LOGIC, LOGIC_ARCS, width=width)
        assert all(line.endswith("\x1b[0m") for line in coloured.split("\n"))


def test_control_characters_of_the_text_never_reach_the_terminal() -> None:
    c = ConstituencyTree(["\x1b[31m", "\a"], ["X", "Y"], [(0, 2, "S")])
    drawn = draw_terminal(c, DependencyTree([2, 0], ["a", "root"], c.words), width=80)
    assert "\x1b" not in drawn and "\a" not in drawn and "␛[31m" in drawn


@pytest.mark.parametrize("width", [20, 200])
def test_one_tree_alone_is_drawn(width: int) -> None:
    assert "▲" not in draw_terminal(LOGIC, None, width=width)
    assert "VP" not in draw_terminal(None, LOGIC_ARCS, width=width)


@given(st.integers(0, 10**6), st.integers(1, 25), st.sampled_from([10, 60, 100, 10_000]))
def test_every_word_label_and_relation_is_in_the_drawing(seed: int, n: int, width: int) -> None:
    c, d = random_pair(seed, n)
    drawn = draw_terminal(c, d, width=width).replace("\u200e", "")
    for text in {*c.words, *d.relations, *(label for *_, label in c.without_wrapper().spans)}:
        assert drawn.count(text) >= 1
    assert not any(line.endswith(" ") for line in drawn.split("\n"))
    assert max(map(columns, drawn.split("\n"))) <= max(width, 400)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_the_lines_of_a_drawing_meet_with_both_ends(seed: int, n: int) -> None:
    """A line that leaves a cell to the right enters the cell at its right, or ends at text."""
    c, d = random_pair(seed, n)
    rows = [list(line) for line in draw_terminal(c, d, width=10_000).split("\n")]
    if any(columns(cell) != 1 for row in rows for cell in row):
        return
    boxes = " ╶╺╴─╼╸╾━╷╭┍╮┬┮┑┭┯╻┎┏┒┰┲┓┱┳╵╰┕╯┴┶┙┵┷│├┝┤┼┾┥┽┿╽┟┢┧╁╆┪╅╈╹┖┗┚┸┺┛┹┻╿┞┡┦╀╄┩╃╇┃┠┣┨╂╊┫╉╋"

    def weight(cell: str, direction: int) -> int:
        return boxes.index(cell) // direction % 3

    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            right = row[x + 1] if x + 1 < len(row) else " "
            below = rows[y + 1][x] if y + 1 < len(rows) and x < len(rows[y + 1]) else " "
            if cell in boxes and right in boxes:
                assert bool(weight(cell, 1)) == bool(weight(right, 3)), (cell, right)
            if cell in boxes and below in boxes:
                assert bool(weight(cell, 9)) == bool(weight(below, 27)), (cell, below)


def test_the_terminals_own_width_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "38")
    assert draw_terminal(LOGIC, LOGIC_ARCS) == WIDE
    monkeypatch.setenv("COLUMNS", "30")
    assert draw_terminal(LOGIC, LOGIC_ARCS) == draw_terminal(LOGIC, LOGIC_ARCS, width=30) != WIDE
