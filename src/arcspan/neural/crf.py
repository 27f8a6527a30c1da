"""The CRF loss's partition function for torch: exact gradients from compiled inside-outside, no autograd graph.

The gradient of the log-partition with respect to a score is the marginal probability of its part, which
`arcspan.decoding.marginals` computes together with the log-partition itself. So the forward pass computes both, on the
processor, and the backward pass only multiplies. `log_partition(...) - score of the gold tree` is the loss of a CRF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from arcspan import decoding


class _LogPartition(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        span: torch.Tensor | None,
        arc: torch.Tensor | None,
        headed: torch.Tensor | None,
        lengths: np.ndarray,
    ) -> torch.Tensor:
        given = [span, arc, headed]
        scores = [None if tensor is None else _as_array(tensor) for tensor in given]
        like = next(tensor for tensor in given if tensor is not None)
        if any(ctx.needs_input_grad):
            found = decoding.marginals(
                scores[0], scores[1], lengths, scores[2], with_headed=ctx.needs_input_grad[2]
            )
            parts = (found.spans, found.arcs, found.headed)
            ctx.save_for_backward(
                *(
                    torch.from_numpy(part).to(tensor)
                    if needed and tensor is not None and part is not None
                    else None
                    for part, tensor, needed in zip(parts, given, ctx.needs_input_grad, strict=False)
                )
            )
            total = found.log_partition
        else:
            total = decoding.log_partition(scores[0], scores[1], lengths, scores[2])
        return torch.from_numpy(total).to(like)

    @staticmethod
    @once_differentiable  # type: ignore[no-untyped-call]
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        def scaled(part: torch.Tensor | None) -> torch.Tensor | None:
            return None if part is None else part * gradient.view(-1, *(1,) * (part.dim() - 1)).to(part.dtype)

        return (*map(scaled, ctx.saved_tensors), None)


def _as_array(scores: torch.Tensor) -> np.ndarray:
    """Scores as numpy on the processor; half precision, which numpy's side does not compute in, as float32."""
    scores = scores.detach().cpu()
    return (scores if scores.dtype in (torch.float32, torch.float64) else scores.float()).numpy()


def log_partition(
    span: torch.Tensor | None,
    arc: torch.Tensor | None,
    lengths: torch.Tensor | np.ndarray | Sequence[int],
    headed: torch.Tensor | None = None,
) -> torch.Tensor:
    """The log-partition [B] of every sentence, differentiable: its gradients are the exact marginals.

    Shapes are those of `arcspan.decoding.marginals`: span[B, n+1, n+1] or None for dependency trees alone,
    arc[B, n+1, n+1] as arc[b, modifier, head] or None for constituency trees alone, headed[B, n+1, n+1, n+1] for second
    order, or packed [B, pairs, n+1]. Padding is not read and receives the gradient zero. Half precision is computed in
    float32, on any device the sums run on the processor. The result has the type and device of the scores; it has no
    second derivative.

    >>> arc = torch.zeros(1, 3, 3, requires_grad=True)
    >>> log_partition(None, arc, [2]).exp().sum().backward()  # two words, two trees
    >>> arc.grad[0].tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    sizes = lengths.cpu().numpy() if isinstance(lengths, torch.Tensor) else np.asarray(lengths)
    result: torch.Tensor = _LogPartition.apply(span, arc, headed, sizes)
    return result
