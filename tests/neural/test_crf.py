"""The CRF's partition function as a differentiable torch function."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from arcspan import decoding
from arcspan.neural.crf import log_partition

KINDS = ["spans", "arcs", "first", "second"]


def tensors(kind: str, size: int = 6, batch: int = 3, **options) -> list[torch.Tensor | None]:
    """span, arc and headed scores of a batch; None where the kind has no such scores."""
    torch.manual_seed(len(kind))
    options = {"dtype": torch.float64, "requires_grad": True, **options}
    return [
        None if kind == "arcs" else torch.randn(batch, size, size, **options),
        None if kind == "spans" else torch.randn(batch, size, size, **options),
        torch.randn(batch, size, size, size, **options) if kind == "second" else None,
    ]


def call(scores: list[torch.Tensor | None], lengths) -> torch.Tensor:
    return log_partition(scores[0], scores[1], lengths, scores[2])


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_agree_with_finite_differences(kind) -> None:
    scores = tensors(kind)
    present = [i for i, values in enumerate(scores) if values is not None]

    def function(*given: torch.Tensor) -> torch.Tensor:
        filled: list[torch.Tensor | None] = [None, None, None]
        for i, values in zip(present, given, strict=True):
            filled[i] = values
        return call(filled, [5, 1, 4])

    assert torch.autograd.gradcheck(function, [scores[i] for i in present])


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_the_marginals_and_zero_in_the_padding(kind) -> None:
    scores = tensors(kind, dtype=torch.float32)
    lengths = torch.tensor([5, 0, 3])
    weights = torch.tensor([1.0, 5.0, -2.0])
    total = call(scores, lengths)
    assert total.dtype == torch.float32
    (total * weights).sum().backward()
    arrays = [None if values is None else values.detach().numpy() for values in scores]
    found = decoding.marginals(arrays[0], arrays[1], lengths.numpy(), arrays[2])
    np.testing.assert_allclose(total.detach().numpy(), found.log_partition, rtol=1e-6)
    for values, part in zip(scores, found[1:], strict=True):
        if values is not None:
            shape = (3, *[1] * (values.dim() - 1))
            np.testing.assert_allclose(values.grad.numpy(), part * weights.numpy().reshape(shape), atol=1e-6)
            assert not values.grad[1].any()
            assert not values.grad[2, 4:].any()


def test_only_what_needs_a_gradient_gets_one() -> None:
    span, arc, headed = tensors("second")
    arc, span = arc.detach(), span.detach()
    log_partition(span, arc, [5, 5, 5], headed).sum().backward()
    assert span.grad is None
    assert arc.grad is None
    inside = sum(float(headed.grad[:, i, j, i + 1 : j + 1].sum()) for i in range(5) for j in range(i + 1, 6))
    assert inside == pytest.approx(3 * 9)  # 2n-1 headed spans in each of three sentences
    with torch.no_grad():
        without = log_partition(span, arc, [5, 5, 5], headed)
    torch.testing.assert_close(without, log_partition(span, arc, [5, 5, 5], headed.detach()))


def test_half_precision_is_computed_in_single() -> None:
    scores = tensors("first", dtype=torch.bfloat16)
    total = call(scores, [5, 4, 3])
    assert total.dtype == torch.bfloat16
    total.sum().backward()
    exact = log_partition(scores[0].detach().float(), scores[1].detach().float(), [5, 4, 3])
    torch.testing.assert_close(total.float(), exact, rtol=1e-2, atol=1e-2)
    assert scores[0].grad.dtype == torch.bfloat16


@pytest.mark.parametrize("kind", KINDS)
def test_descending_the_loss_makes_the_gold_tree_certain(kind) -> None:
    n = 6
    scores = tensors(kind, n + 1, 1)
    # The gold tree branches to the right and every word is the head of what follows.
    span_parts = [(i, n) for i in range(n)] + [(i, i + 1) for i in range(n - 1)]
    arc_parts = [(m, m - 1) for m in range(1, n + 1)]
    headed_parts = [(i, n, i + 1) for i in range(n)] + [(i, i + 1, i + 1) for i in range(n - 1)]
    headed_parts += [(i, n, i) for i in range(1, n)]
    optimizer = torch.optim.Adam([values for values in scores if values is not None], lr=0.3)
    for _ in range(150):
        gold = sum(
            values[0][part]
            for values, parts in zip(scores, (span_parts, arc_parts, headed_parts), strict=True)
            if values is not None
            for part in parts  # type: ignore[attr-defined]
        )
        loss = call(scores, [n])[0] - gold
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert -1e-9 < loss.item() < 0.01
