"""K best, constraints and confidence of a bundle, against every tree of short sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arcspan.errors import ArcspanError
from arcspan.prediction.confidence import Calibration, log_softmax
from arcspan.prediction.constraints import Arc, Head, Root, Span, Tag
from arcspan.prediction.probability import TreeDistribution
from arcspan.prediction.query import Query
from arcspan.prediction.results import Prediction
from arcspan.prediction.runner import Predictor
from arcspan.prediction.search import best, kbest, search
from tests.decoding.all_trees import Tree, scores_of
from tests.runtime.random_bundles import WORDS, RandomBundle, load

Key = tuple[tuple[int, ...], frozenset[tuple[int, int, int]]]


@pytest.fixture(params=["joint2o", "joint1o", "two-stage"])
def predictor(request: pytest.FixtureRequest) -> Predictor:
    """A joint model of second, and of first order; and one whose search knows no labels."""
    two_stage = request.param == "two-stage"
    bundle: RandomBundle = request.getfixturevalue("joint2o" if two_stage else request.param)
    loaded = load(bundle.folder, threads=1, guidelines=False)
    calibration = Calibration(1.3, 0.9, 1.7)
    loaded.model = replace(loaded.model, two_stage=two_stage, calibration=calibration)
    return loaded


def scores_for(predictor: Predictor, words: list[str], **options: Any) -> TreeDistribution:
    return predictor.distribution(words, Query.of(options))


def some_words(n: int, seed: int) -> list[str]:
    return [str(word) for word in np.random.default_rng(seed).choice(WORDS, n)]


class Oracle:
    """Every tree of a sentence, the score of it with its best names, and what the user would see of it."""

    def __init__(self, predictor: Predictor, words: list[str]) -> None:
        free = scores_for(predictor, words)
        self.n, self.labelled, self.unit = (
            len(words),
            predictor.model.labelled,
            predictor.model.calibration.structure_temperature,
        )
        self.known, calibration = predictor.model.inventories, predictor.model.calibration
        i, j = np.triu_indices(self.n + 1, 1)
        self.labels = np.full((self.n + 1, self.n + 1, len(self.known.labels)), -np.inf)
        self.labels[i, j] = log_softmax(free.labels(i, j), calibration.label_temperature)
        self.relations = np.full((self.n + 1, self.n + 1, len(self.known.relations)), -np.inf)
        for h in range(self.n + 1):
            self.relations[1:, h] = log_softmax(
                free.relations(np.full(self.n, h)), calibration.relation_temperature
            )
        (scores,) = free.parts
        assert scores.span is not None and scores.arc is not None
        headed = None
        if scores.headed is not None:
            headed = np.zeros((self.n + 1,) * 3)
            headed[np.triu_indices(self.n + 1, 1)] = scores.headed[0]
        self.trees = list(scores_of(self.n, scores.span[0], scores.arc[0], headed))

    def pairs(
        self, require: Any = (), forbid: Any = (), prefer: Any = ()
    ) -> dict[Key, list[float]]:
        """The scores of all trees that meet the constraints, by what the user sees; empty if there is none."""
        labels, relations = self.labels.copy(), self.relations.copy()
        by_head = np.zeros((self.n + 1,) * 3)  # what labels gain if (i, j) has the head h
        demands = [(constraint, True, 0.0) for constraint in require] + [
            (constraint, False, 0.0) for constraint in forbid
        ]
        for constraint, required, weight in [
            *demands,
            *((constraint, None, weight) for constraint, weight in prefer),
        ]:
            if isinstance(constraint, Arc):
                if constraint.relation is None:
                    continue
                row, names = (
                    relations[constraint.modifier, constraint.head],
                    np.asarray(self.known.relations) == constraint.relation,
                )
            else:
                row = labels[constraint.i, constraint.j]
                label = getattr(constraint, "label", None)
                names = np.asarray([label in c if label else bool(c) for c in self.known.labels])
                if isinstance(constraint, Head) and not required:
                    bonus = -math.inf if required is False else weight
                    by_head[constraint.i, constraint.j, constraint.head] += bonus
                    continue
            if required is None:
                row[names] += weight
            else:
                row[names != required] = -np.inf
            if np.isneginf(row).all():
                return {}
        scores_by_pair: dict[Key, list[float]] = {}
        for tree, structure in self.trees:
            if not all(self.has(tree, constraint) for constraint in require) or any(
                self.has(tree, constraint)
                for constraint in forbid
                if isinstance(constraint, Arc) and constraint.relation is None
            ):
                continue
            rows = {(i, j): labels[i, j].copy() for i, j in tree.spans}
            score = structure
            for i, j, h in tree.headed:
                rows[i, j][1:] += by_head[i, j, h]
                if np.isneginf(rows[i, j]).all():
                    score = -math.inf
                elif not self.labelled and np.isfinite(by_head[i, j, h]):
                    # Preferences count whatever the label, as those of spans do.
                    score += self.unit * by_head[i, j, h]
            best_labels = {span: int(row.argmax()) for span, row in rows.items()}
            if self.labelled:
                score += self.unit * sum(row.max() for row in rows.values())
                score += self.unit * sum(
                    relations[m, h].max() for m, h in enumerate(tree.heads[1:], 1)
                )
            for constraint, weight in prefer:
                is_arc = isinstance(constraint, Arc) and constraint.relation is None
                if is_arc and self.has(tree, constraint):
                    score += self.unit * weight
            if np.isfinite(score):
                spans = frozenset((i, j, label) for (i, j), label in best_labels.items() if label)
                scores_by_pair.setdefault((tree.heads[1:], spans), []).append(score)
        return scores_by_pair

    def probability(self, key: Key, nodes: np.ndarray, temperature: float) -> float:
        """The share of a pair's own labelled tree among all, without its relations."""
        heads, spans = key
        own_spans = set(map(tuple, nodes[:, :2].tolist()))
        label_of, chances = {(i, j): label for i, j, label in spans}, np.exp(self.labels)
        alike = total = 0.0
        for tree, score in self.trees:
            weight = math.exp(score / temperature)
            total += weight
            if tree.heads[1:] == heads and set(tree.spans) == own_spans:
                alike += weight * math.prod(
                    chances[i, j, label_of.get((i, j), 0)] for i, j in tree.spans
                )
        return alike / total

    @staticmethod
    def has(tree: Tree, constraint: Any) -> bool:
        if isinstance(constraint, Arc):
            return tree.heads[constraint.modifier] == constraint.head
        return (
            (constraint.i, constraint.j, constraint.head) in tree.headed
            if isinstance(constraint, Head)
            else (constraint.i, constraint.j) in tree.spans
        )


