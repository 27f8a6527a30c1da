"""Compute log-partition and marginals as differentiable torch functions.

The gradient of the log-partition is the marginals, which the kernels of `arcspan.decoding` compute
with it, on the host and without an autograd graph. The gradient of the marginals in a direction is
the Hessian of the log-partition times that direction, another kernel. Only third derivatives need a
torch graph of the sums (`decoding.batched`), which is built where a graph of second derivatives is
requested.

Scores on an accelerator whose batch is large enough (`decoding.batched.pays`) stay there, in such a
graph; others, of any device, pass through the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from arcspan import decoding
from arcspan.decoding import batched
from arcspan.decoding.batch import pack_cubes
from arcspan.decoding.batched import Part, ScoreTensors

# Of spans, arcs and headed spans, these packed [B, pairs, n+1].
Parts: TypeAlias = Sequence[Part]


class MarginalTensors(NamedTuple):
    """Probabilities of parts, shaped as the scores, as in `decoding.Marginals`.

    None where trees have no such part.
    """

    spans: Part
    arcs: Part
    headed: Part


class Sums:
    """The sums over the trees of a batch; kernels run on first use, and once."""

    def __init__(self, scores: ScoreTensors, lengths: np.ndarray) -> None:
        self.scores = scores
        self.lengths = lengths
        self.on_device = batched.pays(lengths.tolist(), scores.layer.device)
        self._marginals: decoding.Marginals | None = None
        self._partition: np.ndarray | None = None

    @property
    def packed(self) -> ScoreTensors:
        """Return the scores, headed ones packed.

        Anew each time, so that a backward pass frees no graph that others need.
        """
        headed = self.scores.headed
        return self.scores._replace(headed=None if headed is None else pack_cubes(headed))

    def log_partition(self) -> Tensor:
        """Return the log-partitions [B]; their gradients are the marginals."""
        if self.on_device:
            return _in_torch(self.packed, self.lengths)
        if _needs_graph(self.scores):
            return self._apply(self.scores.headed is not None)[0]
        if self._partition is None:
            span, arc, headed = self.arrays()
            self._partition = decoding.log_partition(span, arc, self.lengths, headed)
        return torch.from_numpy(self._partition).to(self.scores.layer)

    def marginals(self, with_headed: bool = False) -> MarginalTensors:
        """Return the probabilities of the parts that have scores.

        with_headed: of headed spans even if these have none.
        """
        with_headed = with_headed or self.scores.headed is not None
        if not self.on_device:
            return MarginalTensors(*self._apply(with_headed)[1:])
        scores = self.packed
        graph = _needs_graph(scores)
        with torch.enable_grad():
            leaves = [_leaf(part if graph or part is None else part.detach()) for part in scores]
            if with_headed and leaves[2] is None:
                count, size = scores.layer.shape[:2]
                zeros = scores.layer.new_zeros(count, size * (size - 1) // 2, size)
                leaves[2] = zeros.requires_grad_()
            total = _in_torch(leaves, self.lengths).sum()
            return MarginalTensors(*_gradients(total, leaves, graph))

    def arrays(self) -> list[np.ndarray | None]:
        """Return the scores as numpy arrays on the host."""
        return [_on_host(part) for part in self.packed]

    def _apply(self, with_headed: bool) -> tuple[Any, ...]:
        """Return log-partitions and marginals with their gradients."""
        if self._marginals is None or (with_headed and self._marginals.headed is None):
            span, arc, headed = self.arrays()
            sums = decoding.marginals(span, arc, self.lengths, headed, with_headed=with_headed)
            if sums.headed is not None:
                sums = sums._replace(headed=pack_cubes(sums.headed))
            self._marginals = sums
            self._partition = sums.log_partition
        return _InsideOutside.apply(self._marginals, self.lengths, *self.packed)


class _InsideOutside(torch.autograd.Function):
    """The function from scores to log-partition and marginals, which the kernels have computed
    already.
    """

    @staticmethod
    def forward(ctx: Any, sums: decoding.Marginals, lengths: np.ndarray, *scores: Part) -> Any:
        outputs = _like(sums, scores)
        ctx.lengths = lengths
        # None instead of zeros for outputs that were not used: the Hessian is not needed then.
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*scores, *outputs[1:])
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Part) -> Any:
        scores = ctx.saved_tensors[:3]
        # The marginals are outputs of this function: where a graph is requested, they come with
        # theirs.
        marginals = ctx.saved_tensors[3:]
        partition_gradient, *directions = gradients
        products: list[Part] = [None, None, None]
        if any(direction is not None for direction in directions):
            products = _hessian_product(scores, ctx.lengths, directions)
        totals: list[Part] = []
        for score, marginal, product in zip(scores, marginals, products, strict=True):
            total = product
            if score is None:
                total = None
            elif partition_gradient is not None:
                weights = partition_gradient.view(-1, *(1,) * (marginal.dim() - 1))
                total = marginal * weights
                if product is not None:
                    total = total + product
            totals.append(total)
        return None, None, *totals


def _hessian_product(scores: Parts, lengths: np.ndarray, directions: Parts) -> list[Part]:
    """Return the second derivatives of the log-partitions times a direction; a graph if one is
    requested.
    """
    span, arc, headed = scores
    if headed is None and directions[2] is not None:
        # Headed spans without scores: marginals of them were computed all the same.
        headed = torch.zeros_like(directions[2])
    if not torch.is_grad_enabled():
        along = [_on_host(part) for part in directions]
        parts = [_on_host(part) for part in (span, arc, headed)]
        products = decoding.hessian_product(parts[0], parts[1], lengths, parts[2], along=along)
        return _like(products, scores)
    leaves = [_leaf(part) for part in (span, arc, headed)]
    total = _in_torch(leaves, lengths).sum()
    # The slope of the marginals in the direction; a constant has the gradient zero.
    slope = total * 0
    for gradient, direction in zip(_gradients(total, leaves, True), directions, strict=True):
        if gradient is not None and direction is not None:
            slope = slope + (gradient * direction).sum()
    return _gradients(slope, leaves, True)


def _gradients(total: Tensor, leaves: Parts, graph: bool) -> list[Part]:
    """Return the gradients by each of the leaves, with a graph if requested; None for None."""
    tensors = [leaf for leaf in leaves if leaf is not None]
    gradients = iter(torch.autograd.grad(total, tensors, create_graph=graph))
    return [None if leaf is None else next(gradients) for leaf in leaves]


def _needs_graph(scores: Parts) -> bool:
    """Return whether autograd must record what is computed from the scores."""
    return torch.is_grad_enabled() and any(
        part is not None and part.requires_grad for part in scores
    )


def _leaf(part: Part) -> Part:
    """Return a tensor to differentiate by.

    Where it is part of a graph, a view: a direction may depend on the tensor itself, but not on the
    view.
    """
    if part is None:
        return None
    return part.view_as(part) if part.requires_grad else part.detach().requires_grad_()


def _on_host(part: Part) -> np.ndarray | None:
    """Return a tensor as numpy array; half precision, which the kernels lack, as float32."""
    if part is None:
        return None
    part = part.detach().cpu()
    return (part if part.dtype in (torch.float32, torch.float64) else part.float()).numpy()


def _like(arrays: Sequence[np.ndarray | None], scores: Parts) -> list[Part]:
    """Return arrays as tensors of the type and on the device of the scores."""
    layer = ScoreTensors(*scores).layer
    return [None if array is None else torch.from_numpy(array).to(layer) for array in arrays]


def _in_torch(scores: Parts, lengths: np.ndarray) -> Tensor:
    """Return the log-partitions with a torch graph."""
    span, arc, headed = scores
    partition = batched.log_partition(span, arc, torch.from_numpy(lengths), headed)
    return partition.to(ScoreTensors(*scores).layer.dtype)
