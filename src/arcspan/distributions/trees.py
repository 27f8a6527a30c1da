"""Represent the trees of a batch as tensors: their scores, and checks that they are trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from arcspan.decoding.batch import pair_number
from arcspan.decoding.batched import Part, words_of
from arcspan.errors import ScoreError


class Trees(NamedTuple):
    """Trees of every sentence of a batch, one or several: the axes before B count them.

    heads   int64 [..., B, n+1]: heads[m] is the head of word m (0 = root); 0 in column 0 and in the
            padding. None of constituency trees.
    spans   int64 [..., B, 2n-1, 3]: rows (i, j, head) in pre-order, then rows of zeros. Rows (i, j)
            of constituency trees, None of dependency trees.
    scores  [..., B]: the sum of the scores of their parts; -inf where there is no tree (of `topk`).
    """

    heads: Part
    spans: Part
    scores: Tensor


def stack_spans(spans: Sequence[np.ndarray], size: int, columns: int) -> Tensor:
    """Return spans of trees over up to size - 1 words as one tensor [trees, 2n-1, columns].

    Padding is rows of zeros.
    """
    table = np.zeros((len(spans), max(2 * size - 3, 0), columns), np.int64)
    for rows, tree in zip(table, spans, strict=True):
        rows[: len(tree)] = tree[:, :columns]
    return torch.from_numpy(table)


def score(scores: Sequence[Part], lengths: Tensor, heads: Part, spans: Part) -> Tensor:
    """Return the sums [..., B] of the scores of trees' parts, differentiable.

    Headed scores are packed [B, pairs, n+1]. A tree's second-order parts are its headed spans, and
    the hooked span of each word but the root: (i, j), the largest span that the word heads, and h,
    the head of the word.
    """
    span, arc, headed = scores
    layer = next(part for part in scores if part is not None)
    b = torch.arange(len(lengths), device=lengths.device)[:, None]
    total = layer.new_zeros(())
    if span is not None:
        assert spans is not None
        i, j = spans[..., 0], spans[..., 1]
        # j is 0 in the rows of padding.
        total = total + span[b, i, j].where(j > 0, 0).sum(-1)
    if arc is not None:
        assert heads is not None
        m = torch.arange(1, arc.shape[1], device=arc.device)
        total = total + arc[b, m, heads[..., 1:]].where(m <= lengths[:, None], 0).sum(-1)
    if headed is not None:
        assert heads is not None and spans is not None
        i, j, h = spans.unbind(-1)
        width = j - i
        above = heads.gather(-1, h)
        # The width of the largest span of each word.
        widths = torch.zeros_like(heads).scatter_reduce(-1, h, width, "amax")
        hooked = (widths.gather(-1, h) == width) & (above > 0)
        pair = pair_number(layer.shape[1], i, j).clamp(min=0)
        total = total + headed[b, pair, h].where(j > 0, 0).sum(-1)
        total = total + headed[b, pair, above].where(hooked, 0).sum(-1)
    return total


def check(lengths: Tensor, heads: Part, spans: Part) -> None:
    """Raise ScoreError unless all are trees of their sentences: projective with one root, binary,
    compatible.
    """
    valid = lengths >= 0
    if heads is not None:
        valid = valid & _are_projective(heads, lengths)
    if spans is not None:
        valid = valid & _are_binary(spans, lengths)
    if heads is not None and spans is not None:
        valid = valid & _are_compatible(heads, spans, lengths)
    if not bool(valid.all()):
        *draw, b = (~valid).nonzero()[0].tolist()
        tree = f"tree {', '.join(map(str, draw))} of " if draw else ""
        if heads is None:
            adjective = "binary"
        else:
            adjective = "projective" if spans is None else "lexicalized"
        raise ScoreError(
            f"{tree}sentence {b} of the batch is not a {adjective} tree of its {int(lengths[b])} words"
        )


def _are_projective(heads: Tensor, lengths: Tensor) -> Tensor:
    """Return which heads are those of a projective tree with one root."""
    size = heads.shape[-1]
    words = words_of(lengths, size)
    m = torch.arange(size, device=heads.device).expand_as(heads)
    in_range = ((heads >= 0) & (heads <= lengths[:, None])).all(-1)
    in_range &= ((heads == 0) | words).all(-1)
    above = heads.clamp(0, size - 1)
    low, high = torch.minimum(above, m), torch.maximum(above, m)
    crossing = _cross(low, high) & words[..., None] & words[..., None, :]
    # Twice as many steps up each time: a cycle never arrives at 0.
    for _ in range(size.bit_length()):
        above = above.gather(-1, above)
    one_root = ((heads == 0) & words).sum(-1) == (lengths > 0)
    return in_range & one_root & (above == 0).all(-1) & ~crossing.flatten(-2).any(-1)


def _are_binary(spans: Tensor, lengths: Tensor) -> Tensor:
    """Return which are 2n-1 different spans that do not cross: there cannot be more of them."""
    i, j = spans[..., 0], spans[..., 1]
    used = j > 0
    in_range = ((i >= 0) & (i < j) & (j <= lengths[:, None]) | ~used).all(-1)
    same = (i[..., None] == i[..., None, :]) & (j[..., None] == j[..., None, :])
    clash = (_cross(i, j) | same.triu(1)) & used[..., None] & used[..., None, :]
    complete = used.sum(-1) == (2 * lengths - 1).clamp(min=0)
    return in_range & complete & ~clash.flatten(-2).any(-1)


def _are_compatible(heads: Tensor, spans: Tensor, lengths: Tensor) -> Tensor:
    """Return in which trees only the head h of each span (i, j, h) attaches outside of it.

    Words outside that attach into the span attach to h.
    """
    # [..., 2n-1, 1], against words and their heads [..., 1, n+1]
    i, j, h = (column[..., None] for column in spans.unbind(-1))
    m = torch.arange(heads.shape[-1], device=heads.device)
    above = heads[..., None, :]
    inside = (m > i) & (m <= j)
    head_inside = (above > i) & (above <= j)
    fits = torch.where(inside, head_inside == (m != h), ~head_inside | (above == h))
    words = words_of(lengths, heads.shape[-1])[:, None]
    padding = j == 0
    is_inside = (h > i) & (h <= j) | padding
    return (fits | ~words | padding).flatten(-2).all(-1) & is_inside.flatten(-2).all(-1)


def _cross(low: Tensor, high: Tensor) -> Tensor:
    """Return which pairs overlap, neither inside the other."""
    a, b = low[..., None], high[..., None]
    c, d = low[..., None, :], high[..., None, :]
    return (a < c) & (c < b) & (b < d)
