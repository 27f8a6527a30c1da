"""Losses against enumeration: every binary lexicalized tree of a tiny sentence, written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from arcspan.errors import TreeError
from arcspan.neural.losses import Gold, StructureLoss, parts_of, sum_parts
from arcspan.neural.model import Scores

Tree = tuple[tuple[tuple[int, int, int], ...], tuple[int, ...]]


def subtrees(i: int, j: int, h: int) -> Iterator[tuple[list[tuple[int, int, int]], dict[int, int]]]:
    """All (nodes in pre-order, head of each word but h) of span (i, j] headed by h."""
    if j - i == 1:
        yield [(i, j, h)], {}
        return
    for k in range(i + 1, j):
        inside, outside = ((i, k), (k, j)) if h <= k else ((k, j), (i, k))
        for m in range(outside[0] + 1, outside[1] + 1):
            for nodes, heads in subtrees(*inside, h):
                for others, more in subtrees(*outside, m):
                    pair = (nodes, others) if h <= k else (others, nodes)
                    yield [(i, j, h), *pair[0], *pair[1]], {**heads, **more, m: h}


def all_trees(n: int) -> list[Tree]:
    found = []
    for root in range(1, n + 1):
        for nodes, heads in subtrees(0, n, root):
            found.append((tuple(nodes), tuple(({**heads, root: 0})[m] for m in range(1, n + 1))))
    return found


def gold_of(tree: Tree, joint: bool = True) -> Gold:
    nodes, heads = tree
    n = len(heads)
    zeros = np.zeros(n, dtype=np.int64)
    return Gold(
        lengths=np.array([n]),
        node_b=np.zeros(2 * n - 1, dtype=np.int64),
        nodes=np.array(nodes),
        labels=np.zeros(2 * n - 1, dtype=np.int64),
        word_b=zeros,
        word_m=np.arange(1, n + 1),
        heads=np.array(heads),
        relations=zeros,
        tags=zeros,
        upos=zeros,
        joint=np.array([joint]),
        projective=np.array([True]),
        names=["the sentence"],
    )


def random_scores(n: int, seed: int, second_order: bool) -> Scores:
    random = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random).requires_grad_()

    pairs = n * (n + 1) // 2
    return Scores(
        draw(1, n + 1, n + 1), draw(1, n + 1, n + 1), draw(1, pairs, n + 1) if second_order else None
    )


def score(tree: Tree, scores: Scores) -> torch.Tensor:
    """The score of a tree by the rules of scoring, written without the package's index tricks."""
    nodes, heads = tree
    n = len(heads)
    total = torch.zeros(())
    pair = {(i, j): p for p, (i, j) in enumerate((i, j) for i in range(n + 1) for j in range(i + 1, n + 1))}
    for i, j, h in nodes:
        if scores.span is not None:
            total = total + scores.span[0, i, j]
        if scores.headed is not None:
            total = total + scores.headed[0, pair[i, j], h]
    for m, h in enumerate(heads, 1):
        if scores.arc is not None:
            total = total + scores.arc[0, m, h]
        if scores.headed is not None and h:
            i, j, _ = max((node for node in nodes if node[2] == m), key=lambda node: node[1] - node[0])
            total = total + scores.headed[0, pair[i, j], h]
    return total


def cost(tree: Tree, gold: Tree) -> int:
    wrong_spans = len({(i, j) for i, j, _ in tree[0]} - {(i, j) for i, j, _ in gold[0]})
    return wrong_spans + sum(a != b for a, b in zip(tree[1], gold[1], strict=True))


@pytest.mark.parametrize("second_order", [False, True])
def test_the_parts_of_a_tree_add_up_to_its_score(second_order: bool) -> None:
    scores = random_scores(4, 7, second_order)
    for tree in all_trees(4)[::7]:
        gold = gold_of(tree)
        parts = parts_of(gold.node_b, gold.nodes, (gold.word_b, gold.word_m, gold.heads), second_order)
        assert sum_parts(scores, parts, 1).item() == pytest.approx(score(tree, scores).item(), abs=1e-5)


