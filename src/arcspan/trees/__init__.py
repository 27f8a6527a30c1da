"""Tree data structures: constituency, dependency and lexicalized trees; no files, no numpy."""

from arcspan.trees.binarize import binarize, unbinarize
from arcspan.trees.compatibility import Incompatibility, compatible, why_incompatible
from arcspan.trees.constituency import WRAPPERS, ConstituencyTree
from arcspan.trees.dependency import DependencyTree
from arcspan.trees.heads import HeadRules, convert
from arcspan.trees.lexical import LexicalNode, LexicalTree

__all__ = [
    "WRAPPERS",
    "ConstituencyTree",
    "DependencyTree",
    "HeadRules",
    "Incompatibility",
    "LexicalNode",
    "LexicalTree",
    "binarize",
    "compatible",
    "convert",
    "unbinarize",
    "why_incompatible",
]
