"""Algorithm 1 of the paper in torch: the same trees as the kernels, from tensors of any kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from arcspan import decoding
from arcspan.errors import ScoreError
from tests.decoding.batches import Batch, batches, packed, random_batch

torch = pytest.importorskip("torch")


def tensors(batch: Batch) -> list:
    return [torch.from_numpy(part) for part in batch]


def as_lists(decoded: decoding.Decoded) -> tuple:
    """The heads, spans and scores of a result, so that two of them can be compared with ==."""
    heads = None if decoded.heads is None else decoded.heads.tolist()
    spans = None if decoded.spans is None else [rows.tolist() for rows in decoded.spans]
    return heads, spans, decoded.scores.tolist()


@settings(max_examples=150, deadline=None)
@given(batch=batches(9))
def test_torch_finds_the_same_trees_ties_and_masks_included(batch: Batch) -> None:
    """Small whole numbers add up without rounding, so equal trees are equal in both, and both take
    the first.
    """
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
            lambda: decoding.batched.eisner_satta(
                t[0], t[1], t[3], torch.from_numpy(packed(headed))
            ),
        ),
    ]
    for kernel, torch_version in calls:
        try:
            expected = kernel()
        except ScoreError as error:
            with pytest.raises(ScoreError, match=str(error).split(":")[0]):
                torch_version()
            continue
        assert as_lists(torch_version()) == as_lists(expected)


def test_scores_that_need_gradients_are_taken_and_no_graph_is_built() -> None:
    batch = random_batch([5, 3], 1)
    span, arc, headed, n = tensors(batch)
    span.requires_grad_(), arc.requires_grad_(), headed.requires_grad_()
    decoded = decoding.batched.eisner_satta(span, arc, n, headed)
    expected = decoding.eisner_satta(batch.span, batch.arc, batch.lengths, batch.headed)
    np.testing.assert_allclose(decoded.scores, expected.scores, rtol=2e-6, atol=2e-4)
    assert isinstance(decoded.scores, np.ndarray) and span.grad is None


def test_a_sentence_has_the_same_tree_in_any_batch() -> None:
    batch = random_batch([7, 1, 4, 0], 2)
    span, arc, headed, n = tensors(batch)
    together = decoding.batched.eisner_satta(span, arc, n, headed)
    for b, length in enumerate(batch.lengths.tolist()):
        size = length + 1
        cut = span[b : b + 1, :size, :size], arc[b : b + 1, :size, :size], n[b : b + 1]
        alone = decoding.batched.eisner_satta(*cut, headed[b : b + 1, :size, :size, :size])
        assert alone.heads[0].tolist() == together.heads[b, :size].tolist()
        assert alone.spans[0].tolist() == together.spans[b].tolist()
        assert alone.scores[0] == together.scores[b]


def test_scores_too_large_to_be_added_up_give_the_tree_of_small_ones() -> None:
    span, arc = (torch.from_numpy(np.nan_to_num(part)) for part in random_batch([6], 3)[:2])
    n, factor = torch.tensor([6]), 2.0**125
    small = decoding.batched.eisner_satta(span, arc, n)
    large = decoding.batched.eisner_satta(span * factor, arc * factor, n)
    assert large.heads.tolist() == small.heads.tolist()
    assert large.spans[0].tolist() == small.spans[0].tolist()
    np.testing.assert_allclose(large.scores, small.scores * factor, rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arc": (1, 5, 5)}, r"arc must have the shape of span, \[1, 4, 4\], not \[1, 5, 5\]"),
        (
            {"span": (1, 4, 3)},
            r"span must have the shape \[B, n\+1, n\+1\] with B = 1, not \[1, 4, 3\]",
        ),
        (
            {"headed": (1, 4, 4)},
            r"headed must have the shape \[1, 4, 4, 4\], or packed \[1, 6, 4\]",
        ),
    ],
)
def test_tensors_that_do_not_fit_each_other_are_named(change: dict, message: str) -> None:
    shapes = {"span": (1, 4, 4), "arc": (1, 4, 4), "headed": (1, 6, 4), **change}
    scores = {name: torch.zeros(shape) for name, shape in shapes.items()}
    with pytest.raises(ScoreError, match=message):
        decoding.batched.eisner_satta(lengths=torch.tensor([3]), **scores)


def test_a_length_over_the_size_of_the_scores_is_refused() -> None:
    with pytest.raises(ScoreError, match="lengths must be between 0 and 3"):
        decoding.batched.cky(torch.zeros(1, 4, 4), torch.tensor([4]))


def test_torch_is_chosen_for_large_batches_of_long_sentences_on_an_accelerator_only() -> None:
    pays = decoding.batched.pays
    assert not pays([200] * 64, "cpu")
    assert not pays([], "cuda")
    assert not pays([20, 30, 40], "cuda", threads=1)
    assert pays(torch.tensor([200] * 64), torch.device("cuda"), threads=8)


@pytest.mark.parametrize("structure", ["spans", "arcs", "first", "second"])
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_second_derivatives_of_the_kernel_are_those_of_the_graph(
    structure: str, scale: float
) -> None:
    batch = random_batch([9, 1, 0, 6, 9], 3)
    random = np.random.default_rng(1)
    span, arc = (scale * part.astype(np.float64) for part in (batch.span, batch.arc))
    span[random.random(span.shape) < 0.05] = -np.inf
    span[:, 0, batch.lengths], span[:, range(9), range(1, 10)] = 0.0, 0.0
    arc[:, 1, 4] = -np.inf
    headed = packed(batch.headed).astype(np.float64)
    scores = [
        None if structure == "arcs" else span,
        None if structure == "spans" else arc,
        headed if structure == "second" else None,
    ]
    along = [None if part is None else random.normal(size=part.shape) for part in scores]
    decoded = decoding.hessian_product(scores[0], scores[1], batch.lengths, scores[2], along=along)
    tensors = [None if part is None else torch.from_numpy(part).requires_grad_() for part in scores]
    given = [part for part in tensors if part is not None]
    total = decoding.batched.log_partition(tensors[0], tensors[1], batch.lengths, tensors[2]).sum()
    first = torch.autograd.grad(total, given, create_graph=True)
    ways = [torch.from_numpy(part) for part in along if part is not None]
    expected = torch.autograd.grad(
        sum((a * b).sum() for a, b in zip(first, ways, strict=True)), given
    )
    for actual, reference in zip(
        (part for part in decoded if part is not None), expected, strict=True
    ):
        np.testing.assert_allclose(actual, reference.numpy(), atol=1e-9)
    alone = decoding.hessian_product(
        scores[0], scores[1], batch.lengths, scores[2], along=[None, along[1], None], threads=1
    )
    half = decoding.hessian_product(
        scores[0], scores[1], batch.lengths, scores[2], along=[along[0], None, along[2]], threads=2
    )
    for batch_decoded, sentence, two in zip(decoded, alone, half, strict=True):
        if batch_decoded is not None:
            np.testing.assert_allclose(sentence + two, batch_decoded, atol=1e-9)


def test_second_derivatives_refuse_what_does_not_fit() -> None:
    arc = np.zeros((1, 4, 4))
    with pytest.raises(ScoreError, match="a direction must be shaped as its scores, of the shape"):
        decoding.hessian_product(None, arc, [3], along=(None, np.zeros((1, 3, 3)), None))
    with pytest.raises(ScoreError, match="shaped as its scores, None"):
        decoding.hessian_product(None, arc, [3], along=(arc, arc, None))
    for wrong, why in ((np.nan, "NaN"), (-np.inf, "no tree")):
        arc[0, 1] = wrong
        with pytest.raises(ScoreError, match=why):
            decoding.hessian_product(None, arc, [3], along=(None, arc, None))


def test_scores_at_the_end_of_float64_have_a_tree_or_an_error_in_torch() -> None:
    scores = torch.zeros(1, 4, 4, dtype=torch.float64)
    scores[0, 2, 1] = 1.7e308
    zeros = torch.zeros_like(scores)
    decoded = decoding.batched.eisner_satta(zeros, scores, [3])
    assert decoded.heads[0, 2] == 1 and decoded.scores[0] == 1.7e308
    zeros[0, 0, 3] = 1.7e308
    with pytest.raises(
        ScoreError, match=r"sentence 0 of the batch has a score .* too large to add"
    ):
        decoding.batched.eisner_satta(zeros, scores, [3])
