"""Losses against enumeration: every binary lexicalized tree of a tiny sentence, written out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch

from arcspan.distributions import LexicalizedTrees
from arcspan.errors import TreeError
from arcspan.neural.losses import IGNORE, Gold, LabelNodes, StructureLoss, with_intermediate
from arcspan.neural.scorers import HeadedScorer, PairScorer, fenceposts
from arcspan.prediction.outputs import Scores
from arcspan.prediction.search import best_structures
from arcspan.training.config import DataSettings
from arcspan.training.instances import Indexer, make_sentence, take_inventories
from tests.toy import toy_pairs

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
    trees = []
    for root in range(1, n + 1):
        for nodes, heads in subtrees(0, n, root):
            trees.append((tuple(nodes), tuple(({**heads, root: 0})[m] for m in range(1, n + 1))))
    return trees


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
        answers={"tag": zeros, "upos": zeros},
        chains=[{(i, j): 0 for i, j, _ in nodes}],
        unlabelled=np.zeros(1, dtype=np.int64),
        joint=np.array([joint]),
        hidden=np.array([False]),
        has_arcs=np.array([True]),
        projective=np.array([True]),
        weights=np.ones(1, dtype=np.float32),
        names=["the sentence"],
    )


def random_scores(n: int, seed: int, second_order: bool) -> Scores:
    random = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random).requires_grad_()

    pairs = n * (n + 1) // 2
    return Scores(
        None,
        draw(1, n + 1, n + 1),
        draw(1, n + 1, n + 1),
        draw(1, pairs, n + 1) if second_order else None,
    )


def score(tree: Tree, scores: Scores) -> torch.Tensor:
    """The score of a tree by the rules of scoring, written without the package's index tricks."""
    nodes, heads = tree
    n = len(heads)
    total = torch.zeros(())
    pair = {
        (i, j): p
        for p, (i, j) in enumerate((i, j) for i in range(n + 1) for j in range(i + 1, n + 1))
    }
    for i, j, h in nodes:
        if scores.span is not None:
            total = total + scores.span[0, i, j]
        if scores.headed is not None:
            total = total + scores.headed[0, pair[i, j], h]
    for m, h in enumerate(heads, 1):
        if scores.arc is not None:
            total = total + scores.arc[0, m, h]
        if scores.headed is not None and h:
            i, j, _ = max(
                (node for node in nodes if node[2] == m), key=lambda node: node[1] - node[0]
            )
            total = total + scores.headed[0, pair[i, j], h]
    return total


def cost(tree: Tree, gold: Tree, cost_name: str = "both") -> int:
    """Wrong spans and arcs; or arcs but those of the root."""
    if cost_name == "arcs":
        return sum(a not in (0, b) for a, b in zip(tree[1], gold[1], strict=True))
    wrong_spans = len({(i, j) for i, j, _ in tree[0]} - {(i, j) for i, j, _ in gold[0]})
    return wrong_spans + sum(a != b for a, b in zip(tree[1], gold[1], strict=True))


@pytest.mark.parametrize(
    ("system", "cost_name"), [("joint1o", "both"), ("joint2o", "both"), ("joint2o", "arcs")]
)
@pytest.mark.parametrize("seed", range(4))
def test_the_joint_margin_and_its_gradient_are_those_of_the_worst_tree(
    system: str, cost_name: str, seed: int
) -> None:
    n = 4
    scores = random_scores(n, seed, system == "joint2o")
    trees = all_trees(n)
    gold = trees[seed * 11 % len(trees)]
    values = [
        score(tree, scores) - score(gold, scores) + cost(tree, gold, cost_name) for tree in trees
    ]
    expected = torch.stack(values).max()
    loss, _ = StructureLoss(system, "margin", cost_name)(scores, gold_of(gold))
    assert loss.item() == pytest.approx(expected.item(), abs=1e-4)
    parts = [part for part in (scores.span, scores.arc, scores.headed) if part is not None]
    for gradient, expected_gradient in zip(
        torch.autograd.grad(loss, parts), torch.autograd.grad(expected, parts), strict=True
    ):
        torch.testing.assert_close(gradient, expected_gradient)


