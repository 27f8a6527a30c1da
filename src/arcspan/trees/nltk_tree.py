"""The one way from a constituency tree to NLTK's, for whoever has nltk."""

from __future__ import annotations

from typing import Any

from arcspan.errors import ArcspanError, TreeError
from arcspan.trees.constituency import ConstituencyTree


def to_nltk(tree: ConstituencyTree) -> Any:
    """The tree as an `nltk.Tree`; leaves are words, under their tags.

    A word without a tag is a leaf of its constituent. A tree of no words cannot be one of NLTK's.
    """
    try:
        from nltk import Tree
    except ImportError:
        raise ArcspanError("to_nltk needs nltk: pip install nltk") from None
    if not tree.words:
        raise TreeError("a tree without words has no NLTK tree")
    leaves: list[Any] = [
        Tree(tag, [word]) if tag else word for word, tag in zip(tree.words, tree.tags, strict=True)
    ]
    above = Tree("", [])
    opened: list[tuple[int, Tree]] = [(len(leaves), above)]  # (end, tree) of the constituents around here
    filled = 0  # words that have their place

    def fill(up_to: int) -> None:
        nonlocal filled
        while filled < up_to:
            while opened[-1][0] <= filled:
                opened.pop()
            opened[-1][1].append(leaves[filled])
            filled += 1
        while len(opened) > 1 and opened[-1][0] <= filled:
            opened.pop()

    for i, j, label in tree.spans:
        fill(i)
        below = Tree(label, [])
        opened[-1][1].append(below)
        opened.append((j, below))
    fill(len(leaves))
    root = above[0]
    return root if isinstance(root, Tree) else above
