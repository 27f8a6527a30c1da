"""Scorers that turn vectors into scores: MLPs and biaffine forms of the paper's section 5.

Shapes: fenceposts and words have n+1 positions. Fencepost i stands between words i and i+1; word
position 0 is the artificial root. Spans are scored at [b, i, j], arcs at [b, modifier, head],
headed and hooked spans only at pairs i < j, in the order of `torch.triu_indices`, as [b, pair, h].
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_LEAK = 0.1  # slope of LeakyReLU below zero


def fenceposts(hidden: Tensor) -> Tensor:
    """Return [B, n+1, D] from hidden[B, n+2, D].

    The left context of a fencepost comes from the word before it, the right one from the next.
    """
    before, after = hidden.chunk(2, -1)
    return torch.cat([before[:, :-1], after[:, 1:]], -1)


def product(x: Tensor, y: Tensor) -> Tensor:
    """Multiply in single precision, also under autocast: hundreds of scores of parts are summed."""
    device = x.device.type
    # Some devices (meta) know no autocast at all, and asking whether it is on would fail.
    if torch.amp.autocast_mode.is_autocast_available(device) and torch.is_autocast_enabled(device):
        with torch.autocast(device, enabled=False):
            return x.float() @ y.float()
    return x @ y


class SharedDropout(nn.Module):
    """Dropout with one mask for all positions of a sentence."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """Return x[B, ..., D] with the same mask for everything between."""
        if not self.training or not self.share:
            return x
        shape = [1] * x.dim()
        shape[0] = x.shape[0]
        shape[-1] = x.shape[-1]
        return x * x.new_empty(shape).bernoulli_(1 - self.share).div_(1 - self.share)


class MLP(nn.Module):
    """One linear layer, LeakyReLU, shared dropout."""

    def __init__(self, size_in: int, size_out: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(size_in, size_out)
        nn.init.orthogonal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.activation = nn.LeakyReLU(_LEAK)
        self.dropout = SharedDropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return [..., size_out]."""
        return self.dropout(self.activation(self.linear(x)))


class PairScorer(nn.Module):
    """s(x, y) = [x; 1]' W y for all pairs of positions: spans and arcs."""

    def __init__(self, size_in: int, size: int, dropout: float) -> None:
        super().__init__()
        self.first = MLP(size_in, size, dropout)
        self.second = MLP(size_in, size, dropout)
        # The bias is the row of W that the constant 1 is multiplied by.
        self.weight = nn.Linear(size, size, bias=True)
        nn.init.zeros_(self.weight.weight)
        nn.init.zeros_(self.weight.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, N, N] from x[B, N, D]."""
        return product(self.weight(self.first(x)), self.second(x).transpose(1, 2))


class HeadedScorer(nn.Module):
    """s(i, j, h) = [word; 1]' W [span; 1] for headed (h inside) and hooked (h outside) spans.

    The span's MLP is linear before its activation: W(z_i - z_j) = W z_i - W z_j, so each fencepost
    is projected once and a span costs one subtraction and one activation.
    """

    def __init__(self, size_in: int, size: int, dropout: float, separate_hooked: bool) -> None:
        super().__init__()
        self.word = MLP(size_in, size, dropout)
        self.post = nn.Linear(size_in, size)
        nn.init.orthogonal_(self.post.weight)
        nn.init.zeros_(self.post.bias)
        self.activation = nn.LeakyReLU(_LEAK)
        self.dropout = SharedDropout(dropout)
        self.weight = nn.Linear(size, size + 1)
        self.hooked = nn.Linear(size, size + 1) if separate_hooked else None
        for form in (self.weight, self.hooked):
            if form is not None:
                nn.init.zeros_(form.weight)
                nn.init.zeros_(form.bias)

    def forward(self, words: Tensor, posts: Tensor, i: Tensor, j: Tensor) -> Tensor:
        """Return [B, pairs, n+1] from words[B, n+1, D], posts[B, n+1, D] and the pairs i < j."""
        projected = nn.functional.linear(posts, self.post.weight)
        # The bias is added here: in the projection it would cancel out of the difference.
        span = projected.index_select(1, i) - projected.index_select(1, j) + self.post.bias
        span = self.dropout(self.activation(span))
        word = self.word(words)
        scores = self._form(self.weight, span, word)
        if self.hooked is None:
            return scores
        h = torch.arange(words.shape[1], device=words.device)
        inside = (h > i.unsqueeze(1)) & (h <= j.unsqueeze(1))
        return torch.where(inside, scores, self._form(self.hooked, span, word))

    @staticmethod
    def _form(weight: nn.Linear, span: Tensor, word: Tensor) -> Tensor:
        query = weight(word)  # [B, n+1, size+1]; the last column meets the span's constant 1
        return product(span, query[..., :-1].transpose(1, 2)) + query[..., -1].unsqueeze(1)


class BiaffineLabeller(nn.Module):
    """Scores of all labels at chosen pairs of positions: [x; 1]' W_label [y; 1] of the paper."""

    def __init__(self, size_in: int, size: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.first = MLP(size_in, size, dropout)
        self.second = MLP(size_in, size, dropout)
        self.weight = nn.Parameter(torch.zeros(labels, size + 1, size + 1))

    def forward(self, x: Tensor, b: Tensor, p: Tensor, q: Tensor) -> Tensor:
        """Return [K, labels] at the K pairs (b, p, q) of x[B, N, D]."""
        ones = x.new_ones(b.shape[0], 1)
        first = torch.cat([self.first(x)[b, p], ones], -1)
        second = torch.cat([self.second(x)[b, q], ones], -1)
        labels, size = self.weight.shape[:2]
        # One large product for all labels is faster than a product for each.
        projected = first @ self.weight.permute(1, 0, 2).reshape(size, labels * size)
        return (projected.reshape(-1, labels, size) @ second.unsqueeze(-1)).squeeze(-1)


class MlpLabeller(nn.Module):
    """Scores of all labels at chosen pairs: V act(A x + B y), cheaper than the biaffine form."""

    def __init__(self, size_in: int, size: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(size_in, size)
        self.second = nn.Linear(size_in, size, bias=False)
        self.activation = nn.LeakyReLU(_LEAK)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(size, labels)

    def forward(self, x: Tensor, b: Tensor, p: Tensor, q: Tensor) -> Tensor:
        """Return [K, labels] at the K pairs (b, p, q) of x[B, N, D]."""
        pair = self.first(x)[b, p] + self.second(x)[b, q]
        return self.out(self.dropout(self.activation(pair)))


LABELLERS: dict[str, type[BiaffineLabeller] | type[MlpLabeller]] = {
    "biaffine": BiaffineLabeller,
    "mlp": MlpLabeller,
}
