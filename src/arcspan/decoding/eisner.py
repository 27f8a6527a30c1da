"""The best dependency tree by itself: Eisner (1996) over projective trees with one root, O(n^3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.batch import DONE, Decoded, as_float32, as_scores, check_lengths, complain, run, shrink
from arcspan.decoding.compilation import kernels


def eisner(arc: ArrayLike, lengths: ArrayLike, threads: int | None = None) -> Decoded:
    """The best projective dependency tree, with one root, of every sentence of a batch.

    arc      [B, n+1, n+1]: arc[b, m, h] scores h as the head of m; h = 0 is the root
    lengths  [B]: words of each sentence; cells beyond them, row 0 and the diagonal may hold anything
    threads  at most so many threads, one sentence each; the result does not depend on it

    `spans` is None. Errors are those of `eisner_satta`.

    >>> import numpy as np
    >>> arc = np.zeros((1, 4, 4))
    >>> arc[0, 2, 0] = arc[0, 1, 2] = arc[0, 3, 2] = 1
    >>> eisner(arc, [3]).heads.tolist()
    [[0, 2, 0, 2]]
    """
    search = kernels("eisner").search
    arc = as_scores(arc, "arc")
    sizes = check_lengths(lengths, arc.shape, "arc")
    size = arc.shape[1]
    flat = as_float32(arc).reshape(-1)
    heads = np.zeros((len(sizes), size), np.int64)
    scores = np.empty(len(sizes))
    status = np.empty(len(sizes), np.int64)

    def work(queue: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        search(queue, taken, flat, size, sizes, heads, scores, status)

    def again(b: int) -> int:
        n = int(sizes[b])
        used = ~np.eye(n + 1, dtype=bool)
        used[0] = False
        parts = shrink(np.where(used, arc[b, : n + 1, : n + 1], 0.0).astype(np.float64))
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
            heads[b : b + 1],
            scores[b : b + 1],
            code,
        )
        if code[0] == DONE:
            words = np.arange(1, n + 1)
            scores[b] = arc[b][words, heads[b, words]].sum(dtype=np.float64)
        return int(code[0])

    run(work, sizes, 3, threads)
    complain(status, again)
    return Decoded(heads, None, scores)
