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
    Scores,
    as_array,
    best,
    check,
    complain,
    diagnose,
    plan,
)
from arcspan.decoding.native import kernel, pointer
from arcspan.errors import ScoreError, check_count


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

    span, arc, lengths, headed   as for `eisner_satta`, which has their errors, too; without span scores the trees are
                 dependency trees alone (Eisner), without arc scores constituency trees alone (CKY)
    with_headed  whether to return marginals of headed and hooked spans; by default, where `headed` is given

    >>> import numpy as np
    >>> found = marginals(np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), [3])
    >>> round(float(np.exp(found.log_partition[0])))  # binary trees with heads over three words
    8
    >>> float(found.spans[0, 0, 2].round(3)), float(found.arcs[0, 1].sum().round(3))
    (0.5, 1.0)
    """
    scores, sizes = check(span, arc, lengths, headed, threads, joint=bool(with_headed))
    kind, size = _kind(scores), _size(scores)
    shape = (len(sizes), size, size)
    spans, heads = (None if part is None else np.zeros(shape) for part in (span, arc))
    parts = None
    if with_headed or (with_headed is None and headed is not None):
        parts = np.zeros((*shape, size) if scores[2] is None else scores[2].shape, kind)
    partition = _run(scores, sizes, kind, threads, {"spans": spans, "heads": heads, "parts": parts})
    spans, heads = (
        None if part is None else part.astype(kind, copy=False) for part in (spans, heads)
    )
    return Marginals(partition, spans, heads, parts)


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
    scores, sizes = check(span, arc, lengths, headed, threads)
    return _run(scores, sizes, _kind(scores), threads, {})


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

    span, arc, lengths, headed   as for `marginals`
    along   the direction in spans, arcs and headed spans, each shaped as its scores; None for zeros

    >>> import numpy as np
    >>> along = np.zeros((1, 3, 3))
    >>> along[0, 1, 0] = 1  # two words: as the score of 1 as the root grows from 0, its probability of 1/2 does by 1/4
    >>> hessian_product(None, np.zeros((1, 3, 3)), [2], along=(None, along, None))[1][0].tolist()
    [[0.0, 0.0, 0.0], [0.25, 0.0, -0.25], [-0.25, 0.25, 0.0]]
    """
    scores, sizes = check(span, arc, lengths, headed, threads)
    for part, way in zip(scores, along, strict=True):
        if way is not None and (part is None or np.shape(way) != part.shape):
            expected = "None" if part is None else f"of the shape {list(part.shape)}"
            raise ScoreError(
                f"a direction must be shaped as its scores, {expected}, not {list(np.shape(way))}"
            )
    slopes = (None if part is None else as_array(np.asarray(part), np.float64) for part in along)
    out = [None if part is None else np.zeros(part.shape) for part in scores]
    names = ("span_along", "arc_along", "headed_along", "spans", "heads", "parts")
    arrays = dict(zip(names, [*slopes, *out], strict=True))
    _run(scores, sizes, np.float64, threads, arrays, product=1)
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
        None
        if score is None
        else np.where(np.asarray(score) == -np.inf, -np.inf, np.float32(chance))  # type: ignore[arg-type]
        for score, chance in ((span, spans), (arc, arcs))
    )
    masks = None
    if headed is not None and (forbidden := np.asarray(headed) == -np.inf).any():
        masks = np.where(forbidden, -np.inf, 0).astype(np.float32)
    return best(spans, arcs, lengths, masks, threads)


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
    check_count("k", k, ScoreError)
    scores, sizes = check(span, arc, lengths, headed, threads)
    count, size = len(sizes), _size(scores)
    columns = 2 if arc is None else 3
    uniform = np.random.default_rng(random).random((count, k, 2 * size))
    heads = None if arc is None else np.zeros((count, k, size), np.int64)
    rows = None if span is None else np.zeros((count, k, 2 * size, columns), np.int64)
    out = {"random": uniform, "tree_heads": heads, "tree_rows": rows}
    _run(scores, sizes, _kind(scores), threads, out, samples=k)
    totals = _score(scores, sizes, heads, rows)
    results = []
    for b, n in enumerate(sizes.tolist()):
        spans = None if rows is None else [trees[: max(2 * n - 1, 0)] for trees in rows[b]]
        results.append(Decoded(None if heads is None else heads[b], spans, totals[b]))
    return results


