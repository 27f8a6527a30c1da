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
    Layer,
    Layout,
    Picture,
    PictureArc,
    arrange,
    columns,
    is_right_to_left,
    layouts,
)
from arcspan.trees import ConstituencyTree, DependencyTree

# Characters by the weight (0 none, 1 light, 2 heavy) of their lines up, down, left, right: digits in base 3.
_BOXES = " ╶╺╴─╼╸╾━╷╭┍╮┬┮┑┭┯╻┎┏┒┰┲┓┱┳╵╰┕╯┴┶┙┵┷│├┝┤┼┾┥┽┿╽┟┢┧╁╆┪╅╈╹┖┗┚┸┺┛┹┻╿┞┡┦╀╄┩╃╇┃┠┣┨╂╊┫╉╋"
_UP = 27
_DOWN = 9
_LEFT = 3
_RIGHT = 1
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
    canvas = None
    if "wide" in layouts(layout):
        canvas = _wide(picture, available if layout == "auto" else inf)
    return (canvas or _tall(picture, available)).text(colour)


Cell = tuple[int, int]
"""The row and the column of a cell."""


class _Canvas:
    """A grid of cells that hold a piece of text or lines; `roles` of cells decide their colours."""

    def __init__(self) -> None:
        self.texts: dict[Cell, str] = {}
        self.lines: dict[Cell, int] = {}
        self.roles: dict[Cell, str] = {}
        self.rows = 0

    def write(self, row: int, column: int, text: str, role: str) -> int:
        """Write text and return the column after it."""
        self.rows = max(self.rows, row + 1)
        for cluster, size in _clusters(text):
            # A wide character covers two cells, of which the second stays empty.
            for piece in [cluster] + [""] * (size - 1):
                self.texts[row, column] = piece
                self.roles[row, column] = role
                column += 1
        return column

    def centre(self, row: int, column: int, text: str, role: str, rtl: bool = False) -> None:
        """Write text around a column; of an even number of columns, one more is behind it than before it."""
        before = columns(text) // 2 if rtl else (columns(text) - 1) // 2
        self.write(row, max(0, column - before), text, role)

    def line(self, *points: Cell, role: str) -> None:
        """Draw a line through the middles of cells; one to a head is heavy and painted over others."""
        for (row, column), (end_row, end_column) in pairwise(points):
            # One of the two is a range of one cell.
            top, bottom = sorted((row, end_row))
            first, last = sorted((column, end_column))
            for y in range(top, bottom):
                self._mark((y, column), _DOWN, role)
                self._mark((y + 1, column), _UP, role)
            for x in range(first, last):
                self._mark((row, x), _RIGHT, role)
                self._mark((row, x + 1), _LEFT, role)

    def _mark(self, cell: Cell, direction: int, role: str) -> None:
        self.rows = max(self.rows, cell[0] + 1)
        boxes = self.lines.get(cell, 0)
        old_weight = boxes // direction % 3
        weight = 2 if role == "head" else 1
        self.lines[cell] = boxes + (max(old_weight, weight) - old_weight) * direction
        # Text stays on top of lines, whatever is drawn first.
        if cell not in self.texts and (role == "head" or cell not in self.roles):
            self.roles[cell] = role

    def text(self, colour: bool) -> str:
        """Return the drawing, without spaces at the ends of lines."""
        filled: list[list[int]] = [[] for _ in range(self.rows)]
        for row, column in sorted(self.roles):
            filled[row].append(column)
        return "\n".join(self._row(row, filled[row], colour) for row in range(self.rows))

    def _row(self, row: int, filled: list[int], colour: bool) -> str:
        line = ""
        end = 0
        current = ""
        for column in filled:
            cell = row, column
            piece = self.texts[cell] if cell in self.texts else _BOXES[self.lines[cell]]
            gap = " " * (column - end)
            if colour and self.roles[cell] != current:
                # Colours end before the gap, so that nothing is drawn under spaces.
                line += "\x1b[0m" if current else ""
                current = self.roles[cell]
                gap += f"\x1b[{_COLOURS[current]}m"
            line += gap + piece
            end = column + 1
        return line + "\x1b[0m" if current else line


def _clusters(text: str) -> list[tuple[str, int]]:
    """Return text in pieces that take columns, each with the characters behind it that take none."""
    if text.isascii():
        return [(character, 1) for character in text]
    pieces: list[tuple[str, int]] = []
    total = 0
    for end in range(1, len(text) + 1):
        size = columns(text[:end]) - total
        total += size
        if pieces and not (size and pieces[-1][1]):
            before, before_size = pieces.pop()
            pieces.append((before + text[end - 1], before_size + size))
        else:
            pieces.append((text[end - 1], size))
    return pieces


def _isolated(word: str) -> str:
    """Put a right-to-left word between marks that keep terminals from turning the line round."""
    turned = any(unicodedata.bidirectional(character) in ("R", "AL") for character in word)
    return f"\u200e{word}\u200e" if turned else word


