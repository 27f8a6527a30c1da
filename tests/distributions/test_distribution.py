"""Distributions against plain enumeration: values and derivatives of sums over every tree of a
short sentence.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import torch

from arcspan import decoding, distributions
from arcspan.distributions import (
    Arc,
    ConstituencyTrees,
    DependencyTrees,
    Head,
    LexicalizedTrees,
    Root,
    Span,
)
from arcspan.errors import ScoreError
from tests.decoding.all_trees import Tree, scores_of

KINDS = ["spans", "arcs", "first", "second", "packed"]
LENGTHS = [5, 1, 3, 0, 4, 2]
WITH_WORDS = [(b, n) for b, n in enumerate(LENGTHS) if n]


def draw(structure: str, n: int = 5, batch: int = 6, seed: int = 0, dtype=torch.float64) -> list:
    """span, arc and headed scores of a batch; None where the kind has no such scores."""
    random = torch.Generator().manual_seed(seed)

    def random_scores(*shape: int) -> torch.Tensor:
        return (
            torch.randn(batch, *shape, generator=random, dtype=torch.float64)
            .to(dtype)
            .requires_grad_()
        )

    size = n + 1
    second = {"second": (size, size, size), "packed": (size * n // 2, size)}.get(structure)
    return [
        None if structure == "arcs" else random_scores(size, size),
        None if structure == "spans" else random_scores(size, size),
        None if second is None else random_scores(*second),
    ]


def make(scores: list, lengths=LENGTHS):
    span, arc, headed = scores
    if arc is None:
        return ConstituencyTrees(span, lengths)
    return (
        DependencyTrees(arc, lengths)
        if span is None
        else LexicalizedTrees(span, arc, headed, lengths)
    )


def every_tree(scores: list, b: int, n: int) -> tuple[list[Tree], torch.Tensor]:
    """All trees of sentence b and their scores, as a differentiable sum over their parts."""
    span, arc, headed = scores
    nothing = np.zeros((n + 1, n + 1))
    trees = [
        tree
        for tree, _ in scores_of(
            n, None if span is None else nothing, None if arc is None else nothing
        )
    ]
    totals = torch.zeros(len(trees), dtype=torch.float64)
    if span is not None:
        i, j = np.array([tree.spans for tree in trees]).transpose(2, 0, 1)
        totals = totals + span[b, i, j].sum(1)
    if arc is not None:
        heads = np.array([tree.heads[1:] for tree in trees])
        totals = totals + arc[b, np.arange(1, n + 1), heads].sum(1)
    if headed is not None:
        i, j, h = np.array([tree.headed + tree.hooks for tree in trees]).transpose(2, 0, 1)
        pair = np.zeros(span.shape[1:], int)
        pair[np.triu_indices(len(pair), 1)] = range(len(pair) * (len(pair) - 1) // 2)
        totals = totals + (
            headed[b, i, j, h] if headed.dim() == 4 else headed[b, pair[i, j], h]
        ).sum(1)
    return trees, totals


def log_probabilities(scores: list, lengths=LENGTHS) -> list[torch.Tensor]:
    """Of all trees of each sentence; a sentence without words has one tree, the empty one."""
    computed = [
        every_tree(scores, b, n)[1] if n else torch.zeros(1, dtype=torch.float64)
        for b, n in enumerate(lengths)
    ]
    return [values - values.logsumexp(0) for values in computed]


def names(trees, b: int, n: int, *draw: int) -> tuple:
    """A tree of the result in the form of the oracle's: spans and heads."""
    index = (*draw, b)
    spans = (
        ()
        if trees.spans is None
        else tuple((i, j) for i, j, *_ in trees.spans[index].tolist() if j)
    )
    heads = () if trees.heads is None else tuple(trees.heads[index].tolist()[: n + 1])
    return spans, heads


