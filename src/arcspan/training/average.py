"""A moving average of a network's weights, which does better than the last ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


class Average:
    """The average of a module's weights; it moves quickly at first, and then by its decay."""

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.module, self.decay = module, decay
        self.weights = {name: value.detach().clone() for name, value in module.state_dict().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take the weights after an update into account; updates are counted from 0."""
        decay = min(self.decay, (1 + step) / (10 + step))
        current = self.module.state_dict()
        moving = [name for name, value in self.weights.items() if value.is_floating_point()]
        mine, theirs = ([weights[name] for name in moving] for weights in (self.weights, current))
        get_ema_multi_avg_fn(decay)(mine, theirs, step)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """For a while, the module has the average in place of its weights."""
        own = {name: value.detach().clone() for name, value in self.module.state_dict().items()}
        try:
            self.module.load_state_dict(self.weights)
            yield
        finally:
            self.module.load_state_dict(own)