@pytest.mark.parametrize("system", ["joint1o", "joint2o"])
@pytest.mark.parametrize("seed", range(4))
def test_the_joint_margin_and_its_gradient_are_those_of_the_worst_tree(system: str, seed: int) -> None:
    n = 4
    scores = random_scores(n, seed, system == "joint2o")
    trees = all_trees(n)
    gold = trees[seed * 11 % len(trees)]
    values = [score(tree, scores) - score(gold, scores) + cost(tree, gold) for tree in trees]
    expected = torch.stack(values).max()
    loss = StructureLoss(system, "margin")(scores, gold_of(gold))
    assert loss.item() == pytest.approx(expected.item(), abs=1e-4)
    given = [part for part in scores if part is not None]
    for got, wanted in zip(
        torch.autograd.grad(loss, given), torch.autograd.grad(expected, given), strict=True
    ):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("system", ["joint1o", "joint2o"])
def test_the_likelihood_and_its_gradient_are_those_of_all_trees(system: str) -> None:
    n = 4
    scores = random_scores(n, 5, system == "joint2o")
    trees = all_trees(n)
    expected = torch.stack([score(tree, scores) for tree in trees]).logsumexp(0) - score(trees[9], scores)
    loss = StructureLoss(system, "crf")(scores, gold_of(trees[9]))
    assert loss.item() == pytest.approx(expected.item(), abs=1e-4)
    given = [part for part in scores if part is not None]
    for got, wanted in zip(
        torch.autograd.grad(loss, given), torch.autograd.grad(expected, given), strict=True
    ):
        torch.testing.assert_close(got, wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("system", "joint"), [("mtl", True), ("joint1o", False)])
def test_separate_margins_search_spans_and_arcs_each_alone(system: str, joint: bool) -> None:
    scores = random_scores(4, 3, False)
    trees = all_trees(4)
    gold = trees[20]
    spans = Scores(scores.span, None, None)
    arcs = Scores(None, scores.arc, None)

    def worst(part: Scores, compare: int) -> float:
        def distance(tree: Tree) -> int:
            if compare == 0:
                return len({node[:2] for node in tree[0]} - {node[:2] for node in gold[0]})
            return sum(a != b for a, b in zip(tree[1], gold[1], strict=True))

        return max((score(tree, part) - score(gold, part) + distance(tree)).item() for tree in trees)

    loss = StructureLoss(system, "margin")(scores, gold_of(gold, joint=joint))
    assert loss.item() == pytest.approx(worst(spans, 0) + worst(arcs, 1), abs=1e-4)


def test_the_margin_is_zero_when_the_gold_tree_wins_by_its_cost() -> None:
    gold = all_trees(5)[100]
    scores = random_scores(5, 1, False)
    with torch.no_grad():
        for part in (scores.span, scores.arc):
            part *= 0.01
        for i, j, _ in gold[0]:
            scores.span[0, i, j] += 3
        for m, h in enumerate(gold[1], 1):
            scores.arc[0, m, h] += 3
    loss = StructureLoss("joint1o", "margin")(scores, gold_of(gold))
    assert loss.item() == 0
    assert all(not grad.any() for grad in torch.autograd.grad(loss, [scores.span, scores.arc]))


def test_a_gold_tree_outside_the_search_is_an_error_that_names_the_sentence() -> None:
    # Both words of the span (0, 2) attach to the third: the span has two head words, no l-tree has that.
    nodes = ((0, 3, 3), (0, 2, 2), (0, 1, 1), (1, 2, 2), (2, 3, 3))
    heads = (3, 3, 0)
    broken = gold_of((nodes, heads))
    scores = random_scores(3, 2, False)
    with torch.no_grad():
        scores.span.zero_()
        scores.arc.zero_()
        for m, h in enumerate(heads, 1):
            scores.arc[0, m, h] = 100
        scores.span[0, 0, 2] = 100
    with pytest.raises(TreeError, match="the sentence"):
        StructureLoss("joint1o", "margin")(scores, broken)


def test_a_crossing_d_tree_still_teaches_each_word_its_head() -> None:
    gold = gold_of(all_trees(4)[3], joint=False)
    crossing = Gold(**{**gold.__dict__, "heads": np.array([3, 4, 0, 3]), "projective": np.array([False])})
    scores = random_scores(4, 4, False)
    loss = StructureLoss("joint1o", "margin")(scores, crossing)
    (gradient,) = torch.autograd.grad(loss, [scores.arc])
    for m, h in enumerate([3, 4, 0, 3], 1):
        assert gradient[0, m, h] < 0
        assert gradient[0, m].sum().item() == pytest.approx(0, abs=1e-5)