def assert_same_derivatives(got: torch.Tensor, expected: torch.Tensor, scores: list) -> None:
    """Values, gradients and Hessians times a direction, of [B]."""
    torch.testing.assert_close(got, expected)
    inputs = [part for part in scores if part is not None]
    weights = torch.linspace(0.5, 2, len(got), dtype=torch.float64)
    directions = [
        torch.randn(part.shape, generator=torch.Generator().manual_seed(9), dtype=part.dtype)
        for part in inputs
    ]
    results = []
    for values in (got, expected):
        first = torch.autograd.grad(
            values @ weights, inputs, create_graph=True, materialize_grads=True
        )
        slope = sum((entry * two).sum() for entry, two in zip(first, directions, strict=True))
        slope = slope + sum(0 * part.sum() for part in inputs)
        results.append((first, torch.autograd.grad(slope, inputs)))
    for actual, reference in zip(*results, strict=True):
        for entry, two in zip(actual, reference, strict=True):
            torch.testing.assert_close(entry, two)


@pytest.mark.parametrize("structure", KINDS)
def test_log_partition_and_entropy_have_the_values_and_two_derivatives_of_enumeration(
    structure: str,
) -> None:
    scores = draw(structure)
    totals = torch.stack(
        [
            every_tree(scores, b, n)[1].logsumexp(0)
            if n
            else scores[0 if structure != "arcs" else 1].sum() * 0
            for b, n in enumerate(LENGTHS)
        ]
    )
    assert_same_derivatives(make(scores).log_partition, totals, scores)
    entropies = torch.stack(
        [-(values.exp() * values).sum() for values in log_probabilities(scores)]
    )
    assert_same_derivatives(make(scores).entropy, entropies, scores)


@pytest.mark.parametrize("structure", KINDS)
def test_third_derivatives_are_right_too(structure: str) -> None:
    """`create_graph` in the second backward keeps the graph: nothing is silently constant."""
    scores = draw(structure, 5, 1, seed=4)
    inputs = [part for part in scores if part is not None]

    def third(value: torch.Tensor) -> tuple:
        for _ in range(2):
            gradients = torch.autograd.grad(value, inputs, create_graph=True)
            value = sum((entry * entry.detach().cos() + entry**2).sum() for entry in gradients)
        return torch.autograd.grad(value, inputs)

    expected = every_tree(scores, 0, 5)[1].logsumexp(0)
    for actual, reference in zip(
        third(make(scores, [5]).log_partition.sum()), third(expected), strict=True
    ):
        torch.testing.assert_close(actual, reference)


@pytest.mark.parametrize("structure", KINDS)
def test_marginals_are_the_gradient_of_the_log_partition_and_differentiable(structure: str) -> None:
    scores = draw(structure)
    inputs = [part for part in scores if part is not None]
    computed = make(scores).marginals
    computed = (
        [part for part in computed if part is not None]
        if isinstance(computed, tuple)
        else [computed]
    )
    expected = torch.stack([every_tree(scores, b, n)[1].logsumexp(0) for b, n in WITH_WORDS])
    reference = torch.autograd.grad(expected.sum(), inputs, create_graph=True)
    actual = sum((part * part.detach().sin()).sum() for part in computed)
    theirs = sum((part * part.detach().sin()).sum() for part in reference)
    for entry, two in zip(computed, reference, strict=True):
        torch.testing.assert_close(entry, two)
    for entry, two in zip(
        torch.autograd.grad(actual, inputs), torch.autograd.grad(theirs, inputs), strict=True
    ):
        torch.testing.assert_close(entry, two)


@pytest.mark.parametrize(
    ("structure", "others"),
    [
        *((structure, structure) for structure in KINDS),
        ("first", "second"),
        ("first", "packed"),
        ("second", "first"),
        ("second", "packed"),
    ],
)
def test_kl_and_cross_entropy_are_sums_over_all_trees(structure: str, others: str) -> None:
    p, q = draw(structure, 5, 3, seed=1), draw(others, 5, 3, seed=2)
    lengths = [5, 3, 1]

    def expected(value) -> torch.Tensor:
        pairs = zip(log_probabilities(p, lengths), log_probabilities(q, lengths), strict=True)
        return torch.stack([value(actual, theirs) for actual, theirs in pairs])

    cross = expected(lambda actual, theirs: -(actual.exp() * theirs).sum())
    divergence = expected(lambda actual, theirs: (actual.exp() * (actual - theirs)).sum())
    actual, theirs = make(p, lengths), make(q, lengths)
    assert_same_derivatives(actual.cross_entropy(theirs), cross, [*p, *q])
    assert_same_derivatives(actual.kl(theirs), divergence, [*p, *q])