def key_of(prediction: Prediction) -> Key:
    assert prediction.nodes is not None and prediction.heads is not None
    spans = frozenset((i, j, label) for i, j, _, label in prediction.nodes.tolist() if label)
    return tuple(prediction.heads.tolist()), spans


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_k_best_are_all_distinct_pairs_in_the_order_of_their_scores(
    predictor: Predictor, n: int
) -> None:
    words = some_words(n, n)
    expected = {key: max(scores) for key, scores in Oracle(predictor, words).pairs().items()}
    pairs = kbest(scores_for(predictor, words).charts, 0, 10_000)
    assert len(pairs) == len(expected)
    assert {key_of(pair) for pair in pairs} == set(expected)
    for pair in pairs:
        assert pair.score == pytest.approx(expected[key_of(pair)], abs=1e-4)
    scores = [pair.score for pair in pairs]
    assert scores == sorted(scores, reverse=True)


def test_the_first_of_the_k_best_is_the_parse_itself(predictor: Predictor) -> None:
    for seed in range(12):
        words = some_words(4 + 2 * seed, seed)
        (parse,) = predictor.predict([words])
        evidence = scores_for(predictor, words)
        for other in (
            kbest(evidence.charts, 0, 1)[0],
            kbest(evidence.charts, 0, 3)[0],
            best(evidence.charts)[0],
        ):
            assert key_of(parse) == key_of(other)
            assert np.array_equal(parse.relations, other.relations)
            assert np.array_equal(parse.words["tag"], other.words["tag"])
            assert parse.score == pytest.approx(other.score, abs=1e-3)


