"""Search on accelerators: the paper's Algorithm 1 in torch, all spans of one width of a batch at
once.

O(n) steps, each over large tensors. `cky`, `eisner` and `eisner_satta` take tensors where the
functions of the same name in `arcspan.decoding` take arrays, and find the same trees; `headed`
makes `eisner_satta` second order. The charts hold values only: trees are traced back through them,
all nodes of one depth of all sentences at once.

The same charts, with sums in place of maxima, give `log_partition`, with derivatives of any order.

On a CPU the compiled kernels are one to two orders of magnitude faster (`benchmarks/decoding.py`),
and even for scores on an accelerator they win until a batch is large and its sentences are long:
see `pays`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from arcspan.decoding.batch import (
    Decoded,
    Ints,
    available_threads,
    check_shapes,
    complain,
    pack_cubes,
    pair_number,
)
from arcspan.decoding.native import Status
from arcspan.errors import MissingExtraError, ScoreError

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("decoding.batched", "train") from error

__all__ = ["cky", "eisner", "eisner_satta", "log_partition", "pays"]

INFINITY = float("inf")
# In sums -inf would give gradients of NaN; this is far enough below any score to have the weight
# zero.
IMPOSSIBLE = -1e30

Part: TypeAlias = Tensor | None
Lengths: TypeAlias = Tensor | Sequence[int]
# Combines the values along one axis of a tensor: torch.amax or torch.logsumexp.
Join: TypeAlias = Callable[[Tensor, int], Tensor]

# Seconds that `eisner_satta` takes for each n^4 of a sentence on one thread ("ps / n^4" of the
# benchmark), and that a step of the loop over widths takes at least here: some thirty launches of
# ten microseconds.
_KERNEL_SECONDS = 20e-12
_STEP_SECONDS = 300e-6


def pays(
    lengths: Tensor | list[int], device: torch.device | str, threads: int | None = None
) -> bool:
    """Return whether joint search of a batch with scores on `device` is faster there than in the
    kernels.

    On a CPU never. On an accelerator, when the kernels, which work n^4 steps per sentence on the
    host, would take longer than the launches of n steps over the whole batch: long sentences, many
    of them. Measure a device with `benchmarks/decoding.py --device`.

    >>> pays([24] * 16, "cuda", threads=2), pays([120] * 64, "cuda", threads=2)
    (False, True)
    >>> pays([120] * 64, "cpu")
    False
    """
    if torch.device(device).type == "cpu" or len(lengths) == 0:
        return False
    sizes = [int(n) for n in lengths]
    workers = min(threads or available_threads(), len(sizes))
    kernel_seconds = _KERNEL_SECONDS * sum(n**4 for n in sizes) / workers
    return kernel_seconds > _STEP_SECONDS * max(sizes)


class ScoreTensors(NamedTuple):
    """The scores of a batch as tensors; None where the trees have no such part.

    span    [B, n+1, n+1]
    arc     [B, n+1, n+1]
    headed  packed [B, pairs, n+1]
    """

    span: Part
    arc: Part
    headed: Part

    @property
    def layer(self) -> Tensor:
        """Return the scores of spans, or those of arcs where there are none."""
        return self.arc if self.span is None else self.span  # type: ignore[return-value]


def cky(span: Tensor, lengths: Lengths) -> Decoded:
    """Return the best binary constituency trees: span [B, n+1, n+1], lengths [B]."""
    return best(span, None, lengths, None)


def eisner(arc: Tensor, lengths: Lengths) -> Decoded:
    """Return the best projective trees with one root: arc[b, modifier, head], lengths [B]."""
    return best(None, arc, lengths, None)


def eisner_satta(span: Tensor, arc: Tensor, lengths: Lengths, headed: Part = None) -> Decoded:
    """Return the best lexicalized trees; shapes as in `arcspan.decoding.eisner_satta`."""
    return best(span, arc, lengths, headed)


def log_partition(span: Part, arc: Part, lengths: Lengths, headed: Part = None) -> Tensor:
    """Return the logarithms [B] of the sums over all trees of exp(score), with an autograd graph.

    Derivatives of any order exist. Shapes as in `arcspan.decoding.marginals`. The graph holds some
    n^3 numbers per sentence for one layer, n^4 for two.

    >>> arc = torch.zeros(1, 3, 3, requires_grad=True)
    >>> (marginals,) = torch.autograd.grad(log_partition(None, arc, [2]), arc)
    >>> marginals[0].tolist()
    [[0.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    scores, sizes = check(span, arc, lengths, headed)
    masks = _masks(scores, sizes)
    scores, factor = _fit(scores, masks)
    if factor != 1:
        raise ScoreError(f"scores above {-IMPOSSIBLE:g} are too large to add up")
    # Gradients everywhere: zero outside the sentences, IMPOSSIBLE for what is forbidden.
    clean = []
    for part, mask in zip(scores, masks, strict=True):
        if part is not None:
            part = torch.where(mask, part, 0.0).clamp(min=IMPOSSIBLE)
        clean.append(part)
    scores = ScoreTensors(*clean)
    tops = _tops(_fill(scores, torch.logsumexp), scores, sizes)
    total = torch.where(sizes > 0, tops.clamp(min=IMPOSSIBLE).logsumexp(-1), 0.0)
    _complain_if_forbidden(total.detach() < IMPOSSIBLE / 2)
    return total


@torch.no_grad()
def best(span: Part, arc: Part, lengths: Lengths, headed: Part) -> Decoded:
    """Return the best trees, by the search that fits the scores."""
    scores, sizes = check(span, arc, lengths, headed)
    scores, factor = _fit(scores, _masks(scores, sizes))
    charts = _fill(scores, torch.amax)
    tops = _tops(charts, scores, sizes)
    top = torch.where(sizes > 0, tops.amax(-1), 0.0)
    _complain_if_forbidden(top == -INFINITY)
    totals = top.double() * factor
    complain((totals.isinf() * int(Status.TOO_LARGE)).cpu().numpy())
    values = totals.cpu().numpy()
    count, size = scores.layer.shape[:2]
    # Sentences without words have no tree to trace.
    b = torch.arange(count, device=sizes.device)[sizes > 0]
    heads = torch.zeros(count, size, dtype=torch.int64, device=sizes.device)
    if scores.arc is None:
        nodes = _trace_nodes(charts[0][..., None], None, b, torch.zeros_like(b), sizes, heads)
        return Decoded(None, _preorder(nodes, count, 2), values)
    roots = _first_best(tops[b], torch.ones_like(b), sizes[b] + 1)
    spans = None
    if scores.span is None:
        _trace_arcs(charts[0], charts[1], b, roots, sizes, heads)
    else:
        nodes = _trace_nodes(charts[0], scores.arc, b, roots, sizes, heads)
        spans = _preorder(nodes, count, 3)
    return Decoded(heads.cpu().numpy(), spans, values)


def _complain_if_forbidden(forbidden: Tensor) -> None:
    """Raise the error of the first sentence whose every tree is forbidden."""
    complain((forbidden * int(Status.FORBIDDEN)).cpu().numpy())


def _fill(scores: ScoreTensors, join: Join) -> tuple[Tensor, ...]:
    """Return the charts: one of spans, two of half-trees, or one of headed and hooked spans."""
    if scores.arc is None:
        assert scores.span is not None
        return (_fill_spans(scores.span, join),)
    if scores.span is None:
        return _fill_arcs(scores.arc, join)
    return (_fill_joint(scores.span, scores.arc, scores.headed, join),)


def _tops(charts: tuple[Tensor, ...], scores: ScoreTensors, lengths: Tensor) -> Tensor:
    """Return the values of whole sentences, [B, n+1] by their root; without arcs [B, 1]."""
    b = torch.arange(len(lengths), device=lengths.device)
    if scores.arc is None:
        return charts[0][b, 0, lengths][:, None]
    if scores.span is None:
        complete = charts[1]
        # The half-tree to the first word, and the one to the last.
        sentence = complete[:, :, 1:2].sum(-1) + complete[b, :, lengths]
    else:
        sentence = charts[0][b, 0, lengths]
    words = words_of(lengths, scores.arc.shape[1])
    return (sentence + scores.arc[:, :, 0]).masked_fill(~words, -INFINITY)


def _fill_spans(span: Tensor, join: Join) -> Tensor:
    """Return chart[b, i, j]: the best tree over (i, j), or the sum of all of them.

    chart[i, j] = span[i, j] + join over k of chart[i, k] + chart[k, j]
    """
    chart = span.new_zeros(span.shape)
    for w in range(1, span.shape[1]):
        value = span.diagonal(w, 1, 2)
        if w > 1:
            value = value + _join_splits(chart, w, join)
        chart.diagonal(w, 1, 2).copy_(value)
    return chart


def _join_splits(chart: Tensor, w: int, join: Join) -> Tensor:
    """Return the join over k of chart[i, k] + chart[k, j], [b, i, ...] for the spans (i, j) of
    width w.
    """
    shape = chart.shape[1] - w, w - 1
    # left_part[b, i, k] = chart[b, i, i+1+k], right_part[b, i, k] = chart[b, i+1+k, i+w]
    left_part = _stripe(chart, shape, (0, 1), (0, 1))
    right_part = _stripe(chart, shape, (1, w), (1, 0))
    return join(left_part + right_part, 2)


def _fill_arcs(arc: Tensor, join: Join) -> tuple[Tensor, Tensor]:
    """Return the charts `linked` and `complete` of half-trees [b, h, e]: words h to e headed by h.

    linked[h, e] = arc[e, h] + join over k of complete[l, k] + complete[r, k+1], for l, r = h, e in
    order complete[h, e] = join over m of linked[h, m] + complete[m, e]
    """
    size = arc.shape[1]
    complete = arc.new_zeros(arc.shape)
    linked = arc.new_zeros(arc.shape)
    for w in range(1, size - 1):
        shape = (size - 1 - w, w)
        # inner: over k of complete[l, l+k] + complete[l+w, l+k+1], l = 1..
        first = _stripe(complete, shape, (1, 1), (0, 1))
        second = _stripe(complete, shape, (1 + w, 2), (0, 1))
        inner = join(first + second, -1)
        linked.diagonal(w, 1, 2)[:, 1:] = inner + arc.diagonal(-w, 1, 2)[:, 1:]
        linked.diagonal(-w, 1, 2)[:, 1:] = inner + arc.diagonal(w, 1, 2)[:, 1:]
        # complete[l, r]: over k of linked[l, l+1+k] + complete[l+1+k, r]
        first = _stripe(linked, shape, (1, 2), (0, 1))
        second = _stripe(complete, shape, (2, 1 + w), (1, 0))
        complete.diagonal(w, 1, 2)[:, 1:] = join(first + second, -1)
        # complete[r, l]: over k of linked[r, l+k] + complete[l+k, l]
        first = _stripe(linked, shape, (1 + w, 1), (0, 1))
        second = _stripe(complete, shape, (1, 1), (1, 0))
        complete.diagonal(-w, 1, 2)[:, 1:] = join(first + second, -1)
    return linked, complete


def _trace_arcs(
    linked: Tensor, complete: Tensor, b: Tensor, roots: Tensor, lengths: Tensor, heads: Tensor
) -> None:
    """Write the heads of the best trees."""
    # The root heads two half-trees: to the first word and to the last.
    h = torch.cat((roots, roots))
    end = torch.cat((torch.ones_like(b), lengths[b]))
    b = torch.cat((b, b))
    while len(b):
        b, h, end = (index[h != end] for index in (b, h, end))
        # From h, without h itself, to the end, on either side.
        low, high = torch.minimum(h + 1, end), torch.maximum(h, end + 1)
        m = _first_best(linked[b, h] + complete[b, :, end], low, high)
        heads[b, m] = h
        low, high = torch.minimum(h, m), torch.maximum(h, m)
        # At k: complete[low, k] + complete[high, k + 1].
        halves = complete[b, low] + complete[b, high].roll(-1, -1)
        k = _first_best(halves, low, high)
        b, h, end = torch.cat((b, b, b)), torch.cat((m, low, high)), torch.cat((end, k, k + 1))


def _fill_joint(span: Tensor, arc: Tensor, headed: Part, join: Join) -> Tensor:
    """Return chart[b, i, j, h], the paper's alpha (h inside (i, j]) and beta (hooked to h outside)
    in one.

    chart[i, j, h] = span[i, j] (+ headed[i, j, h]) + join over k of chart[i, k, h] + chart[k, j, h]
    chart[i, j, h] = join over m in (i, j] of chart[i, j, m] + arc[m, h] (+ headed[i, j, h])
    """
    count, size = span.shape[:2]
    positions = torch.arange(size, device=span.device)
    arc = arc.contiguous()
    chart = span.new_zeros(count, size, size, size)
    for w in range(1, size):
        spans = size - w
        i = positions[:spans]
        value = span.diagonal(w, 1, 2)[..., None].expand(-1, -1, size)
        if w > 1:
            value = value + _join_splits(chart, w, join)
        second = None
        if headed is not None:
            second = headed[:, pair_number(size, i, i + w)]
            value = value + second
        value = value.contiguous()
        # hooked[b, i, h]: over m in (i, i+w] of value[b, i, m] + arc[b, m, h]
        inner = _stripe(value, (spans, w), (0, 1), (0, 1))
        hooked = join(inner[..., None] + arc[:, 1:].unfold(1, w, 1).transpose(-1, -2), 2)
        if second is not None:
            hooked = hooked + second
        inside = (positions > i[:, None]) & (positions <= i[:, None] + w)
        chart.diagonal(w, 1, 2).copy_(torch.where(inside, value, hooked).transpose(-1, -2))
    return chart


def _trace_nodes(
    chart: Tensor, arc: Part, b: Tensor, roots: Tensor, lengths: Tensor, heads: Tensor
) -> list[Tensor]:
    """Return the nodes (b, i, j, h) of the best trees, one tensor for each depth; write their
    heads.

    Without arcs all h are 0, the only index of the chart's last axis.
    """
    i = torch.zeros_like(b)
    j = lengths[b]
    h = roots
    nodes = []
    while len(b):
        nodes.append(torch.stack((b, i, j, h), -1))
        b, i, j, h = (index[j > i + 1] for index in (b, i, j, h))
        k = _first_best(chart[b, i, :, h] + chart[b, :, j, h], i + 1, j)
        m = h
        is_left = h <= k
        if arc is not None:
            # The part without h, (low, high], is hooked to h by its head m.
            low, high = torch.where(is_left, k, i), torch.where(is_left, j, k)
            m = _first_best(chart[b, low, high] + arc[b, :, h], low + 1, high + 1)
            heads[b, m] = h
        h = torch.cat((torch.where(is_left, h, m), torch.where(is_left, m, h)))
        b, i, j = torch.cat((b, b)), torch.cat((i, k)), torch.cat((k, j))
    return nodes


def _stripe(
    x: Tensor, shape: tuple[int, int], begin: tuple[int, int], across: tuple[int, int]
) -> Tensor:
    """Return the view x[b, begin + (p, p) + q * across, ...] as [b, p, q, ...]."""
    _, row, column, *inner = x.stride()
    return x.as_strided(
        (x.shape[0], *shape, *x.shape[3:]),
        (x.stride(0), row + column, row * across[0] + column * across[1], *inner),
        x.storage_offset() + begin[0] * row + begin[1] * column,
    )


def _first_best(values: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return the first position in [low, high) of the largest value of each row.

    Plain argmax would break ties by the device.
    """
    positions = torch.arange(values.shape[-1], device=values.device)
    allowed = (positions >= low[:, None]) & (positions < high[:, None])
    values = values.masked_fill(~allowed, -INFINITY)
    best = (values == values.amax(-1, keepdim=True)) & allowed
    return torch.where(best, positions, values.shape[-1] - 1).amin(-1)


def check(span: Part, arc: Part, lengths: Lengths, headed: Part) -> tuple[ScoreTensors, Tensor]:
    """Return the scores, headed ones packed, and the lengths on their device, of matching shapes."""
    layer = arc if span is None else span
    if layer is None:
        raise ScoreError("span scores are needed, or arc scores, or both")
    sizes = torch.as_tensor(lengths, device=layer.device).to(torch.int64)
    check_shapes(span, arc, headed, sizes.tolist())
    return ScoreTensors(span, arc, None if headed is None else pack_cubes(headed)), sizes


def words_of(lengths: Tensor, size: int) -> Tensor:
    """Return which positions [b, m] are words of their sentence."""
    positions = torch.arange(size, device=lengths.device)
    return (positions > 0) & (positions <= lengths[:, None])


def _masks(scores: ScoreTensors, lengths: Tensor) -> list[Tensor]:
    """Return which cells belong to a sentence: spans [b, i, j], arcs [b, m, h], headed [b, pair,
    h].
    """
    size = scores.layer.shape[1]
    p = torch.arange(size, device=lengths.device)
    words = words_of(lengths, size)
    spans = (p[:, None] < p) & words[:, None, :]
    arcs = words[:, :, None] & (p <= lengths[:, None])[:, None, :] & (p[:, None] != p)
    i, j = torch.triu_indices(size, size, 1, device=lengths.device)
    return [spans, arcs, spans[:, i, j, None] & words[:, None, :]]


def _fit(scores: ScoreTensors, masks: list[Tensor]) -> tuple[ScoreTensors, float]:
    """Return the scores in one floating type, over a factor that keeps their sums finite.

    NaN and plus infinity are errors.
    """
    layer = scores.layer
    largest = 0.0
    status = torch.zeros(layer.shape[0], dtype=torch.int64, device=layer.device)
    for part, mask in zip(scores, masks, strict=True):
        if part is not None and part.numel():
            used = torch.where(mask, part.detach(), 0.0).flatten(1)
            status = torch.maximum(status, (used == INFINITY).any(1) * int(Status.TOO_LARGE))
            # The largest code: it wins over TOO_LARGE.
            status = torch.maximum(status, used.isnan().any(1) * int(Status.NOT_A_NUMBER))
            largest = max(largest, float(used.nan_to_num(0.0, 0.0, 0.0).abs().amax()))
    complain(status.cpu().numpy())
    factor = 1.0
    if largest > -IMPOSSIBLE:
        # 2^1024 would be infinite.
        factor = 2.0 ** min(math.ceil(math.log2(largest)), 1023)
    wide = any(part is not None and part.dtype == torch.float64 for part in scores)
    dtype = torch.float64 if wide else torch.float32
    fitted: list[Part] = []
    for part in scores:
        if part is not None and factor != 1:
            part = part.double() / factor
        fitted.append(None if part is None else part.to(dtype))
    return ScoreTensors(*fitted), factor


def _preorder(nodes: list[Tensor], count: int, columns: int) -> list[Ints]:
    """Return the nodes, (i, j) or (i, j, h), of each sentence in pre-order: by begin, widest first."""
    if not nodes:
        return [np.empty((0, columns), np.int64) for _ in range(count)]
    table = torch.cat(nodes).cpu().numpy()
    table = table[np.lexsort((-table[:, 2], table[:, 1], table[:, 0]))]
    borders = np.searchsorted(table[:, 0], np.arange(count + 1))
    return [table[borders[b] : borders[b + 1], 1 : columns + 1] for b in range(count)]