@pytest.mark.parametrize("system", ["joint1o", "joint2o"])
def test_the_likelihood_and_its_gradient_are_those_of_all_trees(system: str) -> None:
    n = 4
    scores = random_scores(n, 5, system == "joint2o")
    trees = all_trees(n)
    expected = torch.stack([score(tree, scores) for tree in trees]).logsumexp(0) - score(
        trees[9], scores
    )
    loss, _ = StructureLoss(system, "crf")(scores, gold_of(trees[9]))
    assert loss.item() == pytest.approx(expected.item(), abs=1e-4)
    parts = [part for part in (scores.span, scores.arc, scores.headed) if part is not None]
    for gradient, expected_gradient in zip(
        torch.autograd.grad(loss, parts), torch.autograd.grad(expected, parts), strict=True
    ):
        torch.testing.assert_close(gradient, expected_gradient, atol=1e-4, rtol=1e-4)


def test_learning_labels_with_the_trees_is_one_likelihood_of_labelled_pairs() -> None:
    """A CRF over labelled pairs, every one written out, is the CRF over trees and the
    cross-entropies of names.
    """
    n = 3
    scores = random_scores(n, 7, False)
    random = torch.Generator().manual_seed(8)
    labels = torch.randn(n + 1, n + 1, 2, generator=random).requires_grad_()  # [i, j, label]
    relations = torch.randn(n + 1, n + 1, 2, generator=random).requires_grad_()  # [m, h, relation]
    trees = all_trees(n)
    gold, gold_labels, gold_relations = trees[4], (1, 0, 1, 1, 0), (0, 1, 1)

    def labelled(tree: Tree, names: tuple[int, ...]) -> torch.Tensor:
        nodes = [labels[i, j, name] for (i, j, _), name in zip(tree[0], names[:5], strict=True)]
        arcs = [
            relations[m, h, name]
            for m, h, name in zip(range(1, n + 1), tree[1], names[5:], strict=True)
        ]
        return score(tree, scores) + torch.stack([*nodes, *arcs]).sum()

    every = [labelled(tree, names) for tree in trees for names in product((0, 1), repeat=5 + n)]
    expected = torch.stack(every).logsumexp(0) - labelled(gold, (*gold_labels, *gold_relations))
    # The structure takes the sum over names: what is left of them is a distribution at each span
    # and arc.
    assert scores.span is not None and scores.arc is not None
    labelled_scores = Scores(
        None, scores.span + labels.logsumexp(2)[None], scores.arc + relations.logsumexp(2)[None]
    )
    loss, _ = StructureLoss("joint1o", "crf")(labelled_scores, gold_of(gold))
    for (i, j, _), name in zip(gold[0], gold_labels, strict=True):
        loss = loss - labels[i, j].log_softmax(0)[name]
    for m, (h, name) in enumerate(zip(gold[1], gold_relations, strict=True), 1):
        loss = loss - relations[m, h].log_softmax(0)[name]
    assert loss.item() == pytest.approx(expected.item(), abs=1e-4)
    parts = [scores.span, scores.arc, labels, relations]
    for gradient, expected_gradient in zip(
        torch.autograd.grad(loss, parts), torch.autograd.grad(expected, parts), strict=True
    ):
        torch.testing.assert_close(gradient, expected_gradient, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("system", "joint"), [("mtl", True), ("joint1o", False)])
def test_separate_margins_search_spans_and_arcs_each_alone(system: str, joint: bool) -> None:
    scores = random_scores(4, 3, False)
    trees = all_trees(4)
    gold = trees[20]
    spans = Scores(None, scores.span)
    arcs = Scores(None, arc=scores.arc)

    def worst(part: Scores, compare: int) -> float:
        def distance(tree: Tree) -> int:
            if compare == 0:
                return len({node[:2] for node in tree[0]} - {node[:2] for node in gold[0]})
            return sum(a != b for a, b in zip(tree[1], gold[1], strict=True))

        return max(
            (score(tree, part) - score(gold, part) + distance(tree)).item() for tree in trees
        )

    loss, _ = StructureLoss(system, "margin")(scores, gold_of(gold, joint=joint))
    assert loss.item() == pytest.approx(worst(spans, 0) + worst(arcs, 1), abs=1e-4)


