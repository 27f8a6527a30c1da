"""Constituency trees as NLTK's."""

from __future__ import annotations

from typing import Any

from arcspan.errors import MissingExtraError, TreeError
from arcspan.trees.constituency import ConstituencyTree, units


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
    nodes, _, children = units(tree)
    built: list[Any] = [None] * len(nodes)
    for node in range(len(nodes) - 1, -1, -1):
        i, _, chain = nodes[node]
        leaf = Tree(tree.tags[i], [tree.words[i]]) if tree.tags[i] else tree.words[i]
        below = [built[child] for child in children[node]] or [leaf]
        for label in reversed(chain):
            below = [Tree(label, below)]
        built[node] = below[0]
    return built[0] if isinstance(built[0], Tree) else Tree("", [built[0]])
