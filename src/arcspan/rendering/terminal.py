"""Both trees of a sentence as text, drawn with Unicode's box lines.

A sentence that fits the width is drawn like the SVG: constituents above the words, thick lines down to their
heads, arcs below. A wider one has one word per line, with constituents indented to its left and arcs to its right.
Lines are collected as directions in a grid of cells, and each cell is drawn as the character with these directions,
so lines may meet in any way.
"""

from __future__ import annotations

import shutil
import unicodedata
from itertools import pairwise
from math import inf

from arcspan.rendering.layout import (
    Arc,
    Layer,
    Layout,
    Picture,
    arrange,
    columns,
    is_right_to_left,
    layouts,
)
from arcspan.trees import ConstituencyTree, DependencyTree

# Characters by the weight (0 none, 1 light, 2 heavy) of their lines up, down, left, right: digits in base 3.
_BOXES = " ╶╺╴─╼╸╾━╷╭┍╮┬┮┑┭┯╻┎┏┒┰┲┓┱┳╵╰┕╯┴┶┙┵┷│├┝┤┼┾┥┽┿╽┟┢┧╁╆┪╅╈╹┖┗┚┸┺┛┹┻╿┞┡┦╀╄┩╃╇┃┠┣┨╂╊┫╉╋"
_UP, _DOWN, _LEFT, _RIGHT = 27, 9, 3, 1
# By the step from a cell to the next: the direction of a line in the first of them, and in the second.
_DIRECTIONS = {
    (1, 0): (_DOWN, _UP),
    (-1, 0): (_UP, _DOWN),
    (0, 1): (_RIGHT, _LEFT),
    (0, -1): (_LEFT, _RIGHT),
}
_COLOURS = {
    "word": "1",
    "tag": "2",
    "label": "36",
    "head": "1;31",
    "edge": "2",
    "arc": "34",
    "number": "2",
}


def draw_terminal(
    c_tree: ConstituencyTree | None,
    d_tree: DependencyTree | None,
    *,
    width: int | None = None,
    colour: bool = False,
    layout: Layout = "auto",
    layers: Layer | None = None,
) -> str:
    """Draw both trees (or one, where the other is None) in at most `width` columns where that is possible.

    Without a `width`, the terminal's is used. `colour` adds ANSI colours. The layout "wide" has words side by side,
    "indented" (and "tall", the same here) one word per line, "auto" is "wide" where that fits. `layers` draws one of
    the two trees, as in `to_svg`.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays) (ADVP (RB here))))")
    >>> d = DependencyTree([2, 0, 2], ["nsubj", "root", "advmod"], c.words)
    >>> print(draw_terminal(c, d, width=80))
             S
      ╭──────┨
      │      VP
      │      ┠───────╮
      NP     ┃      ADVP
      ┃      ┃       ┃
    Logic  plays    here
      NN    VBZ      RB
      ▲     ╷▲╷      ▲
      ╰nsubj╯│╰advmod╯
            root
    """
    picture = arrange(c_tree, d_tree, layers)
    available = shutil.get_terminal_size().columns if width is None else width
    canvas = (
        _wide(picture, available if layout == "auto" else inf)
        if "wide" in layouts(layout)
        else None
    )
    return (canvas or _tall(picture, available)).text(colour)


