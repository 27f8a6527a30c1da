"""One SVG of a sentence: constituents above the words, dependency arcs below them.

Plain SVG text, no drawing library: a picture is a few hundred lines and boxes, and the page, the notebook
and the README need no more than a browser. Colours are CSS variables with a light and a dark set; whoever
embeds the picture may set `--arcspan-ink`, `--arcspan-muted`, `--arcspan-line`, `--arcspan-head`,
`--arcspan-arc` and `--arcspan-paper`. Colours stand in attributes too, for programs that know no variables.
"""

from __future__ import annotations

from typing import Literal

from arcspan.rendering.elements import (
    BLUE,
    CORNER,
    HEAD,
    INK,
    LABEL,
    MARGIN,
    MUTED,
    RELATION,
    SPINE,
    TAG,
    WORD,
    Drawing,
    Ports,
    number,
    text,
    width,
)
from arcspan.rendering.layout import Arc, Confidence, Constituent, Picture, arrange
from arcspan.rendering.tall import Tall
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree

GAP = 12.0  # between columns
PITCH = 36.0  # from one level of constituents to the next
ARC_PITCH = 19.0
LONG = 300.0  # an arc whose ends are not seen together


def to_svg(
    c_tree: ConstituencyTree | None,
    d_tree: DependencyTree | None,
    *,
    lexical: LexicalTree | None = None,
    confidence: Confidence | None = None,
    ids: bool = True,
    layout: Literal["wide", "tall"] = "wide",
) -> str:
    """Draw both trees of a sentence (or one, where the other is None) as one SVG document.

    The path from each constituent to its head word is a thick line, with the head word in small type under
    the label. With `ids`, elements say what they are: groups `.constituent` carry data-span="i,j",
    data-label and data-head, `.word` carry data-word, data-tag and data-head, `.arc` carry data-word,
    data-head and data-label, and all of them data-confidence where `confidence` is given; what is less
    probable than one half is dashed or dotted. `lexical` overrules `d_tree` on which words are heads.

    The layout "tall" has one word a line, constituents to its left and arcs to its right: for long sentences
    on narrow pages.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> svg = to_svg(c, DependencyTree([2, 0], ["nsubj", "root"], c.words))
    >>> 'data-span="0,1" data-label="NP" data-head="1"' in svg
    True
    """
    drawing = {"wide": Wide, "tall": Tall}[layout]
    return drawing(arrange(c_tree, d_tree, lexical), confidence, ids).svg()


class Wide(Drawing):
    """Words side by side, constituents above them, arcs below.

    Columns are computed from left to right and turned round at the end where the script runs the other way.
    """

    def __init__(self, picture: Picture, confidence: Confidence | None, ids: bool) -> None:
        super().__init__(picture, confidence, ids)
        centres, self.width = _columns(picture, self.ports)
        self.centres = [self.width - x for x in centres] if self.rtl else centres
        self.words_y = MARGIN + picture.levels * PITCH + WORD
        self.arcs_y = self.words_y + (TAG + 9 if any(picture.tags) else 5)
        self.height = self.arcs_y + (picture.depth * ARC_PITCH + 14 if picture.arcs else 0) + MARGIN
        self.anchors = [
            self.x(one.head) if one.head else (self.x(one.i + 1) + self.x(one.j)) / 2
            for one in picture.constituents
        ]

    def x(self, word: int) -> float:
        """The middle of a word's column (words are 1..n)."""
        return self.centres[word - 1]

    def label_y(self, level: int) -> float:
        """The baseline of the labels of a level."""
        return self.words_y - WORD - level * PITCH + LABEL

    def edge_to_constituent(self, position: int) -> str:
        """Down from the parent, along, and down to the label."""
        child = self.picture.constituents[position]
        return self._edge(child.parent, self.anchors[position], self.label_y(child.level) - LABEL)

    def edge_to_word(self, word: int, parent: int) -> str:
        """Down from the constituent, along, and down to the word."""
        return self._edge(parent, self.x(word), self.words_y - WORD)

    def _edge(self, parent: int, x: float, top: float) -> str:
        above = self.picture.constituents[parent]
        from_x = self.anchors[parent]
        from_y = self.label_y(above.level) + (HEAD + 5 if _shows_head(above) else 4)
        if abs(from_x - x) < 0.05:
            return f"M{number(x)} {number(from_y)}V{number(top)}"
        return f"M{number(from_x)} {number(from_y)}V{number(from_y + 4)}{_elbow(from_x, from_y + 4, x, top)}"

    def constituent_parts(self, position: int, one: Constituent) -> list[str]:
        """The label, and the head word under it unless that is the only word."""
        x, y = self.anchors[position], self.label_y(one.level)
        parts = [text("label", x, y, LABEL, one.label or "∅", INK)]
        if _shows_head(one):
            head = self.picture.words[one.head - 1]
            parts.append(text("head", x, y + HEAD + 1, HEAD, head, SPINE, rtl=self.rtl))
        return parts

    def word_parts(self, position: int, word: str, tag: str) -> list[str]:
        """The word, and its tag under it."""
        parts = [text("form", self.x(position), self.words_y, WORD, word, INK, rtl=self.rtl)]
        if tag:
            parts.append(text("tag", self.x(position), self.words_y + TAG + 4, TAG, tag, MUTED))
        return parts

    def arc_parts(self, arc: Arc, attributes: str) -> list[str]:
        """Down from the head, along, up to the modifier, with the relation on the way."""
        x, y = self._port(arc, arc.modifier), self.arcs_y + arc.level * ARC_PITCH
        if arc.head:
            from_x = self._port(arc, arc.head)
            path = f"M{number(from_x)} {number(self.arcs_y)}{_arch(from_x, x, y, self.arcs_y + 4)}"
            label = text("relation", _label_x(arc, from_x, x), y + 3.5, RELATION, arc.relation, BLUE)
        else:
            path = f"M{number(x)} {number(y)}V{number(self.arcs_y + 4)}"
            label = text("relation", x, y + RELATION, RELATION, arc.relation, BLUE)
        tip = f"M{number(x)} {number(self.arcs_y - 2)}l-3.5 7h7z"
        lines = [f'<path{attributes} d="{path}"/>', f'<path class="tip" fill="{BLUE}" d="{tip}"/>']
        return [*lines, label] if arc.relation else lines

    def _port(self, arc: Arc, word: int) -> float:
        """Where an arc meets a word."""
        offset = self.ports.offsets[arc.modifier, word]
        return self.x(word) + (-offset if self.rtl else offset)