def constraint_sets(n: int, count: int) -> Iterator[tuple[list[Any], list[Any]]]:
    draw = np.random.default_rng(n)

    def draw_constraint() -> Any:
        i, j = sorted(draw.choice(n + 1, 2, replace=False).tolist())
        h, m = draw.choice(np.arange(1, n + 1), 2, replace=False).tolist()
        label = str(draw.choice(["NP", "VP", "S"]))
        options = [
            Span(i, j),
            Span(i, j, label),
            Arc(h, m),
            Arc(h, m, str(draw.choice(["nsubj", "obj"]))),
            Root(h),
            Head(i, j, int(draw.integers(i + 1, j + 1))),
        ]
        return options[draw.integers(len(options))]

    for _ in range(count):
        yield (
            [draw_constraint() for _ in range(draw.integers(0, 4))],
            [draw_constraint() for _ in range(draw.integers(0, 4))],
        )


@pytest.mark.parametrize("n", [3, 4])
def test_constraints_leave_exactly_the_pairs_that_meet_them(predictor: Predictor, n: int) -> None:
    words = some_words(n, 20 + n)
    oracle = Oracle(predictor, words)
    outcomes = set()
    for require, forbid in constraint_sets(n, 60):
        if Span(0, n) in forbid:  # the whole sentence is a constituent
            continue
        expected = {key: max(scores) for key, scores in oracle.pairs(require, forbid).items()}
        outcomes.add(bool(expected))
        if not expected:
            with pytest.raises(ArcspanError, match=r"required|forbidden|Span|Arc|Root|Head"):
                scores_for(predictor, words, require=require, forbid=forbid)
            continue
        evidence = scores_for(predictor, words, require=require, forbid=forbid)
        pair_scores = {key_of(pair): pair.score for pair in kbest(evidence.charts, 0, 10_000)}
        assert pair_scores == pytest.approx(expected, abs=1e-4)
        assert key_of(best(evidence.charts)[0]) == max(expected, key=lambda key: expected[key])
    assert outcomes == {True, False}


@pytest.mark.parametrize("n", [3, 4])
def test_preferences_add_their_weights_to_the_pairs_that_meet_them(
    predictor: Predictor, n: int
) -> None:
    if not predictor.model.labelled:
        pytest.skip("a search without labels knows names only by their spans and arcs")
    words = some_words(n, 30 + n)
    oracle = Oracle(predictor, words)
    best_keys = set()
    for number, (ones, others) in enumerate(constraint_sets(n, 40)):
        prefer = [(constraint, 2.0) for constraint in ones] + [
            (constraint, -1.5) for constraint in others
        ]
        expected = {key: max(scores) for key, scores in oracle.pairs(prefer=prefer).items()}
        evidence = scores_for(predictor, words, prefer=prefer)
        assert {
            key_of(pair): pair.score for pair in kbest(evidence.charts, 0, 10_000)
        } == pytest.approx(expected, abs=1e-4)
        best_keys.add(key_of(best(evidence.charts)[0]))
        assert key_of(best(evidence.charts)[0]) == max(expected, key=lambda key: expected[key]), (
            number
        )
    assert len(best_keys) > 2


def test_a_preference_multiplies_the_odds(predictor: Predictor) -> None:
    words = some_words(5, 4)
    pairs = kbest(scores_for(predictor, words).charts, 0, 10_000)
    m, h = next(
        (m, h)
        for m, h in enumerate(key_of(pairs[0])[0], 1)
        if any(key_of(pair)[0][m - 1] != h for pair in pairs)
    )
    for preferred in (Arc(h, m), Span(0, 5)):
        free, eager = (scores_for(predictor, words, prefer=p) for p in ([], [(preferred, 1.5)]))
        gains: dict[bool, list[float]] = {True: [], False: []}
        for pair in pairs[::7]:
            met = isinstance(preferred, Span) or key_of(pair)[0][m - 1] == h
            gains[met].append(eager.log_probability(pair) - free.log_probability(pair))
        if isinstance(preferred, Span):  # the whole sentence is always a constituent
            assert gains[True] == pytest.approx([0] * len(gains[True]), abs=1e-3)
        else:
            assert np.ptp(gains[True]) < 1e-3 and np.ptp(gains[False]) < 1e-3
            assert gains[True][0] - gains[False][0] == pytest.approx(1.5, abs=1e-3)


