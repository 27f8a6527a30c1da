"""The SVG with one word per line: constituents to its left, its relation and arcs to its right.

Sixty words side by side are as wide as three screens; below each other they fill a page. Two layouts share the
right-hand side. `TallDrawing` is the wide one rotated by 90 degrees, with a column for each level of constituents.
`IndentedDrawing` is the list that terminals show: constituents have lines of their own, and nested ones are slightly
indented, so that it fits a phone. Where there is no room for arcs, heads are given by number.
"""

from __future__ import annotations

from collections.abc import Sequence

from arcspan.rendering.elements import LABEL, MARGIN, RELATION, TAG, WORD, Drawing, width
from arcspan.rendering.layout import Arc, Constituent

GAP = 14.0  # between columns
LEVEL_GAP = 22.0  # between labels of two levels
CHAIN = 10.0  # between the constituents of a line


class TallDrawing(Drawing):
    """A column of labels for each level of constituents."""

    turned = True
    arc_pitch = 11.0
    root = 14.0
    row = 25.0  # from one line to the next
    margin = MARGIN

    def place(self) -> None:
        """Columns of labels, one for each level, of words, tags and relations, and the arcs behind them."""
        picture = self.picture
        levels: list[list[str]] = [[] for _ in range(picture.levels + 1)]
        for one in picture.constituents:
            levels[one.level].append(one.label)
        # Edges turn right of a level's widest label.
        middles, bends = [0.0] * len(levels), [0.0] * len(levels)
        x = self.margin
        for level in range(picture.levels, 0, -1):
            size = _widest(levels[level], LABEL)
            middles[level] = x + size / 2
            bends[level] = x + size + 6
            x += size + LEVEL_GAP
        self.label_xs = [middles[one.level] for one in picture.constituents]
        halves = [width(one.label, LABEL) / 2 for one in picture.constituents]
        self.starts = [
            middle + half + 1 for middle, half in zip(self.label_xs, halves, strict=True)
        ]
        self.bends = [bends[one.level] for one in picture.constituents]
        self.word_xs = [x] * len(picture.words)
        self.tag_xs = [x + _widest(picture.words, WORD) + GAP] * len(picture.words)
        self.places = self.lines(len(picture.words))
        self.place_arcs()

    def lines(self, count: int) -> list[float]:
        """The middles of `count` lines, and the height of them all."""
        self.height = 2 * self.margin + self.row * count
        self.stripes = [self.margin + self.row * (line + 0.5) for line in range(count)]
        return self.stripes

    def place_arcs(self) -> None:
        """What follows from the rest: the ends of edges, relations right of all words and tags, arcs behind them."""
        picture = self.picture
        labels = zip(self.label_xs, picture.constituents, strict=True)
        self.ends = [x - width(one.label, LABEL) / 2 - 2 for x, one in labels]
        self.word_ends = [x - 4 for x in self.word_xs]
        self.pressed = [min(0.8, (self.row - 6) / (size or self.row)) for size in self.arc_room]
        words = zip(self.word_xs, picture.words, self.tag_xs, picture.tags, strict=True)
        after = (
            max(at + width(word, WORD), tag_x + width(tag, TAG) if tag else 0.0) + GAP
            for at, word, tag_x, tag in words
        )
        x = max(after, default=self.margin)
        self.width = x - GAP + self.margin
        if picture.arcs:
            if not self.has_arcs:
                x += width(str(len(picture.words)), TAG) + 6
            self.relations_x = x
            self.arcs_edge = x + _widest([self.beside(arc) for arc in picture.arcs], RELATION) + 6
            self.width = (
                self.arcs_edge + (picture.depth * self.arc_pitch + 8) * self.has_arcs + self.margin
            )

    def beside(self, arc: Arc) -> str:
        """The relation as it is written beside its modifier, with the head's number where no arc is drawn."""
        return f"{arc.relation} {arc.head}" if arc.head and not self.has_arcs else arc.relation

    def constituent_texts(self, position: int, one: Constituent) -> list[str]:
        """The label; the thick line leads to the head word."""
        y = self.anchors[position] + LABEL * 0.36
        return [self.text("label", self.label_xs[position], y, one.label or "∅")]

    def word_texts(self, position: int, word: str, tag: str) -> list[str]:
        """The word, and its tag beside it."""
        x, y = self.word_xs[position - 1], self.places[position - 1]
        # the end of a text that runs from right to left is its left side
        anchor = "end" if self.rtl else "start"
        parts = [self.text("form", x, y + WORD * 0.34, word, rtl=self.rtl, anchor=anchor)]
        if tag:
            parts.append(
                self.text("tag", self.tag_xs[position - 1], y + TAG * 0.36, tag, anchor="start")
            )
        if self.picture.arcs and not self.has_arcs:
            parts.append(
                self.text("tag", self.relations_x - 6, y + TAG * 0.36, str(position), anchor="end")
            )
        return parts

    def relation(self, arc: Arc, at: float, level: float) -> str:
        """In the modifier's line, in a column of their own."""
        y = self.places[arc.modifier - 1] + RELATION * 0.36
        return self.text("beside", self.relations_x, y, self.beside(arc), anchor="start")


class IndentedDrawing(TallDrawing):
    """A list as terminals show it: a line for each word and for each constituent of several children."""

    row = 22.0
    margin = 8.0
    drop = 8.0

    def place(self) -> None:
        """Arcs and a wide indentation where there is room, less of both where there is not."""
        for step, self.has_arcs in ((18.0, True), (18.0, False), (14.0, False), (10.0, False)):
            self._place_list(step)
            self.place_arcs()
            if self.width <= self.look.width:
                break

    def _place_list(self, step: float) -> None:
        picture, lines = self.picture, self.picture.lines()
        self.anchors = [0.0] * len(picture.constituents)
        self.label_xs, self.starts, self.bends = ([0.0] * len(self.anchors) for _ in range(3))
        self.places, self.word_xs, self.tag_xs = ([0.0] * len(picture.words) for _ in range(3))
        for y, line in zip(self.lines(len(lines)), lines, strict=True):
            x = self.bends[line.parent] + 0.7 * step if line.parent >= 0 else self.margin
            for position in line.constituents:
                size = width(picture.constituents[position].label or "∅", LABEL)
                self.anchors[position], self.label_xs[position] = y, x + size / 2
                self.starts[position] = x + size + 1
                self.bends[position] = x + 0.3 * step
                x += size + CHAIN
            if line.word:
                self.places[line.word - 1], self.word_xs[line.word - 1] = y, x
                self.tag_xs[line.word - 1] = x + width(picture.words[line.word - 1], WORD) + 5
            elif line.constituents:
                self.starts[line.constituents[-1]] = self.bends[line.constituents[-1]]


def _widest(contents: Sequence[str], size: float) -> float:
    return max((width(content, size) for content in contents), default=0.0)