def _shows_head(one: Constituent) -> bool:
    return one.head > 0 and one.j - one.i > 1


def _label_x(arc: Arc, from_x: float, x: float) -> float:
    """The middle of a short arc; on a long one near the modifier, so that one need not search for it."""
    if abs(x - from_x) <= LONG:
        return (from_x + x) / 2
    side = 1 if from_x > x else -1
    return x + side * (40 + width(arc.relation, RELATION) / 2)


def _columns(picture: Picture, ports: Ports) -> tuple[list[float], float]:
    """The middle of each word's column from the left, and the whole width.

    A column is as wide as the widest thing in it, and two words that an arc joins are as far apart as the
    arc's relation is long.
    """
    n = len(picture.words)
    widths = [
        max(width(word, WORD), width(tag, TAG), ports.widths[position])
        for position, (word, tag) in enumerate(zip(picture.words, picture.tags, strict=True), 1)
    ]
    for one in picture.constituents:
        middle = one.head or (one.i + 1 + one.j) // 2
        widths[middle - 1] = max(widths[middle - 1], width(one.label, LABEL))
    ending: dict[int, list[tuple[int, float]]] = {}
    for arc in picture.arcs:
        if arc.head:
            left, right = sorted((arc.head, arc.modifier))
            shift = ports.offsets[arc.modifier, left] - ports.offsets[arc.modifier, right]
            ending.setdefault(right, []).append((left, width(arc.relation, RELATION) + 22 + shift))
        else:
            widths[arc.modifier - 1] = max(widths[arc.modifier - 1], width(arc.relation, RELATION))
    centres: list[float] = []
    for position in range(1, n + 1):
        nearest = centres[-1] + (widths[position - 2] + widths[position - 1]) / 2 + GAP if centres else 0.0
        for left, apart in ending.get(position, ()):
            nearest = max(nearest, centres[left - 1] + apart)
        centres.append(nearest)
    if not centres:
        return [], 2 * MARGIN
    start = MARGIN + widths[0] / 2
    return [start + x for x in centres], start + centres[-1] + widths[-1] / 2 + MARGIN


def _elbow(x: float, y: float, to_x: float, to_y: float) -> str:
    """Along y to to_x, round the corner, down to to_y."""
    side = 1 if to_x > x else -1
    radius = min(CORNER, abs(to_x - x), abs(to_y - y))
    return (
        f"H{number(to_x - side * radius)}Q{number(to_x)} {number(y)} {number(to_x)} {number(y + radius)}"
        f"V{number(to_y)}"
    )


def _arch(x: float, to_x: float, y: float, top: float) -> str:
    """Down to y, along to to_x, up to top."""
    side = 1 if to_x > x else -1
    radius = min(CORNER + 2, abs(to_x - x) / 2)
    return (
        f"V{number(y - radius)}Q{number(x)} {number(y)} {number(x + side * radius)} {number(y)}"
        f"H{number(to_x - side * radius)}Q{number(to_x)} {number(y)} {number(to_x)} {number(y - radius)}"
        f"V{number(top)}"
    )
