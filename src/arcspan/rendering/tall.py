"""The SVG with one word per line: constituents to its left, its relation and arcs to its right.

Sixty words side by side are as wide as three screens; below each other they fill a page. Two
layouts share the right-hand side. `TallDrawing` is the wide one rotated by 90 degrees, with a
column for each level of constituents. `IndentedDrawing` is the list that terminals show:
constituents have lines of their own, and nested ones are slightly indented, so that it fits a
phone. Where there is no room for arcs, heads are given by number.
"""

from __future__ import annotations

from collections.abc import Iterable

from arcspan.rendering.elements import LABEL, MARGIN, RELATION, TAG, WORD, Drawing, width
from arcspan.rendering.layout import Constituent, PictureArc

# Between columns, between labels of two levels, and between the constituents of a line.
GAP = 14.0
LEVEL_GAP = 22.0
CHAIN_GAP = 10.0


class TallDrawing(Drawing):
    """A column of labels for each level of constituents."""

    turned = True
    arc_pitch = 11.0
    root = 14.0
    # From one line to the next.
    row = 25.0
    margin = MARGIN

    def arrange(self) -> None:
        """Compute columns of labels, one for each level, of words, tags and relations, and the arcs
        behind them.
        """
        picture = self.picture
        labels: list[list[str]] = [[] for _ in range(picture.levels + 1)]
        for constituent in picture.constituents:
            labels[constituent.level].append(constituent.label)
        # Edges turn right of a level's widest label.
        middles = [0.0] * len(labels)
        bends = [0.0] * len(labels)
        x = self.margin
        for level in range(picture.levels, 0, -1):
            size = _widest(labels[level], LABEL)
            middles[level] = x + size / 2
            bends[level] = x + size + 6
            x += size + LEVEL_GAP
        self.label_xs = [middles[c.level] for c in picture.constituents]
        self.bends = [bends[c.level] for c in picture.constituents]
        self.starts = [
            x_label + width(c.label, LABEL) / 2 + 1
            for x_label, c in zip(self.label_xs, picture.constituents, strict=True)
        ]
        tag_x = x + _widest(picture.words, WORD) + GAP
        self.word_xs = [x] * len(picture.words)
        self.tag_xs = [tag_x] * len(picture.words)
        self.word_centres = self.lines(len(picture.words))
        self.arrange_arcs()

    def lines(self, count: int) -> list[float]:
        """Return the middles of `count` lines, and set the height of the picture."""
        self.height = 2 * self.margin + self.row * count
        self.stripes = [self.margin + self.row * (line + 0.5) for line in range(count)]
        return self.stripes

    def arrange_arcs(self) -> None:
        """Compute the ends of edges, relations right of all words and tags, and arcs behind them."""
        picture = self.picture
        self.ends = [
            x - width(c.label, LABEL) / 2 - 2
            for x, c in zip(self.label_xs, picture.constituents, strict=True)
        ]
        self.word_ends = [x - 4 for x in self.word_xs]
        # The arcs of a word share the height of its line.
        self.port_scales = [
            min(0.8, (self.row - 6) / (size or self.row)) for size in self.arc_widths
        ]
        ends = [x + width(word, WORD) for x, word in zip(self.word_xs, picture.words, strict=True)]
        for tag_x, tag in zip(self.tag_xs, picture.tags, strict=True):
            if tag:
                ends.append(tag_x + width(tag, TAG))
        x = max(ends, default=self.margin - GAP) + GAP
        self.width = x - GAP + self.margin
        if picture.arcs:
            if not self.has_arcs:
                x += width(str(len(picture.words)), TAG) + 6
            self.relations_x = x
            self.arcs_edge = x + _widest(map(self.beside, picture.arcs), RELATION) + 6
            self.width = self.arcs_edge + self.margin
            if self.has_arcs:
                self.width = self.arcs_edge + (picture.depth * self.arc_pitch + 8) + self.margin

    def beside(self, arc: PictureArc) -> str:
        """Return the relation as it is written beside its modifier, with the head's number if no
        arc is drawn.
        """
        return f"{arc.relation} {arc.head}" if arc.head and not self.has_arcs else arc.relation

    def constituent_texts(self, index: int, constituent: Constituent) -> list[str]:
        """Return the label; the thick line leads to the head word."""
        y = self.anchors[index] + LABEL * 0.36
        return [self.text("label", self.label_xs[index], y, constituent.label or "∅")]

    def word_texts(self, position: int, word: str, tag: str) -> list[str]:
        """Return the word, and its tag beside it."""
        x, y = self.word_xs[position - 1], self.word_centres[position - 1]
        # The end of a text that runs from right to left is its left side.
        anchor = "end" if self.rtl else "start"
        texts = [self.text("form", x, y + WORD * 0.34, word, rtl=self.rtl, anchor=anchor)]
        tag_y = y + TAG * 0.36
        if tag:
            texts.append(self.text("tag", self.tag_xs[position - 1], tag_y, tag, anchor="start"))
        if self.picture.arcs and not self.has_arcs:
            number_x = self.relations_x - 6
            texts.append(self.text("tag", number_x, tag_y, str(position), anchor="end"))
        return texts

    def relation(self, arc: PictureArc, at: float, level: float) -> str:
        """Return the relation in the modifier's line, in a column of relations."""
        y = self.word_centres[arc.modifier - 1] + RELATION * 0.36
        return self.text("beside", self.relations_x, y, self.beside(arc), anchor="start")


class IndentedDrawing(TallDrawing):
    """A list as terminals show it: a line for each word and for each constituent of several
    children.
    """

    row = 22.0
    margin = 8.0
    drop = 8.0

    def arrange(self) -> None:
        """Compute arcs and a wide indentation if there is room, less of both otherwise."""
        for indent, has_arcs in ((18.0, True), (18.0, False), (14.0, False), (10.0, False)):
            self.has_arcs = has_arcs
            self._arrange_list(indent)
            self.arrange_arcs()
            if self.width <= self.look.width:
                break

    def _arrange_list(self, indent: float) -> None:
        picture = self.picture
        zeros = [0.0] * len(picture.constituents)
        self.anchors = zeros.copy()
        self.label_xs = zeros.copy()
        self.starts = zeros.copy()
        self.bends = zeros
        self.word_centres = [0.0] * len(picture.words)
        self.word_xs = self.word_centres.copy()
        self.tag_xs = self.word_centres.copy()
        lines = picture.lines()
        for y, line in zip(self.lines(len(lines)), lines, strict=True):
            x = self.bends[line.parent] + 0.7 * indent if line.parent >= 0 else self.margin
            for index in line.constituents:
                size = width(picture.constituents[index].label or "∅", LABEL)
                self.anchors[index] = y
                self.label_xs[index] = x + size / 2
                self.starts[index] = x + size + 1
                self.bends[index] = x + 0.3 * indent
                x += size + CHAIN_GAP
            if line.word:
                index = line.word - 1
                self.word_centres[index] = y
                self.word_xs[index] = x
                self.tag_xs[index] = x + width(picture.words[index], WORD) + 5
            elif line.constituents:
                # Edges to several children begin at the bend.
                index = line.constituents[-1]
                self.starts[index] = self.bends[index]


def _widest(contents: Iterable[str], size: float) -> float:
    return max((width(content, size) for content in contents), default=0.0)
