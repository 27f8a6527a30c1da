"""The arrangement that all pictures of a sentence share: parents, levels, heads and the width of
text.

A constituent is placed above its head word, one level above its highest child. So the path from a
constituent down to its head word is a straight line, the lines of two constituents never cross, and
a label can only collide with labels in its own column. Arcs get levels in the same way: an arc lies
outside every arc that it covers.

Incompatible trees are drawn as well: a constituent without a single head word is placed in the
middle of its span, and crossing arcs are on different levels. Nothing here draws: formats do that,
from a `Picture`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar, get_args

from arcspan.errors import ArcspanError, TreeError
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.constituency import parents
from arcspan.trees.dependency import outgoing_words
from arcspan.trees.immutable import empty_column

Size = TypeVar("Size", int, float)  # columns of a terminal, or units of an SVG

Layout = Literal["auto", "wide", "tall", "indented"]
"""Words side by side, one word per line, an indented list, or the first of these that fits."""

Layer = Literal["constituency", "dependency"]
"""One of the two trees."""


def layouts(layout: str) -> list[str]:
    """Return the layouts to try, widest first; the last of them is used in any case."""
    names = list(get_args(Layout))
    if layout not in names:
        raise ArcspanError(f"unknown layout {layout!r}: choose one of {', '.join(names)}")
    return names[1:] if layout == "auto" else [layout]


class Probabilities(Protocol):
    """Probabilities of a parse: `spans[i, j]` for fencepost spans, `arcs[m - 1]` for the arc to
    word m.
    """

    @property
    def spans(self) -> Mapping[tuple[int, int], float]:
        """Return the probability of each constituent's span."""

    @property
    def arcs(self) -> Sequence[float]:
        """Return the probability of each word's arc, in the order of the words."""


class Constituent(NamedTuple):
    """A constituent over words i+1..j.

    parent  index of the parent among the constituents, -1 for the outermost
    level   1 above words only, and one more than the highest child's otherwise
    head    its head word, 0 if it has not exactly one
    """

    i: int
    j: int
    label: str
    parent: int
    level: int
    head: int


class PictureArc(NamedTuple):
    """The arc from `head` (0: the root) to the word `modifier`; level 1 is the nearest to the
    words.
    """

    modifier: int
    head: int
    relation: str
    level: int


class Edge(NamedTuple):
    """The line from the constituent `parent` to a constituent or a word right under it.

    Constituents are given by index, words from 1; a missing constituent is -1, a missing word 0. A
    spine leads to the head of the parent.
    """

    parent: int
    constituent: int
    word: int
    spine: bool


class Line(NamedTuple):
    """A line of the indented list: constituents of one child each, then a word or a constituent of
    several.
    """

    parent: int
    spine: bool
    constituents: tuple[int, ...]
    word: int


