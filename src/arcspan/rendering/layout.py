"""The arrangement that all pictures of a sentence share: parents, levels, heads and the width of text.

A constituent is placed above its head word, one level above its highest child. So the path from a constituent
down to its head word is a straight line, the lines of two constituents never cross, and a label can only collide with
labels in its own column. Arcs get levels in the same way: an arc lies outside every arc that it covers.

Incompatible trees are drawn as well: a constituent without a single head word is placed in the middle of its span,
and crossing arcs are on different levels.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar, get_args

from arcspan.errors import ArcspanError, TreeError
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.constituency import parents
from arcspan.trees.dependency import outgoing_words

Size = TypeVar("Size", int, float)  # columns of a terminal, or units of an SVG

Layout = Literal["auto", "wide", "tall", "indented"]
"""Words side by side, one word per line, an indented list, or the first of these that fits."""

Layer = Literal["constituency", "dependency"]
"""One of the two trees."""


def layouts(layout: str) -> list[str]:
    """The layouts to try, widest first; the last of them is taken in any case."""
    known = list(get_args(Layout))
    if layout not in known:
        raise ArcspanError(f"unknown layout {layout!r}: choose one of {', '.join(known)}")
    return known[1:] if layout == "auto" else [layout]


class Confidence(Protocol):
    """Probabilities of a parse: `spans[i, j]` for fencepost spans, `arcs[m - 1]` for the arc to word m."""

    @property
    def spans(self) -> Mapping[tuple[int, int], float]:
        """Probability of each constituent's span."""

    @property
    def arcs(self) -> Sequence[float]:
        """Probability of each word's arc, in the order of the words."""


class Constituent(NamedTuple):
    """A constituent over words i+1..j; `head` is its head word (0 where it has not exactly one)."""

    i: int
    j: int
    label: str
    parent: int
    """Position of the parent among the constituents, -1 for the outermost."""
    level: int
    """1 above words only, and one more than the highest child's otherwise."""
    head: int


class Arc(NamedTuple):
    """The arc from `head` (0: the root) to the word `modifier`; level 1 is the nearest to the words."""

    modifier: int
    head: int
    relation: str
    level: int


class Edge(NamedTuple):
    """The line from the constituent `parent` to a constituent or a word right under it, on the way to its head or not.

    Constituents are given by position, words from 1; a missing constituent is -1, a missing word 0.
    """

    parent: int
    constituent: int
    word: int
    spine: bool


class Line(NamedTuple):
    """A line of the indented list: constituents of one child each, then a word or a constituent of several."""

    parent: int
    spine: bool
    constituents: tuple[int, ...]
    word: int


