"""The best projective dependency tree with one root: Eisner (1996), O(n^3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from arcspan.decoding.batch import Decoded, as_float32, check_lengths, complain, run


def eisner(arc: ArrayLike, lengths: ArrayLike, threads: int | None = None) -> Decoded:
    """The best projective dependency tree of every sentence."""
    from arcspan.decoding.kernels import eisner as kernels

    arc = np.asarray(arc)
    sizes = check_lengths(lengths, arc, "arc")
    arc = as_float32(arc)
    heads = np.zeros((len(sizes), arc.shape[1]), np.int64)
    scores = np.zeros(len(sizes))
    status = np.zeros(len(sizes), np.int64)
    run(lambda listed: kernels.search(listed, arc, sizes, heads, scores, status), sizes, 3, threads)
    complain(status)
    return Decoded(heads, None, scores)
