"""The paper's Algorithm 1 in torch, for accelerators: all spans of one width of all sentences at once.

O(n) steps, each over large tensors. `cky`, `eisner` and `eisner_satta` take tensors where the functions of the
same name in `arcspan.decoding` take arrays, and find the same trees; `headed` makes `eisner_satta` second order. The
charts hold values only: trees are traced back through them, all nodes of one depth of all sentences at once.

The same charts, with sums in place of maxima, give `log_partition`, with derivatives of any order.

On a CPU the compiled kernels are one to two orders of magnitude faster (`benchmarks/decoding.py`), and even for
scores on an accelerator they win until a batch is large and its sentences are long: `pays` is the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from arcspan.decoding.batch import FORBIDDEN, HUGE, NAN, Decoded, available_threads, complain
from arcspan.errors import MissingExtraError, ScoreError

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("decoding.batched", "train") from error

__all__ = ["cky", "eisner", "eisner_satta", "log_partition", "pays"]

INFINITY = float("inf")
# In sums -inf would give gradients of NaN; this is far enough below any score to have the weight zero.
IMPOSSIBLE = -1e30

Join: TypeAlias = Callable[
    [Tensor, int], Tensor
]  # one axis of a tensor: torch.amax or torch.logsumexp

# Seconds that `eisner_satta` takes for each n^4 of a sentence on one thread ("ps / n^4" of the benchmark), and
# seconds that a step of the loop over widths takes at least here: some thirty launches of ten microseconds.
_KERNEL_SECONDS = 20e-12
_STEP_SECONDS = 300e-6


def pays(
    lengths: Tensor | list[int], device: torch.device | str, threads: int | None = None
) -> bool:
    """Whether joint search of such a batch is faster here than in the kernels, for scores on `device`.

    On a CPU never. On an accelerator, when the kernels, which work n^4 steps per sentence on the host, would
    take longer than the launches of n steps over the whole batch: long sentences, many of them. Measure a device
    with `benchmarks/decoding.py --device`.

    >>> pays([24] * 16, "cuda", threads=2), pays([120] * 64, "cuda", threads=2), pays([120] * 64, "cpu")
    (False, True, False)
    """
    if torch.device(device).type == "cpu" or len(lengths) == 0:
        return False
    words = [int(n) for n in lengths]
    kernels = (
        _KERNEL_SECONDS * sum(n**4 for n in words) / min(threads or available_threads(), len(words))
    )
    return kernels > _STEP_SECONDS * max(words)


class Scores(NamedTuple):
    """span and arc [B, n+1, n+1], headed packed [B, pairs, n+1]; None where the trees have no such part."""

    span: Tensor | None
    arc: Tensor | None
    headed: Tensor | None

    @property
    def some(self) -> Tensor:
        """One that is there."""
        return self.arc if self.span is None else self.span  # type: ignore[return-value]


def cky(span: Tensor, lengths: Tensor | Sequence[int]) -> Decoded:
    """The best binary constituency tree of every sentence: span [B, n+1, n+1], lengths [B]."""
    return best(span, None, lengths, None)


def eisner(arc: Tensor, lengths: Tensor | Sequence[int]) -> Decoded:
    """The best projective tree with one root of every sentence: arc[b, modifier, head], lengths [B]."""
    return best(None, arc, lengths, None)


def eisner_satta(
    span: Tensor, arc: Tensor, lengths: Tensor | Sequence[int], headed: Tensor | None = None
) -> Decoded:
    """The best lexicalized tree of every sentence; shapes as in `arcspan.decoding.eisner_satta`."""
    return best(span, arc, lengths, headed)


def log_partition(
    span: Tensor | None,
    arc: Tensor | None,
    lengths: Tensor | Sequence[int],
    headed: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum over all trees of exp(score), [B], as an autograd graph: derivatives of any order.

    Shapes as in `arcspan.decoding.marginals`. The graph holds some n^3 numbers per sentence for one layer, n^4 for two.

    >>> arc = torch.zeros(1, 3, 3, requires_grad=True)
    >>> (marginals,) = torch.autograd.grad(log_partition(None, arc, [2]), arc)
    >>> marginals[0].tolist()
    [[0.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    scores, sizes = check(span, arc, lengths, headed)
    masks = _masks(scores, sizes)
    scores, factor = _fit(scores, masks)
    if float(factor) != 1:
        raise ScoreError(f"scores above {-IMPOSSIBLE:g} are too large to add up")
    # Gradients everywhere: zero outside the sentences, IMPOSSIBLE for what is forbidden.
    clean = (
        None if part is None else torch.where(mask, part, 0.0).clamp(min=IMPOSSIBLE)
        for part, mask in zip(scores, masks, strict=True)
    )
    scores = Scores(*clean)
    tops = _tops(_fill(scores, torch.logsumexp), scores, sizes)
    total = torch.where(sizes > 0, tops.clamp(min=IMPOSSIBLE).logsumexp(-1), 0.0)
    complain(torch.where(total.detach() < IMPOSSIBLE / 2, FORBIDDEN, 0).cpu().numpy())
    return total


@torch.no_grad()
def best(
    span: Tensor | None, arc: Tensor | None, lengths: Tensor | Sequence[int], headed: Tensor | None
) -> Decoded:
    """The best trees by the search that such scores need."""
    scores, sizes = check(span, arc, lengths, headed)
    scores, factor = _fit(scores, _masks(scores, sizes))
    charts = _fill(scores, torch.amax)
    tops = _tops(charts, scores, sizes)
    top = torch.where(sizes > 0, tops.amax(-1), 0.0)
    complain(torch.where(top == -INFINITY, FORBIDDEN, 0).cpu().numpy())
    values = (top.double() * factor).cpu().numpy()
    count, size = scores.some.shape[:2]
    b = torch.arange(count, device=sizes.device)[sizes > 0]
    if scores.arc is None:
        return Decoded(None, _preorder(_trace_spans(charts[0], b, sizes), count, 3), values)
    heads = torch.zeros(count, size, dtype=torch.int64, device=sizes.device)
    roots, spans = _first_best(tops[b], words_of(sizes, size)[b]), None
    if scores.span is None:
        _trace_arcs(charts[0], charts[1], b, roots, sizes, heads)
    else:
        spans = _preorder(_trace_joint(charts[0], scores.arc, b, roots, sizes, heads), count, 4)
    return Decoded(heads.cpu().numpy(), spans, values)


def _fill(scores: Scores, join: Join) -> tuple[Tensor, ...]:
    """The charts: one of spans, two of half-trees, or one of headed and hooked spans."""
    if scores.arc is None:
        assert scores.span is not None
        return (_fill_spans(scores.span, join),)
    if scores.span is None:
        return _fill_arcs(scores.arc, join)
    return (_fill_joint(scores.span, scores.arc, scores.headed, join),)


def _tops(charts: tuple[Tensor, ...], scores: Scores, lengths: Tensor) -> Tensor:
    """The value of whole sentences, [B, n+1] by their root; without arcs [B, 1]."""
    b = torch.arange(len(lengths), device=lengths.device)
    if scores.arc is None:
        return charts[0][b, 0, lengths][:, None]
    if scores.span is None:
        complete = charts[1]
        whole = complete[:, :, 1:2].sum(-1) + complete[b, :, lengths]
    else:
        whole = charts[0][b, 0, lengths]
    return (whole + scores.arc[:, :, 0]).masked_fill(
        ~words_of(lengths, scores.arc.shape[1]), -INFINITY
    )


def _fill_spans(span: Tensor, join: Join) -> Tensor:
    """chart[b, i, j]: the best tree over (i, j), or the sum of all of them."""
    size = span.shape[1]
    chart = span.new_zeros(span.shape)
    for w in range(1, size):
        value = span.diagonal(w, 1, 2)
        if w > 1:
            # left[b, i, k] = chart[b, i, i+1+k], right[b, i, k] = chart[b, i+1+k, i+w]
            left = _stripe(chart, (size - w, w - 1), (0, 1), (0, 1))
            right = _stripe(chart, (size - w, w - 1), (1, w), (1, 0))
            value = value + join(left + right, -1)
        chart.diagonal(w, 1, 2).copy_(value)
    return chart


def _trace_spans(chart: Tensor, b: Tensor, lengths: Tensor) -> list[Tensor]:
    i, j = torch.zeros_like(b), lengths[b]
    nodes = []
    positions = torch.arange(chart.shape[1], device=chart.device)
    while len(b):
        nodes.append(torch.stack((b, i, j), -1))
        b, i, j = (part[j > i + 1] for part in (b, i, j))
        splits = chart[b, i] + chart[b, :, j]
        k = _first_best(splits, (positions > i[:, None]) & (positions < j[:, None]))
        b, i, j = torch.cat((b, b)), torch.cat((i, k)), torch.cat((k, j))
    return nodes


def _fill_arcs(arc: Tensor, join: Join) -> tuple[Tensor, Tensor]:
    """Made and complete [b, h, e]: words h to e, either side, headed by h; made: those whose longest arc is h to e."""
    size = arc.shape[1]
    complete = arc.new_zeros(arc.shape)
    made = arc.new_zeros(arc.shape)
    for w in range(1, size - 1):
        wide = (size - 1 - w, w)
        # joined: over k of complete[l, l+k] + complete[l+w, l+k+1], l = 1..
        joined = join(
            _stripe(complete, wide, (1, 1), (0, 1)) + _stripe(complete, wide, (1 + w, 2), (0, 1)),
            -1,
        )
        made.diagonal(w, 1, 2)[:, 1:] = joined + arc.diagonal(-w, 1, 2)[:, 1:]
        made.diagonal(-w, 1, 2)[:, 1:] = joined + arc.diagonal(w, 1, 2)[:, 1:]
        # complete[l, r]: over k of made[l, l+1+k] + complete[l+1+k, r]
        complete.diagonal(w, 1, 2)[:, 1:] = join(
            _stripe(made, wide, (1, 2), (0, 1)) + _stripe(complete, wide, (2, 1 + w), (1, 0)), -1
        )
        # complete[r, l]: over k of made[r, l+k] + complete[l+k, l]
        complete.diagonal(-w, 1, 2)[:, 1:] = join(
            _stripe(made, wide, (1 + w, 1), (0, 1)) + _stripe(complete, wide, (1, 1), (1, 0)), -1
        )
    return made, complete


def _trace_arcs(
    made: Tensor, complete: Tensor, b: Tensor, roots: Tensor, lengths: Tensor, heads: Tensor
) -> None:
    positions = torch.arange(made.shape[1], device=made.device)
    h, end = torch.cat((roots, roots)), torch.cat((torch.ones_like(b), lengths[b]))
    b = torch.cat((b, b))
    while len(b):
        b, h, end = (part[h != end] for part in (b, h, end))
        low, high = torch.minimum(h, end), torch.maximum(h, end)
        between = (positions >= low[:, None]) & (positions <= high[:, None])
        m = _first_best(made[b, h] + complete[b, :, end], between & (positions != h[:, None]))
        heads[b, m] = h
        low, high = torch.minimum(h, m), torch.maximum(h, m)
        parts = complete[b, low] + complete[b, high].roll(-1, -1)
        k = _first_best(parts, (positions >= low[:, None]) & (positions < high[:, None]))
        b, h, end = torch.cat((b, b, b)), torch.cat((m, low, high)), torch.cat((end, k, k + 1))


def _fill_joint(span: Tensor, arc: Tensor, headed: Tensor | None, join: Join) -> Tensor:
    """chart[b, i, j, h], the paper's alpha and beta in one: (i, j) headed by h inside, or hooked to h outside."""
    count, size = span.shape[:2]
    positions = torch.arange(size, device=span.device)
    arc = arc.contiguous()
    chart = span.new_zeros(count, size, size, size)
    for w in range(1, size):
        spans = size - w
        value = span.diagonal(w, 1, 2)[..., None].expand(-1, -1, size)
        if w > 1:
            # left[b, i, k, h] = chart[b, i, i+1+k, h], right = chart[b, i+1+k, i+w, h]
            left = _stripe(chart, (spans, w - 1), (0, 1), (0, 1))
            right = _stripe(chart, (spans, w - 1), (1, w), (1, 0))
            value = value + join(left + right, 2)
        # Row i of the packed scores begins where i * (size - 1) - i * (i + 1) / 2 - 1 + j is the pair (i, j).
        i = positions[:spans]
        second = (
            None if headed is None else headed[:, i * (size - 1) - i * (i + 1) // 2 - 1 + i + w]
        )
        if second is not None:
            value = value + second
        value = value.contiguous()
        # hooked[b, i, h]: over m in (i, i+w] of value[b, i, m] + arc[b, m, h]
        inner = _stripe(value, (spans, w), (0, 1), (0, 1))
        hooked = join(inner[..., None] + arc[:, 1:].unfold(1, w, 1).transpose(-1, -2), 2)
        if second is not None:
            hooked = hooked + second
        i = positions[:spans, None]
        inside = (positions > i) & (positions <= i + w)
        chart.diagonal(w, 1, 2).copy_(torch.where(inside, value, hooked).transpose(-1, -2))
    return chart


def _trace_joint(
    chart: Tensor, arc: Tensor, b: Tensor, roots: Tensor, lengths: Tensor, heads: Tensor
) -> list[Tensor]:
    positions = torch.arange(arc.shape[1], device=arc.device)
    i, j, h = torch.zeros_like(b), lengths[b], roots
    nodes = []
    while len(b):
        nodes.append(torch.stack((b, i, j, h), -1))
        b, i, j, h = (part[j > i + 1] for part in (b, i, j, h))
        splits = chart[b, i, :, h] + chart[b, :, j, h]
        k = _first_best(splits, (positions > i[:, None]) & (positions < j[:, None]))
        low, high = torch.where(h <= k, k, i), torch.where(h <= k, j, k)
        attached = chart[b, low, high] + arc[b, :, h]
        m = _first_best(attached, (positions > low[:, None]) & (positions <= high[:, None]))
        heads[b, m] = h
        left_head, right_head = torch.where(h <= k, h, m), torch.where(h <= k, m, h)
        b, i, j = torch.cat((b, b)), torch.cat((i, k)), torch.cat((k, j))
        h = torch.cat((left_head, right_head))
    return nodes


def _stripe(
    x: Tensor, shape: tuple[int, int], begin: tuple[int, int], across: tuple[int, int]
) -> Tensor:
    """A view s[b, p, q, ...] = x[b, begin + (p, p) + q * across, ...] of the two axes after the batch."""
    _, row, column, *rest = x.stride()
    return x.as_strided(
        (x.shape[0], *shape, *x.shape[3:]),
        (x.stride(0), row + column, row * across[0] + column * across[1], *rest),
        x.storage_offset() + begin[0] * row + begin[1] * column,
    )


def _first_best(values: Tensor, allowed: Tensor) -> Tensor:
    """The first position of the largest allowed value of each row (ties must not depend on the device)."""
    values = values.masked_fill(~allowed, -INFINITY)
    positions = torch.arange(values.shape[-1], device=values.device)
    best = (values == values.amax(-1, keepdim=True)) & allowed
    return torch.where(best, positions, values.shape[-1] - 1).amin(-1)


def check(
    span: Tensor | None, arc: Tensor | None, lengths: Tensor | Sequence[int], headed: Tensor | None
) -> tuple[Scores, Tensor]:
    """The scores, headed ones packed, and the lengths on their device, after checking that they fit each other."""
    given = {name: part for name, part in (("span", span), ("arc", arc)) if part is not None}
    if not given:
        raise ScoreError("span scores are needed, or arc scores, or both")
    first = next(iter(given.values()))
    sizes = torch.as_tensor(lengths, device=first.device).to(torch.int64)
    for name, values in given.items():
        if values.ndim != 3 or values.shape[1] != values.shape[2] or values.shape[0] != len(sizes):
            raise ScoreError(
                f"{name} must have the shape [B, n+1, n+1] with B = {len(sizes)}, not {list(values.shape)}"
            )
        if values.shape != first.shape:
            raise ScoreError(
                f"{name} must have the shape {list(first.shape)}, not {list(values.shape)}"
            )
    count, size = first.shape[:2]
    if len(sizes) and not 0 <= int(sizes.min()) <= int(sizes.max()) < max(size, 1):
        raise ScoreError(f"lengths must be between 0 and {size - 1}")
    if headed is not None:
        cube, packed = (*first.shape, size), (count, size * (size - 1) // 2, size)
        if headed.shape == cube:
            i, j = torch.triu_indices(size, size, 1, device=headed.device)
            headed = headed[:, i, j]
        elif headed.shape != packed:
            raise ScoreError(
                f"headed must have the shape {list(cube)}, or packed {list(packed)}, not {list(headed.shape)}"
            )
    return Scores(span, arc, headed), sizes


def words_of(lengths: Tensor, size: int) -> Tensor:
    """The positions [b, m] of the words of each sentence."""
    positions = torch.arange(size, device=lengths.device)
    return (positions > 0) & (positions <= lengths[:, None])


def _masks(scores: Scores, lengths: Tensor) -> list[Tensor]:
    """Which cells of each of the scores belong to a sentence: spans [b, i, j], arcs [b, m, h], headed [b, pair, h]."""
    size = scores.some.shape[1]
    p = torch.arange(size, device=lengths.device)
    words = words_of(lengths, size)
    spans = (p[:, None] < p) & words[:, None, :]
    arcs = words[:, :, None] & (p <= lengths[:, None])[:, None, :] & (p[:, None] != p)
    i, j = torch.triu_indices(size, size, 1, device=lengths.device)
    return [spans, arcs, spans[:, i, j, None] & words[:, None, :]]


def _fit(scores: Scores, masks: list[Tensor]) -> tuple[Scores, Tensor]:
    """The scores in one floating type, over a factor that keeps their sums finite; NaN and inf are errors."""
    some = scores.some
    largest = torch.zeros((), dtype=torch.float64, device=some.device)
    status = torch.zeros(some.shape[0], dtype=torch.int64, device=some.device)
    for part, mask in zip(scores, masks, strict=True):
        if part is not None and part.numel():
            used = torch.where(mask, part.detach(), 0.0)
            bad = (
                torch.where(used.isnan(), NAN, torch.where(used == INFINITY, HUGE, 0))
                .flatten(1)
                .amax(1)
            )
            status = torch.where((status == NAN) | (bad == NAN), NAN, torch.maximum(status, bad))
            finite = torch.where(used.isinf() | used.isnan(), 0.0, used)
            largest = torch.maximum(largest, finite.abs().amax().double())
    complain(status.cpu().numpy())
    factor = torch.ones((), dtype=torch.float64, device=largest.device)
    if float(largest) > -IMPOSSIBLE:
        factor = 2.0 ** largest.log2().ceil()
    double = any(part is not None and part.dtype == torch.float64 for part in scores)
    kind = torch.float64 if double else torch.float32
    scaled = (part if part is None or factor == 1 else part.double() / factor for part in scores)
    return Scores(*(part if part is None else part.to(kind) for part in scaled)), factor


def _preorder(nodes: list[Tensor], count: int, columns: int) -> list[np.ndarray]:
    """The nodes (b, i, j, ...) as one array per sentence, in pre-order: by begin, the widest first."""
    if not nodes:
        return [np.empty((0, columns - 1), np.int64) for _ in range(count)]
    table = torch.cat(nodes).cpu().numpy()
    table = table[np.lexsort((-table[:, 2], table[:, 1], table[:, 0]))]
    borders = np.searchsorted(table[:, 0], np.arange(count + 1))
    return [table[borders[b] : borders[b + 1], 1:] for b in range(count)]
