"""Compute sums over all trees: log-partition, marginal probabilities, samples, minimum Bayes risk.

A tree's probability is the exponential of its score over the sum of those of all trees, the
partition. The trees are those that the searches choose from: binary trees for span scores,
projective trees with one root for arc scores, lexicalized trees for both (first order, or second
with headed scores). Inside-outside computes everything exactly, in about the time of the 1-best
search. The gradients of the log-partition are the marginals, so no automatic differentiation is
needed either.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from arcspan.decoding.batch import (
    Array,
    Decoded,
    Floats,
    Ints,
    ScoreArrays,
    Values,
    as_array,
    best,
    check,
    complain,
    diagnose,
    pair_number,
    plan,
)
from arcspan.decoding.native import SumsWork, kernel, pointer
from arcspan.errors import ScoreError, check_count


class Marginals(NamedTuple):
    """The log-partition of every sentence and the marginal probabilities of its parts.

    log_partition  float64 [B]: the logarithm of the sum over all trees of exp(score).
    spans          [B, n+1, n+1]: spans[b, i, j] is the probability of the span (i, j).
                   None without span scores.
    arcs           [B, n+1, n+1]: arcs[b, m, h] is the probability that h is the head of m.
                   None without arc scores.
    headed         [B, n+1, n+1, n+1]: headed[b, i, j, h] is the probability of the headed span (i,
                   j, h) for h inside, of the hooked span for h outside; packed where the headed
                   scores were. None without headed scores, unless requested.

    Arrays have the type of the scores (float32 or float64), and zeros wherever there is no part,
    padding included.
    """

    log_partition: Floats
    spans: Array | None
    arcs: Array | None
    headed: Array | None


def marginals(
    span: Values = None,
    arc: Values = None,
    lengths: Values = None,
    headed: Values = None,
    *,
    with_headed: bool | None = None,
    threads: int | None = None,
) -> Marginals:
    """Return log-partition and the exact marginal probability of every part, for every sentence.

    span, arc, lengths, headed   as for `eisner_satta`, with the same errors; without span scores
                                 the trees
                 are dependency trees alone (Eisner), without arc scores constituency trees alone
                 (CKY)
    with_headed  whether to return marginals of headed and hooked spans; by default if `headed` is
                 given

    >>> import numpy as np
    >>> sums = marginals(np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), [3])
    >>> round(float(np.exp(sums.log_partition[0])))  # binary trees with heads over three words
    8
    >>> float(sums.spans[0, 0, 2].round(3)), float(sums.arcs[0, 1].sum().round(3))
    (0.5, 1.0)
    """
    scores, sizes = check(span, arc, lengths, headed, threads, joint=bool(with_headed))
    dtype = _dtype(scores)
    size = _size(scores)
    shape = (len(sizes), size, size)
    # The kernels write float64, but for the large array of headed spans.
    spans = None if span is None else np.zeros(shape)
    arcs = None if arc is None else np.zeros(shape)
    parts = None
    if with_headed or (with_headed is None and headed is not None):
        parts = np.zeros((*shape, size) if scores[2] is None else scores[2].shape, dtype)
    partition = _run(scores, sizes, dtype, threads, {"spans": spans, "heads": arcs, "parts": parts})
    return Marginals(
        partition,
        None if spans is None else spans.astype(dtype, copy=False),
        None if arcs is None else arcs.astype(dtype, copy=False),
        parts,
    )


def log_partition(
    span: Values = None,
    arc: Values = None,
    lengths: Values = None,
    headed: Values = None,
    *,
    threads: int | None = None,
) -> Floats:
    """Return the log-partition [B] of `marginals` alone, in less than half the time.

    >>> import numpy as np
    >>> partition = log_partition(np.zeros((1, 4, 4)), None, [3])
    >>> round(float(np.exp(partition[0])))  # binary trees over three words
    2
    """
    scores, sizes = check(span, arc, lengths, headed, threads)
    return _run(scores, sizes, _dtype(scores), threads, {})


def hessian_product(
    span: Values,
    arc: Values,
    lengths: ArrayLike,
    headed: Values = None,
    *,
    along: Sequence[Values],
    threads: int | None = None,
) -> list[Floats | None]:
    """Return the change of the marginals as scores move along a direction.

    That is the second derivatives of the log-partitions times the direction.

    span, arc, lengths, headed   as for `marginals`
    along   the direction in spans, arcs and headed spans, each shaped as its scores; None for zeros

    As the score of word 1 as the root of two words grows from 0, its probability of 1/2 does by
    1/4:

    >>> import numpy as np
    >>> along = np.zeros((1, 3, 3))
    >>> along[0, 1, 0] = 1
    >>> change = hessian_product(None, np.zeros((1, 3, 3)), [2], along=(None, along, None))
    >>> change[1][0].tolist()
    [[0.0, 0.0, 0.0], [0.25, 0.0, -0.25], [-0.25, 0.25, 0.0]]
    """
    scores, sizes = check(span, arc, lengths, headed, threads)
    for part, direction in zip(scores, along, strict=True):
        shape = np.shape(direction)  # type: ignore[arg-type]
        if direction is not None and (part is None or shape != part.shape):
            expected = "None" if part is None else f"of the shape {list(part.shape)}"
            raise ScoreError(
                f"a direction must be shaped as its scores, {expected}, not {list(shape)}"
            )
    span_along, arc_along, headed_along = (
        None if part is None else as_array(np.asarray(part), np.float64) for part in along
    )
    spans, arcs, parts = (None if part is None else np.zeros(part.shape) for part in scores)
    arrays = {
        "span_along": span_along,
        "arc_along": arc_along,
        "headed_along": headed_along,
        "spans": spans,
        "heads": arcs,
        "parts": parts,
    }
    _run(scores, sizes, np.float64, threads, arrays, product=1)
    return [spans, arcs, parts]


def minimum_bayes_risk(
    span: Values = None,
    arc: Values = None,
    lengths: Values = None,
    headed: Values = None,
    *,
    spans: Values = None,
    arcs: Values = None,
    double: bool = False,
    threads: int | None = None,
) -> Decoded:
    """Return the trees with the greatest expected number of right spans and arcs.

    They are the best trees with the marginals for scores.

    span, arc, lengths, headed   the scores, as for `marginals`; what they forbid (-inf) stays
                                 forbidden
    spans, arcs   the marginal probabilities, if the caller has better ones than those of the scores
                  as they are: calibrated ones, or ones it has computed already
    double        search in float64 instead of float32

    `scores` of the result are these expectations, at most 2n-1 for spans plus n for arcs.

    >>> import numpy as np
    >>> arc = np.log([[[1, 1, 1], [3, 1, 1], [1, 1, 1]]])  # two words: 1 is the root with probability 3/4
    >>> decoded = minimum_bayes_risk(None, arc, [2])
    >>> decoded.heads.tolist(), float(decoded.scores[0])
    ([[0, 0, 1]], 1.5)
    """
    if spans is None and arcs is None:
        _, spans, arcs, _ = marginals(
            span, arc, lengths, headed, with_headed=False, threads=threads
        )
    masks = None
    if headed is not None:
        forbidden = np.asarray(headed) == -np.inf
        # Headed spans count for nothing here: without a forbidden one the first-order search will
        # do.
        if forbidden.any():
            masks = np.where(forbidden, -np.inf, 0).astype(np.float32)
    dtype = np.float64 if double else np.float32
    span_chances = _chances(span, spans, dtype)
    arc_chances = _chances(arc, arcs, dtype)
    return best(span_chances, arc_chances, lengths, masks, threads, double=double)


def _chances(scores: Values, probabilities: Values, dtype: Any) -> Array | None:
    """Return the probabilities of parts as scores, -inf where the scores forbid a part."""
    if scores is None:
        return None
    chances = np.asarray(probabilities, dtype)
    return np.where(np.asarray(scores) == -np.inf, -np.inf, chances)


def entropy(
    span: Values = None,
    arc: Values = None,
    lengths: Values = None,
    headed: Values = None,
    *,
    threads: int | None = None,
) -> Floats:
    """Return the entropy [B] of each sentence's trees in nats: log-partition less expected score.

    >>> import numpy as np
    >>> nats = entropy(np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), [3])
    >>> round(float(np.exp(nats[0])), 6)  # eight trees, all alike
    8.0
    """
    partition, *chances = marginals(span, arc, lengths, headed, threads=threads)
    expected = np.zeros(len(partition))
    for scores, probabilities in zip((span, arc, headed), chances, strict=True):
        if scores is not None and probabilities is not None:
            # Only possible parts: 0 times -inf is NaN, and padding may hold anything.
            products = np.zeros(probabilities.shape)
            np.multiply(scores, probabilities, out=products, where=probabilities > 0)
            # Not -1 for the number of columns, which an empty batch does not tell.
            expected += products.reshape(len(expected), prod(products.shape[1:])).sum(1)
    return partition - expected


def sample(
    span: Values = None,
    arc: Values = None,
    lengths: Values = None,
    headed: Values = None,
    *,
    k: int = 1,
    random: np.random.Generator | int | None = None,
    threads: int | None = None,
) -> list[Decoded]:
    """Draw k trees of every sentence by their probability: for each a `Decoded` with a row per
    tree.

    span, arc, lengths, headed   as for `marginals`
    random   numpy's generator, or a seed: the same one gives the same trees, whatever the number of
             threads

    >>> import numpy as np
    >>> span = np.zeros((1, 4, 4))
    >>> span[0, 1, 3] = 50  # so likely that every tree has it
    >>> [rows.tolist()[2] for rows in sample(span, None, [3], k=2, random=0)[0].spans]
    [[1, 3], [1, 3]]
    """
    check_count("k", k, ScoreError)
    scores, sizes = check(span, arc, lengths, headed, threads)
    count = len(sizes)
    size = _size(scores)
    # More numbers than a tree has choices: a split and a modifier for each of its wide spans.
    uniform = np.random.default_rng(random).random((count, k, 2 * size))
    heads = None if arc is None else np.zeros((count, k, size), np.int64)
    columns = 2 if arc is None else 3
    rows = None if span is None else np.zeros((count, k, 2 * size, columns), np.int64)
    arrays = {"random": uniform, "tree_heads": heads, "tree_rows": rows}
    _run(scores, sizes, _dtype(scores), threads, arrays, samples=k)
    totals = _tree_scores(scores, sizes, heads, rows)
    trees = []
    for b, n in enumerate(sizes.tolist()):
        spans = None if rows is None else [table[: max(2 * n - 1, 0)] for table in rows[b]]
        trees.append(Decoded(None if heads is None else heads[b], spans, totals[b]))
    return trees


def _tree_scores(scores: ScoreArrays, sizes: Ints, heads: Ints | None, rows: Ints | None) -> Floats:
    """Return the scores [B, k] of trees.

    heads [B, k, n+1]; rows [B, k, spans, 2 or 3] in pre-order, zeros after the last span.
    """
    span, arc, headed = scores
    b = np.arange(len(sizes))[:, None, None]
    total = np.float64(0.0)
    if rows is not None and span is not None:
        i = rows[..., 0]
        j = rows[..., 1]
        total = total + np.where(j > 0, span[b, i, j], 0.0).sum(-1)
    if heads is not None and arc is not None:
        m = np.arange(1, heads.shape[-1])
        total = total + np.where(m <= sizes[:, None, None], arc[b, m, heads[..., 1:]], 0.0).sum(-1)
    if headed is not None and headed.size and rows is not None and heads is not None:
        h = rows[..., 2]
        size = headed.shape[-1]
        # Rows of zeros after the last span would give -1.
        pair = i * size + j if headed.ndim == 4 else np.maximum(pair_number(size, i, j), 0)
        parts = headed.reshape(len(sizes), -1, size)
        above = np.take_along_axis(heads, h, -1)
        # Pre-order: the first span that a word heads is its largest, the one that is hooked.
        first = np.tril(h[..., None] == h[..., None, :], -1).sum(-1) == 0
        total = total + np.where(j > 0, parts[b, pair, h], 0.0).sum(-1)
        total = total + np.where(first & (above > 0), parts[b, pair, above], 0.0).sum(-1)
    return np.asarray(total, np.float64)


def _size(scores: ScoreArrays) -> int:
    """Return n + 1 of the longest sentence."""
    return next(part.shape[-1] for part in scores if part is not None)


def _dtype(scores: ScoreArrays) -> Any:
    """Return float64 if any of the scores needs it, else float32."""
    wide = any(part is not None and part.dtype.itemsize > 4 for part in scores)
    return np.float64 if wide else np.float32


def _run(
    scores: ScoreArrays,
    sizes: Ints,
    dtype: Any,
    threads: int | None,
    arrays: dict[str, Array | None],
    **numbers: int,
) -> Floats:
    """Fill the arrays, fields of `SumsWork` with headed ones of this type; return the
    log-partitions.
    """
    # The kernel takes float64; headed scores, the only large ones, it converts by itself.
    span = as_array(scores[0], np.float64)
    arc = as_array(scores[1], np.float64)
    headed = as_array(scores[2], dtype)
    partition = np.zeros(len(sizes))
    status = np.empty(len(sizes), np.int64)
    order, threads = plan(sizes, 3 if span is None or arc is None else 4, threads)
    arrays = {
        "lengths": sizes,
        "status": status,
        "order": order,
        "span": span,
        "arc": arc,
        "headed": headed,
        "partition": partition,
        **arrays,
    }
    pointers = {
        name: ctypes.addressof(pointer(array))
        for name, array in arrays.items()
        if array is not None
    }
    parts = arrays.get("parts") if headed is None else headed
    work = SumsWork(
        count=len(sizes),
        threads=threads,
        size=_size(scores),
        wide=dtype == np.float64,
        packed=parts is not None and parts.ndim == 3,
        **numbers,
        **pointers,
    )
    if kernel("sums")(ctypes.byref(work)):
        # TOO_LARGE is the status of NaN as well: look which one it is.
        complain(status, lambda b: diagnose(scores, b, int(sizes[b]))[1] or int(status[b]))
    return partition
