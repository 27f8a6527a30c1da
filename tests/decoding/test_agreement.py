"""Three independent programs and one answer: the kernels, torch and the O(n^5) search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from arcspan import decoding
from arcspan.errors import ScoreError
from tests.decoding.batches import Batch, batches, packed, random_batch

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


@settings(max_examples=150, deadline=None)
@given(batch=batches(9))
def test_torch_finds_the_same_trees_ties_and_masks_included(batch: Batch) -> None:
    """Small whole numbers add up without rounding, so equal trees are equal in both, and both take the first."""
    span, arc, headed = (np.round(part) for part in batch[:3])
    batch = Batch(span, arc, headed, batch.lengths)
    t = tensors(batch)
    calls = [
        (lambda: decoding.cky(span, batch.lengths), lambda: decoding.batched.cky(t[0], t[3])),
        (lambda: decoding.eisner(arc, batch.lengths), lambda: decoding.batched.eisner(t[1], t[3])),
        (
            lambda: decoding.eisner_satta(span, arc, batch.lengths),
            lambda: decoding.batched.eisner_satta(t[0], t[1], t[3]),
        ),
        (
            lambda: decoding.eisner_satta(span, arc, batch.lengths, headed),
            lambda: decoding.batched.eisner_satta(t[0], t[1], t[3], t[2]),
        ),
        (
            lambda: decoding.eisner_satta(span, arc, batch.lengths, packed(headed)),
            lambda: decoding.batched.eisner_satta(t[0], t[1], t[3], torch.from_numpy(packed(headed))),
        ),
    ]
    for kernel, torch_version in calls:
        try:
            expected = kernel()
        except ScoreError as error:
            with pytest.raises(ScoreError, match=str(error).split(":")[0]):
                torch_version()
            continue
        found = torch_version()
        assert found.scores.tolist() == expected.scores.tolist()
        if expected.heads is not None:
            assert found.heads.tolist() == expected.heads.tolist()
        if expected.spans is not None:
            assert [rows.tolist() for rows in found.spans] == [rows.tolist() for rows in expected.spans]


def test_torch_builds_no_graph_and_takes_scores_that_need_gradients() -> None:
    batch = random_batch([5, 3], 1)
    span, arc, headed, n = tensors(batch)
    span.requires_grad_(), arc.requires_grad_(), headed.requires_grad_()
    found = decoding.batched.eisner_satta(span, arc, n, headed)
    assert_same_scores(found, decoding.eisner_satta(batch.span, batch.arc, batch.lengths, batch.headed))
    assert isinstance(found.scores, np.ndarray) and span.grad is None


def test_torch_is_chosen_for_large_batches_of_long_sentences_on_an_accelerator_only() -> None:
    pays = decoding.batched.pays
    assert not pays([200] * 64, "cpu")
    assert not pays([], "cuda")
    assert not pays([20, 30, 40], "cuda", threads=1)
    assert pays(torch.tensor([200] * 64), torch.device("cuda"), threads=8)
