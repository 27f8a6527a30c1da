"""The paper's Algorithm 1 in torch, for accelerators: all spans of one width of all sentences at once.

O(n) steps, each over large tensors. `cky`, `eisner` and `eisner_satta` take tensors where the functions of the
same name in `arcspan.decoding` take arrays, and find the same trees; first and second order of `eisner_satta` are
told apart by `headed`. No autograd graph is built: charts hold values only, and the trees are found again from
them, all nodes of one depth of all sentences at once.

On a CPU the compiled kernels are one to two orders of magnitude faster (`arcspan benchmark decode`), and even for
scores on an accelerator they win until a batch is large and its sentences are long: `pays` is the rule.
"""

from __future__ import annotations

import numpy as np

from arcspan.decoding.batch import FORBIDDEN, HUGE, NAN, Decoded, available_threads, complain
from arcspan.errors import MissingExtraError, ScoreError

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("decoding.batched", "train") from error

__all__ = ["cky", "eisner", "eisner_satta", "pays"]

INFINITY = float("inf")

# Seconds that `eisner_satta` takes for each n^4 of a sentence on one thread ("ps / n^4" of the benchmark), and
# seconds that a step of the loop over widths takes at least here: some thirty launches of ten microseconds.
_KERNEL_SECONDS = 20e-12
_STEP_SECONDS = 300e-6


def pays(lengths: Tensor | list[int], device: torch.device | str, threads: int | None = None) -> bool:
    """Whether joint search of such a batch is faster here than in the kernels, for scores on `device`.

    On a CPU never. On an accelerator, when the kernels, which work through n^4 steps a sentence on the host, would
    take longer than the launches of n steps over the whole batch: long sentences, many of them. Measure a device
    with `arcspan benchmark decode --device`.

    >>> pays([24] * 16, "cuda", threads=2), pays([120] * 64, "cuda", threads=2), pays([120] * 64, "cpu")
    (False, True, False)
    """
    if torch.device(device).type == "cpu" or len(lengths) == 0:
        return False
    words = [int(n) for n in lengths]
    kernels = _KERNEL_SECONDS * sum(n**4 for n in words) / min(threads or available_threads(), len(words))
    return kernels > _STEP_SECONDS * max(words)


@torch.no_grad()
def cky(span: Tensor, lengths: Tensor) -> Decoded:
    """The best binary constituency tree of every sentence: span [B, n+1, n+1], lengths [B]."""
    lengths = _check(lengths, span=span)
    size = span.shape[1]
    upper = _upper(lengths, size)
    span, factor = _fit([span], [upper])
    x = span.new_zeros(span.shape)
    for w in range(1, size):
        best = span.diagonal(w, 1, 2)
        if w > 1:
            # left[b, i, k] = x[b, i, i+1+k], right[b, i, k] = x[b, i+1+k, i+w]
            left = _stripe(x, (size - w, w - 1), (0, 1), (1, 1), (0, 1))
            right = _stripe(x, (size - w, w - 1), (1, w), (1, 1), (1, 0))
            best = best + (left + right).amax(-1)
        x.diagonal(w, 1, 2).copy_(best)

    b = torch.arange(len(lengths), device=x.device)
    scores = torch.where(lengths > 0, x[b, 0, lengths], 0.0)
    _complain(scores)
    b = b[lengths > 0]
    i, j = torch.zeros_like(b), lengths[b]
    nodes = []
    positions = torch.arange(size, device=x.device)
    while len(b):
        nodes.append(torch.stack((b, i, j), -1))
        b, i, j = (part[j > i + 1] for part in (b, i, j))
        splits = x[b, i] + x[b, :, j]
        k = _first_best(splits, (positions > i[:, None]) & (positions < j[:, None]))
        b, i, j = torch.cat((b, b)), torch.cat((i, k)), torch.cat((k, j))
    return Decoded(None, _preorder(nodes, len(lengths), 3), _numbers(scores, factor))


