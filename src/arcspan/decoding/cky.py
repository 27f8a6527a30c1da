"""The best constituency tree by itself: CKY over unlabelled binary trees, O(n^3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.batch import (
    DONE,
    Decoded,
    as_float32,
    as_scores,
    check_lengths,
    complain,
    run,
    shrink,
    span_rows,
)
from arcspan.decoding.compilation import kernels


def cky(span: ArrayLike, lengths: ArrayLike, threads: int | None = None) -> Decoded:
    """The best binary constituency tree of every sentence of a batch.

    span     [B, n+1, n+1]: span[b, i, j] scores the words i+1..j as a constituent, i < j
    lengths  [B]: words of each sentence; cells beyond them may hold anything
    threads  at most so many threads, one sentence each; the result does not depend on it

    The 2n-1 spans of a tree are rows (i, j) in pre-order; `heads` is None. Errors are those of `eisner_satta`.

    >>> import numpy as np
    >>> span = np.zeros((1, 4, 4))
    >>> span[0, 1, 3] = 1
    >>> cky(span, [3]).spans[0].tolist()
    [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    """
    search = kernels("cky").search
    span = as_scores(span, "span")
    sizes = check_lengths(lengths, span.shape, "span")
    size = span.shape[1]
    flat = as_float32(span).reshape(-1)
    rows, starts, spans = span_rows(sizes, 2)
    scores = np.empty(len(sizes))
    status = np.empty(len(sizes), np.int64)

    def work(queue: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        search(queue, taken, flat, size, sizes, rows, starts, scores, status)

    def again(b: int) -> int:
        n = int(sizes[b])
        parts = shrink(np.triu(span[b, : n + 1, : n + 1], 1).astype(np.float64))
        if isinstance(parts, int):
            return parts
        one, code = np.zeros(1, np.int64), np.empty(1, np.int64)
        small = as_float32(parts[0]).reshape(-1)
        search(
            one,
            np.zeros(1, np.int64),
            small,
            n + 1,
            sizes[b : b + 1],
            rows[starts[b] :],
            one,
            scores[b : b + 1],
            code,
        )
        if code[0] == DONE:
            scores[b] = span[b][spans[b][:, 0], spans[b][:, 1]].sum(dtype=np.float64)
        return int(code[0])

    run(work, sizes, 3, threads)
    complain(status, again)
    return Decoded(None, spans, scores)