@pytest.mark.parametrize("structure", KINDS)
def test_argmax_topk_and_log_prob_rank_all_trees(structure: str) -> None:
    scores = draw(structure, seed=3)
    trees = make(scores)
    best = trees.topk(250)
    assert best.scores.shape == (250, 6)
    for b, n in WITH_WORDS:
        trees_known, totals = every_tree(scores, b, n)
        order = totals.argsort(descending=True).tolist()
        computed = int((best.scores[:, b] > -torch.inf).sum())
        assert computed == len(order)
        for rank, index in enumerate(order):
            assert names(best, b, n, rank) == (trees_known[index].spans, trees_known[index].heads)
        torch.testing.assert_close(best.scores[:computed, b], totals[order].detach())
        assert names(trees.argmax, b, n) == (
            trees_known[order[0]].spans,
            trees_known[order[0]].heads,
        )
        chances = trees.rows([b]).log_prob(
            type(best)(*(None if part is None else part[:computed, [b]] for part in best))
        )
        torch.testing.assert_close(chances[:, 0], totals[order] - totals.logsumexp(0))
    torch.testing.assert_close(trees.max, best.scores[0])
    gradients = torch.autograd.grad(trees.max.sum(), [part for part in scores if part is not None])
    assert all(set(part.unique().tolist()) <= {0.0, 1.0} for part in gradients)
    torch.testing.assert_close(trees.log_prob(trees.argmax), trees.max - trees.log_partition)


