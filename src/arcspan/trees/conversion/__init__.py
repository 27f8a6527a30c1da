"""From constituents to dependencies, by head tables that people wrote or by rules learnt from a paired treebank."""

from __future__ import annotations

from arcspan.trees.constituency import ConstituencyTree
from arcspan.trees.conversion.head_tables import HeadRules
from arcspan.trees.conversion.learnt import LearntRules, learn_rules
from arcspan.trees.dependency import DependencyTree

__all__ = ["HeadRules", "LearntRules", "convert", "learn_rules"]


def convert(tree: ConstituencyTree, rules: str | HeadRules | LearntRules = "ptb") -> DependencyTree:
    """The dependency tree that rules make of a constituency tree; always projective and compatible with it.

    `rules` are the name of a table in the package ("ptb", "ctb"), or rules from `learn_rules` or, read from a
    file, from `arcspan.treebanks.load_rules`.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (NN role))))")
    >>> convert(tree, "ptb").heads
    (2, 0, 4, 2)
    """
    return (HeadRules.load(rules) if isinstance(rules, str) else rules).convert(tree)
