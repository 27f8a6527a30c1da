"""The best dependency tree by itself: Eisner (1996) over projective trees with one root, O(n^3)."""

from __future__ import annotations

from numpy.typing import ArrayLike

from arcspan.decoding.batch import Decoded, as_scores, check_lengths, search


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
    scores = as_scores(arc, "arc")
    return search("eisner", [scores], check_lengths(lengths, scores.shape, "arc"), threads)
