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

from arcspan.decoding.batch import Decoded, check_lengths, complain, run
from arcspan.decoding.cky import cky
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
                   of the hooked span for h outside. None unless headed scores were given or it was asked for.

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
    headed   [B, n+1, n+1, n+1] as headed[b, i, j, h]: second order, headed for h inside (i, j], hooked for h outside.
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
    threads: int | None = None,
) -> Decoded:
    """The trees with the greatest expected number of right spans and arcs: the 1-best search on the marginals.

    `scores` of the result are these expectations, at most 2n-1 for spans plus n for arcs.
    """
    found = marginals(span, arc, lengths, headed, with_headed=False, threads=threads)
    sizes = np.asarray(lengths)
    # A part that no tree has must not be chosen because its place is free of charge.
    spans, arcs = (None if p is None else np.where(p > 0, p, -np.inf) for p in (found.spans, found.arcs))
    if spans is not None and arcs is not None:
        return eisner_satta(spans, arcs, sizes, threads=threads)
    return eisner(arcs, sizes, threads=threads) if spans is None else cky(spans, sizes, threads=threads)  # type: ignore[arg-type]


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
    given = {"span": span, "arc": arc, "headed": headed}
    scores = {name: np.asarray(values) for name, values in given.items() if values is not None}
    kind = np.float32 if all(values.dtype.itemsize <= 4 for values in scores.values()) else np.float64
    sizes = np.zeros(0, np.int64)
    for name in ("span", "arc"):
        if name in scores:
            sizes = check_lengths(lengths, scores[name], name)
    shape = next(iter(scores.values())).shape
    for name, right in (("arc", shape), ("headed", (*shape, shape[-1]))):
        if name in scores and scores[name].shape != right:
            raise ScoreError(f"{name} must have the shape {list(right)}, not {list(scores[name].shape)}")
    # Kernels are compiled for C-ordered, writeable arrays: float64, but for headed scores, the only large ones.
    ready = {
        name: np.require(values, kind if name == "headed" else np.float64, ["C", "W"])
        for name, values in scores.items()
    }

    partition = np.zeros(len(sizes))
    status = np.zeros(len(sizes), np.int64)
    room = shape if wanted else (len(sizes), 0, 0)
    spans = np.zeros(room) if span is not None else None
    arcs = np.zeros(room) if arc is not None else None
    parts = None
    if with_headed or (with_headed is None and headed is not None):
        parts = np.zeros((*room, room[-1]), kind)
    if spans is not None and arcs is not None:
        _run_joint(ready, kind, sizes, partition, spans, arcs, parts, status, wanted, threads)
    else:
        from arcspan.decoding.kernels import inference as kernels

        search, out = (kernels.spans_only, spans) if arcs is None else (kernels.arcs_only, arcs)
        (only,) = ready.values()
        run(lambda listed: search(listed, only, sizes, partition, out, status, wanted), sizes, 3, threads)
    complain(status)
    small = [None if part is None else part.astype(kind, copy=False) for part in (spans, arcs)]
    return Marginals(partition, small[0], small[1], parts)


def _run_joint(
    ready: dict[str, NDArray[Any]],
    kind: Any,
    sizes: NDArray[np.int64],
    partition: NDArray[np.float64],
    spans: NDArray[Any],
    arcs: NDArray[Any],
    parts: NDArray[Any] | None,
    status: NDArray[np.int64],
    wanted: bool,
    threads: int | None,
) -> None:
    from arcspan.decoding.kernels import inside_outside as kernels
    from arcspan.decoding.kernels.doubles import WIDTH

    absent = np.zeros((0, 0, 0, 0), kind)
    order = 2 if "headed" in ready else 1
    inputs = (ready["span"], ready["arc"], ready.get("headed", absent), order, sizes)
    with_parts = parts is not None
    results = (partition, spans, arcs, parts if with_parts else absent, with_parts, status, wanted)

    def joint(sentences: NDArray[np.int64]) -> None:
        n = int(sizes[sentences].max())
        # A chart: n (n + 1) / 2 spans, heads 0..n in whole blocks.
        charts = _charts(order + 1, n * (n + 1) // 2 * WIDTH * (n // WIDTH + 1))
        kernels.joint(sentences, *inputs, *charts[:2], charts[-1], *results)

    run(joint, sizes, 4, threads)
    unsafe = np.flatnonzero(status == kernels.UNSAFE)
    if len(unsafe):
        from arcspan.decoding.kernels.inference import joint_in_logarithms

        run(lambda listed: joint_in_logarithms(unsafe[listed], *inputs, *results), sizes[unsafe], 4, threads)
