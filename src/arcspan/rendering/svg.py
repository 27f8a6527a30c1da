"""One SVG of a sentence: constituents above the words, dependency arcs below them.

Plain SVG text without a drawing library: a picture has a few hundred lines and boxes, and needs nothing but a browser.
Attributes carry sizes and colours, so that all programs draw the same picture. In browsers colours are also CSS
variables with a light and a dark set: a page that embeds the picture may set `--arcspan-ink`, `--arcspan-muted`,
`--arcspan-line`, `--arcspan-head`, `--arcspan-arc` and `--arcspan-paper`, and for lower probabilities
`--arcspan-likely`, `--arcspan-doubtful` and `--arcspan-unsure`.
"""

from __future__ import annotations

from arcspan.rendering.elements import (
    HEAD,
    LABEL,
    MARGIN,
    RELATION,
    SIZES,
    TAG,
    WORD,
    Colours,
    Drawing,
    Look,
)
from arcspan.rendering.elements import width as width_of
from arcspan.rendering.layout import Arc, Confidence, Constituent, Layer, Layout, arrange, layouts
from arcspan.rendering.tall import IndentedDrawing, TallDrawing
from arcspan.trees import ConstituencyTree, DependencyTree

PITCH = 36.0  # from one level of constituents to the next
LONG = 300.0  # the length from which a relation is written near the modifier


def to_svg(
    c_tree: ConstituencyTree | None,
    d_tree: DependencyTree | None,
    *,
    layers: Layer | None = None,
    layout: Layout = "auto",
    width: float = 1200.0,
    confidence: Confidence | None = None,
    heads: bool = True,
    colours: Colours = "auto",
) -> str:
    """Draw both trees of a sentence (or one, where the other is None) as one SVG document.

    layers      "constituency" or "dependency" to draw one of the two trees
    layout      "wide": words side by side; "tall": one word per line, constituents to its left and arcs to its
                right; "indented": a list of words and constituents for narrow pages; "auto": the first of them
                that is not wider than `width`
    confidence  `Parse.confidence`, to show in colours how probable constituents and arcs are, with a legend
    heads       show the head of every constituent: a thick line to it, and the word under the label
    colours     "auto" follows the page and its dark mode, "light" stays as it is, "black" is black and white

    For scripts, groups `.constituent` carry data-span="i,j", data-label and data-head, `.word` data-word, data-tag and
    data-head, `.arc` data-word, data-head and data-label, all of them data-confidence where it is known.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> svg = to_svg(c, DependencyTree([2, 0], ["nsubj", "root"], c.words))
    >>> 'data-span="0,1" data-label="NP" data-head="1"' in svg
    True
    """
    look = Look(width, confidence, heads, colours)
    picture = arrange(c_tree, d_tree, layers)
    for name in layouts(layout):
        drawing = DRAWINGS[name](picture, look)
        if drawing.width <= width:
            break
    return drawing.svg()


class WideDrawing(Drawing):
    """Words side by side, constituents above them, arcs below.

    Columns are computed from left to right and turned round at the end where the script runs the other way.
    """

    arc_pitch = 19.0

    def place(self) -> None:
        """Columns as wide as their contents, rows of constituents, words, tags and arcs."""
        picture = self.picture

        def apart(arc: Arc) -> float:
            left, right = (
                self.offsets[arc.modifier, end] for end in sorted((arc.head, arc.modifier))
            )
            return width_of(arc.relation, RELATION) + 22 + left - right

        places, total = picture.spread(
            measure=lambda kind, content: width_of(content, SIZES[kind]),
            least=self.arc_room,
            apart=apart,
            middle=lambda size: size / 2,
            gap=12.0,
        )
        self.width = total + 2 * MARGIN
        self.places = [self.width - MARGIN - x if self.rtl else MARGIN + x for x in places]
        self.words_y = MARGIN + picture.levels * PITCH + WORD
        self.ys = [self.words_y - WORD - one.level * PITCH + LABEL for one in picture.constituents]
        self.ends = [y - LABEL for y in self.ys]
        self.starts = [
            y + (HEAD + 5 if self._shows_head(one) else 4)
            for y, one in zip(self.ys, picture.constituents, strict=True)
        ]
        self.bends = [start + 4 for start in self.starts]
        self.word_ends = [self.words_y - WORD] * len(picture.words)
        self.pressed = [-1.0 if self.rtl else 1.0] * len(picture.words)
        self.arcs_edge = self.words_y + (TAG + 9 if any(picture.tags) else 5)
        self.height = (
            self.arcs_edge + (picture.depth * self.arc_pitch + 14 if picture.arcs else 0) + MARGIN
        )

    def _shows_head(self, one: Constituent) -> bool:
        return self.look.heads and one.head > 0 and one.j - one.i > 1

    def constituent_texts(self, position: int, one: Constituent) -> list[str]:
        """The label, and the head word under it unless that is the only word."""
        x, y = self.anchors[position], self.ys[position]
        head = self.picture.words[one.head - 1]
        below = (
            [self.text("head", x, y + HEAD + 1, head, rtl=self.rtl)]
            if self._shows_head(one)
            else []
        )
        return [self.text("label", x, y, one.label or "∅"), *below]

    def word_texts(self, position: int, word: str, tag: str) -> list[str]:
        """The word, and its tag under it."""
        x, y = self.places[position - 1], self.words_y
        below = [self.text("tag", x, y + TAG + 4, tag)] if tag else []
        return [self.text("form", x, y, word, rtl=self.rtl), *below]

    def relation(self, arc: Arc, at: float, level: float) -> str:
        """The middle of a short arc; on a long one near the modifier, so that one need not search for it."""
        if not arc.head:
            return self.text("relation", at, level + RELATION, arc.relation)
        start = self.port(arc, arc.head)
        x = (start + at) / 2
        if abs(start - at) > LONG:
            x = at + (1 if start > at else -1) * (40 + width_of(arc.relation, RELATION) / 2)
        return self.text("relation", x, level + 3.5, arc.relation)


DRAWINGS: dict[str, type[Drawing]] = {
    "wide": WideDrawing,
    "tall": TallDrawing,
    "indented": IndentedDrawing,
}
