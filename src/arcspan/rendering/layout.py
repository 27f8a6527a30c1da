"""What every picture of a sentence shares: who hangs from whom, how high, and how wide text is.

Constituents stand above their head word, on a level that is one more than their highest child's. So the
path from a constituent down its heads to the word is one straight line, the lines of two constituents
never cross, and a label can only meet labels of its own column. Arcs get levels in the same way: an arc
lies outside every arc that it covers.

Trees that do not fit each other are drawn as well: a constituent without one head word stands in the
middle of what it covers, and crossing arcs are on different levels.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from arcspan.errors import TreeError
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree


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

    def on_spine(self, position: int) -> bool:
        """Whether the constituent and its parent have the same head word."""
        constituent = self.constituents[position]
        parent = constituent.parent
        return parent >= 0 and 0 < constituent.head == self.constituents[parent].head


def arrange(
    c_tree: ConstituencyTree | None, d_tree: DependencyTree | None, lexical: LexicalTree | None = None
) -> Picture:
    """Levels and heads of two trees over the same words; either may be missing."""
    if lexical is not None and c_tree is None and d_tree is None:
        c_tree, d_tree = lexical.split()
    if c_tree is None and d_tree is None:
        raise TreeError("nothing to draw: give a constituency tree, a dependency tree, or both")
    if c_tree is not None and d_tree is not None and len(c_tree) != len(d_tree):
        raise TreeError(
            f"trees over different words: {len(c_tree)} constituency, {len(d_tree)} dependency leaves"
        )
    tree = c_tree if c_tree is not None else d_tree
    assert tree is not None
    heads = lexical.heads if lexical is not None else d_tree.heads if d_tree is not None else None
    constituents, above = _constituents(
        c_tree.without_wrapper() if c_tree is not None else None, heads, len(tree)
    )
    tags = next((tags for tags in _tags(c_tree, d_tree) if any(tags)), ("",) * len(tree))
    words = tuple(visible(word) for word in tree.words)
    return Picture(words, tags, constituents, above, _arcs(d_tree) if d_tree is not None else ())


def _tags(c_tree: ConstituencyTree | None, d_tree: DependencyTree | None) -> list[tuple[str, ...]]:
    return [
        *([c_tree.tags] if c_tree is not None else []),
        *([d_tree.tags, d_tree.upos] if d_tree is not None else []),
    ]


def _constituents(
    tree: ConstituencyTree | None, heads: Sequence[int] | None, n: int
) -> tuple[tuple[Constituent, ...], tuple[int, ...]]:
    spans = tree.spans if tree is not None else ()
    parents: list[int] = []
    open_spans: list[int] = []
    above = [-1] * n
    for position, (i, j, _) in enumerate(spans):
        while open_spans and spans[open_spans[-1]][1] <= i:
            open_spans.pop()
        parents.append(open_spans[-1] if open_spans else -1)
        above[i:j] = [position] * (j - i)  # inner spans come later and overwrite
        open_spans.append(position)
    levels = [1] * len(spans)
    for position in range(len(spans) - 1, 0, -1):
        parent = parents[position]
        levels[parent] = max(levels[parent], levels[position] + 1)
    found = [
        Constituent(i, j, label, parents[position], levels[position], _head(i, j, heads))
        for position, (i, j, label) in enumerate(spans)
    ]
    return tuple(found), tuple(above)


def _head(i: int, j: int, heads: Sequence[int] | None) -> int:
    """The only word of i+1..j with its head outside, 0 where there are several or no heads are known."""
    if heads is None:
        return 0
    outside = [m for m in range(i + 1, j + 1) if not i < heads[m - 1] <= j]
    return outside[0] if len(outside) == 1 else 0


def _arcs(tree: DependencyTree) -> tuple[Arc, ...]:
    """Arcs with levels: shorter arcs first, each outside all that are already over the same gaps."""
    n = len(tree)
    gaps = [0] * (n + 1)  # gaps[k]: the outermost level between words k and k+1
    levels = [0] * n
    ends = sorted(
        (abs(head - m), min(head, m), max(head, m), m) for m, head in enumerate(tree.heads, 1) if head
    )
    for _, left, right, m in ends:
        level = 1 + max(gaps[left:right])
        gaps[left:right] = [level] * (right - left)
        levels[m - 1] = level
    for m, head in enumerate(tree.heads, 1):
        if not head:
            levels[m - 1] = 1 + max(gaps[m - 1], gaps[m])
    return tuple(
        Arc(m, head, relation, levels[m - 1])
        for m, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True), 1)
    )


# ---------------------------------------------------------------------------------------------------- text

LONGEST = 40  # characters of a word that are drawn


def visible(word: str) -> str:
    r"""A word as it can be drawn and written in XML: no control characters, not too long.

    >>> visible("a\x00b"), len(visible("x" * 1000))
    ('a␀b', 40)
    """
    if len(word) > LONGEST:
        word = word[: LONGEST - 1] + "…"
    return "".join(map(_visible, word)) if not word.isprintable() else word


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    category = unicodedata.category(character)
    if category == "Cs" or code & 0xFFFE == 0xFFFE or category == "Cc":
        return "\ufffd"
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