def test_tags_are_required_forbidden_and_preferred(predictor: Predictor) -> None:
    words, inventories = some_words(6, 5), predictor.model.inventories
    (free,) = predictor.predict([words])
    for name, names in (("tag", inventories.tags), ("upos", inventories.upos)):
        best = names[free.words[name][2]]
        others = [tag for tag in names if tag != best]
        for options in ({"require": [Tag(3, others[0])]}, {"prefer": [Tag(3, others[0]), 50.0]}):
            query_options = {
                key: [tuple(value)] if key == "prefer" else value for key, value in options.items()
            }
            (prediction,) = predictor.predict([words], [Query.of(query_options)])
            assert names[prediction.words[name][2]] == others[0]
        (prediction,) = predictor.predict([words], [Query.of({"forbid": [Tag(3, best)]})])
        assert names[prediction.words[name][2]] != best
    for wrong, message in ((Tag(9, "NN"), "the words 1 to 6"), (Tag(1, "FOO"), "no tag 'FOO'")):
        (prediction,) = predictor.predict([words], [Query(require=(wrong,))])
        assert prediction.error is not None and message in prediction.error


def test_searches_are_few_and_neighbours_change_nothing(predictor: Predictor) -> None:
    sentences = [some_words(3 + seed, seed) for seed in range(14)]
    together = predictor.predict(sentences)
    for words, prediction in zip(sentences, together, strict=True):
        charts = predictor.charts(words)
        (alone,) = best(charts)
        assert alone.score == prediction.score and key_of(alone) == key_of(prediction)
        _, rounds = search(predictor.model, predictor.charts(words).parts[0])
        assert 1 <= rounds[0] <= (12 if predictor.model.labelled else 1)