@torch.no_grad()
def eisner(arc: Tensor, lengths: Tensor) -> Decoded:
    """The best projective tree with one root of every sentence: arc[b, modifier, head], lengths [B]."""
    lengths = _check(lengths, arc=arc)
    count, size = arc.shape[:2]
    arc, factor = _fit([arc], [_arcs(lengths, size)])
    # complete[l, r]: words l..r headed by l; complete[r, l]: headed by r. made: the same, its longest arc l - r.
    complete = arc.new_zeros(arc.shape)
    made = arc.new_zeros(arc.shape)
    for w in range(1, size - 1):
        wide = (size - 1 - w, w)
        # joined = max over k of complete[l, l+k] + complete[l+w, l+k+1], l = 1..
        joined = (
            _stripe(complete, wide, (1, 1), (1, 1), (0, 1))
            + _stripe(complete, wide, (1 + w, 2), (1, 1), (0, 1))
        ).amax(-1)
        made.diagonal(w, 1, 2)[:, 1:] = joined + arc.diagonal(-w, 1, 2)[:, 1:]
        made.diagonal(-w, 1, 2)[:, 1:] = joined + arc.diagonal(w, 1, 2)[:, 1:]
        # complete[l, r] = max over k of made[l, l+1+k] + complete[l+1+k, r]
        complete.diagonal(w, 1, 2)[:, 1:] = (
            _stripe(made, wide, (1, 2), (1, 1), (0, 1)) + _stripe(complete, wide, (2, 1 + w), (1, 1), (1, 0))
        ).amax(-1)
        # complete[r, l] = max over k of made[r, l+k] + complete[l+k, l]
        complete.diagonal(-w, 1, 2)[:, 1:] = (
            _stripe(made, wide, (1 + w, 1), (1, 1), (0, 1)) + _stripe(complete, wide, (1, 1), (1, 1), (1, 0))
        ).amax(-1)

    b = torch.arange(count, device=arc.device)
    heads = torch.zeros(count, size, dtype=torch.int64, device=arc.device)
    positions = torch.arange(size, device=arc.device)
    if size == 1:
        return Decoded(heads.cpu().numpy(), None, np.zeros(count))
    whole = complete[:, :, 1] + complete[b, :, lengths] + arc[:, :, 0]
    words = (positions > 0) & (positions <= lengths[:, None])
    root = _first_best(whole, words)
    scores = torch.where(lengths > 0, whole[b, root], 0.0)
    _complain(scores)
    b = b[lengths > 0]
    b, h, end = torch.cat((b, b)), torch.cat((root[b], root[b])), torch.cat((torch.ones_like(b), lengths[b]))
    while len(b):
        b, h, end = (part[h != end] for part in (b, h, end))
        between = (positions >= torch.minimum(h, end)[:, None]) & (
            positions <= torch.maximum(h, end)[:, None]
        )
        m = _first_best(made[b, h] + complete[b, :, end], between & (positions != h[:, None]))
        heads[b, m] = h
        low, high = torch.minimum(h, m), torch.maximum(h, m)
        parts = complete[b, low] + complete[b, high].roll(-1, -1)
        k = _first_best(parts, (positions >= low[:, None]) & (positions < high[:, None]))
        b, h, end = torch.cat((b, b, b)), torch.cat((m, low, high)), torch.cat((end, k, k + 1))
    return Decoded(heads.cpu().numpy(), None, _numbers(scores, factor))


