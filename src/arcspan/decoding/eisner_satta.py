"""Joint search for both trees: Eisner & Satta (1999), O(n^4), of first and second order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from arcspan.decoding.batch import Decoded, as_float32, check_lengths, complain, run, span_rows
from arcspan.errors import ScoreError


def eisner_satta(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    headed: ArrayLike | None = None,
    threads: int | None = None,
) -> Decoded:
    """The best lexicalized tree of every sentence, hence the best pair of compatible trees."""
    from arcspan.decoding.kernels import eisner_satta as kernels

    span, arc = np.asarray(span), np.asarray(arc)
    sizes = check_lengths(lengths, span, "span")
    check_lengths(lengths, arc, "arc")
    span, arc = as_float32(span), as_float32(arc)
    if headed is not None:
        headed = np.asarray(headed)
        if headed.shape != (*span.shape, span.shape[1]):
            raise ScoreError(f"headed must have the shape {[*span.shape, span.shape[1]]}, not {list(headed.shape)}")
        headed = as_float32(headed)
    heads = np.zeros((len(sizes), arc.shape[1]), np.int64)
    rows, spans = span_rows(sizes, 3)
    starts = np.cumsum(np.maximum(2 * sizes - 1, 0)) - np.maximum(2 * sizes - 1, 0)
    scores = np.zeros(len(sizes))
    status = np.zeros(len(sizes), np.int64)
    run(
        lambda listed: kernels.search(listed, span, arc, headed, sizes, heads, rows, starts, scores, status),
        sizes,
        4,
        threads,
    )
    complain(status)
    return Decoded(heads, spans, scores)
