"""Constituency trees as NLTK's."""

from __future__ import annotations

from typing import Any

from arcspan.errors import MissingExtraError, TreeError
from arcspan.trees.constituency import ConstituencyTree


def to_nltk(tree: ConstituencyTree) -> Any:
    """The tree as an `nltk.Tree`; leaves are words, under their tags.

    A word without a tag is a leaf of its constituent. A tree of no words cannot be one of NLTK's.
    """
    try:
        from nltk import Tree
    except ImportError:
        raise MissingExtraError("to_nltk", "nltk") from None
    if not tree.words:
        raise TreeError("a tree without words has no NLTK tree")
    above = Tree("", [])
    opened: list[tuple[int, Any]] = [(len(tree), above)]  # (end, tree) of what is around here
    constituents = [(i, j, Tree(label, [])) for i, j, label in tree.spans]
    tagged = zip(tree.words, tree.tags, strict=True)
    leaves = [(k, k + 1, Tree(tag, [word]) if tag else word) for k, (word, tag) in enumerate(tagged)]
    for i, j, below in sorted([*constituents, *leaves], key=lambda part: (part[0], -part[1])):
        while opened[-1][0] <= i:
            opened.pop()
        opened[-1][1].append(below)
        opened.append((j, below))
    root = above[0]
    return root if isinstance(root, Tree) else above
