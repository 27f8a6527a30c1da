"""Turn scores into the best structure by exact search, numpy arrays in and out.

The kernels, in C, are loaded at the first search. `batched`, the torch version for accelerators, is
imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from arcspan.decoding.batch import Decoded, available_threads
from arcspan.decoding.inference import (
    Marginals,
    entropy,
    hessian_product,
    log_partition,
    marginals,
    minimum_bayes_risk,
    sample,
)
from arcspan.decoding.kbest import ScoredTree, kbest, kbest_iter
from arcspan.decoding.memory import memory_needed
from arcspan.decoding.search import cky, eisner, eisner_satta, naive

__all__ = [
    "Decoded",
    "Marginals",
    "ScoredTree",
    "available_threads",
    "cky",
    "eisner",
    "eisner_satta",
    "entropy",
    "hessian_product",
    "kbest",
    "kbest_iter",
    "log_partition",
    "marginals",
    "memory_needed",
    "minimum_bayes_risk",
    "naive",
    "sample",
]


def __getattr__(name: str) -> Any:
    if name == "batched":
        return importlib.import_module("arcspan.decoding.batched")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
