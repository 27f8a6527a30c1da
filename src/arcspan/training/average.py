"""A moving average of a network's weights, which scores better than the last weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


class Average:
    """The average of a module's weights; it moves quickly at first, then by its decay."""

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.module = module
        self.decay = decay
        self.weights = _copy(module)

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take the weights after an update into account; updates are counted from 0."""
        decay = min(self.decay, (1 + step) / (10 + step))
        current = self.module.state_dict()
        # Counters of batches, for one, are whole numbers, which have no average.
        names = [name for name, weight in self.weights.items() if weight.is_floating_point()]
        averages = [self.weights[name] for name in names]
        get_ema_multi_avg_fn(decay)(averages, [current[name] for name in names], step)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Put the average in place of the module's weights for the block."""
        weights = _copy(self.module)
        try:
            self.module.load_state_dict(self.weights)
            yield
        finally:
            self.module.load_state_dict(weights)


def _copy(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in module.state_dict().items()}