class _Canvas:
    """A grid of cells that hold a piece of text or lines."""

    def __init__(self) -> None:
        self.texts: dict[tuple[int, int], tuple[str, str]] = {}
        self.lines: dict[tuple[int, int], int] = {}
        self.kinds: dict[tuple[int, int], str] = {}
        self.rows = 0

    def write(self, row: int, column: int, text: str, kind: str) -> int:
        """Write text and return the column after it."""
        self.rows = max(self.rows, row + 1)
        for cluster, size in _clusters(text):
            self.texts[row, column] = cluster, kind
            for covered in range(column + 1, column + size):
                self.texts[row, covered] = "", kind
            column += size
        return column

    def line(self, *points: tuple[int, int], kind: str) -> None:
        """A line through the middles of cells, given by row and column; one to a head is heavy and wins over others."""
        for (row, column), end in pairwise(points):
            down, right = _sign(end[0] - row), _sign(end[1] - column)
            while (row, column) != end:
                ahead, back = _DIRECTIONS[down, right]
                self._mark((row, column), ahead, kind)
                row, column = row + down, column + right
                self._mark((row, column), back, kind)

    def _mark(self, place: tuple[int, int], direction: int, kind: str) -> None:
        self.rows = max(self.rows, place[0] + 1)
        cell = self.lines.get(place, 0)
        old = cell // direction % 3
        self.lines[place] = cell + (max(old, 2 if kind == "head" else 1) - old) * direction
        if kind == "head" or place not in self.kinds:
            self.kinds[place] = kind

    def text(self, colour: bool) -> str:
        """The drawing, without spaces at the ends of lines."""
        rows: dict[int, list[int]] = {}
        for row, column in {**self.lines, **self.texts}:
            rows.setdefault(row, []).append(column)
        return "\n".join(
            self._row(row, sorted(rows.get(row, ())), colour) for row in range(self.rows)
        )

    def _row(self, row: int, filled: list[int], colour: bool) -> str:
        parts: list[str] = []
        end, current = 0, ""
        for column in filled:
            if (row, column) in self.texts:
                piece, kind = self.texts[row, column]
            else:
                piece, kind = _BOXES[self.lines[row, column]], self.kinds[row, column]
            gap = " " * (column - end)
            if colour and kind != current:
                # colours end before the gap, so that nothing is drawn under spaces
                parts.append(
                    ("\x1b[0m" if current else "") + gap + f"\x1b[{_COLOURS[kind]}m" + piece
                )
                current = kind
            else:
                parts.append(gap + piece)
            end = column + 1
        return "".join(parts) + ("\x1b[0m" if colour and current else "")


def _clusters(text: str) -> list[tuple[str, int]]:
    """Text in pieces that take columns, each with what takes none behind it."""
    pieces: list[tuple[str, int]] = []
    for end in range(1, len(text) + 1):
        size = columns(text[:end]) - sum(size for _, size in pieces) if not text.isascii() else 1
        if pieces and not (size and pieces[-1][1]):
            pieces[-1] = pieces[-1][0] + text[end - 1], pieces[-1][1] + size
        else:
            pieces.append((text[end - 1], size))
    return pieces


def _isolated(word: str) -> str:
    """A word of a right-to-left script between marks that keep terminals from turning the line round."""
    turned = any(unicodedata.bidirectional(character) in ("R", "AL") for character in word)
    return f"\u200e{word}\u200e" if turned else word


def _wide(picture: Picture, available: float) -> _Canvas | None:
    """The drawing with words side by side; None where it is too wide."""
    centres, total = picture.spread(
        measure=lambda _, text: columns(text),
        least=[3 if picture.arcs else 1] * len(picture.words),
        apart=lambda arc: columns(arc.relation) + 2,
        middle=lambda size: (size - 1) // 2,
        gap=1,
    )
    if total > available:
        return None
    rtl = is_right_to_left(picture.words)
    if rtl:
        centres = [total - 1 - centre for centre in centres]
    canvas = _Canvas()
    words_row = 2 * picture.levels
    rows = [words_row - 2 * one.level for one in picture.constituents]
    anchors = [int(anchor) for anchor in picture.anchors(centres)]
    for row, anchor, one in zip(rows, anchors, picture.constituents, strict=True):
        _centred(canvas, row, anchor, one.label or "∅", "label", rtl)
    for parent, child, word, spine in picture.edges():
        if parent >= 0:
            row, column = (words_row, centres[word - 1]) if word else (rows[child], anchors[child])
            above, start = rows[parent], anchors[parent]
            turns = (above, start), (above + 1, start), (above + 1, column), (row, column)
            canvas.line(*turns, kind="head" if spine else "edge")
    for centre, form, tag in zip(centres, picture.words, picture.tags, strict=True):
        _centred(canvas, words_row, centre, _isolated(form), "word", rtl)
        _centred(canvas, words_row + 1, centre, tag, "tag", rtl)
    tagged = any(picture.tags)
    for arc in picture.arcs:
        _draw_arc(canvas, words_row + 1 + tagged, arc, centres)
    return canvas


