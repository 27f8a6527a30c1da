"""Probabilities of the trees of one sentence and of their parts.

Scores make a distribution over labelled trees: trees by their scores, labels and relations by
theirs, each independently given the tree. The search finds its mode, so the k best come in falling
probability. The probability of a pair as users see it sums over all labelled trees that look like
it. Guidelines, which rename relations of trees that were found, have no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from arcspan import decoding
from arcspan.decoding.batch import pair_number
from arcspan.errors import ArcspanError, ScoreError
from arcspan.prediction.charts import Charts, HeadSlot, add_head_gains
from arcspan.prediction.confidence import Alternatives, Calibration, Confidence, log_softmax
from arcspan.prediction.outputs import Scores
from arcspan.prediction.results import Prediction
from arcspan.prediction.search import scores_of_sentence
from arcspan.trees import ConstituencyTree, DependencyTree

# Alternatives that are less likely are left out.
LEAST = 0.01

Crossing = dict[tuple[int, int], tuple[tuple[int, int, float], ...]]


class PartMarginals(NamedTuple):
    """Marginal probabilities of spans (i, j) and arcs (m, h): [n+1, n+1].

    headed  of spans with their heads, packed [pairs, n+1]; None unless constraints need them
    """

    spans: np.ndarray | None
    arcs: np.ndarray | None
    headed: np.ndarray | None = None


class LogProbability(float):
    """The log-probability of all trees in question; -inf for those that the model cannot predict.

    constituency, dependencies   of each layer alone, None for a layer that is not in question
    """

    constituency: float | None
    dependencies: float | None

    def __new__(
        cls, value: float, constituency: float | None = None, dependencies: float | None = None
    ) -> LogProbability:
        """Return a number with those of its layers."""
        number = super().__new__(cls, value)
        number.constituency = constituency
        number.dependencies = dependencies
        return number

    @property
    def constituency_given_dependencies(self) -> float | None:
        """Return that of the constituency tree if the dependency tree is right."""
        return _conditional(self, self.dependencies) if self.constituency is not None else None

    @property
    def dependencies_given_constituency(self) -> float | None:
        """Return that of the dependency tree if the constituency tree is right."""
        return _conditional(self, self.constituency) if self.dependencies is not None else None


def _conditional(both: float, condition: float | None) -> float | None:
    if condition is None:
        return None
    # Both may be -inf, and their difference would be NaN.
    return float("-inf") if both == float("-inf") else min(0.0, both - condition)


class TreeDistribution:
    """The distribution over the trees of sentence b of a batch; ArcspanError if its constraints
    contradict each other.

    parts  the scores of each scorer for this sentence, with the bonuses of constrained names
    """

    def __init__(self, charts: Charts, b: int = 0) -> None:
        if b in charts.errors:
            raise charts.errors[b]
        self.charts = charts
        self.model = charts.model
        self.b = b
        self.n = int(charts.lengths[b])
        self.parts = [scores_of_sentence(part.scores, b, self.n) for part in charts.parts]
        self.head_bonuses: dict[HeadSlot, float] = {}
        """Bonuses of heads in this sentence, which is number 0 here."""
        self._head_gains: dict[HeadSlot, float] = {}
        if b in charts.demands:
            self._add_bonuses()
        self._parts_before_gains = self.parts
        """The same scores without the gains of heads: where labels are fixed, they differ."""
        if self.head_bonuses:
            self._add_head_gains()
        # Several parses of a sentence share these sums, by temperature.
        self._partitions: dict[float, float] = {}
        self._marginals: dict[float, PartMarginals] = {}

    def _add_bonuses(self) -> None:
        """Give spans and arcs with constrained names the sum of the weights of these."""
        unit = self.model.calibration.structure_temperature
        for number, part in enumerate(self.charts.parts):
            for field, output in (("span", "label"), ("arc", "relation")):
                scores = getattr(self.parts[number], field)
                sums = part.bonus_sums(output, self.b)
                if scores is not None and sums:
                    changed = scores.copy()
                    for (x, y), value in sums.items():
                        changed[0, x, y] += unit * value
                    self.parts[number] = self.parts[number]._replace(**{field: changed})

        for (sentence, i, j, h), bonus in self.charts.head_bonuses.items():
            if sentence == self.b:
                self.head_bonuses[0, i, j, h] = bonus

    def _add_head_gains(self) -> None:
        """Give headed spans what the bonuses of their heads add to the sum over all labels."""
        # Only a model that finds both trees at once, with one scorer, has bonuses of heads.
        (part,) = self.charts.parts
        (scores,) = self.parts
        for (sentence, i, j, h), gain in part.head_gains(sums=True).items():
            if sentence == self.b:
                self._head_gains[0, i, j, h] = gain
        unit = self.model.calibration.structure_temperature
        self.parts = [add_head_gains(scores, self._head_gains, unit)]

    def labels(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return scores of labels [K, labels] at spans (i, j)."""
        part = self.charts.part_with("label")
        return part.label_scores("label", np.full_like(i, self.b), i, j)

    def relations(self, heads: np.ndarray) -> np.ndarray:
        """Return scores of relations [n, relations] at the arcs to these heads, one for each
        word.
        """
        m = np.arange(1, self.n + 1)
        part = self.charts.part_with("relation")
        return part.label_scores("relation", np.full_like(m, self.b), m, heads)

    def marginals(self, temperature: float) -> PartMarginals:
        """Return the probabilities of all spans and arcs at a temperature."""
        if temperature not in self._marginals:
            spans = arcs = headed = None
            needs_heads = bool(self.head_bonuses)
            for scores in self.parts:
                marginals = decoding.marginals(
                    *self._divided(scores, temperature), with_headed=needs_heads, threads=1
                )
                if marginals.headed is not None:
                    headed = marginals.headed[0]
                if spans is None and marginals.spans is not None:
                    spans = marginals.spans[0]
                if arcs is None and marginals.arcs is not None:
                    arcs = marginals.arcs[0]
            self._marginals[temperature] = PartMarginals(spans, arcs, headed)
        return self._marginals[temperature]

    def entropy(self, temperature: float) -> float:
        """Return the entropy of the unlabelled trees, in nats."""
        total = 0.0
        for scores in self.parts:
            (entropy,) = decoding.entropy(*self._divided(scores, temperature), threads=1)
            total += max(0.0, float(entropy))
        return total

    def partition(self, temperature: float) -> float:
        """Return the logarithm of the sum over all trees."""
        if temperature not in self._partitions:
            self._partitions[temperature] = self._log_sum(self.parts, temperature)
        return self._partitions[temperature]

    def _log_sum(self, parts: Sequence[Scores], temperature: float) -> float:
        total = 0.0
        for scores in parts:
            (log_sum,) = decoding.log_partition(*self._divided(scores, temperature), threads=1)
            total += float(log_sum)
        return total

    def _divided(self, scores: Scores, temperature: float) -> tuple[Any, Any, list[int], Any]:
        """Return the arguments of sums: scores divided by a temperature, and the length."""
        span, arc, headed = (
            None if array is None else array / np.float32(temperature)
            for array in (scores.span, scores.arc, scores.headed)
        )
        return span, arc, [self.n], headed

    def log_probability(
        self,
        prediction: Prediction,
        calibration: Calibration | None = None,
        *,
        binary: bool = False,
    ) -> float:
        """Return the log-probability of all labelled trees that look like a parse: its arcs, its
        constituents, no others.

        The prediction is in numbers. Of one without heads, or without nodes, that of its one tree.
        Heads and relations of -1 are summed over. With `binary`, that of the one labelled tree of
        its nodes.
        """
        calibration = calibration or self.model.calibration
        temperature = calibration.structure_temperature
        alike = [
            self._only(prediction, scores, calibration, binary)
            for scores in self._parts_before_gains
        ]
        return min(0.0, self._log_sum(alike, temperature) - self.partition(temperature))

    def _only(
        self, prediction: Prediction, scores: Scores, calibration: Calibration, binary: bool
    ) -> Scores:
        """Return scores with the names of a parse that forbid every tree that does not look like
        it.
        """
        span, arc = scores.span, scores.arc
        if arc is not None and prediction.heads is not None:
            arc = self._only_arcs(prediction, arc, calibration)
        gains = self._head_gains
        if span is not None and prediction.nodes is not None:
            span = self._only_spans(prediction, span, calibration, binary)
            # Labels are fixed: bonuses of heads count where there is a constituent.
            nodes = prediction.nodes.tolist()
            constituents = {(i, j) for i, j, _, label in nodes if label}
            gains = {slot: b for slot, b in self.head_bonuses.items() if slot[1:3] in constituents}
        only = scores._replace(span=span, arc=arc)
        return add_head_gains(only, gains, calibration.structure_temperature)

    def _only_arcs(
        self, prediction: Prediction, scores: np.ndarray, calibration: Calibration
    ) -> np.ndarray:
        m = np.flatnonzero(prediction.heads >= 0)
        h = prediction.heads[m]
        only = scores.copy()
        only[0, m + 1] = -np.inf
        only[0, m + 1, h] = scores[0, m + 1, h]
        if prediction.relations is not None:
            has_name = prediction.relations[m] >= 0
            m = m[has_name]
            h = h[has_name]
            names = prediction.relations[m]
            # A head of -1 has no name to weigh: any index will do.
            rows = self.relations(prediction.heads.clip(0))
            weights = log_softmax(rows, calibration.relation_temperature)
            only[0, m + 1, h] += calibration.structure_temperature * weights[m, names]
        return only

    def _only_spans(
        self, prediction: Prediction, scores: np.ndarray, calibration: Calibration, binary: bool
    ) -> np.ndarray:
        only = scores.copy()
        if binary:
            only = np.full_like(scores, -np.inf)
            nodes = (0, *prediction.nodes[:, :2].T)
            only[nodes] = scores[nodes]
        names = np.zeros((self.n + 1, self.n + 1), np.int64)
        for i, j, _, label in prediction.nodes.tolist():
            if label:
                names[i, j] = label
                # The spans that cross it: (a, b) with a < i < b < j, or i < a < j < b.
                only[0, :i, i + 1 : j] = -np.inf
                only[0, i + 1 : j, j + 1 :] = -np.inf
        i, j = np.nonzero(np.triu(~np.isneginf(only[0]), 1))
        weights = log_softmax(self.labels(i, j), calibration.label_temperature)
        chosen_weights = weights[np.arange(len(i)), names[i, j]]
        only[0, i, j] += calibration.structure_temperature * chosen_weights
        return only

    # ---- confidence

    def confidence(
        self, prediction: Prediction, calibration: Calibration | None = None
    ) -> Confidence:
        """Return the probabilities of a parse of this sentence, at the model's temperatures or
        others.
        """
        calibration = calibration or self.model.calibration
        temperature = calibration.structure_temperature
        spans, arcs, _ = self.marginals(temperature)
        probabilities: dict[str, Any] = {"spans": {}, "labels": {}, "arcs": (), "relations": ()}
        alternatives: dict[str, Any] = {}
        if prediction.nodes is not None and spans is not None:
            self._add_constituents(probabilities, alternatives, prediction, spans, calibration)
        unchanged = prediction
        if prediction.heads is not None and arcs is not None:
            m = np.arange(self.n)
            probabilities["arcs"] = _clipped(arcs[m + 1, prediction.heads])
            alternatives["heads"] = _others(arcs[1:], prediction.heads, range(self.n + 1))
            if prediction.relations is not None:
                scores = self.relations(prediction.heads)
                names = np.exp(log_softmax(scores, calibration.relation_temperature))
                probabilities["relations"] = _clipped(names[m, prediction.relations])
                alternatives["relations"] = _others(
                    names, prediction.relations, self.model.inventories.relations
                )
                # Probabilities of trees are those of the relations before guidelines.
                unchanged = replace(prediction, relations=scores.argmax(1))
        if self.model.labelled and calibration == self.model.calibration:
            # The score of the search is that of the labelled tree: no other sum is needed.
            pair = min(0.0, prediction.score / temperature - self.partition(temperature))
        else:
            pair = self.log_probability(unchanged, calibration, binary=True)
        constituency = self.log_probability(replace(unchanged, heads=None), calibration)
        dependency = self.log_probability(replace(unchanged, nodes=None), calibration)
        sentence, whole_c, whole_d = _clipped(np.exp([pair, constituency, dependency]))
        return Confidence(
            **probabilities,
            sentence=sentence,
            constituency=whole_c,
            dependency=whole_d,
            alternatives=Alternatives(**alternatives),
            entropies=() if arcs is None else _head_entropies(arcs),
            entropy=self.entropy(temperature),
        )

    def _add_constituents(
        self,
        probabilities: dict[str, Any],
        alternatives: dict[str, Any],
        prediction: Prediction,
        spans: np.ndarray,
        calibration: Calibration,
    ) -> None:
        """Add what is known of the constituents of a parse, and of others."""
        i, j, _, label = prediction.nodes[prediction.nodes[:, 3] > 0].T
        constituents = list(zip(i.tolist(), j.tolist(), strict=True))
        scores = self.labels(i, j)
        # Labels of constituents: without 0, no constituent.
        names = np.exp(log_softmax(scores[:, 1:], calibration.label_temperature))
        of_label = names[np.arange(len(label)), label - 1]
        of_span = _clipped(self._constituent_probabilities(i, j, calibration))
        others = _others(names, label - 1, self.model.inventories.labels[1:])
        probabilities["spans"] = dict(zip(constituents, of_span, strict=True))
        probabilities["labels"] = dict(zip(constituents, _clipped(of_label), strict=True))
        alternatives["labels"] = dict(zip(constituents, others, strict=True))
        i, j = np.nonzero(np.triu(spans, 1) >= LEAST)
        likely = self._constituent_probabilities(i, j, calibration)
        alternatives["spans"] = _crossing(constituents, i, j, likely)

    def _constituent_probabilities(
        self, i: np.ndarray, j: np.ndarray, calibration: Calibration
    ) -> np.ndarray:
        """Return the probabilities that spans (i, j) are in the tree and have a label [K]."""
        spans, _, headed = self.marginals(calibration.structure_temperature)
        assert spans is not None
        labels = log_softmax(self.labels(i, j), calibration.label_temperature)
        is_constituent = -np.expm1(labels[:, 0])
        probabilities = spans[i, j] * is_constituent
        for (_, x, y, h), bonus in self.head_bonuses.items():
            assert headed is not None
            with_head = headed[pair_number(self.n + 1, x, y), h]
            if with_head == 0:
                # Then no label may be possible with this head.
                continue
            for row in np.flatnonzero((i == x) & (j == y)):
                weight = np.logaddexp.reduce(labels[row, 1:]) + bonus
                likely = np.exp(weight - np.logaddexp(labels[row, 0], weight))
                probabilities[row] += with_head * (likely - is_constituent[row])
        return probabilities


