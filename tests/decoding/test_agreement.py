"""Three independent programs and one answer: the kernels, torch and the O(n^5) search."""

from __future__ import annotations

import numpy as np
import pytest

from arcspan import decoding
from tests.decoding.batches import Batch, random_batch

torch = pytest.importorskip("torch")


def assert_same_scores(a: decoding.Decoded, b: decoding.Decoded) -> None:
    np.testing.assert_allclose(a.scores, b.scores, rtol=2e-6, atol=2e-4)


def tensors(batch: Batch) -> list:
    return [torch.from_numpy(part) for part in batch]


@pytest.mark.parametrize(
    "lengths", [[1, 2, 3, 7, 8, 9], [15, 16, 17, 23, 24, 25, 31, 33], [40, 39, 41], [63, 64], [80]]
)
def test_kernels_torch_and_the_naive_search_agree(lengths: list[int]) -> None:
    batch = random_batch(lengths, len(lengths))
    span, arc, headed, n = tensors(batch)
    first = decoding.eisner_satta(batch.span, batch.arc, batch.lengths)
    assert_same_scores(first, decoding.batched.eisner_satta(span, arc, n))
    assert_same_scores(first, decoding.naive(batch.span, batch.arc, batch.lengths))
    second = decoding.eisner_satta(batch.span, batch.arc, batch.lengths, batch.headed)
    assert_same_scores(second, decoding.batched.eisner_satta(span, arc, n, headed))
    assert_same_scores(second, decoding.naive(batch.span, batch.arc, batch.lengths, batch.headed))
    assert_same_scores(decoding.cky(batch.span, batch.lengths), decoding.batched.cky(span, n))
    assert_same_scores(decoding.eisner(batch.arc, batch.lengths), decoding.batched.eisner(arc, n))
