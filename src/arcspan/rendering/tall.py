"""The SVG turned by a quarter: one word a line, constituents to its left, arcs to its right.

Sixty words side by side are as wide as three screens; one below the other they are a page. Relations stand
in a column beside the tags, so that arcs need no room for text.
"""

from __future__ import annotations

from collections.abc import Iterator

from arcspan.rendering.elements import (
    BLUE,
    CORNER,
    INK,
    LABEL,
    MARGIN,
    MUTED,
    RELATION,
    TAG,
    WORD,
    Drawing,
    number,
    text,
    width,
)
from arcspan.rendering.layout import Arc, Confidence, Constituent, Picture

ROW = 25.0  # from one word to the next
GAP = 14.0  # between columns
LEVEL_GAP = 22.0  # between labels of two levels
ARC_PITCH = 11.0


class Tall(Drawing):
    """One word a line."""

    def __init__(self, picture: Picture, confidence: Confidence | None, ids: bool) -> None:
        super().__init__(picture, confidence, ids)
        widths = [0.0] * (picture.levels + 1)  # of each level's labels; level 0 are the words
        for one in picture.constituents:
            widths[one.level] = max(widths[one.level], width(one.label, LABEL))
        self.middles = [0.0] * len(widths)  # where the labels of a level are
        self.bends = [0.0] * len(widths)  # where its edges turn
        x = MARGIN
        for level in range(picture.levels, 0, -1):
            self.middles[level] = x + widths[level] / 2
            self.bends[level] = x + widths[level] + 6
            x += widths[level] + LEVEL_GAP
        self.words_x = x
        self.tags_x = x + max((width(word, WORD) for word in picture.words), default=0.0) + GAP
        self.relations_x = self.tags_x + max(
            (width(tag, TAG) + GAP for tag in picture.tags if tag), default=0.0
        )
        self.arcs_x = (
            self.relations_x + max((width(a.relation, RELATION) for a in picture.arcs), default=0.0) + 6
        )
        self.width = self.arcs_x + (picture.depth * ARC_PITCH + 8 if picture.arcs else 0) + MARGIN
        self.height = 2 * MARGIN + ROW * len(picture.words)
        self.anchors = [
            self.y(one.head) if one.head else (self.y(one.i + 1) + self.y(one.j)) / 2
            for one in picture.constituents
        ]

    def y(self, word: int) -> float:
        """The middle of a word's line (words are 1..n)."""
        return MARGIN + ROW * (word - 0.5)

    def background(self) -> Iterator[str]:
        """Every other line shaded, for the eye to keep to."""
        yield from super().background()
        for word in range(1, len(self.picture.words) + 1, 2):
            top, size = number(self.y(word) - ROW / 2), f'width="{number(self.width)}" height="{number(ROW)}"'
            yield f'<rect class="stripe" y="{top}" {size} fill="#1b1f24" opacity=".04"/>'

    def edge_to_constituent(self, position: int) -> str:
        """Right from the parent, along, and right to the label."""
        child = self.picture.constituents[position]
        left = self.middles[child.level] - width(child.label, LABEL) / 2 - 2
        return self._edge(child.parent, left, self.anchors[position])

    def edge_to_word(self, word: int, parent: int) -> str:
        """Right from the constituent, along, and right to the word."""
        return self._edge(parent, self.words_x - 4, self.y(word))

    def _edge(self, parent: int, x: float, y: float) -> str:
        above = self.picture.constituents[parent]
        from_x = self.middles[above.level] + width(above.label, LABEL) / 2 + 1
        from_y = self.anchors[parent]
        start = f"M{number(from_x)} {number(from_y)}"
        if abs(from_y - y) < 0.05:
            return f"{start}H{number(x)}"
        # all edges of a level bend in one line, right of its widest label
        bend = self.bends[above.level]
        side = 1 if y > from_y else -1
        return (
            f"{start}H{number(bend)}V{number(y - side * CORNER)}"
            f"Q{number(bend)} {number(y)} {number(bend + CORNER)} {number(y)}H{number(x)}"
        )

    def constituent_parts(self, position: int, one: Constituent) -> list[str]:
        """The label; the thick line leads to the head word in the same line."""
        y = self.anchors[position] + LABEL * 0.36
        return [text("label", self.middles[one.level], y, LABEL, one.label or "∅", INK)]

    def word_parts(self, position: int, word: str, tag: str) -> list[str]:
        """The word, and its tag beside it."""
        y = self.y(position)
        # the end of a text that runs from right to left is its left side
        anchor = "end" if self.rtl else "start"
        parts = [text("form", self.words_x, y + WORD * 0.34, WORD, word, INK, rtl=self.rtl, anchor=anchor)]
        if tag:
            parts.append(text("tag", self.tags_x, y + TAG * 0.36, TAG, tag, MUTED, anchor="start"))
        return parts

    def arc_parts(self, arc: Arc, attributes: str) -> list[str]:
        """Right from the head, along, back to the modifier; the relation stands in the modifier's line."""
        y = self._port(arc, arc.modifier)
        label = text(
            "beside",
            self.relations_x,
            self.y(arc.modifier) + RELATION * 0.36,
            RELATION,
            arc.relation,
            BLUE,
            anchor="start",
        )
        x = self.arcs_x + arc.level * ARC_PITCH
        tip = f'<path class="tip" fill="{BLUE}" d="M{number(self.arcs_x - 2)} {number(y)}l7 -3.5v7z"/>'
        if not arc.head:
            return [
                f'<path{attributes} d="M{number(self.arcs_x + 14)} {number(y)}H{number(self.arcs_x + 4)}"/>',
                tip,
                label,
            ]
        from_y = self._port(arc, arc.head)
        radius = min(CORNER, abs(y - from_y) / 2)
        side = radius if y > from_y else -radius
        path = (
            f"M{number(self.arcs_x)} {number(from_y)}H{number(x - radius)}"
            f"Q{number(x)} {number(from_y)} {number(x)} {number(from_y + side)}V{number(y - side)}"
            f"Q{number(x)} {number(y)} {number(x - radius)} {number(y)}H{number(self.arcs_x + 4)}"
        )
        return [f'<path{attributes} d="{path}"/>', tip, label]

    def _port(self, arc: Arc, word: int) -> float:
        """Where an arc meets a word's line: the ports of a column, pressed into a line's height."""
        room = ROW - 6
        press = min(0.8, room / self.ports.widths[word]) if self.ports.widths[word] else 1.0
        return self.y(word) + self.ports.offsets[arc.modifier, word] * press
