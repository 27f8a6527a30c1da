"""K best, constraints and confidence of a bundle, against every tree of short sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from arcspan.errors import ArcspanError
from arcspan.prediction.confidence import Calibration, log_softmax
from arcspan.prediction.constraints import Arc, Head, Root, Span
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.predictor import Predictor
from arcspan.prediction.query import Query
from arcspan.prediction.sentence_scores import SentenceScores
from tests.decoding.all_trees import Tree, scores_of
from tests.runtime.random_bundles import WORDS, Made, load

Key = tuple[tuple[int, ...], frozenset[tuple[int, int, int]]]


@pytest.fixture(params=["joint2o", "joint1o"])
def predictor(request: pytest.FixtureRequest) -> Predictor:
    """A joint model of second, and of first order."""
    made: Made = request.getfixturevalue(request.param)
    return load(made.folder, threads=1)


def scores_for(predictor: Predictor, words: list[str], **options: Any) -> SentenceScores:
    return predictor.scores(words, Query.of(options))


def some_words(n: int, seed: int) -> list[str]:
    return [str(word) for word in np.random.default_rng(seed).choice(WORDS, n)]


class Oracle:
    """Every tree of a sentence with its score, and what the user would see of it."""

    def __init__(self, predictor: Predictor, words: list[str]) -> None:
        free = scores_for(predictor, words)
        self.n = len(words)
        i, j = np.triu_indices(self.n + 1, 1)
        every = free.labels(i, j)
        self.labels = np.full((self.n + 1, self.n + 1, every.shape[1]), -np.inf, np.float32)
        self.labels[i, j] = every
        (scores,) = free._scores
        assert scores.span is not None and scores.arc is not None
        headed = None
        if scores.headed is not None:
            headed = np.zeros((self.n + 1,) * 3)
            headed[np.triu_indices(self.n + 1, 1)] = scores.headed[0]
        self.trees = list(scores_of(self.n, scores.span[0], scores.arc[0], headed))
        self.chains = predictor.inventories.labels

    def pairs(self, require: list[Any] = [], forbid: list[Any] = []) -> dict[Key, list[float]]:  # noqa: B006
        """The scores of all trees that meet the constraints, by what the user sees; empty if there is none."""
        labels = self.labels.copy()
        for required, one in [(True, one) for one in require] + [(False, one) for one in forbid]:
            if not isinstance(one, Arc):
                for number, chain in enumerate(self.chains):
                    if required:
                        good = bool(chain)
                        if isinstance(one, Span) and one.label is not None:
                            good = one.label in chain
                    elif isinstance(one, Span):
                        good = one.label not in chain if one.label is not None else not chain
                    else:
                        good = True
                    if not good:
                        labels[one.i, one.j, number] = -np.inf
                if np.isneginf(labels[one.i, one.j]).all():
                    return {}
        chosen = labels.argmax(2)
        found: dict[Key, list[float]] = {}
        for tree, score in self.trees:
            if all(self.has(tree, one) for one in require) and not any(
                self.has(tree, one) and (isinstance(one, Arc) or chosen[one.i, one.j])
                for one in forbid
                if not isinstance(one, Span)
            ):
                seen = frozenset((i, j, int(chosen[i, j])) for i, j in tree.spans if chosen[i, j])
                found.setdefault((tree.heads[1:], seen), []).append(score)
        return found

    @staticmethod
    def has(tree: Tree, one: Any) -> bool:
        if isinstance(one, Arc):
            return tree.heads[one.modifier] == one.head
        return (
            (one.i, one.j, one.head) in tree.headed if isinstance(one, Head) else (one.i, one.j) in tree.spans
        )


def key_of(prediction: Prediction) -> Key:
    assert prediction.nodes is not None and prediction.heads is not None
    seen = frozenset((i, j, label) for i, j, _, label in prediction.nodes.tolist() if label)
    return tuple(prediction.heads.tolist()), seen


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_k_best_are_all_distinct_pairs_in_the_order_of_their_scores(predictor: Predictor, n: int) -> None:
    words = some_words(n, n)
    wanted = {key: max(scores) for key, scores in Oracle(predictor, words).pairs().items()}
    found = scores_for(predictor, words).kbest(10_000)
    assert len(found) == len(wanted)
    assert {key_of(one) for one in found} == set(wanted)
    for one in found:
        assert one.score == pytest.approx(wanted[key_of(one)], abs=1e-4)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)


def test_the_first_of_the_k_best_is_the_parse_itself(predictor: Predictor) -> None:
    for seed in range(12):
        words = some_words(4 + 2 * seed, seed)
        (best,) = predictor.predict([words])
        evidence = scores_for(predictor, words)
        for other in (evidence.kbest(1)[0], evidence.kbest(3)[0], evidence.best()):
            assert key_of(best) == key_of(other)
            assert np.array_equal(best.relations, other.relations)
            assert np.array_equal(best.words["tag"], other.words["tag"])
            assert best.score == pytest.approx(other.score, abs=1e-3)


def constraint_sets(n: int, count: int) -> Iterator[tuple[list[Any], list[Any]]]:
    draw = np.random.default_rng(n)

    def one() -> Any:
        i, j = sorted(draw.choice(n + 1, 2, replace=False).tolist())
        h, m = draw.choice(np.arange(1, n + 1), 2, replace=False).tolist()
        label = str(draw.choice(["NP", "VP", "S"]))
        options = [
            Span(i, j),
            Span(i, j, label),
            Arc(h, m),
            Root(h),
            Head(i, j, int(draw.integers(i + 1, j + 1))),
        ]
        return options[draw.integers(len(options))]

    for _ in range(count):
        yield [one() for _ in range(draw.integers(0, 4))], [one() for _ in range(draw.integers(0, 4))]


@pytest.mark.parametrize("n", [3, 4])
def test_constraints_leave_exactly_the_pairs_that_meet_them(predictor: Predictor, n: int) -> None:
    words = some_words(n, 20 + n)
    oracle = Oracle(predictor, words)
    outcomes = set()
    for require, forbid in constraint_sets(n, 60):
        if Span(0, n) in forbid:  # the whole sentence is a constituent
            continue
        wanted = {key: max(scores) for key, scores in oracle.pairs(require, forbid).items()}
        outcomes.add(bool(wanted))
        if not wanted:
            with pytest.raises(ArcspanError, match=r"required|forbidden|Span|Arc|Root|Head"):
                scores_for(predictor, words, require=require, forbid=forbid)
            continue
        evidence = scores_for(predictor, words, require=require, forbid=forbid)
        found = {key_of(one): one.score for one in evidence.kbest(10_000)}
        assert found == pytest.approx(wanted, abs=1e-4)
        assert key_of(evidence.best()) == max(wanted, key=lambda key: wanted[key])
    assert outcomes == {True, False}


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_confidence_is_the_share_of_trees_weighed_by_their_scores(
    predictor: Predictor, temperature: float
) -> None:
    words = some_words(5, 3)
    predictor.calibration = Calibration(temperature, 1.5, 1.5)
    evidence = scores_for(predictor, words)
    oracle = Oracle(predictor, words)
    weight = {id(tree): math.exp(score / temperature) for tree, score in oracle.trees}
    total = sum(weight.values())
    pairs = oracle.pairs()
    for parse in evidence.kbest(5):
        sure = evidence.confidence(parse)
        assert parse.nodes is not None and parse.heads is not None and parse.relations is not None
        label_p = np.exp(log_softmax(np.maximum(oracle.labels, -1e30), 1.5))
        for i, j, _, label in parse.nodes.tolist():
            if label:
                share = sum(weight[id(tree)] for tree, _ in oracle.trees if (i, j) in tree.spans) / total
                p = label_p[i, j]
                assert sure.spans[i, j] == pytest.approx(share * (1 - p[0]), abs=1e-4)
                assert sure.labels[i, j] == pytest.approx(p[label] / (1 - p[0]), abs=1e-4)
            else:
                assert (i, j) not in sure.spans
        for m, h in enumerate(parse.heads.tolist(), 1):
            share = sum(weight[id(tree)] for tree, _ in oracle.trees if tree.heads[m] == h) / total
            assert sure.arcs[m - 1] == pytest.approx(share, abs=1e-4)
        whole = sum(math.exp(score / temperature) for score in pairs[key_of(parse)]) / total
        whole *= math.prod(float(label_p[i, j, label]) for i, j, _, label in parse.nodes.tolist())
        whole *= math.prod(sure.relations)
        assert sure.sentence == pytest.approx(whole, rel=1e-3)
        assert sure.sentence <= min([*sure.spans.values(), *sure.arcs])


def test_the_probabilities_of_the_k_best_sum_to_at_most_one(predictor: Predictor) -> None:
    scores = scores_for(predictor, some_words(4, 3))
    every = [scores.confidence(one).sentence for one in scores.kbest(10_000)]
    assert 0 < sum(every) <= 1 + 1e-6


def test_under_constraints_probabilities_are_those_given_the_constraints(predictor: Predictor) -> None:
    words = some_words(6, 8)
    evidence = scores_for(predictor, words, require=[Root(4), Span(1, 4)], forbid=[Arc(4, 6)])
    sure = evidence.confidence(evidence.best())
    assert sure.arcs[3] == pytest.approx(1)
    assert sure.spans[1, 4] == pytest.approx(1, abs=1e-6)
    assert 0 < sure.sentence < 1


def test_two_models_answer_what_two_models_can(sep: Made) -> None:
    predictor = load(sep.folder, threads=1)
    words = some_words(6, 2)
    evidence = scores_for(predictor, words, require=[Span(1, 4), Root(2)])
    found = evidence.best()
    assert found.nodes is not None and found.heads is not None
    assert [1, 4] in found.nodes[:, :2].tolist()
    assert found.heads[1] == 0
    sure = evidence.confidence(found)
    assert sure.arcs[1] == pytest.approx(1)
    assert len(sure.arcs) == len(sure.relations) == 6
    with pytest.raises(ArcspanError, match="both trees at once"):
        evidence.kbest(2)
    with pytest.raises(ArcspanError, match="one model finds both"):
        scores_for(predictor, words, forbid=[Head(1, 3, 2)])


def test_a_sentence_too_long_for_the_memory_is_refused_with_what_it_needs(joint1o: Made) -> None:
    predictor = load(joint1o.folder, threads=1, memory_limit=1 << 20)
    with pytest.raises(ArcspanError, match="larger memory_limit"):
        scores_for(predictor, some_words(90, 1))
    with pytest.raises(ArcspanError, match="larger memory_limit"):
        scores_for(predictor, some_words(45, 1)).kbest(2)


def test_the_tree_of_one_layer_is_as_sure_as_all_pairs_that_have_it(predictor: Predictor) -> None:
    words = some_words(4, 7)
    scores = scores_for(predictor, words)
    every = scores.kbest(10_000)
    assert every[0].nodes is not None and every[0].heads is not None
    sure = scores.confidence(every[0])
    alike = {"constituency": 0.0, "dependency": 0.0}
    for one in every:
        found = scores.confidence(one)
        heads, spans = key_of(one)
        if spans == key_of(every[0])[1]:
            alike["constituency"] += found.sentence / math.prod(found.relations)
        if heads == key_of(every[0])[0]:
            alike["dependency"] += math.exp(scores.structure(one, 1.0))
    assert sure.constituency == pytest.approx(alike["constituency"], rel=1e-3)
    assert sure.dependency == pytest.approx(alike["dependency"] * math.prod(sure.relations), rel=1e-3)
    assert sure.sentence <= min(sure.constituency, sure.dependency)
