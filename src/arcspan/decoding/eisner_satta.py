"""The best pair of compatible trees: Eisner & Satta (1999) over lexicalized trees, O(n^4), first and second order.

The score of a lexicalized tree is the sum of s_c(i, j) over its 2n-1 binary spans and of s_d(m, h) over its n
arcs, the root arc included. Second order adds s(i, j, h) to every headed span, and to the hooked span of each of
the n-1 attachments below the root: the modifier's largest span (i, j), with h the word it attaches to.
How the search goes is told in `kernels/eisner_satta.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.batch import (
    DONE,
    Decoded,
    as_float32,
    check_lengths,
    complain,
    run,
    run_queue,
    shrink,
    span_rows,
)
from arcspan.errors import ScoreError

_NO_SCORES = np.empty(0, np.float32)


def eisner_satta(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    headed: ArrayLike | None = None,
    threads: int | None = None,
) -> Decoded:
    """The best lexicalized tree of every sentence of a batch.

    span     [B, n+1, n+1]: span[b, i, j] scores the words i+1..j as a constituent, i < j
    arc      [B, n+1, n+1]: arc[b, m, h] scores h as the head of m; h = 0 is the root
    lengths  [B]: words of each sentence; cells beyond them, and cells that no tree uses, may hold anything
    headed   [B, n+1, n+1, n+1]: headed[b, i, j, h] scores span (i, j) with head word h where h is inside it, and
             span (i, j) attached to h where h is outside; None for first order
    threads  at most so many threads, one sentence each; the result does not depend on it

    -inf forbids a part. Search is in float32, and exact; among equals the tree found is always the same.
    ScoreError where a score is NaN or plus infinity, or where every tree of a sentence is forbidden.

    >>> import numpy as np
    >>> span, arc = np.zeros((1, 4, 4)), np.zeros((1, 4, 4))
    >>> span[0, 1, 3] = 1  # (1 (2 3))
    >>> arc[0, 2, 0] = arc[0, 1, 2] = arc[0, 3, 2] = 1  # 1 <- 2 -> 3
    >>> best = eisner_satta(span, arc, [3])
    >>> best.heads.tolist(), best.spans[0].tolist(), best.scores.tolist()
    ([[0, 2, 0, 2]], [[0, 3, 2], [0, 1, 1], [1, 3, 2], [1, 2, 2], [2, 3, 3]], [4.0])
    """
    from arcspan.decoding.kernels.eisner_satta import search

    span, arc = np.asarray(span), np.asarray(arc)
    sizes = check_lengths(lengths, span, "span")
    if arc.shape != span.shape:
        raise ScoreError(f"arc must have the shape of span, {list(span.shape)}, not {list(arc.shape)}")
    size = span.shape[1]
    flat_span, flat_arc, flat_headed, packed = (
        as_float32(span).reshape(-1),
        as_float32(arc).reshape(-1),
        _NO_SCORES,
        False,
    )
    if headed is not None:
        headed = np.asarray(headed)
        if headed.shape != (*span.shape, size):
            raise ScoreError(f"headed must have the shape {[*span.shape, size]}, not {list(headed.shape)}")
        # The kernel reads whole blocks of lanes, which in the smallest arrays would run over the end.
        if headed.dtype == np.float32 and headed.flags.carray and size > 2:
            flat_headed = headed.reshape(-1)
        else:
            packed = True
    order = 1 if headed is None else 2
    heads = np.zeros((len(sizes), size), np.int64)
    rows, starts, spans = span_rows(sizes, 3)
    scores = np.empty(len(sizes))
    status = np.empty(len(sizes), np.int64)

    outputs = sizes, heads, rows, starts, scores, status
    taken = np.zeros(1, np.int64)
    arrays = taken, flat_span, flat_arc, flat_headed, outputs

    def work(queue: NDArray[np.int64], desks: NDArray[np.int64], places: NDArray[np.int64]) -> bool:
        ready: bool = search(
            queue, taken, desks, places, flat_span, flat_arc, size, flat_headed, order, False, *outputs
        )
        return ready

    def pack_and_work(listed: NDArray[np.int64]) -> None:
        for b in listed.tolist():
            rows_of_b = _pack(headed[b], int(sizes[b]))  # type: ignore[index]
            search(np.array([b]), *_alone(), flat_span, flat_arc, size, rows_of_b, 2, True, *outputs)

    def again(b: int) -> int:
        """Search a sentence whose scores are too large to be added up in float32, divided by a power of two."""
        n = int(sizes[b])
        parts = shrink(*_used(span[b], arc[b], None if headed is None else headed[b], n))
        if isinstance(parts, int):
            return parts
        small = [as_float32(part[None]) for part in parts]
        small_headed = _pack(small[2][0], n) if headed is not None else _NO_SCORES
        one, code = np.zeros(1, np.int64), np.empty(1, np.int64)
        its = sizes[b : b + 1], heads[b : b + 1], rows[starts[b] :], one, scores[b : b + 1], code
        flat = small[0].reshape(-1), small[1].reshape(-1)
        search(one, *_alone(), *flat, n + 1, small_headed, order, headed is not None, *its)
        if code[0] == DONE:
            scores[b] = _score(span[b], arc[b], None if headed is None else headed[b], heads[b], spans[b])
        return int(code[0])

    if packed:
        run(pack_and_work, sizes, 4, threads)
    else:
        run_queue(work, sizes, 4, threads, arrays)
    complain(status, again)
    return Decoded(heads, spans, scores)


def _alone() -> tuple[NDArray[np.int64], ...]:
    """The arguments of a kernel that nobody helps: nothing taken, no desks, no places."""
    return np.zeros(1, np.int64), np.empty((0, 0), np.int64), np.empty(0, np.int64)


def _pack(headed: NDArray[Any], n: int) -> NDArray[np.float32]:
    """The rows headed[i, j, :], i < j, of one sentence, each padded to whole blocks of eight heads."""
    rows = np.zeros((n * (n + 1) // 2, 8 * (n // 8 + 1)), np.float32)
    begin = 0
    with np.errstate(over="ignore"):
        for i in range(n):
            rows[begin : begin + n - i, : n + 1] = headed[i, i + 1 : n + 1, : n + 1]
            begin += n - i
    return rows.reshape(-1)


def _used(
    span: NDArray[Any], arc: NDArray[Any], headed: NDArray[Any] | None, n: int
) -> list[NDArray[np.float64]]:
    """The scores of one sentence with 0 in every cell that no tree uses."""
    upper = np.triu(np.ones((n + 1, n + 1), bool), 1)
    arcs = ~np.eye(n + 1, dtype=bool)
    arcs[0] = False
    parts = [np.where(upper, span[: n + 1, : n + 1], 0.0), np.where(arcs, arc[: n + 1, : n + 1], 0.0)]
    if headed is not None:
        words = np.arange(n + 1) > 0
        parts.append(np.where(upper[:, :, None] & words, headed[: n + 1, : n + 1, : n + 1], 0.0))
    return [part.astype(np.float64, copy=False) for part in parts]


def _score(
    span: NDArray[Any],
    arc: NDArray[Any],
    headed: NDArray[Any] | None,
    heads: NDArray[np.int64],
    spans: NDArray[np.int64],
) -> float:
    """The score of a tree, added up in float64 part by part."""
    n = (len(spans) + 1) // 2
    i, j, h = spans.T
    total = span[i, j].sum(dtype=np.float64) + arc[np.arange(1, n + 1), heads[1 : n + 1]].sum(
        dtype=np.float64
    )
    if headed is not None:
        total += headed[i, j, h].sum(dtype=np.float64)
        seen = set()
        for i, j, m in spans.tolist():
            # Pre-order: the first span that m heads is its largest.
            if m not in seen and heads[m] > 0:
                total += float(headed[i, j, heads[m]])
            seen.add(m)
    return float(total)