def _centred(
    canvas: _Canvas, row: int, centre: int, text: str, kind: str, rtl: bool = False
) -> None:
    """Write text around a column; of an even number of columns, one more lies behind it than before it."""
    before = columns(text) // 2 if rtl else (columns(text) - 1) // 2
    canvas.write(row, max(0, centre - before), text, kind)


def _draw_arc(canvas: _Canvas, row: int, arc: Arc, centres: list[int]) -> None:
    column, bottom = centres[arc.modifier - 1], row + arc.level
    if not arc.head:
        canvas.line((row, column), (bottom, column), kind="arc")
        _centred(canvas, bottom, column, arc.relation or "root", "arc")
    else:
        start = centres[arc.head - 1]
        start += _sign(column - start)
        canvas.line((row, start), (bottom, start), (bottom, column), (row, column), kind="arc")
        left, right = sorted((column, start))
        room = right - left - 1 - columns(arc.relation)
        canvas.write(bottom, left + 1 + room // 2, arc.relation, "arc")
    canvas.write(row, column, "▲", "arc")


def _tall(picture: Picture, available: int) -> _Canvas:
    """The drawing with one word per line: constituents to the left, arcs to the right."""
    canvas = _Canvas()
    rows, edge = _indented(picture, canvas)
    digits = len(str(len(picture.words)))
    column = edge + 2
    ends = []
    for arc in picture.arcs:
        row = rows[arc.modifier - 1]
        end = canvas.write(row, column, str(arc.modifier).rjust(digits), "number") + 1
        end = canvas.write(row, end, f"{'◂' if arc.head else '◆'} {arc.relation}".rstrip(), "arc")
        ends.append(canvas.write(row, end + 1, str(arc.head), "number") if arc.head else end)
    start = max(ends, default=0)
    for arc in picture.arcs if start + 2 * picture.depth + 1 <= available else ():
        if arc.head:
            bend = start + 2 * arc.level
            (at, end), (head, head_end) = (
                (rows[w - 1], ends[w - 1] + 1) for w in (arc.modifier, arc.head)
            )
            canvas.line((at, end), (at, bend), (head, bend), (head, head_end), kind="arc")
    return canvas


def _indented(picture: Picture, canvas: _Canvas) -> tuple[list[int], int]:
    """Draw the constituents as an indented list; the row of each word and the first column free in all rows."""
    rows = [0] * len(picture.words)
    places: dict[int, tuple[int, int]] = {}  # of each constituent's label
    edge = 0
    for row, line in enumerate(picture.lines()):
        column = 0
        if line.parent >= 0:
            top, trunk = places[line.parent]
            column = trunk + 2
            canvas.line(
                (top, trunk), (row, trunk), (row, column), kind="head" if line.spine else "edge"
            )
        for place, position in enumerate(line.constituents):
            one = picture.constituents[position]
            places[position] = row, column
            column = canvas.write(row, column, one.label or "∅", "label")
            below = line.constituents[place + 1 :]
            if below or line.word:
                head = picture.constituents[below[0]].head if below else line.word
                kind = "head" if 0 < head == one.head else "edge"
                canvas.line((row, column - 1), (row, column + 2), kind=kind)
                column += 2
        if line.word:
            rows[line.word - 1] = row
            column = canvas.write(row, column, _isolated(picture.words[line.word - 1]), "word")
            if picture.tags[line.word - 1]:
                column = canvas.write(row, column + 1, picture.tags[line.word - 1], "tag")
        edge = max(edge, column)
    return rows, edge


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