@pytest.mark.parametrize("loss", ["margin", "crf"])
@pytest.mark.parametrize("seed", range(3))
def test_under_bf16_no_tree_scores_more_than_the_best_and_no_loss_is_negative(
    loss: str, seed: int
) -> None:
    # The gold tree is the best one, and scores are large: sums in half precision were wrong by
    # hundreds.
    torch.manual_seed(seed)
    n, size = 24, 32
    hidden = 6 * torch.randn(1, n + 2, size)
    span, arc = PairScorer(size, size, 0.0), PairScorer(size, size, 0.0)
    headed = HeadedScorer(size, size, 0.0, True)
    for parameter in torch.nn.ModuleList([span, arc, headed]).parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    with torch.autocast("cpu", torch.bfloat16):
        posts, words = fenceposts(hidden), hidden[:, :-1]
        assert span.first(posts).dtype == torch.bfloat16
        scores = Scores(
            None,
            span(posts),
            arc(words),
            headed(words, posts, *torch.triu_indices(n + 1, n + 1, 1)),
        )
        assert {part.dtype for part in (scores.span, scores.arc, scores.headed)} == {torch.float32}
        best = best_structures(
            Scores(None, *(part.detach() for part in scores[1:4])), np.array([n])
        )
        nodes = tuple(map(tuple, best.spans[0].tolist()))
        gold = gold_of((nodes, tuple(best.heads[0, 1:].tolist())))
        structure_loss, _ = StructureLoss("joint2o", loss)(scores, gold)
        total = LexicalizedTrees(scores.span, scores.arc, scores.headed).max
    assert total.item() > 1000
    assert structure_loss.item() >= -1e-6 * total.item()
    structure_loss.backward()
    assert all(bool(parameter.grad.isfinite().all()) for parameter in span.parameters())


def test_the_structures_time_is_without_what_an_accelerator_does_for_the_encoder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The log's share of the structure included waiting for the encoder."""
    now = [0.0]

    def passes(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda device: passes(5))
    structure = StructureLoss("joint2o", "margin")
    for device in ("meta", "cpu"):
        with structure.timed(torch.device(device)):
            passes(1)
    assert (structure.seconds, now[0]) == (2, 7)


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
    loss, _ = StructureLoss("joint1o", "margin")(scores, gold_of(gold))
    assert loss.item() == 0
    assert all(not grad.any() for grad in torch.autograd.grad(loss, [scores.span, scores.arc]))


def test_a_gold_tree_outside_the_search_is_an_error_that_names_the_sentence() -> None:
    # Both words of the span (0, 2) attach to the third: the span has two head words, no l-tree has
    # that.
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
    crossing = Gold(
        **{**gold.__dict__, "heads": np.array([3, 4, 0, 3]), "projective": np.array([False])}
    )
    scores = random_scores(4, 4, False)
    loss, _ = StructureLoss("joint1o", "margin")(scores, crossing)
    (gradient,) = torch.autograd.grad(loss, [scores.arc])
    for m, h in enumerate([3, 4, 0, 3], 1):
        assert gradient[0, m, h] < 0
        assert gradient[0, m].sum().item() == pytest.approx(0, abs=1e-5)


def crosses(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]


def with_hidden(tree: Tree, brackets: list[tuple[int, int]], visible: str) -> Gold:
    """A sentence of which the brackets, the arcs, or both are known, and everything else is hidden."""
    gold = gold_of(tree)
    chains = {span: number for number, span in enumerate(brackets, 1)}
    n = len(tree[1])
    return Gold(
        **{
            **gold.__dict__,
            "node_b": gold.node_b[:0],
            "nodes": gold.nodes[:0],
            "labels": gold.labels[:0],
            "chains": [dict.fromkeys(((i, i + 1) for i in range(n)), 0) | chains]
            if "spans" in visible
            else [None],
            "has_arcs": np.array(["arcs" in visible]),
            "joint": np.array([visible == "spans and arcs"]),
            "hidden": np.array([True]),
        }
    )


