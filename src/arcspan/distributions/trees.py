"""Trees of a batch as tensors, what they score, and whether they are trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from arcspan.decoding.batched import words_of
from arcspan.errors import ScoreError


class Trees(NamedTuple):
    """Trees of every sentence of a batch, one or several: the axes before B count them.

    heads   int64 [..., B, n+1]: heads[m] is the head of word m (0 = root); 0 in column 0 and in the padding.
            None of constituency trees.
    spans   int64 [..., B, 2n-1, 3]: rows (i, j, head) in pre-order, then rows of zeros. Rows (i, j) of constituency
            trees, None of dependency trees.
    scores  [..., B]: the sum of the scores of their parts; -inf where there is no tree (of `topk`).
    """

    heads: Tensor | None
    spans: Tensor | None
    scores: Tensor


def stack_spans(spans: Sequence[np.ndarray], size: int, columns: int) -> Tensor:
    """Spans of trees over up to size - 1 words as one tensor [trees, 2n-1, columns], padded with rows of zeros."""
    found = np.zeros((len(spans), max(2 * size - 3, 0), columns), np.int64)
    for row, own in zip(found, spans, strict=True):
        row[: len(own)] = own[:, :columns]
    return torch.from_numpy(found)


def score(
    scores: Sequence[Tensor | None], lengths: Tensor, heads: Tensor | None, spans: Tensor | None
) -> Tensor:
    """The sums [..., B] of the scores of trees' parts, differentiable; headed scores are packed [B, pairs, n+1].

    A tree's second-order parts are its headed spans, and the hooked span of each word but the root: (i, j), the largest
    span that the word heads, and h, the word's own head.
    """
    span, arc, headed = scores
    some = next(part for part in scores if part is not None)
    b = torch.arange(len(lengths), device=lengths.device)[:, None]
    total = some.new_zeros(())
    if span is not None:
        assert spans is not None
        i, j = spans[..., 0], spans[..., 1]
        total = total + span[b, i, j].where(j > 0, 0).sum(-1)
    if arc is not None:
        assert heads is not None
        m = torch.arange(1, arc.shape[1], device=arc.device)
        total = total + arc[b, m, heads[..., 1:]].where(m <= lengths[:, None], 0).sum(-1)
    if headed is not None:
        assert heads is not None and spans is not None
        i, j, h = spans.unbind(-1)
        own_head = heads.gather(-1, h)
        largest = (
            torch.zeros_like(heads).scatter_reduce(-1, h, j - i, "amax").gather(-1, h) == j - i
        )
        pair = (i * (some.shape[1] - 1) - i * (i + 1) // 2 + j - 1).clamp(min=0)
        total = total + headed[b, pair, h].where(j > 0, 0).sum(-1)
        total = total + headed[b, pair, own_head].where(largest & (own_head > 0), 0).sum(-1)
    return total


def check(lengths: Tensor, heads: Tensor | None, spans: Tensor | None) -> None:
    """Raise ScoreError unless all are trees of their sentences: projective with one root, binary, compatible."""
    found = lengths >= 0
    if heads is not None:
        found = found & _are_projective(heads, lengths)
    if spans is not None:
        found = found & _are_binary(spans, lengths)
    if heads is not None and spans is not None:
        found = found & _fit_each_other(heads, spans, lengths)
    if not bool(found.all()):
        *draw, b = (~found).nonzero()[0].tolist()
        which = f"tree {', '.join(map(str, draw))} of " if draw else ""
        kind = "binary" if heads is None else "projective" if spans is None else "lexicalized"
        raise ScoreError(
            f"{which}sentence {b} of the batch is not a {kind} tree of its {int(lengths[b])} words"
        )


def _are_projective(heads: Tensor, lengths: Tensor) -> Tensor:
    words = words_of(lengths, heads.shape[-1])
    m = torch.arange(heads.shape[-1], device=heads.device).expand_as(heads)
    ranged = ((heads >= 0) & (heads <= lengths[:, None])).all(-1) & ((heads == 0) | words).all(-1)
    above = heads.clamp(0, heads.shape[-1] - 1)
    low, high = torch.minimum(above, m), torch.maximum(above, m)
    crossing = _cross(low, high) & words[..., None] & words[..., None, :]
    # Twice as many steps up each time: a cycle never arrives at 0.
    for _ in range(heads.shape[-1].bit_length()):
        above = above.gather(-1, above)
    one_root = ((heads == 0) & words).sum(-1) == (lengths > 0)
    return ranged & one_root & (above == 0).all(-1) & ~crossing.flatten(-2).any(-1)


def _are_binary(spans: Tensor, lengths: Tensor) -> Tensor:
    """Whether they are 2n-1 different spans that do not cross: more than that there cannot be."""
    i, j = spans[..., 0], spans[..., 1]
    there = j > 0
    ranged = ((i >= 0) & (i < j) & (j <= lengths[:, None]) | ~there).all(-1)
    same = (i[..., None] == i[..., None, :]) & (j[..., None] == j[..., None, :])
    clash = (_cross(i, j) | same.triu(1)) & there[..., None] & there[..., None, :]
    return ranged & (there.sum(-1) == (2 * lengths - 1).clamp(min=0)) & ~clash.flatten(-2).any(-1)


def _fit_each_other(heads: Tensor, spans: Tensor, lengths: Tensor) -> Tensor:
    """Whether of each span (i, j, h) only h has its head outside, and words outside attach to h alone."""
    i, j, h = (
        part[..., None] for part in spans.unbind(-1)
    )  # [..., 2n-1, 1], against words [..., 1, n+1]
    m = torch.arange(heads.shape[-1], device=heads.device)
    own = heads[..., None, :]
    inside, head_inside = (m > i) & (m <= j), (own > i) & (own <= j)
    fits = torch.where(inside, head_inside == (m != h), ~head_inside | (own == h))
    words = words_of(lengths, heads.shape[-1])[:, None]
    own_heads = (h > i) & (h <= j) | (j == 0)
    return (fits | ~words | (j == 0)).flatten(-2).all(-1) & own_heads.flatten(-2).all(-1)


def _cross(low: Tensor, high: Tensor) -> Tensor:
    """Which pairs overlap, neither inside the other."""
    a, b, c, d = low[..., None], high[..., None], low[..., None, :], high[..., None, :]
    return (a < c) & (c < b) & (b < d)
