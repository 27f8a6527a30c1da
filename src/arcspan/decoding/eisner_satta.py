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
    check_joint,
    complain,
    first_rows,
    pack_headed,
    run,
    run_each,
    shrink,
    span_rows,
)
from arcspan.decoding.compilation import kernels


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
             span (i, j) attached to h where h is outside; None for first order. Or, in half the memory, its rows
             i < j alone: [B, pairs, n+1] in the order of np.triu_indices(n + 1, 1)
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
    search = kernels("eisner_satta").search
    span, arc, sizes, headed = check_joint(span, arc, lengths, headed)
    size = span.shape[1]
    first = None if headed is None else first_rows(headed, size)
    heads = np.zeros((len(sizes), size), np.int64)
    rows, starts, spans = span_rows(sizes, 3)
    scores = np.empty(len(sizes))
    status = np.empty(len(sizes), np.int64)
    outputs = sizes, heads, rows, starts, scores, status
    flat = as_float32(span).reshape(-1), as_float32(arc).reshape(-1)

    def work(queue: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        second = None if headed is None else headed.reshape(-1)
        search(queue, taken, *flat, second, first, size, *outputs)

    def alone(b: int, parts: list[NDArray[Any]]) -> int:
        """Search sentence b by itself: span [n+1, n+1], arc [n+1, n+1] and where there are any headed [pairs, n+1]."""
        n = int(sizes[b])
        one, code = np.zeros(1, np.int64), np.empty(1, np.int64)
        flat = [as_float32(part).reshape(-1) for part in parts]
        second = None if headed is None else (flat[2], first_rows(parts[2][None], n + 1))
        its = sizes[b : b + 1], heads[b : b + 1], rows[starts[b] :], one, scores[b : b + 1], code
        search(one, np.zeros(1, np.int64), *flat[:2], *(second or (None, None)), n + 1, *its)
        return int(code[0])

    def convert(b: int) -> None:
        status[b] = alone(b, _parts(span, arc, headed, b, int(sizes[b]), np.float32))

    def again(b: int) -> int:
        """Search a sentence whose scores are too large to be added up in float32, divided by a power of two."""
        parts = _parts(span, arc, headed, b, int(sizes[b]), np.float64)
        small = shrink(*_used(parts))
        if isinstance(small, int):
            return small
        code = alone(b, small)
        if code == DONE:
            scores[b] = _score(parts, heads[b], spans[b])
        return code

    if headed is None or (headed.dtype == np.float32 and headed.flags.carray):
        run(work, sizes, 4, threads)
    else:
        run_each(convert, sizes, 4, threads)
    complain(status, again)
    return Decoded(heads, spans, scores)


def _parts(
    span: NDArray[Any], arc: NDArray[Any], headed: NDArray[Any] | None, b: int, n: int, kind: Any
) -> list[NDArray[Any]]:
    """The scores of one sentence, as large as it is, headed ones packed."""
    with np.errstate(over="ignore"):
        parts = [part[b, : n + 1, : n + 1].astype(kind) for part in (span, arc)]
        return parts if headed is None else [*parts, pack_headed(headed[b], n, kind)]


def _used(parts: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The scores of one sentence with 0 in every cell that no tree uses."""
    span, arc, *headed = parts
    arcs = ~np.eye(len(arc), dtype=bool)
    arcs[0] = False
    words = np.arange(len(arc)) > 0
    return [np.triu(span, 1), np.where(arcs, arc, 0.0), *(np.where(words, part, 0.0) for part in headed)]


def _score(parts: list[NDArray[np.float64]], heads: NDArray[np.int64], spans: NDArray[np.int64]) -> float:
    """The score of a tree, added up in float64 part by part."""
    span, arc, *headed = parts
    n = len(span) - 1
    i, j, h = spans.T
    total = span[i, j].sum() + arc[np.arange(1, n + 1), heads[1 : n + 1]].sum()
    if headed:
        (second,) = headed
        first = first_rows(second[None], n + 1)
        total += second[first[i] + j, h].sum()
        # Pre-order: the first span that a word heads is its largest.
        _, largest = np.unique(h, return_index=True)
        i, j, h = i[largest], j[largest], heads[1 : n + 1]
        total += second[first[i] + j, h][h > 0].sum()
    return float(total)
