"""The best binary constituency tree: CKY, O(n^3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from arcspan.decoding.batch import Decoded, as_float32, check_lengths, complain, run, span_rows


def cky(span: ArrayLike, lengths: ArrayLike, threads: int | None = None) -> Decoded:
    """The best binary constituency tree of every sentence."""
    from arcspan.decoding.kernels import cky as kernels

    span = np.asarray(span)
    sizes = check_lengths(lengths, span, "span")
    span = as_float32(span)
    rows, starts, spans = span_rows(sizes, 2)
    scores = np.zeros(len(sizes))
    status = np.zeros(len(sizes), np.int64)
    run(lambda listed: kernels.search(listed, span, sizes, rows, starts, scores, status), sizes, 3, threads)
    complain(status)
    return Decoded(None, spans, scores)
