"""Distributions over trees in torch: the probability of a tree is exp(score) over the sum of all
trees.

`ConstituencyTrees`, `DependencyTrees` and `LexicalizedTrees` share one vocabulary: log_partition,
marginals, argmax, max, entropy, log_prob, sample, topk, mbr, kl, cross_entropy, condition.
Everything is exact, and whatever depends on the scores smoothly is differentiable, more than once.
"""

import warnings
from typing import Any

from arcspan.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtraError("distributions", "train") from error

from arcspan.decoding.constraints import ArcConstraint as Arc
from arcspan.decoding.constraints import HeadConstraint as Head
from arcspan.decoding.constraints import Root
from arcspan.decoding.constraints import SpanConstraint as Span
from arcspan.distributions.distribution import (
    ConstituencyTrees,
    DependencyTrees,
    LexicalizedTrees,
    TreeDistribution,
)
from arcspan.distributions.sums import MarginalTensors
from arcspan.distributions.trees import Trees

__all__ = [
    "Arc",
    "ConstituencyTrees",
    "DependencyTrees",
    "Head",
    "LexicalizedTrees",
    "MarginalTensors",
    "Root",
    "Span",
    "TreeDistribution",
    "Trees",
]


def __getattr__(name: str) -> Any:
    if name != "Marginals":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        "arcspan.distributions.Marginals is called MarginalTensors now; the old name will go in 0.4",
        DeprecationWarning,
        stacklevel=2,
    )
    return MarginalTensors
