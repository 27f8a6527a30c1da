"""Conversion of constituency trees to NLTK's; reading NLTK's trees is done in `integrations`."""

from __future__ import annotations

from typing import Any

from arcspan.errors import MissingExtraError, TreeError
from arcspan.trees.constituency import ConstituencyTree, units


def to_nltk(tree: ConstituencyTree) -> Any:
    """Return the tree as an `nltk.Tree`; leaves are words, under their tags.

    A word without a tag is a leaf of its constituent. A tree without words raises TreeError.
    """
    try:
        from nltk import Tree
    except ImportError:
        raise MissingExtraError("to_nltk", "nltk") from None
    if not tree.words:
        raise TreeError("a tree without words has no NLTK tree")
    nodes, _, children = units(tree)
    subtrees: list[Any] = [None] * len(nodes)
    # Backwards through pre-order, so that children are built before their parents.
    for node in range(len(nodes) - 1, -1, -1):
        i, _, chain = nodes[node]
        below = [subtrees[child] for child in children[node]]
        if not below:
            below = [Tree(tree.tags[i], [tree.words[i]]) if tree.tags[i] else tree.words[i]]
        for label in reversed(chain):
            below = [Tree(label, below)]
        subtrees[node] = below[0]
    # A single word without tag and constituent is a plain string.
    return subtrees[0] if isinstance(subtrees[0], Tree) else Tree("", [subtrees[0]])
