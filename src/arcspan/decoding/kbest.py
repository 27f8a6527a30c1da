"""The k best lexicalized trees of a sentence, exactly, one after the other.

The user sees a pair of trees, and many lexicalized trees show the same pair: nodes that carry no label vanish from the
constituency tree. `visible` says which spans the user sees; then trees that differ only in others count once, and the
search itself never enumerates them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding import compilation
from arcspan.decoding.batch import (
    Decoded,
    as_scores,
    check_count,
    check_headed,
    check_joint,
    pack_headed,
    run_each,
)
from arcspan.errors import ScoreError


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
    check_count(k, "k")
    spans, arcs, sizes, parts = check_joint(span, arc, lengths, headed)
    seen = None if visible is None else np.asarray(visible, np.bool_)
    results: list[Decoded] = [Decoded(None, None, np.zeros(0))] * len(sizes)

    def search(b: int) -> None:
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
        results[b] = Decoded(heads, [tree.spans for tree in found], np.array([tree.score for tree in found]))

    run_each(search, sizes, 4, threads)
    return results


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
        np.array(as_scores(part, name), np.float64) for part, name in ((span, "span"), (arc, "arc"))
    )
    size = len(np.atleast_1d(spans))
    seen = None if visible is None else np.asarray(visible, np.bool_)
    for what, array in (("span", spans), ("arc", arcs), ("visible", seen)):
        if array is not None and (array.shape != (size, size) or size == 0):
            raise ScoreError(f"{what} must have the shape {[size, size]}, not {list(array.shape)}")
    parts = None
    if headed is not None:
        (cube,) = check_headed(as_scores(headed, "headed")[None], (1, size, size))
        parts = pack_headed(cube, size - 1, np.float64)
    if size == 1:
        return iter([ScoredTree(0.0, np.zeros(1, np.int64), np.zeros((0, 3), np.int64))])
    return _Search(spans, arcs, parts, seen, name)


class _Search(Iterator[ScoredTree]):
    """The state of a lazy search: the chart, and the pool of derivations and candidates, which grows."""

    def __init__(
        self,
        span: NDArray[np.float64],
        arc: NDArray[np.float64],
        headed: NDArray[np.float64] | None,
        visible: NDArray[np.bool_] | None,
        name: str,
    ) -> None:
        kernels = self._kernels = compilation.kernels("kbest")
        size = self._size = len(span)
        values = np.empty((size, size, size))
        best, good = kernels.best_values(span, arc, headed, values)
        if not good:
            raise ScoreError(f"{name} has a score that is NaN or plus infinity")
        if best == -np.inf:
            raise ScoreError(f"{name} has no tree: its scores forbid (-inf) every one")
        keys, arc_keys = _keys(visible)
        self._fixed = (span, arc, headed, keys, arc_keys, values)
        self._used = np.zeros(2, np.int64)
        self._touched = np.full(size**3, -1, np.int64)
        # Room for the best tree: at most 3n items, all of whose splits are candidates.
        room = 3 * size * size
        self._pool = np.empty((room, kernels.COLUMNS), np.int64)
        self._items = np.empty((room // 8 + 4, 4), np.int64)
        self._scores = np.empty(room)
        self._sums = np.empty(room, np.uint64)

    def __next__(self) -> ScoredTree:
        kernels, n = self._kernels, self._size - 1
        code = kernels.NO_ROOM
        while code == kernels.NO_ROOM:
            state = (self._pool, self._scores, self._sums, self._used, self._items, self._touched)
            code = kernels.advance(*self._fixed, *state)
            if code == kernels.NO_ROOM:
                self._grow()
        if code == kernels.EXHAUSTED:
            raise StopIteration
        row = self._items[self._touched[kernels.GOAL], kernels.NEWEST]
        heads = np.zeros(n + 1, np.int64)
        spans = np.empty((2 * n - 1, 3), np.int64)
        kernels.trace(self._size, self._pool, row, heads, spans)
        return ScoredTree(float(self._scores[row]), heads, spans)

    def _grow(self) -> None:
        room = 2 * len(self._pool)
        self._pool = _grown(self._pool, room)
        self._scores = _grown(self._scores, room)
        self._sums = _grown(self._sums, room)
        self._items = _grown(self._items, 2 * len(self._items))


def _grown(array: NDArray[Any], length: int) -> NDArray[Any]:
    larger = np.empty((length, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _keys(visible: NDArray[np.bool_] | None) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """A random number for every span that is seen, zero for others, and one for every arc.

    What the user sees of a tree is told by the sum of its numbers: two of 64 bits are equal by chance once in 10^19.
    """
    if visible is None:
        return np.zeros((0, 0), np.uint64), np.zeros((0, 0), np.uint64)
    random = np.random.default_rng(19990620)
    spans = random.integers(0, 2**64, visible.shape, np.uint64, endpoint=False)
    return np.where(visible, spans, np.uint64(0)), random.integers(0, 2**64, visible.shape, np.uint64)