class Picture(NamedTuple):
    """Both trees of a sentence, ready to be drawn."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    constituents: tuple[Constituent, ...]
    above: tuple[int, ...]
    """For each word, the position of the innermost constituent over it, or -1."""
    arcs: tuple[Arc, ...]

    @property
    def levels(self) -> int:
        """The level of the highest constituent."""
        return max((constituent.level for constituent in self.constituents), default=0)

    @property
    def depth(self) -> int:
        """The level of the outermost arc."""
        return max((arc.level for arc in self.arcs), default=0)

    def edges(self) -> list[Edge]:
        """Edges to all constituents, in their order, then to all words; the outermost have the parent -1."""
        heads = [*(one.head for one in self.constituents), 0]
        found = [
            Edge(one.parent, position, 0, 0 < one.head == heads[one.parent])
            for position, one in enumerate(self.constituents)
        ]
        found += [
            Edge(parent, -1, word, heads[parent] == word)
            for word, parent in enumerate(self.above, 1)
        ]
        return found

    def lines(self) -> list[Line]:
        """The trees as an indented list, from top to bottom; a constituent of one child is on the child's line."""
        children: list[list[Edge]] = [
            [] for _ in range(len(self.constituents) + 1)
        ]  # the last: outermost
        for edge in sorted(
            self.edges(), key=lambda edge: edge.word or self.constituents[edge.constituent].i + 1
        ):
            children[edge.parent].append(edge)
        found: list[Line] = []
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
            found.append(Line(start.parent, start.spine, tuple(chain), edge.word))
        return found

    def anchors(self, places: Sequence[float]) -> list[float]:
        """Where constituents stand: at their head word, or in the middle of what they cover."""
        return [
            places[one.head - 1] if one.head else (places[one.i] + places[one.j - 1]) / 2
            for one in self.constituents
        ]

    def spread(
        self,
        measure: Callable[[str, str], Size],
        least: Sequence[Size],
        apart: Callable[[Arc], Size],
        middle: Callable[[Size], Size],
        gap: Size,
    ) -> tuple[list[Size], Size]:
        """The middle of each word's column, words being side by side, and the width of all columns.

        A column is as wide as the widest thing in it by `measure(kind, text)`, at least `least`, and the ends of
        an arc are `apart` enough for its relation. `middle` says where the middle of a width is.
        """
        sizes = [
            max(measure("form", word), measure("tag", tag), size)
            for word, tag, size in zip(self.words, self.tags, least, strict=True)
        ]
        for one in self.constituents:
            column = (one.head or (one.i + 1 + one.j) // 2) - 1
            sizes[column] = max(sizes[column], measure("label", one.label))
        ending: dict[int, list[Arc]] = {}
        for arc in self.arcs:
            if arc.head:
                ending.setdefault(max(arc.head, arc.modifier), []).append(arc)
            else:
                column = arc.modifier - 1
                sizes[column] = max(sizes[column], measure("relation", arc.relation))
        centres: list[Size] = []
        free = gap - gap
        for word, size in enumerate(sizes, 1):
            centre = free + middle(size)
            for arc in ending.get(word, ()):
                centre = max(centre, centres[min(arc.head, arc.modifier) - 1] + apart(arc))
            centres.append(centre)
            free = centre + size - middle(size) + gap
        return centres, free - gap if centres else free


def arrange(
    c_tree: ConstituencyTree | None, d_tree: DependencyTree | None, layers: str | None = None
) -> Picture:
    """Levels and heads of two trees over the same words; either may be missing.

    With `layers`, one tree is drawn; a constituency tree alone still takes its heads from the dependencies.
    """
    trees = {"constituency": c_tree, "dependency": d_tree}
    if layers is not None and layers not in trees:
        raise ArcspanError(f"unknown layer {layers!r}: choose one of {', '.join(trees)}")
    drawn = [tree for name, tree in trees.items() if tree is not None and layers in (None, name)]
    if not drawn:
        raise TreeError(
            "nothing to draw: give a constituency tree, a dependency tree, or both"
            if layers is None
            else f"nothing to draw: this sentence has no {layers} tree"
        )
    if c_tree is not None and d_tree is not None and len(c_tree) != len(d_tree):
        raise TreeError(
            f"trees over different words: {len(c_tree)} constituency, {len(d_tree)} dependency leaves"
        )
    known = [tags for tree in drawn for tags in (tree.tags, getattr(tree, "upos", ())) if any(tags)]
    words = tuple(map(visible, drawn[0].words))
    spans = c_tree.without_wrapper().spans if c_tree is not None and layers != "dependency" else ()
    heads = d_tree.heads if d_tree is not None else None
    return Picture(
        words,
        tuple(map(visible, known[0])) if known else ("",) * len(words),
        *_constituents(spans, heads, len(words)),
        _arcs(d_tree) if d_tree is not None and layers != "constituency" else (),
    )


def _constituents(
    spans: Sequence[tuple[int, int, str]], heads: Sequence[int] | None, n: int
) -> tuple[tuple[Constituent, ...], tuple[int, ...]]:
    around = parents(spans)
    above = [-1] * n
    for position, (i, j, _) in enumerate(spans):
        above[i:j] = [position] * (j - i)  # inner spans come later and overwrite
    levels = [1] * len(spans)
    for position in range(len(spans) - 1, 0, -1):
        parent = around[position]
        levels[parent] = max(levels[parent], levels[position] + 1)
    found = [
        Constituent(i, j, visible(label), around[position], levels[position], _head(i, j, heads))
        for position, (i, j, label) in enumerate(spans)
    ]
    return tuple(found), tuple(above)


def _head(i: int, j: int, heads: Sequence[int] | None) -> int:
    """The only word of i+1..j with its head outside, 0 where there are several or no heads are known."""
    if heads is None:
        return 0
    outside = list(outgoing_words(heads, i, j))
    return outside[0] if len(outside) == 1 else 0


def _arcs(tree: DependencyTree) -> tuple[Arc, ...]:
    """Arcs with levels: shorter arcs first, each outside all that are already over the same gaps."""
    n = len(tree)
    gaps = [0] * (n + 1)  # gaps[k]: the outermost level between words k and k+1
    levels = [0] * n
    ends = (
        (abs(head - m), min(head, m), max(head, m), m)
        for m, head in enumerate(tree.heads, 1)
        if head
    )
    for _, left, right, m in sorted(ends):
        level = 1 + max(gaps[left:right])
        gaps[left:right] = [level] * (right - left)
        levels[m - 1] = level
    for m, head in enumerate(tree.heads, 1):
        if not head:
            levels[m - 1] = 1 + max(gaps[m - 1], gaps[m])
    return tuple(
        Arc(m, head, visible(relation), levels[m - 1])
        for m, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True), 1)
    )


LONGEST = 40  # characters of a word that are drawn


def visible(text: str, longest: int = LONGEST) -> str:
    r"""A text as it can be drawn and written in XML: not too long, and nothing in it that acts instead of being seen.

    Control characters get signs of their own, marks that turn the direction of a line or take no room their numbers.

    >>> visible("a\x00b"), visible("a\u202eb"), len(visible("x" * 1000))
    ('a␀b', 'a<U+202E>b', 40)
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return "".join(map(_visible, text)) if not text.isprintable() else text


def _visible(character: str) -> str:
    code, category = ord(character), unicodedata.category(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if category in ("Cc", "Cs") or code & 0xFFFE == 0xFFFE:
        return "\ufffd"
    # joiners shape letters and emoji; signs before Arabic numbers are seen
    joins = character in "\u200c\u200d" or unicodedata.bidirectional(character) == "AN"
    if category in ("Zl", "Zp") or (category == "Cf" and not joins):
        return f"<U+{code:04X}>"
    return character


def is_right_to_left(words: Sequence[str]) -> bool:
    """Whether more letters run from right to left than from left to right."""
    kinds = [unicodedata.bidirectional(character) for word in words for character in word]
    return sum(kind in ("R", "AL") for kind in kinds) > kinds.count("L")


def columns(text: str) -> int:
    r"""Columns of a terminal that a text takes: 2 for wide characters, 0 for marks and joined emoji.

    >>> columns("role"), columns("漢字"), columns("e\u0301"), columns("👩\u200d🚀")
    (4, 4, 1, 2)
    """
    if text.isascii():
        return len(text)
    total, joined = 0, False
    for character in text:
        if joined:
            joined = False
        elif character == "\u200d":
            joined = True
        elif not _is_zero_width(character):
            total += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return total


def _is_zero_width(character: str) -> bool:
    code = ord(character)
    return (
        unicodedata.category(character) in ("Mn", "Me", "Cf")
        or 0x1160 <= code <= 0x11FF  # vowels and finals of Hangul join the consonant before
        or 0x1F3FB <= code <= 0x1F3FF  # skin tones
    )