@pytest.mark.parametrize("structure", KINDS)
def test_samples_have_the_probabilities_of_their_trees(structure: str) -> None:
    """Pearson's statistic of 4,000 draws stays within four standard deviations of its expectation."""
    scores = draw(structure, seed=5)
    trees = make(scores)
    drawn = trees.sample(4000, generator=torch.Generator().manual_seed(7))
    torch.testing.assert_close(drawn.scores, trees.score(drawn).detach())
    assert trees.log_prob(drawn).isfinite().all(), "all are trees"
    for b, n in WITH_WORDS:
        trees_known, totals = every_tree(scores, b, n)
        expected = 4000 * totals.softmax(0).detach().numpy()
        counts = Counter(names(drawn, b, n, k) for k in range(4000))
        drawn_trees = np.array([counts.pop((tree.spans, tree.heads), 0) for tree in trees_known])
        assert not counts
        rare = expected < 5  # in one cell together
        expected = np.append(expected[~rare], expected[rare].sum())
        drawn_trees = np.append(drawn_trees[~rare], drawn_trees[rare].sum())
        statistic = ((drawn_trees - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()
        freedom = (expected > 0).sum() - 1
        assert statistic <= freedom + 4 * np.sqrt(2 * freedom) + 1e-9
    repeated = trees.sample(4000, generator=torch.Generator().manual_seed(7))
    assert all(
        entry is None or entry.equal(two) for entry, two in zip(drawn, repeated, strict=True)
    )
    torch.manual_seed(1)
    first, second = trees.sample(50), trees.sample(50)
    torch.manual_seed(1)
    assert trees.sample(50).scores.equal(first.scores)
    assert not first.scores.equal(second.scores)


CONDITIONS = [
    ([Span(1, 3)], [], lambda tree: (1, 3) in tree.spans),
    ([], [Span(1, 3)], lambda tree: (1, 3) not in tree.spans),
    ([Root(2)], [], lambda tree: tree.heads[2] == 0),
    ([Arc(3, 1)], [Arc(4, 3)], lambda tree: tree.heads[1] == 3 and tree.heads[3] != 4),
    ([Head(1, 4, 3)], [], lambda tree: (1, 4, 3) in tree.headed),
    ([Root(2)], [Head(0, 2, 2)], lambda tree: tree.heads[2] == 0 and (0, 2, 2) not in tree.headed),
]


@pytest.mark.parametrize("structure", KINDS)
@pytest.mark.parametrize("case", range(len(CONDITIONS)))
def test_a_condition_leaves_the_trees_that_meet_it(structure: str, case: int) -> None:
    require, forbid, meets = CONDITIONS[case]
    scores = draw(structure, 5, 2, seed=6)
    trees = make(scores, [5, 2])
    reference = {"spans": {Span}, "arcs": {Arc}}.get(structure, {Span, Arc, Head})
    if not {type(entry) for entry in [*require, *forbid]} <= reference:
        with pytest.raises(ScoreError, match="constraints only"):
            trees.condition(require, forbid)
        return
    conditioned = trees.condition([require, []], [forbid, []])
    trees_known, totals = every_tree(scores, 0, 5)
    remaining = torch.tensor([meets(tree) for tree in trees_known])
    expected = torch.stack([totals[remaining].logsumexp(0), trees.log_partition[1]])
    torch.testing.assert_close(conditioned.log_partition, expected)
    values = totals[remaining] - expected[0]
    torch.testing.assert_close(conditioned.entropy[0], -(values.exp() * values).sum())
    parts = [part for part in scores if part is not None]
    actual = torch.autograd.grad(conditioned.entropy[0], parts)
    theirs = torch.autograd.grad(-(values.exp() * values).sum(), parts)
    for entry, two in zip(actual, theirs, strict=True):
        torch.testing.assert_close(entry, two)
    assert trees.cross_entropy(conditioned)[0] == torch.inf, "the others are impossible"
    assert conditioned.cross_entropy(trees).isfinite().all()


def test_conditions_that_contradict_each_other_are_named() -> None:
    trees = make(draw("first", 4, 2), [4, 4])
    with pytest.raises(
        ScoreError, match=r"required span \(1, 3\) and required span \(0, 2\) cross"
    ):
        trees.condition([Span(1, 3), Span(0, 2)])
    with pytest.raises(ScoreError, match="3 lists of constraints for 2 sentences"):
        trees.condition([[], [], []])


@pytest.mark.parametrize("structure", KINDS)
def test_minimum_bayes_risk_has_the_greatest_expected_number_of_right_parts(structure: str) -> None:
    scores = draw(structure, seed=8)
    computed = make(scores).mbr()
    for b, n in WITH_WORDS:
        trees_known, totals = every_tree(scores, b, n)
        chances = totals.softmax(0).tolist()

        def right(tree: Tree, trees_known=trees_known, chances=chances) -> float:
            return sum(
                p
                * (
                    len(set(tree.spans) & set(entry.spans))
                    + sum(a == c for a, c in zip(tree.heads[1:], entry.heads[1:], strict=True))
                )
                for entry, p in zip(trees_known, chances, strict=True)
            )

        best = max(map(right, trees_known))
        actual = next(
            tree for tree in trees_known if (tree.spans, tree.heads) == names(computed, b, n)
        )
        assert right(actual) == pytest.approx(best)


def test_what_is_not_a_tree_has_no_probability() -> None:
    trees = make(draw("arcs", 4, 1), [4])
    for heads, why in (
        ([0, 2, 1, 0, 3], "a cycle"),
        ([0, 0, 0, 2, 3], "two roots"),
        ([0, 3, 4, 0, 3], "a crossing"),
        ([0, 0, 1, 1, 5], "a head that is not there"),
    ):
        with pytest.raises(
            ScoreError, match="sentence 0 of the batch is not a projective tree of its 4 words"
        ):
            print(trees.log_prob(torch.tensor([heads])), why)
    spans = make(draw("spans", 3, 1), [3])
    with pytest.raises(ScoreError, match="not a binary tree"):
        spans.log_prob([np.array([[0, 3], [0, 2], [1, 3], [0, 1], [1, 2]])])
    with pytest.raises(ScoreError, match="not a binary tree"):
        spans.log_prob([np.array([[0, 3], [0, 1], [1, 2], [2, 3]])])
    joint = make(draw("first", 3, 1), [3])
    fits = np.array([[0, 3, 3], [0, 2, 1], [0, 1, 1], [1, 2, 2], [2, 3, 3]])
    assert joint.log_prob(
        decoding.Decoded(np.array([[0, 3, 1, 0]]), [fits], np.zeros(1))
    ).shape == (1,)
    for heads in (
        [0, 3, 3, 0],
        [0, 2, 3, 0],
    ):  # two words leave (0, 2); word 2 does, and not word 1
        with pytest.raises(ScoreError, match="not a lexicalized tree"):
            joint.log_prob(decoding.Decoded(np.array([heads]), [fits], np.zeros(1)))
    outside = np.array([[0, 3, 1], [0, 1, 1], [1, 3, 3], [1, 2, 2], [2, 3, 3]])
    with pytest.raises(
        ScoreError, match="not a lexicalized tree"
    ):  # word 1 attaches to 2, which does not head (1, 3)
        joint.log_prob(decoding.Decoded(np.array([[0, 2, 3, 0]]), [outside], np.zeros(1)))


@pytest.mark.parametrize("structure", KINDS)
def test_every_tree_of_a_sentence_is_accepted_and_probabilities_add_up_to_one(
    structure: str,
) -> None:
    n = 5
    scores = draw(structure, n, 1, seed=12)
    trees_known, _ = every_tree(scores, 0, n)
    heads = np.array([tree.heads for tree in trees_known])
    spans = [np.array(tree.headed or tree.spans) for tree in trees_known]
    trees = make(
        [
            None if part is None else part.repeat(len(trees_known), *[1] * (part.dim() - 1))
            for part in scores
        ],
        [n] * len(trees_known),
    )
    total = trees.log_prob(decoding.Decoded(heads, spans, np.zeros(len(trees_known)))).exp().sum()
    assert total.item() == pytest.approx(1)


@pytest.mark.parametrize("structure", KINDS)
def test_an_accelerator_that_pays_gives_the_same_numbers(
    structure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no accelerator here: its path runs on the processor."""
    scores, others = draw(structure), draw(structure, seed=1)
    host = make(scores)
    monkeypatch.setattr(decoding.batched, "pays", lambda *_: True)
    device = make(scores)
    expected = [host.log_partition, host.entropy, host.max, host.kl(make(others))]
    computed = [device.log_partition, device.entropy, device.max, device.kl(make(others))]
    inputs = [part for part in scores if part is not None]
    for actual, reference in zip(computed, expected, strict=True):
        torch.testing.assert_close(actual, reference)
        pairs = [torch.autograd.grad(entry.sum(), inputs) for entry in (actual, reference)]
        for entry, two in zip(*pairs, strict=True):
            torch.testing.assert_close(entry, two)


@pytest.mark.parametrize("structure", KINDS)
def test_half_precision_is_computed_in_single_and_padding_is_not_read(structure: str) -> None:
    scores = draw(structure, dtype=torch.bfloat16)
    exact = make([None if part is None else part.detach().float() for part in scores])
    trees = make(scores)
    assert trees.log_partition.dtype == torch.bfloat16
    torch.testing.assert_close(
        trees.log_partition.float(), exact.log_partition, rtol=1e-2, atol=1e-2
    )
    with torch.no_grad():
        for part in scores:
            if part is not None and structure != "packed":
                part[2, 4:] = torch.nan
                part[2, :, 4:] = torch.nan
                part[3] = torch.nan
    trees.log_partition.sum().backward()
    make(scores).entropy.sum().backward()
    for part in scores:
        if part is not None:
            assert part.grad.isfinite().all() and part.grad.dtype == torch.bfloat16
            assert not part.grad[3].any()


def test_without_gradients_no_marginals_are_computed_and_only_what_needs_a_gradient_gets_one() -> (
    None
):
    span, arc, headed = draw("second")
    with torch.no_grad():
        plain = make([span, arc, headed]).log_partition
    assert not plain.requires_grad
    partly = make([span.detach(), arc.detach(), headed])
    torch.testing.assert_close(partly.log_partition.detach(), plain)
    partly.entropy.sum().backward()
    assert span.grad is None and arc.grad is None and headed.grad.any()


def test_descending_the_negative_log_probability_makes_a_tree_certain() -> None:
    scores = draw("second", 6, 1)
    gold = make(scores, [6]).topk(200)
    gold = type(gold)(gold.heads[-1], gold.spans[-1], gold.scores[-1])
    optimizer = torch.optim.Adam(scores, lr=0.3)
    for _ in range(100):
        loss = -make(scores, [6]).log_prob(gold).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert 0 <= loss.item() < 0.01
    assert make(scores, [6]).entropy.item() < 0.1


def test_wrong_shapes_and_other_kinds_are_refused() -> None:
    with pytest.raises(ScoreError, match=r"tensor of the shape \[B, n\+1, n\+1\]"):
        DependencyTrees(torch.zeros(3, 3))
    with pytest.raises(ScoreError, match=r"arc must have the shape of span, \[1, 4, 4\]"):
        LexicalizedTrees(torch.zeros(1, 4, 4), torch.zeros(1, 3, 3))
    with pytest.raises(ScoreError, match="lengths must be between 0 and 3"):
        ConstituencyTrees(torch.zeros(1, 4, 4), [4])
    with pytest.raises(ScoreError, match="not over the same trees"):
        ConstituencyTrees(torch.zeros(1, 4, 4)).kl(DependencyTrees(torch.zeros(1, 4, 4)))
    with pytest.raises(ScoreError, match="k must be a whole number"):
        DependencyTrees(torch.zeros(1, 4, 4)).sample(0)
    with pytest.raises(ScoreError, match=r"heads must have the shape \[..., 1, 4\]"):
        DependencyTrees(torch.zeros(1, 4, 4)).log_prob(torch.zeros(1, 3, dtype=torch.int64))
    assert repr(LexicalizedTrees(*torch.zeros(2, 1, 4, 4))) == "LexicalizedTrees(B=1, n=3)"


def test_without_torch_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['torch'] = None; import arcspan.distributions"
    computed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        "MissingExtraError: distributions needs packages that are not installed" in computed.stderr
    )


@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_batches_without_sentences_or_words_have_trees_of_no_parts(lengths: list[int]) -> None:
    """The best tree of an empty batch was a reshape of torch that is ambiguous; a sample of no
    words an IndexError.
    """
    size, count = 1 if lengths else 4, len(lengths)
    span, arc = torch.zeros(2, count, size, size)
    headed = torch.zeros(count, size, size, size)
    for trees in (
        ConstituencyTrees(span, lengths),
        DependencyTrees(arc, lengths),
        LexicalizedTrees(span, arc, headed, lengths),
    ):
        for computed, lead in ((trees.argmax, ()), (trees.sample(2), (2,)), (trees.topk(2), (2,))):
            assert trees.log_prob(computed).shape == computed.scores.shape == (*lead, count)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.bool, torch.complex64])
def test_scores_that_are_not_floating_point_are_refused(dtype: torch.dtype) -> None:
    scores = torch.zeros(1, 3, 3, dtype=dtype)
    floats = torch.zeros(1, 3, 3)
    with pytest.raises(ScoreError, match=rf"arc scores must be .* floating-point .*{dtype}"):
        DependencyTrees(scores)
    with pytest.raises(ScoreError, match="span scores must be a tensor of floating-point"):
        ConstituencyTrees(scores)
    with pytest.raises(ScoreError, match=r"headed scores .* convert them with \.float\(\)"):
        LexicalizedTrees(floats, floats, torch.zeros(1, 3, 3, 3, dtype=dtype))


def flat(structure: str, seed: int, dtype=torch.float64):
    """A distribution whose scores differ by less than float32 resolves at their size."""
    scores = [
        None if part is None else (1e4 + 1e-3 * part).to(dtype)
        for part in draw(structure, seed=seed)
    ]
    return make(scores)


@pytest.mark.parametrize("structure", KINDS)
def test_scores_in_float64_are_searched_in_float64(structure: str) -> None:
    for seed in range(5):
        trees = flat(structure, seed)
        best = trees.topk(1).scores[0]
        assert torch.equal(trees.argmax.scores, best)
        assert torch.equal(trees.max, best)


def test_the_search_in_float32_would_not_find_these_trees() -> None:
    trees = flat("first", 0)
    narrow = flat("first", 0, torch.float32)
    assert (trees.score(narrow.argmax) < trees.max).any()


@pytest.mark.parametrize("structure", ["spans", "arcs", "first"])
def test_expected_parts_in_float64_are_searched_in_float64(structure: str) -> None:
    """Where chances differ by 1e-9: the tree of `mbr` has the greatest expectation to the last
    digits.
    """
    for seed in range(5):
        scores = [
            None if part is None else (1e-9 * part).detach() for part in draw(structure, seed=seed)
        ]
        trees = make(scores)
        chances = trees.marginals
        parts = [chances, None] if structure == "spans" else [None, chances]
        if structure == "first":
            parts = [chances.spans, chances.arcs]
        expectations = make([*parts, None])
        gained = expectations.score(trees.mbr())
        torch.testing.assert_close(gained, expectations.topk(1).scores[0], rtol=0, atol=1e-13)


def test_the_difference_between_distributions_is_named() -> None:
    trees = DependencyTrees(torch.zeros(2, 4, 4), lengths=[3, 2])
    zeros = torch.zeros(2, 4, 4)
    for other, message in (
        (ConstituencyTrees(zeros, lengths=[3, 2]), "they differ in their type"),
        (DependencyTrees(torch.zeros(3, 4, 4)), "2 and 3 sentences"),
        (DependencyTrees(torch.zeros(2, 5, 5), lengths=[3, 2]), "scores for up to 3 and 4 words"),
        (DependencyTrees(zeros, lengths=[3, 1]), "sentence 1 has 2 and 1 words"),
    ):
        for compare in (trees.kl, trees.cross_entropy):
            with pytest.raises(ScoreError, match=f"are not over the same trees: {message}"):
                compare(other)


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.vmap, torch.func.jacrev])
def test_transforms_of_torch_func_are_refused(transform) -> None:
    function = transform(lambda scores: DependencyTrees(scores).log_partition.sum())
    with pytest.raises(
        ScoreError, match=r"torch\.func .* use torch\.autograd\.grad, and one batch"
    ):
        function(torch.zeros(2, 1, 3, 3) if transform is torch.func.vmap else torch.zeros(1, 3, 3))


def test_scores_at_the_end_of_the_range_have_a_tree_or_an_error() -> None:
    span, arc = torch.zeros(2, 1, 4, 4, dtype=torch.float64)
    arc[0, 2, 1] = 1.7e308
    assert DependencyTrees(arc).argmax.heads[0, 2] == 1
    assert DependencyTrees(-arc).argmax.heads[0, 2] != 1
    span[0, 0, 2] = 1.7e308
    joint = LexicalizedTrees(span, arc)
    for answer in (lambda: joint.argmax, lambda: joint.log_partition, lambda: joint.entropy):
        with pytest.raises(ScoreError, match=r"sentence 0 of the batch has a score .* too large"):
            answer()


def test_the_old_name_of_marginals_still_works_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="Marginals is called MarginalTensors now"):
        assert distributions.Marginals is distributions.MarginalTensors