def score_trees(
    distribution: TreeDistribution,
    constituency: ConstituencyTree | None,
    dependencies: DependencyTree | None,
) -> LogProbability:
    """Return the log-probability of trees over the words of a sentence, at the model's
    temperatures.

    The sum runs over all labelled trees that look like the pair; for one layer over all trees of
    the other layer as well. All pairs together have the probability 1. Labels count, and relations
    where they are named; heads of -1 are summed over.
    """
    _check_tree(distribution, constituency, "constituency", "span", ConstituencyTree)
    _check_tree(distribution, dependencies, "dependency", "arc", DependencyTree)
    inventories = distribution.model.inventories
    nodes = heads = relations = None
    # A tree with a name that the model does not have is impossible.
    has_labels = has_relations = True
    if constituency is not None:
        numbers = {chain: number for number, chain in enumerate(inventories.labels)}
        chains = constituency.without_wrapper().chains()
        rows = [(i, j, 0, numbers.get(chain, -1)) for (i, j), chain in chains.items()]
        nodes = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
        has_labels = bool((nodes[:, 3] >= 0).all())
    if dependencies is not None:
        heads = np.asarray(dependencies.heads, dtype=np.int64)
        numbers_of_names = {name: number for number, name in enumerate(inventories.relations)}
        numbers_of_names |= {"": -1, "_": -1}
        names = [numbers_of_names.get(name, -2) for name in dependencies.relations]
        has_relations = -2 not in names
        if "relation" in distribution.model.outputs:
            relations = np.asarray(names, dtype=np.int64)

    def log_probability(prediction: Prediction, is_possible: bool) -> float:
        try:
            return distribution.log_probability(prediction) if is_possible else float("-inf")
        except ScoreError:
            # No tree is left: the two do not fit each other, or the constraints.
            return float("-inf")

    c = d = None
    both = Prediction(nodes, heads, relations)
    if nodes is not None:
        c = log_probability(Prediction(nodes), has_labels)
    if heads is not None:
        d = log_probability(replace(both, nodes=None), has_relations)
    return LogProbability(log_probability(both, has_labels and has_relations), c, d)


