"""Sums over all trees instead of the best one: log-partition, marginal probabilities, minimum Bayes risk.

A tree's probability is the exponential of its score over the sum of those of all trees, the partition. The trees are
those that the searches choose from: binary trees for span scores, projective trees with one root for arc scores,
lexicalized trees for both (first order, or second with headed scores). Inside-outside computes everything exactly, in
about the shape of the 1-best search; gradients of the log-partition are the marginals, so that no automatic
differentiation is needed either.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.batch import (
    Decoded,
    as_array,
    as_scores,
    check_count,
    check_joint,
    check_lengths,
    complain,
    plan,
    used_cells,
)
from arcspan.decoding.cky import cky
from arcspan.decoding.eisner import eisner
from arcspan.decoding.eisner_satta import eisner_satta
from arcspan.decoding.native import kernel, pointer
from arcspan.errors import ScoreError


class Marginals(NamedTuple):
    """What the trees of every sentence have in common, weighed by their probability.

    log_partition  float64 [B]: the logarithm of the sum over all trees of exp(score).
    spans          [B, n+1, n+1]: spans[b, i, j] is the probability of the span (i, j). None without span scores.
    arcs           [B, n+1, n+1]: arcs[b, m, h] is the probability that h is the head of m. None without arc scores.
    headed         [B, n+1, n+1, n+1]: headed[b, i, j, h] is the probability of the headed span (i, j, h) for h inside,
                   of the hooked span for h outside; packed where the headed scores were. None unless headed scores were
                   given or it was asked for.

    Arrays have the type of the scores (float32 or float64), and zeros wherever there is no part, padding included.
    """

    log_partition: NDArray[np.float64]
    spans: NDArray[Any] | None
    arcs: NDArray[Any] | None
    headed: NDArray[Any] | None


def marginals(
    span: ArrayLike | None = None,
    arc: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    headed: ArrayLike | None = None,
    *,
    with_headed: bool | None = None,
    threads: int | None = None,
) -> Marginals:
    """Log-partition and the exact marginal probability of every part, for every sentence.

    span     [B, n+1, n+1] as span[b, i, j], or None for dependency trees alone (Eisner).
    arc      [B, n+1, n+1] as arc[b, modifier, head], or None for constituency trees alone (CKY).
    lengths  [B]; what lies beyond a sentence's length is not read.
    headed   [B, n+1, n+1, n+1] as headed[b, i, j, h]: second order, headed for h inside (i, j], hooked for h outside;
             or packed [B, pairs, n+1] as in `eisner_satta`.
    with_headed  whether to return marginals of headed and hooked spans; by default, where `headed` is given.

    -inf forbids a part. A sentence with NaN or plus infinity, or without a tree, is an error that names it.

    >>> import numpy as np
    >>> found = marginals(np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), [3])
    >>> round(float(np.exp(found.log_partition[0])))  # binary trees with heads over three words
    8
    >>> float(found.spans[0, 0, 2].round(3)), float(found.arcs[0, 1].sum().round(3))
    (0.5, 1.0)
    """
    return _infer(span, arc, lengths, headed, True, with_headed, threads)


def log_partition(
    span: ArrayLike | None = None,
    arc: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    headed: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Only the log-partition [B] of `marginals`, in less than half the time.

    >>> import numpy as np
    >>> round(float(np.exp(log_partition(np.zeros((1, 4, 4)), None, [3])[0])))  # binary trees over three words
    2
    """
    return _infer(span, arc, lengths, headed, False, False, threads).log_partition


