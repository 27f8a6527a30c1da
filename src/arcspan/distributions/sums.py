"""Log-partition and marginals as differentiable torch functions.

The gradient of the log-partition is the marginals, which the kernels of `arcspan.decoding` compute with it, on the host
and without an autograd graph. The gradient of the marginals in a direction is the Hessian of the log-partition times
that direction, another kernel. Only third derivatives need a torch graph of the sums (`decoding.batched`), which is
built where a graph of second derivatives is asked for.

Scores on an accelerator whose batch is large enough (`decoding.batched.pays`) stay there, in such a graph; others, of
any device, pass through the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from arcspan import decoding
from arcspan.decoding import batched
from arcspan.decoding.batched import Scores


class Marginals(NamedTuple):
    """Probabilities of parts, shaped as the scores, as in `decoding.Marginals`: None where trees have no such part."""

    spans: Tensor | None
    arcs: Tensor | None
    headed: Tensor | None


Parts = Sequence[Tensor | None]  # of spans, arcs and headed spans, these packed [B, pairs, n+1]


class Sums:
    """The sums over the trees of a batch; kernels run when they are needed, and once."""

    def __init__(self, given: Scores, lengths: np.ndarray) -> None:
        self.given = given
        self.lengths = lengths
        self.on_device = batched.pays(lengths.tolist(), given.some.device)
        self._known: decoding.Marginals | None = None
        self._total: np.ndarray | None = None

    @property
    def scores(self) -> Scores:
        """The scores, headed ones packed: anew each time, so that a backward pass frees no graph that others need."""
        headed = self.given.headed
        if headed is None or headed.dim() == 3:
            return self.given
        i, j = torch.triu_indices(*headed.shape[1:3], 1, device=headed.device)
        return self.given._replace(headed=headed[:, i, j])

    def log_partition(self) -> Tensor:
        """[B]; its gradients are the marginals."""
        if self.on_device:
            return _in_torch(self.scores, self.lengths)
        if torch.is_grad_enabled() and any(
            part is not None and part.requires_grad for part in self.given
        ):
            return self._apply(self.given.headed is not None)[0]
        if self._total is None:
            span, arc, headed = self.arrays()
            self._total = decoding.log_partition(span, arc, self.lengths, headed)
        return torch.from_numpy(self._total).to(self.given.some)

    def marginals(self, with_headed: bool = False) -> Marginals:
        """Probabilities of the parts that have scores; with_headed: of headed spans even though these have none."""
        with_headed = with_headed or self.given.headed is not None
        if not self.on_device:
            return Marginals(*self._apply(with_headed)[1:])
        scores = self.scores
        graph = torch.is_grad_enabled() and any(
            part is not None and part.requires_grad for part in scores
        )
        with torch.enable_grad():
            inputs = [_leaf(part if graph or part is None else part.detach()) for part in scores]
            if with_headed and inputs[2] is None:
                count, size = scores.some.shape[:2]
                inputs[2] = scores.some.new_zeros(
                    count, size * (size - 1) // 2, size
                ).requires_grad_()
            wanted: list[Any] = [part for part in inputs if part is not None]
            total = _in_torch(inputs, self.lengths).sum()
            found = iter(torch.autograd.grad(total, wanted, create_graph=graph))
        return Marginals(*(None if part is None else next(found) for part in inputs))

    def arrays(self) -> list[np.ndarray | None]:
        """The scores as numpy on the host."""
        return [_on_host(part) for part in self.scores]

    def _apply(self, with_headed: bool) -> tuple[Any, ...]:
        if self._known is None or (with_headed and self._known.headed is None):
            span, arc, headed = self.arrays()
            found = decoding.marginals(span, arc, self.lengths, headed, with_headed=with_headed)
            if found.headed is not None and found.headed.ndim == 4:
                i, j = np.triu_indices(found.headed.shape[1], 1)
                found = found._replace(headed=found.headed[:, i, j])
            self._known, self._total = found, found.log_partition
        return _InsideOutside.apply(self._known, self.lengths, *self.scores)


class _InsideOutside(torch.autograd.Function):
    """Scores to log-partition and marginals, which the kernels have computed already."""

    @staticmethod
    def forward(
        ctx: Any, known: decoding.Marginals, lengths: np.ndarray, *scores: Tensor | None
    ) -> Any:
        like = Scores(*scores).some
        found = [None if part is None else torch.from_numpy(part).to(like) for part in known]
        ctx.lengths = lengths
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*scores, *found[1:])
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        scores, marginals = ctx.saved_tensors[:3], ctx.saved_tensors[3:]
        total, *directions = gradients
        found: list[Tensor | None] = [None, None, None]
        if total is not None:
            # The marginals are outputs of this function: where a graph is asked for, they come with theirs.
            found = [
                None if part is None else part * total.view(-1, *(1,) * (part.dim() - 1))
                for part in marginals
            ]
        if any(direction is not None for direction in directions):
            found = [
                one if two is None else two if one is None else one + two
                for one, two in zip(
                    found, _hessian_product(scores, ctx.lengths, directions), strict=True
                )
            ]
        return (
            None,
            None,
            *(None if part is None else one for part, one in zip(scores, found, strict=True)),
        )


def _hessian_product(scores: Parts, lengths: np.ndarray, directions: Parts) -> list[Tensor | None]:
    """The second derivatives of the log-partitions times a direction in each of the scores; as a graph if need be."""
    span, arc, headed = scores
    if headed is None and directions[2] is not None:  # second-order parts that have no scores
        headed = torch.zeros_like(directions[2])
    if not torch.is_grad_enabled():
        parts, along = (
            [_on_host(part) for part in many] for many in ((span, arc, headed), directions)
        )
        found = decoding.hessian_product(parts[0], parts[1], lengths, parts[2], along=along)
        return [
            None if one is None else torch.from_numpy(one).to(Scores(*scores).some) for one in found
        ]
    inputs = [_leaf(part) for part in (span, arc, headed)]
    total = _in_torch(inputs, lengths).sum()
    used = [place for place, part in enumerate(inputs) if part is not None]
    wanted: list[Any] = [inputs[place] for place in used]
    once = torch.autograd.grad(total, wanted, create_graph=True)
    slope = total * 0  # of the marginals in the direction; a constant has the gradient zero
    for place, gradient in zip(used, once, strict=True):
        if (direction := directions[place]) is not None:
            slope = slope + (gradient * direction).sum()
    twice = iter(torch.autograd.grad(slope, wanted, create_graph=True))
    return [None if part is None else next(twice) for part in inputs]


def _leaf(part: Tensor | None) -> Tensor | None:
    """A tensor to differentiate by: where it is part of a graph, a view, of which a direction does not depend."""
    if part is None:
        return None
    return part.view_as(part) if part.requires_grad else part.detach().requires_grad_()


def _on_host(part: Tensor | None) -> np.ndarray | None:
    """As numpy; half precision, which the kernels do not compute in, as float32."""
    if part is None:
        return None
    part = part.detach().cpu()
    return (part if part.dtype in (torch.float32, torch.float64) else part.float()).numpy()


def _in_torch(scores: Parts, lengths: np.ndarray) -> Tensor:
    span, arc, headed = scores
    return batched.log_partition(span, arc, torch.from_numpy(lengths), headed).to(
        Scores(*scores).some.dtype
    )
