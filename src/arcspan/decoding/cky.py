"""The best constituency tree by itself: CKY over unlabelled binary trees, O(n^3)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from arcspan.decoding.batch import Decoded, as_scores, check_lengths, search


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
    scores = as_scores(span, "span")
    return search("cky", [scores], check_lengths(lengths, scores.shape, "span"), threads)