def agrees(tree: Tree, gold: Tree, brackets: list[tuple[int, int]], visible: str) -> bool:
    arcs = tree[1] == gold[1] or "arcs" not in visible
    return arcs and (
        "spans" not in visible or not any(crosses(n[:2], b) for n in tree[0] for b in brackets)
    )


def distance(tree: Tree, gold: Tree, brackets: list[tuple[int, int]], visible: str) -> int:
    """What the margin adds to a tree: its wrong arcs, and its spans that cross a gold bracket."""
    arcs = sum(a != b for a, b in zip(tree[1], gold[1], strict=True)) if "arcs" in visible else 0
    spans = (
        sum(any(crosses(n[:2], b) for b in brackets) for n in tree[0]) if "spans" in visible else 0
    )
    return arcs + spans


@pytest.mark.parametrize("visible", ["spans", "arcs", "spans and arcs"])
@pytest.mark.parametrize("system", ["joint1o", "joint2o"])
@pytest.mark.parametrize("loss", ["margin", "crf"])
@pytest.mark.parametrize("n", [3, 5])
def test_hidden_layers_are_maximised_or_summed_over_all_trees_that_agree(
    visible: str, system: str, loss: str, n: int
) -> None:
    scores = random_scores(n, 11 + n, system == "joint2o")
    trees = all_trees(n)
    for gold in trees[:: len(trees) // 3 + 1]:
        brackets = [node[:2] for node in gold[0] if node[1] - node[0] in (2, n)]
        scored_trees = [(tree, score(tree, scores)) for tree in trees]
        right = [value for tree, value in scored_trees if agrees(tree, gold, brackets, visible)]
        if loss == "crf":
            everything = torch.stack([value for _, value in scored_trees]).logsumexp(0)
            expected = everything - torch.stack(right).logsumexp(0)
        else:
            costly = [
                value + distance(tree, gold, brackets, visible) for tree, value in scored_trees
            ]
            expected = torch.stack(costly).max() - torch.stack(right).max()
        got, nodes = StructureLoss(system, loss)(scores, with_hidden(gold, brackets, visible))
        assert got.item() == pytest.approx(expected.item(), abs=2e-4)
        parts = [part for part in (scores.span, scores.arc, scores.headed) if part is not None]
        gradients = torch.autograd.grad(got, parts), torch.autograd.grad(expected, parts)
        for gradient, expected_gradient in zip(*gradients, strict=True):
            torch.testing.assert_close(gradient, expected_gradient, atol=1e-3, rtol=1e-3)
        if "spans" in visible:  # labels are learnt at a whole tree that has every bracket
            at = {
                tuple(span): label
                for *span, label in zip(
                    *nodes.nodes[:, :2].T.tolist(), nodes.labels.tolist(), strict=True
                )
            }
            assert len(at) == 2 * n - 1
            assert {span: at[span] for span in brackets} == {
                p: k for k, p in enumerate(brackets, 1)
            }
            assert sum(label > 0 for label in at.values()) == len(brackets)
        else:
            assert len(nodes.b) == 0


@pytest.mark.parametrize("spans", [True, False])
@pytest.mark.parametrize("system", ["joint1o", "joint2o", "mtl"])
@pytest.mark.parametrize("loss", ["margin", "crf"])
def test_unknown_heads_and_spans_are_maximised_or_summed_over(
    spans: bool, system: str, loss: str
) -> None:
    """Two of five heads are known, and with `spans` one constituent."""
    n = 5
    scores = random_scores(n, 17, system == "joint2o")
    trees = all_trees(n)
    for gold in trees[::100]:
        brackets = [node[:2] for node in gold[0] if node[1] - node[0] == 3][:1] if spans else []
        heads = np.array([h if m in (2, 4) else -1 for m, h in enumerate(gold[1], 1)])
        visible = "spans and arcs" if brackets else "arcs"
        partial = with_hidden(gold, brackets, visible).__dict__ | {"heads": heads}
        partial |= {"chains": [dict.fromkeys(brackets, 1)] if brackets else [None]}
        partial |= {"unlabelled": np.array([IGNORE])}
        expected = torch.zeros(())
        layers = [scores] if system != "mtl" else [Scores(None, arc=scores.arc)]
        if system == "mtl" and brackets:
            layers.append(Scores(None, scores.span))
        for layer in layers:
            # Of trees that differ only in the other layer, one counts.
            alike = {
                tree[1] if layer.span is None else tuple(x[:2] for x in tree[0]): tree
                for tree in trees
            }
            scored_trees = [
                (tree, score(tree, layer))
                for tree in (trees if layer is scores else alike.values())
            ]
            far = [
                sum(h not in (-1, head) for h, head in zip(heads, tree[1], strict=True))
                * (layer.arc is not None)
                + sum(any(crosses(node[:2], b) for b in brackets) for node in tree[0])
                * (layer.span is not None)
                for tree, _ in scored_trees
            ]
            values = torch.stack([value for _, value in scored_trees])
            right = values[torch.tensor(far) == 0]
            if loss == "crf":
                expected = expected + values.logsumexp(0) - right.logsumexp(0)
            else:
                expected = expected + (values + torch.tensor(far)).max() - right.max()
        got, nodes = StructureLoss(system, loss)(scores, Gold(**partial))
        assert got.item() == pytest.approx(expected.item(), abs=2e-4)
        parts = [part for part in (scores.span, scores.arc, scores.headed) if part is not None]
        gradients = [
            torch.autograd.grad(total, parts, materialize_grads=True) for total in (got, expected)
        ]
        for gradient, expected_gradient in zip(*gradients, strict=True):
            torch.testing.assert_close(gradient, expected_gradient, atol=1e-3, rtol=1e-3)
        assert sorted(set(nodes.labels.tolist())) == ([IGNORE, 1] if brackets else [])


def test_a_gold_layer_that_no_tree_agrees_with_is_an_error_that_names_the_sentence() -> None:
    gold = with_hidden(all_trees(3)[0], [], "arcs")
    broken = Gold(**{**gold.__dict__, "heads": np.array([2, 1, 0])})  # a circle
    with pytest.raises(TreeError, match="the sentence: no tree of the search agrees"):
        StructureLoss("joint1o", "margin")(random_scores(3, 2, False), broken)


@pytest.mark.parametrize("binarization", ["head", "left", "right"])
def test_intermediate_nodes_are_labelled_by_the_constituent_around_them(binarization: str) -> None:
    sentences = [
        make_sentence("", pair, data=DataSettings(binarization=binarization))[0]
        for pair in toy_pairs(20)
    ]
    inventories = take_inventories(sentences)
    names = tuple(dict.fromkeys(chain[-1] for chain in inventories.labels if chain))
    index, size = Indexer(inventories), len(inventories.labels)
    b = np.concatenate(
        [np.full(len(sentence.labels), number) for number, sentence in enumerate(sentences)]
    )
    nodes = np.concatenate([sentence.nodes for sentence in sentences])
    plain = np.concatenate([index(sentence)["labels"] for sentence in sentences])
    labels = with_intermediate(LabelNodes(b, nodes, plain), inventories.labels, names)
    assert (np.where(labels < size, labels, 0) == plain).all(), "without stars it is the same tree"
    for number, (i, j, _), label in zip(b.tolist(), nodes.tolist(), labels.tolist(), strict=True):
        constituents = {span: chain for span, chain in sentences[number].chains.items() if chain}
        if (i, j) not in constituents:
            around = min(
                (
                    constituent
                    for constituent in constituents
                    if constituent[0] <= i and j <= constituent[1]
                ),
                key=lambda constituent: constituent[1] - constituent[0],
            )
            assert names[label - size] == constituents[around][-1]