def _score(
    scores: Scores,
    sizes: NDArray[np.int64],
    heads: NDArray[np.int64] | None,
    rows: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """The scores [B, k] of trees: heads [B, k, n+1], rows [B, k, ., 2 or 3] in pre-order, zeros after them."""
    span, arc, headed = scores
    b = np.arange(len(sizes))[:, None, None]
    total = np.float64(0.0)
    if rows is not None and span is not None:
        i, j = rows[..., 0], rows[..., 1]
        total = total + np.where(j > 0, span[b, i, j], 0.0).sum(-1)
    if heads is not None and arc is not None:
        m = np.arange(1, heads.shape[-1])
        total = total + np.where(m <= sizes[:, None, None], arc[b, m, heads[..., 1:]], 0.0).sum(-1)
    if headed is not None and headed.size and rows is not None and heads is not None:
        h, size = rows[..., 2], headed.shape[-1]
        pair = (
            i * size + j
            if headed.ndim == 4
            else np.maximum(i * (size - 1) - i * (i + 1) // 2 - 1 + j, 0)
        )
        seconds = headed.reshape(len(sizes), -1, size)
        own_head = np.take_along_axis(heads, h, -1)
        # Pre-order: the first span that a word heads is its largest, the one that is hooked.
        hooked = (np.tril(h[..., None] == h[..., None, :], -1).sum(-1) == 0) & (own_head > 0)
        total = total + np.where(j > 0, seconds[b, pair, h], 0.0).sum(-1)
        total = total + np.where(hooked, seconds[b, pair, own_head], 0.0).sum(-1)
    return np.asarray(total, np.float64)


class _Work(ctypes.Structure):
    """The arguments of the kernel: `batch` in native/common.h, then `sums_work` in native/sums.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("sentence", "lengths", "status")),
        *((name, ctypes.c_int) for name in ("count", "threads")),
        ("order", ctypes.c_void_p),
        ("next", ctypes.c_int),
        *(
            (part + what, ctypes.c_void_p)
            for what in ("", "_along")
            for part in ("span", "arc", "headed")
        ),
        *((name, ctypes.c_void_p) for name in ("partition", "spans", "heads", "parts")),
        *((name, ctypes.c_void_p) for name in ("random", "tree_heads", "tree_rows")),
        *(
            (name, ctypes.c_int64)
            for name in ("size", "samples", "wide", "packed", "logarithms", "product")
        ),
    )


def _size(scores: Scores) -> int:
    return next(part.shape[-1] for part in scores if part is not None)


def _kind(scores: Scores) -> Any:
    return (
        np.float32
        if all(part is None or part.dtype.itemsize <= 4 for part in scores)
        else np.float64
    )


def _run(
    scores: Scores,
    sizes: NDArray[np.int64],
    kind: Any,
    threads: int | None,
    out: dict[str, NDArray[Any] | None],
    **numbers: int,
) -> NDArray[np.float64]:
    """Fill the arrays `out`, headed ones of this kind; returns the log-partitions."""
    # Everything is float64 in the kernel; headed scores, the only large ones, it converts by itself.
    span, arc = (None if part is None else as_array(part, np.float64) for part in scores[:2])
    headed = None if scores[2] is None else as_array(scores[2], kind)
    partition, status = np.zeros(len(sizes)), np.empty(len(sizes), np.int64)
    order, threads = plan(sizes, 3 if span is None or arc is None else 4, threads)
    arrays = {
        "lengths": sizes,
        "status": status,
        "order": order,
        "span": span,
        "arc": arc,
        "headed": headed,
    }
    arrays |= {"partition": partition, **out}
    pointers = {
        name: ctypes.addressof(pointer(array))
        for name, array in arrays.items()
        if array is not None
    }
    parts = out.get("parts") if headed is None else headed
    work = _Work(
        count=len(sizes),
        threads=threads,
        size=_size(scores),
        wide=kind == np.float64,
        packed=parts is not None and parts.ndim == 3,
        **numbers,
        **pointers,
    )
    if kernel("sums")(ctypes.byref(work)):
        complain(status, lambda b: diagnose(scores, b, int(sizes[b]))[1] or int(status[b]))
    return partition