def _check_tree(
    distribution: TreeDistribution, tree: Any, name: str, output: str, tree_class: Any
) -> None:
    if tree is None:
        return
    if not isinstance(tree, tree_class):
        raise ArcspanError(
            f"a {tree_class.__name__} is needed, not {type(tree).__name__}: {tree!r}"
        )
    if len(tree.words) != distribution.n:
        raise ArcspanError(
            f"the {name} tree has {len(tree.words)} words, the sentence has {distribution.n}"
        )
    if output not in distribution.model.outputs:
        raise ArcspanError(f"this model does not predict {name} trees")


def _clipped(probabilities: np.ndarray) -> tuple[float, ...]:
    # Sums of floats may pass 1 by their rounding.
    return tuple(np.clip(np.asarray(probabilities, np.float64), 0.0, 1.0).tolist())


def _head_entropies(arcs: np.ndarray) -> tuple[float, ...]:
    """Return the entropy of each word's head, in nats, from probabilities [n+1, n+1].

    >>> _head_entropies(np.array([[0, 0, 0], [0.5, 0, 0.5], [0.5, 0.5, 0]]))[0].__round__(3)
    0.693
    """
    p = arcs[1:].astype(np.float64)
    # 0 log 0 is 0.
    logarithms = np.log(p, where=p > 0, out=np.zeros_like(p))
    return tuple(np.maximum(-(p * logarithms).sum(1), 0).tolist())


