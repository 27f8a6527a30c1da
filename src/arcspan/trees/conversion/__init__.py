"""From constituents to dependencies, by head tables."""

from __future__ import annotations

from arcspan.trees.constituency import ConstituencyTree
from arcspan.trees.conversion.head_tables import HeadRules
from arcspan.trees.dependency import DependencyTree

__all__ = ["HeadRules", "convert"]


def convert(tree: ConstituencyTree, rules: str | HeadRules = "ptb") -> DependencyTree:
    """The dependency tree that a head table makes of a constituency tree; always projective and compatible with it.

    `rules` are the name of a table in the package ("ptb", "ctb"), or a table that `arcspan.treebanks.load_rules` read
    from a file.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (NN role))))")
    >>> convert(tree, "ptb").heads
    (2, 0, 4, 2)
    """
    return (HeadRules.load(rules) if isinstance(rules, str) else rules).convert(tree)
