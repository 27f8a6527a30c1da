"""Probabilities of given trees, and what else trees could be, against every tree of short sentences."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import arcspan
from arcspan.errors import ArcspanError
from arcspan.prediction.confidence import log_softmax
from arcspan.prediction.probability import TreeDistribution, score_trees
from arcspan.prediction.runner import Predictor
from arcspan.prediction.search import best
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.decoding.all_trees import scores_of
from tests.runtime.random_bundles import RandomBundle, load

WORDS = ["the", "dog", "sees", "Ada"]


@pytest.fixture(params=["joint2o", "joint1o"])
def predictor(request: pytest.FixtureRequest) -> Predictor:
    bundle: RandomBundle = request.getfixturevalue(request.param)
    return load(bundle.folder, threads=1)


class Everything:
    """The log-probability of every lexicalized tree, and of every label and relation at every place."""

    def __init__(self, scores: TreeDistribution) -> None:
        n, of = scores.n, scores.model
        (part,) = scores.parts
        headed = None
        if part.headed is not None:
            headed = np.zeros((n + 1,) * 3)
            headed[np.triu_indices(n + 1, 1)] = part.headed[0]
        trees = list(scores_of(n, part.span[0], part.arc[0], headed))
        values = np.array([value for _, value in trees]) / of.calibration.structure_temperature
        self.trees = [tree for tree, _ in trees]
        self.chances = values - np.log(np.exp(values - values.max()).sum()) - values.max()
        self.labels = {
            (i, j): log_softmax(
                scores.labels(np.array([i]), np.array([j])), of.calibration.label_temperature
            )[0]
            for i in range(n)
            for j in range(i + 1, n + 1)
        }
        self.relations = {
            h: log_softmax(scores.relations(np.full(n, h)), of.calibration.relation_temperature)
            for h in range(n + 1)
        }
        self.inventories = of.inventories

    def log_probability(self, c: ConstituencyTree | None, d: DependencyTree | None) -> float:
        chains: dict[tuple[int, int], tuple[str, ...]] = {}
        for i, j, label in () if c is None else c.spans:
            chains[i, j] = (*chains.get((i, j), ()), label)
        total = 0.0
        for tree, chance in zip(self.trees, self.chances, strict=True):
            value = chance
            if c is not None:
                if not set(chains) <= set(tree.spans):
                    continue
                for span in tree.spans:
                    value += self.labels[span][self.inventories.labels.index(chains.get(span, ()))]
            if d is not None:
                if any(
                    h not in (-1, head) for h, head in zip(d.heads, tree.heads[1:], strict=True)
                ):
                    continue
                for m, (h, relation) in enumerate(zip(d.heads, d.relations, strict=True), 1):
                    if h >= 0 and relation not in ("", "_"):
                        value += self.relations[h][
                            m - 1, self.inventories.relations.index(relation)
                        ]
            total += math.exp(value)
        return math.log(total) if total else -math.inf


TREES = [
    (
        [(0, 4, "S"), (0, 2, "NP"), (2, 4, "VP"), (3, 4, "NP")],
        [2, 3, 0, 3],
        ["punct", "nsubj", "root", "obj"],
    ),
    ([(0, 4, "S"), (0, 4, "VP")], [0, 1, 1, 1], ["root", "obj", "obj", "punct"]),
    ([(0, 4, "NP"), (1, 4, "VP"), (1, 3, "NP")], [0, 3, 4, 1], ["root", "", "_", "parataxis"]),
    ([(0, 4, "NP")], [-1, 3, -1, 3], ["", "obj", "", "nsubj"]),
    (
        [(0, 4, "S"), (1, 3, "NP")],
        [4, 1, 1, 0],
        ["nsubj", "obj", "obj", "root"],
    ),  # does not fit: two words leave (1, 3)
]


def test_the_entropy_of_a_sentence_is_that_of_its_lexicalized_trees(predictor: Predictor) -> None:
    scores = predictor.distribution(WORDS)
    chances = Everything(scores).chances
    assert scores.confidence(best(scores.charts)[0]).entropy == pytest.approx(
        -(np.exp(chances) * chances).sum(), rel=1e-4
    )


@pytest.mark.parametrize("case", range(len(TREES)))
def test_trees_have_the_sum_of_the_probabilities_of_all_lexicalized_trees_that_show_them(
    predictor: Predictor, case: int
) -> None:
    spans, heads, relations = TREES[case]
    scores = predictor.distribution(WORDS)
    c, d = ConstituencyTree(WORDS, ["NN"] * 4, spans), DependencyTree.loose(heads, relations, WORDS)
    oracle = Everything(scores)
    pair = score_trees(scores, c, d)
    expected = [oracle.log_probability(*trees) for trees in ((c, d), (c, None), (None, d))]
    log_probabilities = [pair, pair.constituency, pair.dependencies]
    assert log_probabilities == pytest.approx(expected, rel=1e-4)
    assert (pair == -math.inf) == (case == 4)
    assert [score_trees(scores, c, None), score_trees(scores, None, d)] == log_probabilities[1:]
    if case < 4:
        assert pair.constituency_given_dependencies == pytest.approx(
            expected[0] - expected[2], abs=1e-3
        )
        assert pair.dependencies_given_constituency == pytest.approx(
            expected[0] - expected[1], abs=1e-3
        )


def test_all_pairs_of_two_words_add_up_to_one(predictor: Predictor) -> None:
    scores = predictor.distribution(["Ada", "sees"])
    labels, relations = predictor.model.inventories.labels, predictor.model.inventories.relations
    total = layers = 0.0
    for chains in np.ndindex(*[len(labels)] * 3):
        if chains[0] == 0:  # the whole is a constituent
            continue
        all_spans = ((0, 2), (0, 1), (1, 2))
        spans = [
            (*span, label)
            for span, number in zip(all_spans, chains, strict=True)
            for label in labels[number]
        ]
        c = ConstituencyTree(["Ada", "sees"], ["NN", "VB"], spans)
        total += math.exp(score_trees(scores, c, None))
        if chains == (1, 2, 0):
            for heads in ([0, 1], [2, 0]):
                for names in np.ndindex(*[len(relations)] * 2):
                    d = DependencyTree(heads, [relations[name] for name in names], ["Ada", "sees"])
                    scored = score_trees(scores, c, d)
                    layers += math.exp(scored.dependencies_given_constituency)
    assert total == pytest.approx(1, rel=1e-4)
    assert layers == pytest.approx(1, rel=1e-4)


def test_what_the_model_does_not_know_is_impossible_and_other_words_are_refused(
    predictor: Predictor,
) -> None:
    scores = predictor.distribution(WORDS)
    unknown = ConstituencyTree(WORDS, ["NN"] * 4, [(0, 4, "FRAG")])
    assert score_trees(scores, unknown, None) == -math.inf
    odd = DependencyTree([2, 0, 2, 2], ["nsubj", "root", "odd", "obj"], WORDS)
    impossible = score_trees(scores, unknown, odd)
    assert (impossible, impossible.constituency_given_dependencies) == (-math.inf, -math.inf)
    possible = DependencyTree([2, 0, 2, 2], ["nsubj", "root", "obj", "obj"], WORDS)
    assert (
        score_trees(scores, unknown, possible).dependencies
        == score_trees(scores, None, possible)
        > -math.inf
    )
    with pytest.raises(ArcspanError, match="the dependency tree has 2 words, the sentence has 4"):
        score_trees(scores, None, DependencyTree([2, 0], ["nsubj", "root"], ["Ada", "sees"]))


def test_the_models_of_sep_are_independent(sep: RandomBundle) -> None:
    predictor = load(sep.folder, threads=1)
    scores = predictor.distribution(WORDS)
    spans, heads, relations = TREES[0]
    scored = score_trees(
        scores, ConstituencyTree(WORDS, ["NN"] * 4, spans), DependencyTree(heads, relations, WORDS)
    )
    assert scored == pytest.approx(scored.constituency + scored.dependencies, rel=1e-6)


def test_alternatives_are_all_likely_parts_that_the_parse_does_not_have(
    predictor: Predictor,
) -> None:
    words = ["the", "dog", "sees", "a", "tree", "in", "Logic", "."]
    scores = predictor.distribution(words)
    (parse,) = best(scores.charts)
    spans, arcs, _ = scores.marginals(predictor.model.calibration.structure_temperature)
    confidence = scores.confidence(parse)
    for m, head_alternatives in enumerate(confidence.alternatives.heads, 1):
        likely = {h for h in np.flatnonzero(arcs[m] >= 0.01).tolist() if h != parse.heads[m - 1]}
        assert dict(head_alternatives) == {h: pytest.approx(float(arcs[m, h])) for h in likely}
        assert confidence.entropies[m - 1] == pytest.approx(
            -sum(p * np.log(p) for p in arcs[m].tolist() if p > 0)
        )
    assert any(confidence.alternatives.heads) and any(confidence.alternatives.relations)
    others = [*confidence.alternatives.spans.values(), *confidence.alternatives.labels.values()]
    assert any(others)
    for span, crossing in confidence.alternatives.spans.items():
        assert all(spans[i, j] >= p >= 0.01 for i, j, p in crossing)
        assert (
            sum(p for _, p in confidence.alternatives.labels[span]) + confidence.labels[span]
            <= 1 + 1e-6
        )


def test_a_parser_scores_trees_and_tells_what_else_they_could_be(toy_bundle) -> None:
    parser = arcspan.load(toy_bundle, threads=1)
    words = ["Ada", "sees", "the", "dog", "with", "the", "old", "tree", "."]
    parses = parser.parse(words, k=3)
    scores = [parser.score_trees(words, parse.constituency, parse.dependencies) for parse in parses]
    for score in scores:
        assert score.constituency is not None and score.dependencies is not None
        assert score <= min(score.constituency, score.dependencies) <= 0
    required = parser.score_trees(words, *parses[1].trees, require=[(5, 8)])
    assert required >= scores[1]
    with pytest.raises(ArcspanError, match="needs a constituency tree, a dependency tree, or both"):
        parser.score_trees(words)
    with pytest.raises(ArcspanError, match="empty"):
        parser.score_trees(
            ["Ada", ""], dependencies=DependencyTree([0, 1], ["root", "obj"], ["Ada", "x"])
        )
    with pytest.raises(ArcspanError, match="empty"):
        parser.score_trees([], dependencies=DependencyTree([], [], []))

    sure = parses[0].confidence
    others, heads = sure.alternatives, parses[0].heads
    assert len(others.heads) == len(others.relations) == len(sure.entropies) == len(words)
    for m, head_alternatives in enumerate(others.heads):
        assert sure.arcs[m] + sum(p for _, p in head_alternatives) <= 1 + 1e-6
        assert [p for _, p in head_alternatives] == sorted(
            (p for _, p in head_alternatives), reverse=True
        )
        assert heads[m] not in {head for head, _ in head_alternatives}
        assert (sure.entropies[m] > 0.2) <= (sure.arcs[m] < 0.98)
    assert (
        set(others.spans)
        == set(others.labels)
        == {(i, j) for i, j, _ in parses[0].constituency.spans}
    )
    for (i, j), crossing in others.spans.items():
        for a, b, p in crossing:
            assert (a < i < b < j or i < a < j < b) and sure.spans[i, j] + p <= 1 + 1e-6
    assert pickle.loads(pickle.dumps(sure)) == sure


def test_a_word_without_a_constituent_has_a_confidence() -> None:
    (parse,) = arcspan.load()("😀")
    assert parse.confidence.spans == {}
    assert parse.confidence.arcs == (1.0,)
