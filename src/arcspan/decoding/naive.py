"""The O(n^5) head-driven search of Zhou & Zhao (2019): the baseline of the speed table and an independent oracle.

It finds what `eisner_satta` finds, by the shortest road from the definition, in float64. Not for parsing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.batch import HUGE, NAN, Decoded, check_lengths, complain, run, span_rows
from arcspan.errors import ScoreError


def naive(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    headed: ArrayLike | None = None,
    threads: int | None = None,
) -> Decoded:
    """The best lexicalized tree of every sentence of a batch; arguments, result and errors of `eisner_satta`.

    >>> import numpy as np
    >>> naive(np.zeros((1, 3, 3)), np.ones((1, 3, 3)), [2]).heads.tolist()
    [[0, 0, 1]]
    """
    from arcspan.decoding.kernels.naive import search

    span, arc = np.array(span, np.float64, order="C"), np.array(arc, np.float64, order="C")
    sizes = check_lengths(lengths, span, "span")
    if arc.shape != span.shape:
        raise ScoreError(f"arc must have the shape of span, {list(span.shape)}, not {list(arc.shape)}")
    size = span.shape[1]
    order = 1 if headed is None else 2
    third = np.zeros((len(sizes), 1, 1, 1)) if headed is None else np.array(headed, np.float64, order="C")
    if headed is not None and third.shape != (*span.shape, size):
        raise ScoreError(f"headed must have the shape {[*span.shape, size]}, not {list(third.shape)}")
    heads = np.zeros((len(sizes), size), np.int64)
    rows, starts, spans = span_rows(sizes, 3)
    scores = np.empty(len(sizes))
    status = np.zeros(len(sizes), np.int64)
    for b, n in enumerate(sizes.tolist()):
        status[b] = _fitness(span[b], arc[b], None if headed is None else third[b], n)
    complain(status)

    def work(listed: NDArray[np.int64]) -> None:
        search(listed, span, arc, third, order, sizes, heads, rows, starts, scores, status)

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