def _others(
    probabilities: np.ndarray, chosen: np.ndarray, names: Sequence[Any]
) -> tuple[tuple[tuple[Any, float], ...], ...]:
    """Return for each row the likely names that were not chosen: (name, probability), likeliest
    first.
    """
    is_likely = probabilities >= LEAST
    is_likely[np.arange(len(chosen)), chosen] = False
    rows, columns = np.nonzero(is_likely)
    values = probabilities[rows, columns]
    # Equal probabilities come in the order of the names.
    order = np.lexsort((columns, -values))
    others: list[list[tuple[Any, float]]] = [[] for _ in chosen]
    likely = (rows[order].tolist(), columns[order].tolist(), values[order].tolist())
    for row, column, probability in zip(*likely, strict=True):
        others[row].append((names[column], probability))
    return tuple(map(tuple, others))


def _crossing(
    constituents: Sequence[tuple[int, int]], i: np.ndarray, j: np.ndarray, probabilities: np.ndarray
) -> Crossing:
    """Return for each constituent the likely spans (i, j, probability) that cross it."""
    order = np.argsort(-probabilities, kind="stable")
    rows = zip(i[order].tolist(), j[order].tolist(), probabilities[order].tolist(), strict=True)
    rivals = [(a, b, p) for a, b, p in rows if p >= LEAST]
    crossing: Crossing = {}
    for c, d in constituents:
        crossing[c, d] = tuple([(a, b, p) for a, b, p in rivals if a < c < b < d or c < a < d < b])
    return crossing
