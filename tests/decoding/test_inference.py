"""Log-partition and marginals, against all trees of short sentences and against what must hold for
long ones.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcspan import decoding
from arcspan.decoding import inference
from arcspan.decoding.batch import check
from arcspan.errors import ScoreError
from tests.decoding.all_trees import scores_of

KINDS = ["spans", "arcs", "first", "second"]


def draw(
    seed: int, n: int, structure: str, scale: float = 1.0, masked: float = 0.0, dtype: str = "f8"
):
    """Scores of one sentence: span, arc, headed, each None where the kind has no such scores."""
    random = np.random.default_rng(seed)

    def random_scores(*shape: int) -> np.ndarray:
        values = scale * random.normal(size=shape)
        return np.where(random.random(shape) < masked, -np.inf, values).astype(dtype)

    return (
        None if structure == "arcs" else random_scores(n + 1, n + 1),
        None if structure == "spans" else random_scores(n + 1, n + 1),
        random_scores(n + 1, n + 1, n + 1) if structure == "second" else None,
    )


def leave_a_tree(n: int, span, arc, headed) -> None:
    """Allow the tree that branches to the right, each word the head of what follows, whatever is
    forbidden else.
    """
    for i in range(n):
        span[i, i + 1] = span[i, n] = arc[i + 1, i] = 0
        if headed is not None:
            headed[i, i + 1, i + 1] = headed[i, n, i + 1] = headed[i, n, i] = 0


def batch_of_one(*scores):
    return [None if values is None else values[None] for values in scores]


def infer(n: int, span, arc, headed, **options) -> decoding.Marginals:
    span, arc, headed = batch_of_one(span, arc, headed)
    return decoding.marginals(span, arc, [n], headed, **options)


def with_logarithms(n: int, span, arc, headed, with_headed: bool = True) -> decoding.Marginals:
    """The same sums by the kernel that takes over where the fast one cannot hold the scores."""
    scores, sizes = check(span, arc, [n], headed)
    spans, arcs, parts = np.zeros((1, n + 1, n + 1)), np.zeros((1, n + 1, n + 1)), None
    if with_headed:
        parts = np.zeros((1, n + 1, n + 1, n + 1))
    out = {"spans": spans, "heads": arcs, "parts": parts}
    return decoding.Marginals(
        inference._run(scores, sizes, np.float64, 1, out, logarithms=1), spans, arcs, parts
    )


def by_enumeration(n: int, span, arc, headed):
    trees, scores = zip(*scores_of(n, span, arc, headed), strict=True)
    best = max(scores)
    if best == -np.inf:
        return None
    partition = best + np.log(np.sum(np.exp(np.array(scores) - best)))
    spans, arcs, parts = (
        np.zeros((n + 1, n + 1)),
        np.zeros((n + 1, n + 1)),
        np.zeros((n + 1, n + 1, n + 1)),
    )
    for tree, probability in zip(trees, np.exp(np.array(scores) - partition), strict=True):
        for part in tree.spans:
            spans[part] += probability
        for m, h in enumerate(tree.heads[1:], start=1):
            arcs[m, h] += probability
        for part in tree.headed + tree.hooks:
            parts[part] += probability
    entropy = -sum(p * np.log(p) for p in np.exp(np.array(scores) - partition) if p > 0)
    return partition, spans, arcs, parts, entropy


@settings(max_examples=250, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from(KINDS),
    st.sampled_from([0.0, 1.0, 30.0, 400.0, 5000.0]),
    st.sampled_from([0.0, 0.0, 0.15]),
)
def test_everything_agrees_with_the_sum_over_all_trees(seed, n, structure, scale, masked) -> None:
    scores = draw(seed, n, structure, scale, masked)
    expected = by_enumeration(n, *scores)
    if expected is None:
        with pytest.raises(ScoreError, match="sentence 0 of the batch has no tree"):
            infer(n, *scores)
        return
    inferred = infer(n, *scores, with_headed=structure in ("first", "second"))
    np.testing.assert_allclose(inferred.log_partition[0], expected[0], rtol=1e-11, atol=1e-9)
    # Differences between scores of some thousands are themselves exact to 12 digits only.
    for actual, right in zip(inferred[1:], expected[1:4], strict=True):
        if actual is not None:
            np.testing.assert_allclose(actual[0], right, atol=1e-9)
    alone = decoding.log_partition(*batch_of_one(*scores[:2]), [n], batch_of_one(scores[2])[0])
    np.testing.assert_allclose(alone, inferred.log_partition, rtol=1e-12)
    uncertain = decoding.entropy(*batch_of_one(*scores[:2]), [n], batch_of_one(scores[2])[0])
    np.testing.assert_allclose(uncertain[0], expected[4], atol=1e-9 * max(1, scale))


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 31, 64, 100])
@pytest.mark.parametrize("structure", KINDS)
@pytest.mark.parametrize("scale", [0.0, 4.0])
def test_marginals_sum_to_one_as_they_must(n, structure, scale) -> None:
    inferred = infer(n, *draw(n, n, structure, scale), with_headed=structure in ("first", "second"))
    words = slice(1, n + 1)
    for part in inferred[1:]:
        assert part is None or (part.min() >= 0 and part.max() <= 1 + 1e-9)
    if inferred.spans is not None:
        spans = inferred.spans[0]
        assert spans.sum() == pytest.approx(2 * n - 1)
        np.testing.assert_allclose(np.diagonal(spans, 1), 1)
        assert spans[0, n] == pytest.approx(1)
        assert not np.tril(spans).any()
    if inferred.arcs is not None:
        arcs = inferred.arcs[0]
        np.testing.assert_allclose(arcs[words].sum(1), 1)
        assert arcs[words, 0].sum() == pytest.approx(1)
        assert not arcs[0].any()
        assert not np.diagonal(arcs).any()
    if inferred.headed is not None:
        parts = inferred.headed[0]
        i, j, h = np.ogrid[: n + 1, : n + 1, : n + 1]
        inside = (i < h) & (h <= j)
        np.testing.assert_allclose(np.where(inside, parts, 0).sum(2), spans, atol=1e-9)
        hooked = np.where(inside, 0, parts).sum((0, 1))
        assert hooked[0] == 0
        np.testing.assert_allclose(hooked[words], arcs[words].sum(0)[words], atol=1e-9)


@pytest.mark.parametrize("structure", ["first", "second"])
@pytest.mark.parametrize(
    ("scale", "masked"),
    [(0.5, 0.0), (5.0, 0.0), (50.0, 0.0), (1.0, 0.1), (20.0, 0.1), (300.0, 0.1)],
)
@pytest.mark.parametrize("n", [5, 24, 45])
def test_the_fast_kernel_agrees_with_the_one_in_logarithms(structure, scale, masked, n) -> None:
    drawn = draw(n, n, structure, scale, masked)
    leave_a_tree(n, *drawn)
    scores = batch_of_one(*drawn)
    inferred = decoding.marginals(scores[0], scores[1], [n], scores[2], with_headed=True)
    expected = with_logarithms(n, *scores)
    assert inferred.log_partition[0] == pytest.approx(expected.log_partition[0], rel=1e-10)
    for actual, other in zip(inferred[1:], expected[1:], strict=True):
        np.testing.assert_allclose(actual, other, atol=1e-8)


@pytest.mark.parametrize("structure", KINDS)
def test_adding_a_constant_to_scores_shifts_the_log_partition_and_nothing_else(structure) -> None:
    n = 30
    scores = draw(5, n, structure, 2.0)
    before = infer(n, *scores)
    for constant in (-3000.0, 200.0, 1e5):
        after = infer(n, *(None if values is None else values + constant for values in scores))
        count = {
            "spans": 2 * n - 1,
            "arcs": n,
            "first": 3 * n - 1,
            "second": 3 * n - 1 + 3 * n - 2,
        }[structure]
        assert after.log_partition[0] == pytest.approx(
            before.log_partition[0] + count * constant, rel=1e-12
        )
        for a, b in zip(before[1:], after[1:], strict=True):
            if a is not None:
                np.testing.assert_allclose(a, b, atol=1e-7)


@pytest.mark.parametrize("structure", KINDS)
def test_one_tree_that_towers_over_all_others_has_probability_one(structure) -> None:
    n = 20
    span, arc, headed = batch_of_one(*draw(1, n, structure, 1e6))
    inferred = decoding.marginals(span, arc, [n], headed)
    if structure == "spans":
        best = decoding.cky(span, [n])
    elif structure == "arcs":
        best = decoding.eisner(arc, [n])
    else:
        best = decoding.eisner_satta(span, arc, [n], headed)
    assert inferred.log_partition[0] == pytest.approx(best.scores[0], rel=1e-5)
    if best.spans is not None:
        assert all(
            inferred.spans[0, i, j] == pytest.approx(1) for i, j in best.spans[0][:, :2].tolist()
        )
    if best.heads is not None:
        assert all(
            inferred.arcs[0, m, best.heads[0, m]] == pytest.approx(1) for m in range(1, n + 1)
        )


def test_the_log_partition_is_approached_by_the_k_best_from_below() -> None:
    n = 7
    span, arc, headed = draw(3, n, "second", 3.0)
    scores = np.array([tree.score for tree in islice(decoding.kbest_iter(span, arc, headed), 3000)])
    sums = np.logaddexp.accumulate(scores)
    partition = decoding.log_partition(span[None], arc[None], [n], headed[None])[0]
    assert sums[-1] <= partition + 1e-9
    assert sums[-1] == pytest.approx(partition, abs=1e-3)


@pytest.mark.parametrize("structure", KINDS)
def test_sentences_do_not_depend_on_batch_padding_threads_type_or_layout(structure) -> None:
    random = np.random.default_rng(0)
    lengths = np.array([12, 0, 1, 30, 5])
    size = 33
    span, arc, headed = (
        None if values is None else random.normal(size=(5, *values.shape)).astype("f4")
        for values in draw(0, size - 1, structure)
    )
    for scores in (span, arc, headed):
        for b, n in enumerate(lengths):
            if scores is not None:
                scores[b, n + 1 :] = np.nan
                scores[b, :, n + 1 :] = np.inf
    together = decoding.marginals(span, arc, lengths, headed, threads=1)
    assert together.log_partition[1] == 0
    for threads in (2, 3):
        other = decoding.marginals(span, arc, lengths, headed, threads=threads)
        for a, b in zip(together, other, strict=True):
            assert a is None or np.array_equal(a, b)
    for b, n in enumerate(lengths):
        alone = [
            None if x is None else x[b : b + 1][np.s_[:,] + (slice(n + 1),) * (x.ndim - 1)]
            for x in (span, arc, headed)
        ]
        single = decoding.marginals(alone[0], alone[1], [n], alone[2])
        assert single.log_partition[0] == together.log_partition[b]
        for actual, all_of_them in zip(single[1:], together[1:], strict=True):
            if actual is not None:
                assert actual.dtype == np.float32
                inside = (..., *[slice(n + 1)] * (actual.ndim - 1))
                assert np.array_equal(actual[0], all_of_them[b][inside])
                assert all_of_them[b].sum() == pytest.approx(actual.sum())
        double = decoding.marginals(
            *(None if x is None else np.asfortranarray(x.astype("f8")) for x in alone[:2]),
            [n],
            None if alone[2] is None else np.asfortranarray(alone[2].astype("f8")),
        )
        assert double.log_partition[0] == pytest.approx(single.log_partition[0], rel=1e-9)
        for actual, exact in zip(single[1:], double[1:], strict=True):
            if actual is not None:
                assert exact.dtype == np.float64
                np.testing.assert_allclose(actual, exact, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from(["spans", "arcs", "first"]))
def test_minimum_bayes_risk_finds_the_tree_with_most_expected_parts(seed, n, structure) -> None:
    scores = draw(seed, n, structure, 1.0)
    _, spans, arcs, *_ = by_enumeration(n, *scores)
    expected = max(
        score
        for _, score in scores_of(
            n, None if structure == "arcs" else spans, None if structure == "spans" else arcs
        )
    )
    span, arc, _ = batch_of_one(*scores)
    inferred = decoding.minimum_bayes_risk(span, arc, [n])
    assert inferred.scores[0] == pytest.approx(expected, rel=1e-5)


def test_minimum_bayes_risk_keeps_to_the_trees_that_are_allowed() -> None:
    n = 9
    drawn = draw(2, n, "second", 1.0, masked=0.2)
    leave_a_tree(n, *drawn)
    span, arc, headed = batch_of_one(*drawn)
    best = decoding.minimum_bayes_risk(span, arc, [n], headed)
    assert all(span[0, i, j] > -np.inf for i, j, _ in best.spans[0].tolist())
    assert all(headed[0, i, j, h] > -np.inf for i, j, h in best.spans[0].tolist())
    assert all(arc[0, m, best.heads[0, m]] > -np.inf for m in range(1, n + 1))


def test_minimum_bayes_risk_takes_probabilities_that_the_caller_has() -> None:
    span, arc, _ = batch_of_one(*draw(4, 7, "first", 1.0))
    flat, sharp = (decoding.marginals(span / t, arc / t, [7]) for t in (5.0, 0.2))
    for spans, arcs in ((flat.spans, sharp.arcs), (sharp.spans, flat.arcs)):
        inferred = decoding.minimum_bayes_risk(span, arc, [7], spans=spans, arcs=arcs)
        expected = decoding.eisner_satta(spans, arcs, [7])
        assert inferred.heads.tolist() == expected.heads.tolist()
        assert inferred.spans[0].tolist() == expected.spans[0].tolist()


@pytest.mark.parametrize("structure", KINDS)
def test_what_cannot_be_summed_is_named(structure) -> None:
    n = 4
    for value, message in ((np.nan, "NaN"), (np.inf, "plus infinity"), (-np.inf, "no tree")):
        span, arc, headed = (
            None if values is None else np.stack([values, values])
            for values in draw(0, n, structure)
        )
        if structure == "arcs":
            arc[1, 2] = value
        elif structure == "second":
            headed[1, 0, n, 1 : n + 1] = value
        else:
            span[1, 0, n] = value
        with pytest.raises(ScoreError, match=f"sentence 1 of the batch has .*{message}"):
            decoding.marginals(span, arc, [n, n], headed)


def test_arguments_that_do_not_fit_are_refused() -> None:
    zeros = np.zeros((1, 4, 4))
    with pytest.raises(ScoreError, match="lengths are needed"):
        decoding.marginals(zeros, zeros)
    with pytest.raises(ScoreError, match="span scores, arc scores or both"):
        decoding.marginals(lengths=[3])
    with pytest.raises(ScoreError, match="need both span and arc scores"):
        decoding.marginals(zeros, None, [3], np.zeros((1, 4, 4, 4)))
    with pytest.raises(ScoreError, match="arc must have the shape"):
        decoding.marginals(zeros, np.zeros((1, 5, 5)), [3])
    with pytest.raises(ScoreError, match="headed must have the shape"):
        decoding.marginals(zeros, zeros, [3], np.zeros((1, 4, 4)))
    with pytest.raises(ScoreError, match="lengths must be between 0 and 3"):
        decoding.marginals(zeros, zeros, [4])


@pytest.mark.parametrize("order", [1, 2])
def test_a_guess_that_is_far_off_is_put_right_before_the_chart_is_filled(order: int) -> None:
    """Long sentences with wide scores: the pilot corrects the scale, and logarithms say what is
    right.
    """
    n = 90
    rng = np.random.default_rng(3)
    shape = (1, n + 1, n + 1)
    span, arc = 6 * rng.normal(size=shape), 6 * rng.normal(size=shape)
    headed = 2 * rng.normal(size=(*shape, n + 1)) if order == 2 else None
    inferred = decoding.marginals(span, arc, [n], headed, with_headed=False, threads=1)
    expected = with_logarithms(n, span, arc, headed, with_headed=False)
    np.testing.assert_allclose(inferred.log_partition, expected.log_partition, rtol=1e-10)
    np.testing.assert_allclose(inferred.spans, expected.spans, atol=1e-7)
    np.testing.assert_allclose(inferred.arcs, expected.arcs, atol=1e-7)


@pytest.mark.parametrize("structure", KINDS)
@pytest.mark.parametrize("scale", [1e9, 1e12, 1e15, 1e18, 1e30, 1e100])
def test_probabilities_of_very_large_scores_add_up(structure: str, scale: float) -> None:
    """From 1e12 on they lost their sums, and from 1e18 on sentences with trees had none."""
    n = 11
    for seed in range(5):
        span, arc, headed = batch_of_one(*draw(seed, n, structure, scale))
        inferred = decoding.marginals(span, arc, [n], headed)
        best = (
            decoding.cky(span, [n])
            if arc is None
            else decoding.eisner(arc, [n])
            if span is None
            else None
        )
        best = best or decoding.eisner_satta(span, arc, [n], headed)
        assert inferred.log_partition[0] == pytest.approx(best.scores[0], rel=1e-6)
        if span is not None:
            assert inferred.spans.sum() == pytest.approx(2 * n - 1, rel=1e-9)
        if arc is not None:
            np.testing.assert_allclose(inferred.arcs[0, 1:].sum(1), 1, rtol=1e-9)


@pytest.mark.parametrize("structure", KINDS)
def test_scores_too_large_to_add_up_are_named_and_masks_of_any_depth_are_not(
    structure: str,
) -> None:
    n = 5
    span, arc, headed = batch_of_one(*draw(1, n, structure, 1e200))
    with pytest.raises(
        ScoreError, match=r"sentence 0 of the batch has a score of .* too large to add up"
    ):
        decoding.marginals(span, arc, [n], headed)
    span, arc, headed = batch_of_one(*draw(1, n, structure))
    for part in (span, arc):
        if part is not None:
            part[0, 1, 3] = np.finfo(np.float64).min
    inferred = decoding.marginals(span, arc, [n], headed)
    assert all(part is None or part[0, 1, 3] == 0 for part in (inferred.spans, inferred.arcs))


@pytest.mark.parametrize("structure", KINDS)
@pytest.mark.parametrize("scale", [1.0, 1e4])  # the second is left to logarithms
def test_samples_come_as_often_as_their_probability_says(structure: str, scale: float) -> None:
    n, k = 4, 4000
    span, arc, headed = batch_of_one(*draw(3, n, structure))
    if scale > 1:
        # Parts that every tree has, or none: the distribution stays the same.
        for part in (span, arc):
            if part is not None:
                part[0, :, n] += scale if part is span else 0.0
                part[0, 1:, 0] += scale
    (inferred,) = decoding.sample(span, arc, [n], headed, k=k, random=1)
    chances = decoding.marginals(span, arc, [n], headed)
    if span is not None:
        spans = np.zeros((n + 1, n + 1))
        for rows in inferred.spans:
            spans[rows[:, 0], rows[:, 1]] += 1 / k
        np.testing.assert_allclose(spans, chances.spans[0], atol=0.04)
    if arc is not None:
        arcs = np.zeros((n + 1, n + 1))
        for heads in inferred.heads:
            arcs[np.arange(1, n + 1), heads[1:]] += 1 / k
        np.testing.assert_allclose(arcs, chances.arcs[0], atol=0.04)
    assert inferred.scores.shape == (k,)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 5), st.sampled_from(KINDS), st.sampled_from([1.0, 900.0])
)
def test_samples_are_trees_with_their_scores_and_entropy_is_that_of_all_trees(
    seed, n, structure, scale
) -> None:
    scores = draw(seed, n, structure, scale)
    trees = {}
    for tree, score in scores_of(n, *scores):
        trees[
            tuple(tree.heads) if structure != "spans" else None,
            frozenset(tree.spans) if structure != "arcs" else None,
        ] = score
    span, arc, headed = batch_of_one(*scores)
    (inferred,) = decoding.sample(span, arc, [n], headed, k=3, random=seed)
    repeated = decoding.sample(span, arc, [n], headed, k=3, random=seed, threads=2)[0]
    for t in range(3):
        heads = None if inferred.heads is None else tuple(inferred.heads[t].tolist())
        spans = (
            None
            if inferred.spans is None
            else frozenset((i, j) for i, j, *_ in inferred.spans[t].tolist())
        )
        assert trees[heads, spans] == pytest.approx(inferred.scores[t])
        assert inferred.heads is None or inferred.heads[t].tolist() == repeated.heads[t].tolist()
    chances = np.array([score for _, score in scores_of(n, *scores)])
    chances = np.exp(chances - np.logaddexp.reduce(chances))
    expected = -sum(p * np.log(p) for p in chances if p > 0)
    assert decoding.entropy(span, arc, [n], headed)[0] == pytest.approx(
        expected, abs=1e-9 * max(scale, 1) * 10
    )


@pytest.mark.parametrize("structure", KINDS)
def test_an_empty_batch_has_sums_of_no_sentences(structure: str) -> None:
    span = None if structure == "arcs" else np.zeros((0, 3, 3))
    arc = None if structure == "spans" else np.zeros((0, 3, 3))
    headed = np.zeros((0, 3, 3, 3)) if structure == "second" else None
    assert decoding.entropy(span, arc, [], headed).tolist() == []
    assert decoding.log_partition(span, arc, [], headed).tolist() == []
    assert decoding.sample(span, arc, [], headed) == []