def hessian_product(
    span: ArrayLike | None,
    arc: ArrayLike | None,
    lengths: ArrayLike,
    headed: ArrayLike | None = None,
    *,
    along: Sequence[ArrayLike | None],
    threads: int | None = None,
) -> list[NDArray[np.float64] | None]:
    """The second derivatives of the log-partitions times a direction: how marginals change as scores move along it.

    span, arc, lengths   as for `marginals`;  headed  packed [B, pairs, n+1]
    along   the direction in spans, arcs and headed spans, each shaped as its scores; None for zeros

    >>> import numpy as np
    >>> along = np.zeros((1, 3, 3))
    >>> along[0, 1, 0] = 1  # two words: as the score of 1 as the root grows from 0, its probability of 1/2 does by 1/4
    >>> hessian_product(None, np.zeros((1, 3, 3)), [2], along=(None, along, None))[1][0].tolist()
    [[0.0, 0.0, 0.0], [0.25, 0.0, -0.25], [-0.25, 0.25, 0.0]]
    """
    work = _Work(span, arc, lengths, headed)
    if headed is not None and np.ndim(headed) != 3:
        raise ScoreError("second derivatives take headed scores packed: [B, pairs, n+1]")
    for part, way in zip(work.given, along, strict=True):
        if way is not None and (part is None or np.shape(way) != part.shape):
            expected = "None" if part is None else f"of the shape {list(part.shape)}"
            raise ScoreError(
                f"a direction must be shaped as its scores, {expected}, not {list(np.shape(way))}"
            )
    work.run(threads)  # says what is wrong with the scores
    given = [None if part is None else as_array(part, np.float64) for part in work.given]
    out = [None if part is None else np.zeros(part.shape) for part in given]
    slopes = [None if part is None else as_array(np.asarray(part), np.float64) for part in along]
    status = np.empty(len(work.sizes), np.int64)
    joint = span is not None and arc is not None
    order, threads = plan(work.sizes, 4 if joint else 3, threads)
    names = (
        "span",
        "arc",
        "headed",
        "span_along",
        "arc_along",
        "headed_along",
        "span_out",
        "arc_out",
        "headed_out",
    )
    arrays = dict(zip(names, [*given, *slopes, *out], strict=True))
    arrays |= {"lengths": work.sizes, "status": status, "order": order}
    pointers = {name: ctypes.addressof(pointer(array)) for name, array in arrays.items() if array is not None}
    arguments = _HessianArguments(count=len(work.sizes), threads=threads, size=work.size, **pointers)
    if kernel("hessian")(ctypes.byref(arguments)):
        complain(status)
    return out


def minimum_bayes_risk(
    span: ArrayLike | None = None,
    arc: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    headed: ArrayLike | None = None,
    *,
    spans: ArrayLike | None = None,
    arcs: ArrayLike | None = None,
    threads: int | None = None,
) -> Decoded:
    """The trees with the greatest expected number of right spans and arcs: the 1-best search on the marginals.

    span, arc, lengths, headed   the scores, as for `marginals`; what they forbid (-inf) stays forbidden
    spans, arcs   the marginal probabilities, where the caller has better ones than those of the scores as they are:
                  calibrated ones, or ones it has computed already

    `scores` of the result are these expectations, at most 2n-1 for spans plus n for arcs.

    >>> import numpy as np
    >>> arc = np.log([[[1, 1, 1], [3, 1, 1], [1, 1, 1]]])  # two words: 1 is the root with probability 3/4
    >>> found = minimum_bayes_risk(None, arc, [2])
    >>> found.heads.tolist(), float(found.scores[0])
    ([[0, 0, 1]], 1.5)
    """
    if spans is None and arcs is None:
        found = marginals(span, arc, lengths, headed, with_headed=False, threads=threads)
        spans, arcs = found.spans, found.arcs
    spans, arcs = (
        None if score is None else np.where(np.asarray(score) == -np.inf, -np.inf, np.float32(chance))  # type: ignore[arg-type]
        for score, chance in ((span, spans), (arc, arcs))
    )
    sizes = np.asarray(lengths)
    if spans is None or arcs is None:
        return eisner(arcs, sizes, threads=threads) if spans is None else cky(spans, sizes, threads=threads)  # type: ignore[arg-type]
    forbidden = None if headed is None else np.asarray(headed) == -np.inf
    if forbidden is None or not forbidden.any():
        return eisner_satta(spans, arcs, sizes, threads=threads)
    masks = np.where(forbidden, -np.inf, 0).astype(np.float32)
    return eisner_satta(spans, arcs, sizes, masks, threads=threads)


