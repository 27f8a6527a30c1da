"""One SVG of a sentence: constituents above the words, dependency arcs below them.

Plain SVG text without a drawing library: a picture has a few hundred lines and boxes, and needs
nothing but a browser. Attributes carry sizes and colours, so that all programs draw the same
picture. In browsers colours are also CSS variables with a light and a dark set: a page that embeds
the picture may set `--arcspan-ink`, `--arcspan-muted`, `--arcspan-line`, `--arcspan-head`,
`--arcspan-arc` and `--arcspan-paper`, and for lower probabilities `--arcspan-likely`,
`--arcspan-doubtful` and `--arcspan-unsure`.
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
from arcspan.rendering.layout import (
    Constituent,
    Layer,
    Layout,
    PictureArc,
    Probabilities,
    arrange,
    layouts,
)
from arcspan.rendering.tall import IndentedDrawing, TallDrawing
from arcspan.trees import ConstituencyTree, DependencyTree

# From one level of constituents to the next.
PITCH = 36.0
# The length from which a relation is written near the modifier.
LONG = 300.0


def to_svg(
    c_tree: ConstituencyTree | None,
    d_tree: DependencyTree | None,
    *,
    layers: Layer | None = None,
    layout: Layout = "auto",
    width: float = 1200.0,
    confidence: Probabilities | None = None,
    heads: bool = True,
    colours: Colours = "auto",
) -> str:
    """Draw both trees of a sentence (or one, where the other is None) as one SVG document.

    layers      "constituency" or "dependency" to draw one of the two trees
    layout      "wide": words side by side; "tall": one word per line, constituents to its left and
                arcs to its right; "indented": a list of words and constituents for narrow pages;
                "auto": the first of them that is not wider than `width`
    confidence  `Parse.confidence`, to show in colours how probable constituents and arcs are, with
                a legend
    heads       show the head of every constituent: a thick line to it, and the word under the label
    colours     "auto" follows the page and its dark mode, "light" stays as it is, "black" is black
                and white

    For scripts, groups `.constituent` carry data-span="i,j", data-label and data-head, `.word`
    data-word, data-tag and data-head, `.arc` data-word, data-head and data-label, all of them
    data-confidence where it is known.

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

    Columns are computed from left to right and turned round at the end where the script runs the
    other way.
    """

    arc_pitch = 19.0

    def arrange(self) -> None:
        """Compute columns as wide as their contents, and rows of constituents, words, tags and
        arcs.
        """
        picture = self.picture
        centres, total = picture.spread(
            measure=lambda role, content: width_of(content, SIZES[role]),
            least=self.arc_widths,
            apart=self._distance,
            middle=lambda size: size / 2,
            gap=12.0,
        )
        self.width = total + 2 * MARGIN
        self.word_centres = [MARGIN + x for x in centres]
        self.port_scales = [1.0] * len(centres)
        if self.rtl:
            self.word_centres = [self.width - MARGIN - x for x in centres]
            self.port_scales = [-1.0] * len(centres)
        self.words_y = MARGIN + picture.levels * PITCH + WORD
        self.word_ends = [self.words_y - WORD] * len(centres)
        self.ys = [self.words_y - WORD - c.level * PITCH + LABEL for c in picture.constituents]
        self.ends = [y - LABEL for y in self.ys]
        self.starts = []
        for y, constituent in zip(self.ys, picture.constituents, strict=True):
            self.starts.append(y + (HEAD + 5 if self._shows_head(constituent) else 4))
        self.bends = [start + 4 for start in self.starts]
        self.arcs_edge = self.words_y + (TAG + 9 if any(picture.tags) else 5)
        arcs_height = picture.depth * self.arc_pitch + 14 if picture.arcs else 0
        self.height = self.arcs_edge + arcs_height + MARGIN

    def _distance(self, arc: PictureArc) -> float:
        """Return how far apart the words of an arc must be for its relation."""
        first, last = sorted((arc.head, arc.modifier))
        offsets = self.offsets[arc.modifier, first] - self.offsets[arc.modifier, last]
        return width_of(arc.relation, RELATION) + 22 + offsets

    def _shows_head(self, constituent: Constituent) -> bool:
        # A word alone is its own head.
        return self.look.heads and constituent.head > 0 and constituent.j - constituent.i > 1

    def constituent_texts(self, index: int, constituent: Constituent) -> list[str]:
        """Return the label, and the head word under it unless that is the only word."""
        x, y = self.anchors[index], self.ys[index]
        texts = [self.text("label", x, y, constituent.label or "∅")]
        if self._shows_head(constituent):
            head = self.picture.words[constituent.head - 1]
            texts.append(self.text("head", x, y + HEAD + 1, head, rtl=self.rtl))
        return texts

    def word_texts(self, position: int, word: str, tag: str) -> list[str]:
        """Return the word, and its tag under it."""
        x, y = self.word_centres[position - 1], self.words_y
        texts = [self.text("form", x, y, word, rtl=self.rtl)]
        if tag:
            texts.append(self.text("tag", x, y + TAG + 4, tag))
        return texts

    def relation(self, arc: PictureArc, at: float, level: float) -> str:
        """Return the relation in the middle of a short arc; of a long one near the modifier, easy
        to find.
        """
        if not arc.head:
            return self.text("relation", at, level + RELATION, arc.relation)
        start = self.port(arc, arc.head)
        x = (start + at) / 2
        if abs(start - at) > LONG:
            distance = 40 + width_of(arc.relation, RELATION) / 2
            x = at + distance if start > at else at - distance
        return self.text("relation", x, level + 3.5, arc.relation)


DRAWINGS: dict[str, type[Drawing]] = {
    "wide": WideDrawing,
    "tall": TallDrawing,
    "indented": IndentedDrawing,
}
