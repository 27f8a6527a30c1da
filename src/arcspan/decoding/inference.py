"""Sums over all trees instead of the best one: log-partition, marginal probabilities, minimum Bayes risk.

A tree's probability is the exponential of its score over the sum of those of all trees, the partition. The trees are
those that the searches choose from: binary trees for span scores, projective trees with one root for arc scores,
lexicalized trees for both (first order, or second with headed scores). Inside-outside computes everything exactly, in
about the shape of the 1-best search; gradients of the log-partition are the marginals, so that no automatic
differentiation is needed either.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.batch import Decoded, as_scores, check_joint, check_lengths, complain, first_rows, run
from arcspan.decoding.cky import cky
from arcspan.decoding.compilation import kernels
from arcspan.decoding.eisner import eisner
from arcspan.decoding.eisner_satta import eisner_satta
from arcspan.errors import ScoreError

# Charts of up to this many numbers (16 MiB: about 125 words) are kept by each thread for its next sentence.
_LARGE = 1 << 21


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


_kept = threading.local()


def _charts(count: int, size: int) -> list[NDArray[np.float64]]:
    """Charts of that size; kept from call to call, since asking the system for fresh memory takes longer than a short
    sentence, unless they are large.
    """
    if size > _LARGE:
        return [np.empty(size) for _ in range(count)]
    charts: list[NDArray[np.float64]] = getattr(_kept, "charts", [])
    if len(charts) < count or len(charts[0]) < size:
        charts = _kept.charts = [np.empty(size) for _ in range(max(count, len(charts)))]
    return charts[:count]


def _infer(
    span: ArrayLike | None,
    arc: ArrayLike | None,
    lengths: ArrayLike | None,
    headed: ArrayLike | None,
    wanted: bool,
    with_headed: bool | None,
    threads: int | None,
) -> Marginals:
    if lengths is None or (span is None and arc is None):
        raise ScoreError("lengths are needed, and span scores, arc scores or both")
    if (headed is not None or with_headed) and (span is None or arc is None):
        raise ScoreError("headed spans have marginals only where there are both span and arc scores")
    scores = [as_scores(part, name) for part, name in ((span, "span"), (arc, "arc")) if part is not None]
    second = None
    if span is not None and arc is not None:
        *scores, sizes, second = check_joint(span, arc, lengths, headed)
    else:
        sizes = check_lengths(lengths, scores[0].shape, "span" if arc is None else "arc")
    shape = scores[0].shape
    parts = scores if second is None else [*scores, second]
    kind = np.float32 if all(part.dtype.itemsize <= 4 for part in parts) else np.float64
    # Kernels are compiled for C-ordered, writeable arrays: float64, but for headed scores, the only large ones.
    ready = [np.require(part, np.float64, ["C", "W"]) for part in scores]
    if second is not None:
        second = np.require(second, kind, ["C", "W"])

    partition = np.zeros(len(sizes))
    status = np.zeros(len(sizes), np.int64)
    room = shape if wanted else (len(sizes), 0, 0)
    out = [np.zeros(room) for _ in ready]
    headed_out = None
    if with_headed or (with_headed is None and headed is not None):
        headed_out = np.zeros((*shape, shape[-1]) if second is None else second.shape, kind)
    if len(ready) == 2:
        _run_joint(ready, second, kind, sizes, partition, out, headed_out, status, threads)
    else:
        search = kernels("cky_sums" if arc is None else "eisner_sums").sum_trees
        run(lambda *queue: search(*queue, *ready, sizes, partition, *out, status), sizes, 3, threads)
    complain(status)
    found = [part.astype(kind, copy=False) for part in out]
    return Marginals(
        partition, None if span is None else found[0], None if arc is None else found[-1], headed_out
    )


def _run_joint(
    ready: list[NDArray[np.float64]],
    headed: NDArray[Any] | None,
    kind: Any,
    sizes: NDArray[np.int64],
    partition: NDArray[np.float64],
    out: list[NDArray[np.float64]],
    parts: NDArray[Any] | None,
    status: NDArray[np.int64],
    threads: int | None,
) -> None:
    sum_trees = kernels("eisner_satta_sums").sum_trees
    count, size, _ = ready[0].shape
    large = headed if headed is not None else parts
    first = first_rows(np.empty((0, 0, 0, 0)) if large is None else large, size)
    rows = None if headed is None else headed.reshape(count, -1, size)
    inputs = (*ready, rows, first, sizes)
    results = (
        partition,
        *out,
        np.zeros((0, 0, 0), kind) if parts is None else parts.reshape(count, -1, size),
        status,
    )

    def joint(queue: NDArray[np.int64], taken: NDArray[np.int64]) -> None:
        n = int(sizes.max())
        # A chart: n (n + 1) / 2 spans, heads 0..n in whole blocks of eight.
        charts = _charts(2 if headed is None else 3, n * (n + 1) // 2 * 8 * (n // 8 + 1))
        sum_trees(queue, taken, *inputs, *charts[:2], None if headed is None else charts[2], *results)

    run(joint, sizes, 4, threads)
    unsafe = np.flatnonzero(status == kernels("scaling").UNSAFE)
    if len(unsafe):
        sum_logarithms = kernels("log_sums").sum_trees
        run(
            lambda queue, taken: sum_logarithms(unsafe[queue], taken, *inputs, *results),
            sizes[unsafe],
            4,
            threads,
        )
