"""One SVG of a sentence: constituents above the words, dependency arcs below them.

Plain SVG text without a drawing library: a picture has a few hundred lines and boxes, and needs nothing but a browser.
Attributes carry sizes and colours, so that all programs draw the same picture. In browsers colours are also CSS
variables with a light and a dark set: a page that embeds the picture may set `--arcspan-ink`, `--arcspan-muted`,
`--arcspan-line`, `--arcspan-head`, `--arcspan-arc` and `--arcspan-paper`, and for lower probabilities
`--arcspan-likely`, `--arcspan-doubtful` and `--arcspan-unsure`.
"""

from __future__ import annotations

from arcspan.rendering.elements import HEAD, LABEL, MARGIN, RELATION, SIZES, TAG, WORD, Colours, Drawing, Look
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
        picture, ports = self.picture, self.ports
        places, total = picture.spread(
            measure=lambda kind, content: width_of(content, SIZES[kind]),
            least=ports.widths[1:],
            apart=lambda arc: width_of(arc.relation, RELATION) + 22 + ports.inwards(arc),
            middle=lambda size: size / 2,
            gap=12.0,
        )
        self.width = total + 2 * MARGIN
        self.places = [self.width - MARGIN - x if self.rtl else MARGIN + x for x in places]
        self.words_y = MARGIN + picture.levels * PITCH + WORD
        self.arcs_edge = self.words_y + (TAG + 9 if any(picture.tags) else 5)
        self.height = self.arcs_edge + (picture.depth * self.arc_pitch + 14 if picture.arcs else 0) + MARGIN

    def _shows_head(self, one: Constituent) -> bool:
        return self.look.heads and one.head > 0 and one.j - one.i > 1

    def _label_y(self, one: Constituent) -> float:
        return self.words_y - WORD - one.level * PITCH + LABEL

    def word_edge(self, word: int) -> float:
        """Above the words."""
        return self.words_y - WORD

    def across(self, position: int) -> tuple[float, float, float]:
        """Edges end above the label, and begin under it or its head word."""
        one = self.picture.constituents[position]
        y = self._label_y(one)
        start = y + (HEAD + 5 if self._shows_head(one) else 4)
        return y - LABEL, start, start + 4

    def port(self, arc: Arc, word: int) -> float:
        """Around the middle of the word."""
        offset = self.ports.offsets[arc.modifier, word]
        return self.places[word - 1] + (-offset if self.rtl else offset)

    def constituent_parts(self, position: int, one: Constituent) -> list[str]:
        """The label, and the head word under it unless that is the only word."""
        x, y = self.anchors[position], self._label_y(one)
        parts = [self.text("label", x, y, one.label or "∅")]
        if self._shows_head(one):
            head = self.picture.words[one.head - 1]
            parts.append(self.text("head", x, y + HEAD + 1, head, rtl=self.rtl))
        return parts

    def word_parts(self, position: int, word: str, tag: str) -> list[str]:
        """The word, and its tag under it."""
        x = self.places[position - 1]
        parts = [self.text("form", x, self.words_y, word, rtl=self.rtl)]
        if tag:
            parts.append(self.text("tag", x, self.words_y + TAG + 4, tag))
        return parts

    def relation(self, arc: Arc, at: float, level: float) -> str:
        """The middle of a short arc; on a long one near the modifier, so that one need not search for it."""
        x, y = at, level + RELATION
        if arc.head:
            from_x, y = self.port(arc, arc.head), level + 3.5
            x = (from_x + at) / 2
            if abs(from_x - at) > LONG:
                x = at + (1 if from_x > at else -1) * (40 + width_of(arc.relation, RELATION) / 2)
        return self.text("relation", x, y, arc.relation)


DRAWINGS: dict[str, type[Drawing]] = {"wide": WideDrawing, "tall": TallDrawing, "indented": IndentedDrawing}
