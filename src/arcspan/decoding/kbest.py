"""The k best lexicalized trees of a sentence, exactly, one after the other.

The user sees a pair of trees, and many lexicalized trees show the same pair: nodes that carry no label vanish from the
constituency tree. `visible` says which spans the user sees; then trees that differ only in others count once, and the
search itself never enumerates them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.batch import (
    DONE,
    FORBIDDEN,
    NO_MEMORY,
    Decoded,
    as_scores,
    check,
    check_headed,
    pack_headed,
    run_each,
)
from arcspan.decoding.native import kernel, pointer
from arcspan.errors import ScoreError, check_count

# What `kbest_next` says, as in native/kbest.c.
_, _EXHAUSTED, _NO_ROOM = range(3)


class ScoredTree(NamedTuple):
    """A lexicalized tree and its score.

    score  the sum of the scores of its parts.
    heads  int64 [n+1]: heads[m] is the head of word m (0 = root); heads[0] is 0.
    spans  int64 [2n-1, 3]: rows (i, j, head) in pre-order.
    """

    score: float
    heads: NDArray[np.int64]
    spans: NDArray[np.int64]


def kbest(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    k: int,
    headed: ArrayLike | None = None,
    *,
    visible: ArrayLike | None = None,
    threads: int | None = None,
) -> list[Decoded]:
    """The k best trees of every sentence: for each a `Decoded` whose rows are its trees, best first.

    Arrays are those of `eisner_satta`. visible, bool [B, n+1, n+1], says which spans (i, j) the user sees; trees with
    the same heads and the same visible spans count once. A sentence with fewer than k trees gets as many as it has.

    >>> import numpy as np
    >>> found = kbest(np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), [3], k=20)[0]  # three words have eight trees
    >>> len(found.scores), found.heads.shape, found.spans[0].shape
    (8, (8, 4), (5, 3))
    """
    check_count("k", k, ScoreError)
    (spans, arcs, parts), sizes = check(span, arc, lengths, headed, threads, joint=True)
    assert spans is not None and arcs is not None
    seen = None if visible is None else np.asarray(visible, np.bool_)

    def search(b: int) -> Decoded:
        m = int(sizes[b]) + 1
        trees = kbest_iter(
            spans[b, :m, :m],
            arcs[b, :m, :m],
            None if parts is None else pack_headed(parts[b], m - 1, np.float64),
            visible=None if seen is None else seen[b, :m, :m],
            name=f"sentence {b} of the batch",
        )
        found = list(islice(trees, min(k, sys.maxsize)))
        heads = np.zeros((len(found), arcs.shape[1]), np.int64)
        for row, tree in zip(heads, found, strict=True):
            row[:m] = tree.heads
        return Decoded(
            heads, [tree.spans for tree in found], np.array([tree.score for tree in found])
        )

    return run_each(search, sizes, 4, threads)


def kbest_iter(
    span: ArrayLike,
    arc: ArrayLike,
    headed: ArrayLike | None = None,
    *,
    visible: ArrayLike | None = None,
    name: str = "the sentence",
) -> Iterator[ScoredTree]:
    """The trees of one sentence, best first, found as they are asked for, until there are no more.

    span     [n+1, n+1] as span[i, j];  arc  [n+1, n+1] as arc[modifier, head].
    headed   [n+1, n+1, n+1], or packed [pairs, n+1] as in `eisner_satta`; None for first order.
    visible  bool [n+1, n+1]: which spans the user sees. Without it all trees are distinct.
    name     what an error calls the sentence.

    Equal scores come in the same order every time. Scores are checked, and the chart is filled, at the call.

    >>> import numpy as np
    >>> scores = np.arange(9.0).reshape(3, 3)
    >>> [(tree.score, tree.heads.tolist()) for tree in kbest_iter(scores, scores)]
    [(19.0, [0, 2, 0]), (18.0, [0, 0, 1])]
    """
    spans, arcs = (
        np.array(as_scores(part, kind), np.float64, order="C")
        for part, kind in ((span, "span"), (arc, "arc"))
    )
    size = len(np.atleast_1d(spans))
    seen = None if visible is None else np.array(visible, np.bool_, order="C")
    for what, array in (("span", spans), ("arc", arcs), ("visible", seen)):
        if array is not None and (array.shape != (size, size) or size == 0):
            raise ScoreError(f"{what} must have the shape {[size, size]}, not {list(array.shape)}")
    parts = None
    if headed is not None:
        (cube,) = check_headed(as_scores(headed, "headed")[None], (1, size, size))
        parts = np.array(pack_headed(cube, size - 1, np.float64), order="C")
    if size == 1:
        return iter([ScoredTree(0.0, np.zeros(1, np.int64), np.zeros((0, 3), np.int64))])
    return _Search(name, size - 1, spans, arcs, parts, seen)


class _Search(Iterator[ScoredTree]):
    """The state of a lazy search: the arrays that it reads, and what the kernel keeps, which grows."""

    def __init__(self, name: str, n: int, *arrays: NDArray[Any] | None) -> None:
        self._n, self._handle, self._arrays = n, None, arrays
        status = np.empty(1, np.int64)
        inputs = [None if part is None else pointer(part) for part in arrays]
        begin = kernel("kbest_open")
        begin.restype = ctypes.c_void_p
        self._handle = begin(*inputs, n, pointer(status))
        self._next, self._close = kernel("kbest_next"), kernel("kbest_close")
        if status[0] == NO_MEMORY:
            raise MemoryError(f"no memory for the chart of {name}")
        if status[0] == FORBIDDEN:
            raise ScoreError(f"{name} has no tree: its scores forbid (-inf) every one")
        if status[0] != DONE:
            raise ScoreError(
                f"{name} has a score that is NaN or plus infinity, or too large to add up"
            )

    def __next__(self) -> ScoredTree:
        heads, spans = np.empty(self._n + 1, np.int64), np.empty((2 * self._n - 1, 3), np.int64)
        score = np.empty(1)
        code = self._next(
            ctypes.c_void_p(self._handle), pointer(heads), pointer(spans), pointer(score)
        )
        if code == _EXHAUSTED:
            raise StopIteration
        if code == _NO_ROOM:
            raise MemoryError("no memory for another tree")
        return ScoredTree(float(score[0]), heads, spans)

    def __del__(self) -> None:
        if self._handle:
            self._close(ctypes.c_void_p(self._handle))