@torch.no_grad()
def eisner_satta(span: Tensor, arc: Tensor, lengths: Tensor, headed: Tensor | None = None) -> Decoded:
    """The best lexicalized tree of every sentence; shapes as in `arcspan.decoding.eisner_satta`."""
    lengths = _check(lengths, span=span, arc=arc)
    count, size = span.shape[:2]
    upper = _upper(lengths, size)
    positions = torch.arange(size, device=span.device)
    masks, scores = [upper, _arcs(lengths, size)], [span, arc]
    if headed is not None:
        scores.append(_packed(headed, span.shape))
        i, j = torch.triu_indices(size, size, 1, device=span.device)
        masks.append(upper[:, i, j, None] & (positions > 0) & (positions <= lengths[:, None, None]))
    *scores, factor = _fit(scores, masks)
    span, arc = scores[:2]
    headed = None if headed is None else scores[2]
    arc = arc.contiguous()
    x = span.new_zeros(count, size, size, size)
    for w in range(1, size):
        spans = size - w
        best = span.diagonal(w, 1, 2)[..., None].expand(-1, -1, size)
        if w > 1:
            # alpha/beta of the paper in one chart; left[b, i, k, h] = x[b, i, i+1+k, h], right = x[b, i+1+k, i+w, h]
            left = _stripe(x, (spans, w - 1), (0, 1), (1, 1), (0, 1))
            right = _stripe(x, (spans, w - 1), (1, w), (1, 1), (1, 0))
            best = best + (left + right).amax(2)
        # Row i of the packed scores begins where i * (size - 1) - i * (i + 1) / 2 - 1 + j is the pair (i, j).
        i = positions[:spans]
        second = None if headed is None else headed[:, i * (size - 1) - i * (i + 1) // 2 - 1 + i + w]
        if second is not None:
            best = best + second
        best = best.contiguous()
        # hooked[b, i, h] = max over m in (i, i+w] of best[b, i, m] + arc[b, m, h]
        inner = _stripe(best, (spans, w), (0, 1), (1, 1), (0, 1))
        hooked = (inner[..., None] + arc[:, 1:].unfold(1, w, 1).transpose(-1, -2)).amax(2)
        if second is not None:
            hooked = hooked + second
        i = positions[:spans, None]
        inside = (positions > i) & (positions <= i + w)
        x.diagonal(w, 1, 2).copy_(torch.where(inside, best, hooked).transpose(-1, -2))

    b = torch.arange(count, device=x.device)
    heads = torch.zeros(count, size, dtype=torch.int64, device=x.device)
    whole = x[b, 0, lengths] + arc[:, :, 0]
    root = _first_best(whole, (positions > 0) & (positions <= lengths[:, None]))
    totals = torch.where(lengths > 0, whole[b, root], 0.0)
    _complain(totals)
    b = b[lengths > 0]
    i, j, h = torch.zeros_like(b), lengths[b], root[b]
    nodes = []
    while len(b):
        nodes.append(torch.stack((b, i, j, h), -1))
        b, i, j, h = (part[j > i + 1] for part in (b, i, j, h))
        splits = x[b, i, :, h] + x[b, :, j, h]
        k = _first_best(splits, (positions > i[:, None]) & (positions < j[:, None]))
        low, high = torch.where(h <= k, k, i), torch.where(h <= k, j, k)
        attached = x[b, low, high] + arc[b, :, h]
        m = _first_best(attached, (positions > low[:, None]) & (positions <= high[:, None]))
        heads[b, m] = h
        left_head, right_head = torch.where(h <= k, h, m), torch.where(h <= k, m, h)
        b, i, j, h = (
            torch.cat((b, b)),
            torch.cat((i, k)),
            torch.cat((k, j)),
            torch.cat((left_head, right_head)),
        )
    return Decoded(heads.cpu().numpy(), _preorder(nodes, count, 4), _numbers(totals, factor))


def _stripe(
    x: Tensor, shape: tuple[int, int], begin: tuple[int, int], down: tuple[int, int], across: tuple[int, int]
) -> Tensor:
    """A view s[b, p, q, ...] = x[b, begin + p * down + q * across, ...] of the two axes after the batch."""
    _, row, column, *rest = x.stride()
    return x.as_strided(
        (x.shape[0], *shape, *x.shape[3:]),
        (x.stride(0), row * down[0] + column * down[1], row * across[0] + column * across[1], *rest),
        x.storage_offset() + begin[0] * row + begin[1] * column,
    )


def _first_best(values: Tensor, allowed: Tensor) -> Tensor:
    """The first position of the largest allowed value of each row (ties must not depend on the device)."""
    values = values.masked_fill(~allowed, -INFINITY)
    positions = torch.arange(values.shape[-1], device=values.device)
    best = (values == values.amax(-1, keepdim=True)) & allowed
    return torch.where(best, positions, values.shape[-1] - 1).amin(-1)


def _packed(headed: Tensor, shape: torch.Size) -> Tensor:
    """The rows i < j of headed scores, [B, pairs, n+1], of the cube where it is one."""
    size = shape[1]
    packed = (shape[0], size * (size - 1) // 2, size)
    if headed.shape == (*shape, size):
        i, j = torch.triu_indices(size, size, 1, device=headed.device)
        return headed[:, i, j]
    if headed.shape != packed:
        raise ScoreError(
            f"headed must have the shape {[*shape, size]}, or packed {list(packed)}, not {list(headed.shape)}"
        )
    return headed


def _upper(lengths: Tensor, size: int) -> Tensor:
    """The cells [b, i, j], i < j, of the spans of each sentence."""
    positions = torch.arange(size, device=lengths.device)
    return (positions[:, None] < positions) & (positions <= lengths[:, None, None])


def _arcs(lengths: Tensor, size: int) -> Tensor:
    """The cells [b, m, h] of the arcs of each sentence."""
    p = torch.arange(size, device=lengths.device)
    inside = p <= lengths[:, None]
    return inside[:, :, None] & inside[:, None, :] & (p[:, None] != p) & (p > 0)[:, None]


def _check(lengths: Tensor, **scores: Tensor) -> Tensor:
    first = next(iter(scores.values()))
    lengths = torch.as_tensor(lengths, device=first.device).to(torch.int64)
    for name, values in scores.items():
        if values.ndim != 3 or values.shape[1] != values.shape[2] or values.shape[0] != len(lengths):
            raise ScoreError(
                f"{name} must have the shape [B, n+1, n+1] with B = {len(lengths)}, not {list(values.shape)}"
            )
        if values.shape != first.shape:
            raise ScoreError(f"{name} must have the shape {list(first.shape)}, not {list(values.shape)}")
    if len(lengths) and not 0 <= int(lengths.min()) <= int(lengths.max()) < max(first.shape[1], 1):
        raise ScoreError(f"lengths must be between 0 and {first.shape[1] - 1}")
    return lengths


def _fit(scores: list[Tensor], masks: list[Tensor]) -> list[Tensor]:
    """The scores in one floating type, over a factor (the last of the list) that keeps their sums finite."""
    kind = torch.float64 if any(part.dtype == torch.float64 for part in scores) else torch.float32
    largest = torch.zeros((), dtype=torch.float64, device=scores[0].device)
    status = torch.zeros(scores[0].shape[0], dtype=torch.int64, device=scores[0].device)
    for part, mask in zip(scores, masks, strict=True):
        if part.numel():
            used = torch.where(mask, part, 0.0)
            bad = torch.where(used.isnan(), NAN, torch.where(used == INFINITY, HUGE, 0)).flatten(1).amax(1)
            status = torch.where((status == NAN) | (bad == NAN), NAN, torch.maximum(status, bad))
            largest = torch.maximum(
                largest, torch.where(used.isinf() | used.isnan(), 0.0, used).abs().amax().double()
            )
    complain(status.cpu().numpy())
    factor = torch.ones((), dtype=torch.float64, device=largest.device)
    if float(largest) > 1e30:
        factor = 2.0 ** largest.log2().ceil()
        return [*((part.double() / factor).to(kind) for part in scores), factor]
    return [*(part.to(kind) for part in scores), factor]


def _complain(scores: Tensor) -> None:
    complain(torch.where(scores == -INFINITY, FORBIDDEN, 0).cpu().numpy())


def _numbers(scores: Tensor, factor: Tensor) -> np.ndarray:
    return (scores.double() * factor).cpu().numpy()


def _preorder(nodes: list[Tensor], count: int, columns: int) -> list[np.ndarray]:
    """The nodes (b, i, j, ...) as one array a sentence, in pre-order: by begin, the widest first."""
    if not nodes:
        return [np.empty((0, columns - 1), np.int64) for _ in range(count)]
    table = torch.cat(nodes).cpu().numpy()
    table = table[np.lexsort((-table[:, 2], table[:, 1], table[:, 0]))]
    borders = np.searchsorted(table[:, 0], np.arange(count + 1))
    return [table[borders[b] : borders[b + 1], 1:] for b in range(count)]