def test_what_takes_too_many_searches_is_labelled_as_a_whole(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 times the same word, 100 searches took half a minute, and the best trees were not among them."""
    sentences = [some_words(3 + seed, seed) for seed in range(9)]
    expected = predictor.predict(sentences)
    monkeypatch.setattr("arcspan.prediction.search.PATIENCE", 0)
    for words, prediction in zip(sentences, expected, strict=True):
        _, rounds = search(predictor.model, predictor.charts(words).parts[0])
        (labelled_at_once,) = best(predictor.charts(words))
        assert rounds[0] <= 2
        assert labelled_at_once.score == pytest.approx(prediction.score) and key_of(
            labelled_at_once
        ) == key_of(prediction)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_confidence_is_the_share_of_trees_weighed_by_their_scores(
    predictor: Predictor, temperature: float
) -> None:
    words = some_words(5, 3)
    calibration = Calibration(temperature, 1.5, 1.5)
    predictor.model = replace(predictor.model, calibration=calibration)
    evidence = scores_for(predictor, words)
    oracle = Oracle(predictor, words)
    weight = {id(tree): math.exp(score / temperature) for tree, score in oracle.trees}
    total = sum(weight.values())
    for parse in kbest(evidence.charts, 0, 5):
        sure = evidence.confidence(parse)
        assert parse.nodes is not None and parse.heads is not None and parse.relations is not None
        label_p = np.exp(oracle.labels)
        for i, j, _, label in parse.nodes.tolist():
            if label:
                share = (
                    sum(weight[id(tree)] for tree, _ in oracle.trees if (i, j) in tree.spans)
                    / total
                )
                p = label_p[i, j]
                assert sure.spans[i, j] == pytest.approx(share * (1 - p[0]), abs=1e-4)
                assert sure.labels[i, j] == pytest.approx(p[label] / (1 - p[0]), abs=1e-4)
            else:
                assert (i, j) not in sure.spans
        for m, h in enumerate(parse.heads.tolist(), 1):
            share = sum(weight[id(tree)] for tree, _ in oracle.trees if tree.heads[m] == h) / total
            assert sure.arcs[m - 1] == pytest.approx(share, abs=1e-4)
        expected = oracle.probability(key_of(parse), parse.nodes, temperature) * math.prod(
            sure.relations
        )
        assert sure.sentence == pytest.approx(expected, rel=1e-3)
        assert sure.sentence <= min([*sure.spans.values(), *sure.arcs])


def test_the_probabilities_of_the_k_best_sum_to_at_most_one(predictor: Predictor) -> None:
    scores = scores_for(predictor, some_words(4, 3))
    pairs = kbest(scores.charts, 0, 10_000)
    every = [scores.confidence(prediction).sentence for prediction in pairs]
    summed = [math.exp(scores.log_probability(prediction)) for prediction in pairs]
    assert 0 < sum(every) <= sum(summed) * (1 + 1e-4) <= 1 + 1e-3
    assert all(
        tree_probability <= pair_probability * (1 + 1e-4)
        for tree_probability, pair_probability in zip(every, summed, strict=True)
    )
    assert not predictor.model.labelled or every == sorted(every, reverse=True)


def test_under_constraints_probabilities_are_those_given_the_constraints(
    predictor: Predictor,
) -> None:
    words = some_words(6, 8)
    evidence = scores_for(predictor, words, require=[Root(4), Span(1, 4)], forbid=[Arc(4, 6)])
    sure = evidence.confidence(best(evidence.charts)[0])
    assert sure.arcs[3] == pytest.approx(1)
    assert sure.spans[1, 4] == pytest.approx(1, abs=1e-6)
    assert 0 < sure.sentence < 1


def test_two_models_answer_what_two_models_can(sep: RandomBundle) -> None:
    predictor = load(sep.folder, threads=1)
    words = some_words(6, 2)
    evidence = scores_for(predictor, words, require=[Span(1, 4), Root(2)])
    prediction = best(evidence.charts)[0]
    assert prediction.nodes is not None and prediction.heads is not None
    assert [1, 4] in prediction.nodes[:, :2].tolist()
    assert prediction.heads[1] == 0
    sure = evidence.confidence(prediction)
    assert sure.arcs[1] == pytest.approx(1)
    assert len(sure.arcs) == len(sure.relations) == 6
    with pytest.raises(ArcspanError, match="both trees at once"):
        kbest(evidence.charts, 0, 2)
    with pytest.raises(ArcspanError, match="one model finds both"):
        scores_for(predictor, words, forbid=[Head(1, 3, 2)])


def test_a_sentence_too_long_for_the_memory_is_refused_with_what_it_needs(
    joint1o: RandomBundle,
) -> None:
    predictor = load(joint1o.folder, threads=1, memory_limit=1 << 20)
    with pytest.raises(ArcspanError, match="larger memory_limit"):
        scores_for(predictor, some_words(90, 1))
    with pytest.raises(ArcspanError, match="larger memory_limit"):
        predictor.kbest(predictor.charts(some_words(45, 1)), 0, 2)


def test_the_tree_of_one_layer_is_surer_than_the_pair(predictor: Predictor) -> None:
    words = some_words(4, 7)
    scores = scores_for(predictor, words)
    every = kbest(scores.charts, 0, 10_000)
    sure = scores.confidence(every[0])
    _, spans = key_of(every[0])
    alike = [pair for pair in every if key_of(pair)[1] == spans]
    summed = sum(
        scores.confidence(pair).sentence / math.prod(scores.confidence(pair).relations)
        for pair in alike
    )
    # Pairs with the same constituents whose arcs are among the k best; others have none of these constituents.
    assert sure.sentence < summed <= sure.constituency * (1 + 1e-3)
    assert sure.sentence <= sure.dependency