def _wide(picture: Picture, available: float) -> _Canvas | None:
    """Draw words side by side; return None if that is too wide."""
    centres, total = picture.spread(
        measure=lambda _, text: columns(text),
        # An arc that begins beside another needs a column on each side.
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
    rows = [words_row - 2 * constituent.level for constituent in picture.constituents]
    anchors = [int(anchor) for anchor in picture.anchors(centres)]
    for row, anchor, constituent in zip(rows, anchors, picture.constituents, strict=True):
        canvas.centre(row, anchor, constituent.label or "∅", "label", rtl)
    for parent, child, word, spine in picture.edges():
        if parent >= 0:
            row, column = (words_row, centres[word - 1]) if word else (rows[child], anchors[child])
            above, start = rows[parent], anchors[parent]
            bends = ((above + 1, start), (above + 1, column))
            role = "head" if spine else "edge"
            canvas.line((above, start), *bends, (row, column), role=role)
    for centre, form, tag in zip(centres, picture.words, picture.tags, strict=True):
        canvas.centre(words_row, centre, _isolated(form), "word", rtl)
        canvas.centre(words_row + 1, centre, tag, "tag", rtl)
    arcs_row = words_row + 2 if any(picture.tags) else words_row + 1
    for arc in picture.arcs:
        _draw_arc(canvas, arcs_row, arc, centres)
    return canvas


def _draw_arc(canvas: _Canvas, row: int, arc: PictureArc, centres: list[int]) -> None:
    column, bottom = centres[arc.modifier - 1], row + arc.level
    if not arc.head:
        canvas.line((row, column), (bottom, column), role="arc")
        canvas.centre(bottom, column, arc.relation or "root", "arc")
    else:
        # Beside the middle of the head, where its own arc ends.
        start = centres[arc.head - 1]
        start += 1 if column > start else -1
        canvas.line((row, start), (bottom, start), (bottom, column), (row, column), role="arc")
        first, last = sorted((column, start))
        free = last - first - 1 - columns(arc.relation)
        canvas.write(bottom, first + 1 + free // 2, arc.relation, "arc")
    canvas.write(row, column, "▲", "arc")


def _tall(picture: Picture, available: int) -> _Canvas:
    """Draw one word per line: constituents to the left, arcs to the right."""
    canvas = _Canvas()
    rows, edge = _draw_list(picture, canvas)
    digits = len(str(len(picture.words)))
    ends = []
    for arc in picture.arcs:
        row = rows[arc.modifier - 1]
        end = canvas.write(row, edge + 2, str(arc.modifier).rjust(digits), "number") + 1
        end = canvas.write(row, end, f"{'◂' if arc.head else '◆'} {arc.relation}".rstrip(), "arc")
        if arc.head:
            end = canvas.write(row, end + 1, str(arc.head), "number")
        ends.append(end)
    start = max(ends, default=0)
    if start + 2 * picture.depth + 1 > available:
        # Without arcs, the numbers of the heads are enough.
        return canvas
    for m, head, _, level in picture.arcs:
        if head:
            row, head_row, bend = rows[m - 1], rows[head - 1], start + 2 * level
            bends = ((row, bend), (head_row, bend))
            canvas.line((row, ends[m - 1] + 1), *bends, (head_row, ends[head - 1] + 1), role="arc")
    return canvas


def _draw_list(picture: Picture, canvas: _Canvas) -> tuple[list[int], int]:
    """Draw the constituents as an indented list; return the row of each word and the first column free in all."""
    rows = [0] * len(picture.words)
    # The cells where the labels of constituents begin.
    label_cells: dict[int, Cell] = {}
    edge = 0
    for row, line in enumerate(picture.lines()):
        column = 0
        if line.parent >= 0:
            top, trunk = label_cells[line.parent]
            column = trunk + 2
            role = "head" if line.spine else "edge"
            canvas.line((top, trunk), (row, trunk), (row, column), role=role)
        head = -1
        for index in line.constituents:
            constituent = picture.constituents[index]
            if index != line.constituents[0]:
                column = _link(canvas, row, column, is_spine=0 < constituent.head == head)
            label_cells[index] = row, column
            column = canvas.write(row, column, constituent.label or "∅", "label")
            head = constituent.head
        if line.word:
            if line.constituents:
                column = _link(canvas, row, column, is_spine=line.word == head)
            rows[line.word - 1] = row
            column = canvas.write(row, column, _isolated(picture.words[line.word - 1]), "word")
            if tag := picture.tags[line.word - 1]:
                column = canvas.write(row, column + 1, tag, "tag")
        edge = max(edge, column)
    return rows, edge


def _link(canvas: _Canvas, row: int, column: int, *, is_spine: bool) -> int:
    """Draw a line from a label to what is next on its line, and return the column where that begins."""
    canvas.line((row, column - 1), (row, column + 2), role="head" if is_spine else "edge")
    return column + 2
