"""Enumerate the k best lexicalized trees of a sentence, exactly and lazily.

Users see a pair of trees, and many lexicalized trees show the same pair: nodes without a label
vanish from the constituency tree. `visible` marks the spans that the user sees; trees that differ
only in others then count once, and the search itself never enumerates them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from arcspan.decoding.batch import (
    Array,
    Decoded,
    Ints,
    Values,
    as_scores,
    check,
    check_headed,
    pack_headed,
    run_each,
)
from arcspan.decoding.native import Status, kernel, pointer
from arcspan.errors import ScoreError, check_count


class ScoredTree(NamedTuple):
    """A lexicalized tree and its score.

    score  the sum of the scores of its parts.
    heads  int64 [n+1]: heads[m] is the head of word m (0 = root); heads[0] is 0.
    spans  int64 [2n-1, 3]: rows (i, j, head) in pre-order.
    """

    score: float
    heads: Ints
    spans: Ints


def kbest(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    k: int,
    headed: Values = None,
    *,
    visible: Values = None,
    threads: int | None = None,
) -> list[Decoded]:
    """Return the k best trees of every sentence: for each a `Decoded` with a row per tree, best
    first.

    Arrays are those of `eisner_satta`. visible, bool [B, n+1, n+1], marks the spans (i, j) that the
    user sees, or [B, n+1, n+1, n+1] those that the user sees if their head is h. Trees with the
    same heads and the same visible spans count once. A sentence with fewer than k trees gets as
    many as it has.

    >>> import numpy as np
    >>> scores = np.zeros((1, 4, 4))
    >>> trees = kbest(scores, scores, [3], k=20)[0]  # three words have eight trees
    >>> len(trees.scores), trees.heads.shape, trees.spans[0].shape
    (8, (8, 4), (5, 3))
    """
    check_count("k", k, ScoreError)
    (spans, arcs, parts), sizes = check(span, arc, lengths, headed, threads, joint=True)
    assert spans is not None and arcs is not None
    shown = None if visible is None else np.asarray(visible, np.bool_)

    def search(b: int) -> Decoded:
        m = int(sizes[b]) + 1
        marks = None if shown is None else shown[b, :m, :m]
        if marks is not None and marks.ndim == 3:
            marks = marks[:, :, :m]
        trees = kbest_iter(
            spans[b, :m, :m],
            arcs[b, :m, :m],
            None if parts is None else pack_headed(parts[b], m - 1, np.float64),
            visible=marks,
            name=f"sentence {b} of the batch",
        )
        # islice refuses larger numbers.
        best = list(islice(trees, min(k, sys.maxsize)))
        heads = np.zeros((len(best), arcs.shape[1]), np.int64)
        heads[:, :m] = [tree.heads for tree in best]
        return Decoded(
            heads, [tree.spans for tree in best], np.array([tree.score for tree in best])
        )

    return run_each(search, sizes, 4, threads)


def kbest_iter(
    span: ArrayLike,
    arc: ArrayLike,
    headed: Values = None,
    *,
    visible: Values = None,
    name: str = "the sentence",
) -> Iterator[ScoredTree]:
    """Yield the trees of one sentence, best first, each computed on demand.

    span     [n+1, n+1] as span[i, j];  arc  [n+1, n+1] as arc[modifier, head].
    headed   [n+1, n+1, n+1], or packed [pairs, n+1] as in `eisner_satta`; None for first order.
    visible  bool [n+1, n+1]: which spans the user sees; or [n+1, n+1, n+1], which of them with
             which head. Without it all trees are distinct.
    name     the sentence's name in errors.

    Equal scores come in the same order every time. Scores are checked, and the chart is filled, at
    the call.

    >>> import numpy as np
    >>> scores = np.arange(9.0).reshape(3, 3)
    >>> [(tree.score, tree.heads.tolist()) for tree in kbest_iter(scores, scores)]
    [(19.0, [0, 2, 0]), (18.0, [0, 0, 1])]
    """
    # Copies, since the caller may change its arrays while the search goes on.
    spans = np.array(as_scores(span, "span"), np.float64, order="C")
    arcs = np.array(as_scores(arc, "arc"), np.float64, order="C")
    shown = None if visible is None else np.array(visible, np.bool_, order="C")
    size = len(np.atleast_1d(spans))
    cube = (size, size, size)
    if shown is not None and shown.shape == (size, size):
        # The kernel reads a mark for each head.
        shown = np.array(np.broadcast_to(shown[:, :, None], cube))
    shapes = (("span", spans, cube[1:]), ("arc", arcs, cube[1:]), ("visible", shown, cube))
    for label, array, shape in shapes:
        if array is not None and (array.shape != shape or size == 0):
            raise ScoreError(f"{label} must have the shape {list(shape)}, not {list(array.shape)}")
    parts = None
    if headed is not None:
        second_order = as_scores(headed, "headed")
        check_headed(second_order[None], (1, size, size))
        parts = np.array(pack_headed(second_order, size - 1, np.float64), order="C")
    if size == 1:
        return iter([ScoredTree(0.0, np.zeros(1, np.int64), np.zeros((0, 3), np.int64))])
    return _LazySearch(name, size - 1, spans, arcs, parts, shown)


class _LazySearch(Iterator[ScoredTree]):
    """The state of a search: the arrays that the kernel reads, and a handle of its growing memory."""

    def __init__(self, name: str, n: int, *arrays: Array | None) -> None:
        # Set first: __del__ runs even if the kernel cannot be loaded.
        self._handle: int | None = None
        self._n = n
        self._arrays = arrays
        self._next = kernel("kbest_next")
        self._close = kernel("kbest_close")
        status = np.empty(1, np.int64)
        inputs = [None if array is None else pointer(array) for array in arrays]
        self._handle = kernel("kbest_open")(*inputs, n, pointer(status))
        if status[0] == Status.NO_MEMORY:
            raise MemoryError(f"no memory for the chart of {name}")
        if status[0] == Status.FORBIDDEN:
            raise ScoreError(f"{name} has no tree: its scores forbid (-inf) every one")
        if status[0] != Status.DONE:
            raise ScoreError(
                f"{name} has a score that is NaN or plus infinity, or too large to add up"
            )

    def __next__(self) -> ScoredTree:
        heads = np.empty(self._n + 1, np.int64)
        spans = np.empty((2 * self._n - 1, 3), np.int64)
        score = np.empty(1)
        status = self._next(self._handle, pointer(heads), pointer(spans), pointer(score))
        # DONE is 0.
        if not status:
            return ScoredTree(float(score[0]), heads, spans)
        if status == Status.EXHAUSTED:
            raise StopIteration
        raise MemoryError("no memory for another tree")

    def __del__(self) -> None:
        if self._handle:
            self._close(self._handle)
