"""The O(n^5) head-driven search of Zhou & Zhao (2019): the baseline of the speed table and an independent oracle.

It finds what `eisner_satta` finds, by the shortest road from the definition, in float64. Not for parsing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.batch import HUGE, NAN, Decoded, check_joint, complain, run, span_rows
from arcspan.decoding.compilation import kernels
from arcspan.errors import ScoreError


def naive(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    headed: ArrayLike | None = None,
    threads: int | None = None,
) -> Decoded:
    """The best lexicalized tree of every sentence: arguments, result and errors of `eisner_satta`, headed as a cube.

    >>> import numpy as np
    >>> naive(np.zeros((1, 3, 3)), np.ones((1, 3, 3)), [2]).heads.tolist()
    [[0, 0, 1]]
    """
    search = kernels("naive").search
    span, arc, sizes, headed = check_joint(span, arc, lengths, headed)
    size = span.shape[1]
    if headed is not None and headed.ndim != 4:
        raise ScoreError(f"headed must have the shape {[*span.shape, size]}, not {list(headed.shape)}")
    order = 1 if headed is None else 2
    span, arc, third = (
        np.array(part, np.float64, order="C")
        for part in (span, arc, np.zeros((len(sizes), 1, 1, 1)) if headed is None else headed)
    )
    heads = np.zeros((len(sizes), size), np.int64)
    rows, starts, spans = span_rows(sizes, 3)
    scores = np.empty(len(sizes))
    status = np.zeros(len(sizes), np.int64)
    for b, n in enumerate(sizes.tolist()):
        status[b] = _fitness(span[b], arc[b], None if headed is None else third[b], n)
    complain(status)

    def work(queue: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        search(queue, taken, span, arc, third, order, sizes, heads, rows, starts, scores, status)

    run(work, sizes, 5, threads)
    complain(status)
    return Decoded(heads, spans, scores)


def _fitness(
    span: NDArray[np.float64], arc: NDArray[np.float64], headed: NDArray[np.float64] | None, n: int
) -> int:
    """Whether the cells of one sentence that trees use are numbers."""
    i, j = np.triu_indices(n + 1, 1)
    used = [span[i, j], arc[i, j][i > 0], arc[j, i]]
    if headed is not None:
        used.append(headed[i, j, 1 : n + 1].reshape(-1))
    everything = np.concatenate(used)
    return NAN if np.isnan(everything).any() else HUGE if np.isposinf(everything).any() else 0