def entropy(
    span: ArrayLike | None = None,
    arc: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    headed: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """The entropy [B] of each sentence's trees, in nats: the log-partition less the expected score.

    >>> import numpy as np
    >>> round(float(np.exp(entropy(np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), [3])[0])), 6)  # eight trees, all alike
    8.0
    """
    found = marginals(span, arc, lengths, headed, threads=threads)
    expected = np.zeros(len(found.log_partition))
    for scores, chances in ((span, found.spans), (arc, found.arcs), (headed, found.headed)):
        if scores is not None and chances is not None:
            products = np.zeros(chances.shape)
            np.multiply(scores, chances, out=products, where=chances > 0)
            expected += products.reshape(len(expected), -1).sum(1)
    return found.log_partition - expected


def sample(
    span: ArrayLike | None = None,
    arc: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
    headed: ArrayLike | None = None,
    *,
    k: int = 1,
    random: np.random.Generator | int | None = None,
    threads: int | None = None,
) -> list[Decoded]:
    """Trees drawn by their probability, k of every sentence: for each a `Decoded` whose rows are its trees.

    span, arc, lengths, headed   as for `marginals`
    random   numpy's generator, or a seed: the same one gives the same trees, whatever the number of threads

    >>> import numpy as np
    >>> span = np.zeros((1, 4, 4))
    >>> span[0, 1, 3] = 50  # so likely that every tree has it
    >>> [rows.tolist()[2] for rows in sample(span, None, [3], k=2, random=0)[0].spans]
    [[1, 3], [1, 3]]
    """
    check_count(k, "k")
    work = _Work(span, arc, lengths, headed)
    count, size = len(work.sizes), work.size
    columns = 2 if arc is None else 3
    uniform = np.random.default_rng(random).random((count, k, 2 * size))
    heads = None if arc is None else np.zeros((count, k, size), np.int64)
    rows = None if span is None else np.zeros((count, k, 2 * size, columns), np.int64)
    work.run(threads, samples=k, random=uniform, tree_heads=heads, tree_rows=rows)
    results = []
    for b, n in enumerate(work.sizes.tolist()):
        spans = None if rows is None else [trees[: max(2 * n - 1, 0)] for trees in rows[b]]
        parts = used_cells([None if part is None else part[b] for part in work.given], n)
        scores = [
            _score(
                parts, None if heads is None else heads[b, t, : n + 1], None if spans is None else spans[t]
            )
            for t in range(k)
        ]
        results.append(Decoded(None if heads is None else heads[b], spans, np.array(scores)))
    return results


def _score(
    parts: list[NDArray[np.float64] | None],
    heads: NDArray[np.int64] | None,
    spans: NDArray[np.int64] | None,
) -> float:
    """The score of a tree of one sentence, from scores as `used_cells` gives them."""
    span, arc, headed = parts
    total = 0.0
    if span is not None and spans is not None:
        total += span[spans[:, 0], spans[:, 1]].sum()
    if arc is not None and heads is not None:
        total += arc[np.arange(1, len(heads)), heads[1:]].sum()
    if headed is not None and spans is not None and heads is not None:
        i, j, h = spans.T
        row = i * (len(heads) - 1) - i * (i + 1) // 2 - 1 + j
        total += headed[row, h].sum()
        # Pre-order: the first span that a word heads is its largest, the one that is hooked.
        words, largest = np.unique(h, return_index=True)
        total += headed[row[largest], heads[words]][heads[words] > 0].sum()
    return float(total)


def _infer(
    span: ArrayLike | None,
    arc: ArrayLike | None,
    lengths: ArrayLike | None,
    headed: ArrayLike | None,
    wanted: bool,
    with_headed: bool | None,
    threads: int | None,
) -> Marginals:
    work = _Work(span, arc, lengths, headed)
    if with_headed and (span is None or arc is None):
        raise ScoreError(_NEEDS_BOTH)
    shape = (len(work.sizes), work.size, work.size)
    spans, heads = (np.zeros(shape) if wanted and part is not None else None for part in (span, arc))
    parts = None
    if with_headed or (with_headed is None and headed is not None):
        parts = np.zeros((*shape, work.size) if work.headed is None else work.headed.shape, work.kind)
    partition = work.run(threads, spans=spans, heads=heads, parts=parts)
    return Marginals(
        partition,
        None if spans is None else spans.astype(work.kind, copy=False),
        None if heads is None else heads.astype(work.kind, copy=False),
        parts,
    )


_NEEDS_BOTH = "headed spans have marginals only where there are both span and arc scores"


_BATCH: Any = (
    *((name, ctypes.c_void_p) for name in ("sentence", "lengths", "status")),
    *((name, ctypes.c_int) for name in ("count", "threads")),
    ("order", ctypes.c_void_p),
    ("next", ctypes.c_int),
)


class _HessianArguments(ctypes.Structure):
    """The arguments of the kernel, `hessian_work` in native/hessian.c."""

    _fields_ = (
        *_BATCH,
        *(
            (name + what, ctypes.c_void_p)
            for what in ("", "_along", "_out")
            for name in ("span", "arc", "headed")
        ),
        ("size", ctypes.c_int64),
    )


class _Arguments(ctypes.Structure):
    """The arguments of the kernel, `sums_work` in native/sums.c."""

    _fields_ = (
        *_BATCH,
        *(
            (name, ctypes.c_void_p)
            for name in ("span", "arc", "headed", "partition", "spans", "heads", "parts")
        ),
        *((name, ctypes.c_void_p) for name in ("random", "tree_heads", "tree_rows")),
        *((name, ctypes.c_int64) for name in ("size", "samples", "wide", "packed", "logarithms")),
    )


class _Work:
    """The scores of a batch, checked and as the kernel wants them."""

    def __init__(
        self,
        span: ArrayLike | None,
        arc: ArrayLike | None,
        lengths: ArrayLike | None,
        headed: ArrayLike | None,
    ) -> None:
        if lengths is None or (span is None and arc is None):
            raise ScoreError("lengths are needed, and span scores, arc scores or both")
        if headed is not None and (span is None or arc is None):
            raise ScoreError(_NEEDS_BOTH)
        spans = arcs = second = None
        if span is not None and arc is not None:
            spans, arcs, self.sizes, second = check_joint(span, arc, lengths, headed)
        elif span is not None:
            spans = as_scores(span, "span")
            self.sizes = check_lengths(lengths, spans.shape, "span")
        else:
            arcs = as_scores(arc, "arc")  # type: ignore[arg-type]
            self.sizes = check_lengths(lengths, arcs.shape, "arc")
        self.given = spans, arcs, second
        found = [part for part in self.given if part is not None]
        self.size: int = found[0].shape[-1]
        self.kind = np.float32 if all(part.dtype.itemsize <= 4 for part in found) else np.float64
        # Everything is float64 in the kernel; headed scores, the only large ones, it converts by itself.
        self.span, self.arc = (None if part is None else as_array(part, np.float64) for part in (spans, arcs))
        self.headed = None if second is None else as_array(second, self.kind)

    def run(
        self, threads: int | None, samples: int = 0, logarithms: bool = False, **out: Any
    ) -> NDArray[np.float64]:
        """Fill the arrays `out`; returns the log-partitions."""
        count = len(self.sizes)
        partition, status = np.zeros(count), np.empty(count, np.int64)
        joint = self.span is not None and self.arc is not None
        order, threads = plan(self.sizes, 4 if joint else 3, threads)
        arrays = {
            "lengths": self.sizes,
            "status": status,
            "order": order,
            "span": self.span,
            "arc": self.arc,
            "headed": self.headed,
            "partition": partition,
            **out,
        }
        pointers = {
            name: ctypes.addressof(pointer(array)) for name, array in arrays.items() if array is not None
        }
        parts = self.headed if self.headed is not None else out.get("parts")
        arguments = _Arguments(
            count=count,
            threads=threads,
            size=self.size,
            samples=samples,
            wide=self.kind == np.float64,
            packed=parts is not None and parts.ndim == 3,
            logarithms=logarithms,
            **pointers,
        )
        if kernel("sums")(ctypes.byref(arguments)):
            complain(status)
        return partition
