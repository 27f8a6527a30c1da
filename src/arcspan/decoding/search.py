"""Search the best trees: CKY for spans, Eisner (1996) for arcs, Eisner & Satta (1999) for both at
once.

The score of a lexicalized tree is the sum of s_c(i, j) over its 2n-1 binary spans and of s_d(m, h)
over its n arcs, the root arc included. Second order adds s(i, j, h) to every headed span, and to
the hooked span of each of the n-1 attachments below the root: the modifier's largest span (i, j),
with h the word it attaches to. `native/` has one file per search.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from arcspan.decoding.batch import EISNER_SATTA, NAIVE, Decoded, Values, best


def cky(span: ArrayLike, lengths: ArrayLike, threads: int | None = None) -> Decoded:
    """Return the best binary constituency tree of every sentence of a batch, in O(n^3).

    Arguments and errors are those of `eisner_satta`; spans are rows (i, j) in pre-order, and
    `heads` is None.

    >>> import numpy as np
    >>> span = np.zeros((1, 4, 4))
    >>> span[0, 1, 3] = 1
    >>> cky(span, [3]).spans[0].tolist()
    [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]]
    """
    return best(span, None, lengths, None, threads)


def eisner(arc: ArrayLike, lengths: ArrayLike, threads: int | None = None) -> Decoded:
    """Return the best projective dependency tree, with one root, of every sentence, in O(n^3).

    Arguments and errors are those of `eisner_satta`; `spans` is None.

    >>> import numpy as np
    >>> arc = np.zeros((1, 4, 4))
    >>> arc[0, 2, 0] = arc[0, 1, 2] = arc[0, 3, 2] = 1
    >>> eisner(arc, [3]).heads.tolist()
    [[0, 2, 0, 2]]
    """
    return best(None, arc, lengths, None, threads)


def eisner_satta(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    headed: Values = None,
    threads: int | None = None,
) -> Decoded:
    """Return the best lexicalized tree of every sentence of a batch, in O(n^4).

    span     [B, n+1, n+1]: span[b, i, j] scores the words i+1..j as a constituent, i < j
    arc      [B, n+1, n+1]: arc[b, m, h] scores h as the head of m; h = 0 is the root
    lengths  [B]: words of each sentence; cells beyond them, and cells that no tree uses, may hold
             anything
    headed   [B, n+1, n+1, n+1]: headed[b, i, j, h] scores span (i, j) with head word h where h is
             inside it, and span (i, j) attached to h where h is outside; None for first order. Or,
             in half the memory, its rows i < j alone: [B, pairs, n+1] in the order of
             np.triu_indices(n + 1, 1)
    threads  at most so many threads, one sentence each; the result does not depend on it

    -inf forbids a part. The search is in float32, and exact; of equal trees it always returns the
    same one. Raises ScoreError if a score is NaN or plus infinity, or if every tree of a sentence
    is forbidden.

    >>> import numpy as np
    >>> span, arc = np.zeros((1, 4, 4)), np.zeros((1, 4, 4))
    >>> span[0, 1, 3] = 1  # (1 (2 3))
    >>> arc[0, 2, 0] = arc[0, 1, 2] = arc[0, 3, 2] = 1  # 1 <- 2 -> 3
    >>> best = eisner_satta(span, arc, [3])
    >>> best.heads.tolist(), best.spans[0].tolist(), best.scores.tolist()
    ([[0, 2, 0, 2]], [[0, 3, 2], [0, 1, 1], [1, 3, 2], [1, 2, 2], [2, 3, 3]], [4.0])
    """
    return best(span, arc, lengths, headed, threads, EISNER_SATTA)


def naive(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    headed: Values = None,
    threads: int | None = None,
) -> Decoded:
    """Return the trees of `eisner_satta`, by the O(n^5) search of Zhou & Zhao (2019), in float64.

    The head-driven baseline of the speed table and an independent oracle; not for parsing.

    >>> import numpy as np
    >>> naive(np.zeros((1, 3, 3)), np.ones((1, 3, 3)), [2]).heads.tolist()
    [[0, 0, 1]]
    """
    return best(span, arc, lengths, headed, threads, NAIVE)