class Picture(NamedTuple):
    """Both trees of a sentence with levels; `above` has the innermost constituent over each word,
    or -1.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    constituents: tuple[Constituent, ...]
    above: tuple[int, ...]
    arcs: tuple[PictureArc, ...]

    @property
    def levels(self) -> int:
        """Return the level of the highest constituent."""
        return max((constituent.level for constituent in self.constituents), default=0)

    @property
    def depth(self) -> int:
        """Return the level of the outermost arc."""
        return max((arc.level for arc in self.arcs), default=0)

    def edges(self) -> list[Edge]:
        """Return edges to all constituents, in their order, then to all words; -1 is the outermost
        parent.
        """
        # The last head is that of the parent -1.
        heads = [constituent.head for constituent in self.constituents] + [0]
        edges = []
        for index, constituent in enumerate(self.constituents):
            spine = 0 < constituent.head == heads[constituent.parent]
            edges.append(Edge(constituent.parent, index, 0, spine))
        for word, parent in enumerate(self.above, 1):
            edges.append(Edge(parent, -1, word, heads[parent] == word))
        return edges

    def lines(self) -> list[Line]:
        """Return the trees as an indented list; a constituent of one child is on the child's line."""
        # By parent; the last are the outermost.
        children: list[list[Edge]] = [[] for _ in range(len(self.constituents) + 1)]
        for edge in sorted(self.edges(), key=self._begin):
            children[edge.parent].append(edge)
        lines: list[Line] = []
        stack = children[-1][::-1]
        while stack:
            edge = start = stack.pop()
            chain: list[int] = []
            while not edge.word:
                chain.append(edge.constituent)
                below = children[edge.constituent]
                if len(below) > 1:
                    stack += below[::-1]
                    break
                edge = below[0]
            lines.append(Line(start.parent, start.spine, tuple(chain), edge.word))
        return lines

    def _begin(self, edge: Edge) -> int:
        """Return the first word below an edge."""
        return edge.word or self.constituents[edge.constituent].i + 1

    def anchors(self, centres: Sequence[float]) -> list[float]:
        """Return where constituents stand, given their words' centres: at the head word, or in the
        middle.
        """
        return [
            centres[c.head - 1] if c.head else (centres[c.i] + centres[c.j - 1]) / 2
            for c in self.constituents
        ]

    def spread(
        self,
        measure: Callable[[str, str], Size],
        least: Sequence[Size],
        apart: Callable[[PictureArc], Size],
        middle: Callable[[Size], Size],
        gap: Size,
    ) -> tuple[list[Size], Size]:
        """Return the middle of each word's column, words being side by side, and the width of all
        columns.

        A column is as wide as its widest text by `measure(role, text)`, at least `least`, and the
        ends of an arc are `apart` enough for its relation. `middle` returns the middle of a width.
        """
        sizes = [
            max(measure("form", word), measure("tag", tag), size)
            for word, tag, size in zip(self.words, self.tags, least, strict=True)
        ]
        for constituent in self.constituents:
            column = (constituent.head or (constituent.i + 1 + constituent.j) // 2) - 1
            sizes[column] = max(sizes[column], measure("label", constituent.label))
        # The arcs of a word that lead to words before it.
        arcs_back: list[list[PictureArc]] = [[] for _ in sizes]
        for arc in self.arcs:
            if arc.head:
                arcs_back[max(arc.head, arc.modifier) - 1].append(arc)
            else:
                column = arc.modifier - 1
                sizes[column] = max(sizes[column], measure("relation", arc.relation))
        centres: list[Size] = []
        # A zero of the type of sizes.
        free = gap - gap
        for size, arcs in zip(sizes, arcs_back, strict=True):
            centre = free + middle(size)
            for arc in arcs:
                centre = max(centre, centres[min(arc.head, arc.modifier) - 1] + apart(arc))
            centres.append(centre)
            free = centre + size - middle(size) + gap
        return centres, free - gap if centres else free


def arrange(
    c_tree: ConstituencyTree | None, d_tree: DependencyTree | None, layers: str | None = None
) -> Picture:
    """Return the levels and heads of two trees over the same words; either may be missing.

    With `layers`, one tree is drawn; a constituency tree alone still takes its heads from the
    dependencies.
    """
    trees = {"constituency": c_tree, "dependency": d_tree}
    if layers is not None and layers not in trees:
        raise ArcspanError(f"unknown layer {layers!r}: choose one of {', '.join(trees)}")
    drawn = [tree for name, tree in trees.items() if tree is not None and layers in (None, name)]
    if not drawn:
        reason = f"this sentence has no {layers} tree"
        if layers is None:
            reason = "give a constituency tree, a dependency tree, or both"
        raise TreeError(f"nothing to draw: {reason}")
    if c_tree is not None and d_tree is not None and len(c_tree) != len(d_tree):
        raise TreeError(
            f"trees over different words: {len(c_tree)} constituency, {len(d_tree)} dependency leaves"
        )
    words = tuple(map(visible, drawn[0].words))
    # The treebank's tags rather than universal ones, and rather those of the constituency tree.
    tags = empty_column(len(words))
    for tree in drawn:
        for column in (tree.tags, getattr(tree, "upos", ())):
            if any(column) and not any(tags):
                tags = tuple(map(visible, column))
    constituents: list[Constituent] = []
    above = [-1] * len(words)
    if c_tree is not None and layers != "dependency":
        heads = d_tree.heads if d_tree is not None else None
        constituents = _constituents(c_tree.without_wrapper().spans, heads)
    for index, constituent in enumerate(constituents):
        # Inner constituents come later and overwrite.
        above[constituent.i : constituent.j] = [index] * (constituent.j - constituent.i)
    arcs = _arcs(d_tree) if d_tree is not None and layers != "constituency" else ()
    return Picture(words, tags, tuple(constituents), tuple(above), arcs)


def _constituents(
    spans: Sequence[tuple[int, int, str]], heads: Sequence[int] | None
) -> list[Constituent]:
    around = parents(spans)
    levels = [1] * len(spans)
    for index in range(len(spans) - 1, 0, -1):
        parent = around[index]
        levels[parent] = max(levels[parent], levels[index] + 1)
    constituents = []
    for (i, j, label), parent, level in zip(spans, around, levels, strict=True):
        outgoing = () if heads is None else tuple(outgoing_words(heads, i, j))
        head = outgoing[0] if len(outgoing) == 1 else 0
        constituents.append(Constituent(i, j, visible(label), parent, level, head))
    return constituents


def _arcs(tree: DependencyTree) -> tuple[PictureArc, ...]:
    """Return arcs with levels: shorter ones first, each outside all that are already over the same
    gaps.
    """
    n = len(tree)
    # gaps[k]: the outermost level between words k and k+1
    gaps = [0] * (n + 1)
    levels = [0] * n
    ends = [(abs(h - m), min(h, m), max(h, m), m) for m, h in enumerate(tree.heads, 1) if h]
    for length, first, last, m in sorted(ends):
        level = 1 + max(gaps[first:last])
        gaps[first:last] = [level] * length
        levels[m - 1] = level
    arcs = []
    for m, (h, relation) in enumerate(zip(tree.heads, tree.relations, strict=True), 1):
        # The root's arc goes straight away from the words, between all arcs over it.
        level = levels[m - 1] if h else 1 + max(gaps[m - 1], gaps[m])
        arcs.append(PictureArc(m, h, visible(relation), level))
    return tuple(arcs)


# Characters of a word that are drawn.
LONGEST = 40


def visible(text: str, longest: int = LONGEST) -> str:
    r"""Return a text that can be drawn and written in XML: not too long, with all control
    characters visible.

    Control characters get signs of their own, marks that turn the direction of a line or have no
    width their numbers.

    >>> visible("a\x00b"), visible("a\u202eb"), len(visible("x" * 1000))
    ('a␀b', 'a<U+202E>b', 40)
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    code, category = ord(character), unicodedata.category(character)
    if code < 0x20:
        return chr(0x2400 + code)
    # Surrogates and the last two code points of every plane are no characters of XML.
    if category in ("Cc", "Cs") or code & 0xFFFE == 0xFFFE:
        return "\ufffd"
    # Joiners shape letters and emoji; signs before Arabic numbers are visible.
    is_shaping = character in "\u200c\u200d" or unicodedata.bidirectional(character) == "AN"
    if category in ("Zl", "Zp") or (category == "Cf" and not is_shaping):
        return f"<U+{code:04X}>"
    return character


def is_right_to_left(words: Sequence[str]) -> bool:
    """Return True if more letters run from right to left than from left to right."""
    directions = [unicodedata.bidirectional(character) for character in "".join(words)]
    return directions.count("R") + directions.count("AL") > directions.count("L")


def columns(text: str) -> int:
    r"""Return the columns of a terminal that a text takes: 2 for wide characters, 0 for marks and
    joined emoji.

    >>> columns("role"), columns("漢字"), columns("e\u0301"), columns("👩\u200d🚀")
    (4, 4, 1, 2)
    """
    if text.isascii():
        return len(text)
    total = 0
    joins = False
    for character in text:
        # A zero-width joiner draws the next character onto the one before.
        if not joins and not _is_zero_width(character):
            total += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
        joins = character == "\u200d" and not joins
    return total


def _is_zero_width(character: str) -> bool:
    code = ord(character)
    # Vowels and finals of Hangul join the consonant before, skin tones the emoji before.
    joins = 0x1160 <= code <= 0x11FF or 0x1F3FB <= code <= 0x1F3FF
    return joins or unicodedata.category(character) in ("Mn", "Me", "Cf")
