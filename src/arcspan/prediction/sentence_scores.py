"""Everything that a model says of one sentence, for questions beyond its best parse.

The k best parses and the confidence of any parse follow from the scores of a batch (`BatchScores`), which are under the
constraints already. A pair of trees as the user sees it is a set of arcs and a set of constituents. A span is a
constituent if its best label is one, whatever tree it is in, and an arc's relation depends on the arc alone; so the
k best pairs are the k best lexicalized trees, those that differ only in spans without a label counted once.

Scores make a distribution over labelled trees: trees by their scores, labels and relations by theirs, each
independently given the tree. The search finds its mode, so the k best come in falling probability. The probability of a
pair as the user sees it sums over all labelled trees that look like it (`log_probability`). Guidelines, which rename
relations of trees that were found, have no part in either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from arcspan import decoding
from arcspan.decoding.batch import pack_headed
from arcspan.errors import ArcspanError
from arcspan.prediction.batch_scores import BatchScores, with_values
from arcspan.prediction.confidence import Alternatives, Calibration, Confidence, log_softmax
from arcspan.prediction.labeller import Labeller
from arcspan.prediction.outputs import LAYERS
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.scores import Scores, on_host

LEAST = 0.01  # alternatives that are less likely are left out


class Probabilities(NamedTuple):
    """Marginal probabilities of spans and arcs [n+1, n+1]."""

    spans: np.ndarray | None
    arcs: np.ndarray | None


class LengthError(ArcspanError):
    """A sentence that is too long for what was asked, and not for plain parsing."""


class SentenceScores:
    """The scores of sentence b of a batch. Raises the ArcspanError of its constraints."""

    def __init__(self, batch: BatchScores, b: int = 0) -> None:
        if b in batch.errors:
            raise batch.errors[b]
        self.batch, self.predictor, self.b, self.n = (
            batch,
            batch.predictor,
            b,
            int(batch.lengths[b]),
        )
        self.parts = [_sentence(labeller.given, b, self.n) for labeller in batch.labellers]
        """What each of the models says of the sentence."""
        self._weigh_names()
        self._lengths = np.asarray([self.n])
        self._partitions: dict[float, float] = {}
        self._probabilities: dict[float, Probabilities] = {}

    def best(self) -> Prediction:
        """The best parse."""
        return self.batch.best()[self.b]

    def kbest(self, k: int) -> list[Prediction]:
        """The k best parses that differ in what the user sees, best first; fewer where there are fewer."""
        if not self.predictor.joint:
            raise ArcspanError(
                "the k best pairs need a model that finds both trees at once: this one finds each by itself"
            )
        needed = decoding.memory_needed(
            self.n, headed="headed" in self.predictor.outputs, kbest=True
        )
        if needed > self.predictor.budget.memory:
            raise self.predictor.too_long(self.n, needed)
        (labeller,) = self.batch.labellers
        if self.predictor.labelled:
            labeller.look_up_all(self.b)
            scores = with_values(labeller.given, labeller.values)
        else:
            scores = self.batch.with_preferences(labeller.given)
        _, span, arc, headed, _ = _sentence(scores, self.b, self.n)
        with self.predictor.memory.take(needed):
            visible = self.batch.visible(self.b)[None]
            (found,) = decoding.kbest(
                span, arc, self._lengths, k, headed, visible=visible, threads=1
            )
        return labeller.predictions(
            found, np.full(len(found.scores), self.b), self.predictor.guidelines
        )

    def _labeller(self, output: str) -> Labeller:
        for labeller in self.batch.labellers:
            if output in labeller.scorer.outputs:
                return labeller
        raise ArcspanError(f"this model does not predict {output}s")

    def labels(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Scores of labels [K, labels] at spans (i, j)."""
        return self._labeller("label").scores("label", np.full_like(i, self.b), i, j)

    def relations(self, heads: np.ndarray) -> np.ndarray:
        """Scores of relations [n, relations] at the arcs to these heads, one for each word."""
        m = np.arange(1, self.n + 1)
        return self._labeller("relation").scores("relation", np.full_like(m, self.b), m, heads)

    def probabilities(self, temperature: float) -> Probabilities:
        """Marginals at a temperature; kept, since several parses may be asked about."""
        if temperature not in self._probabilities:
            needed = self.predictor.chart_bytes(self.n, sums=True)
            if needed > self.predictor.budget.memory:
                raise self.predictor.too_long(self.n, needed)
            with self.predictor.memory.take(needed):
                given = (self._divided(scores, temperature) for scores in self.parts)
                found = [decoding.marginals(*one, with_headed=False, threads=1) for one in given]
            self._probabilities[temperature] = Probabilities(
                next((one.spans[0] for one in found if one.spans is not None), None),
                next((one.arcs[0] for one in found if one.arcs is not None), None),
            )
        return self._probabilities[temperature]

    def confidence(
        self, prediction: Prediction, calibration: Calibration | None = None
    ) -> Confidence:
        """The probabilities of a parse of this sentence, at the model's temperatures or others."""
        calibration = calibration or self.predictor.calibration
        temperature = calibration.structure_temperature
        spans, arcs = self.probabilities(temperature)
        inventories, found = self.predictor.inventories, prediction
        parts: dict[str, Any] = {"spans": {}, "labels": {}, "arcs": (), "relations": ()}
        other: dict[str, Any] = {}
        if prediction.nodes is not None and spans is not None:
            i, j, _, label = prediction.nodes[prediction.nodes[:, 3] > 0].T
            places = list(zip(i.tolist(), j.tolist(), strict=True))
            scores = self.labels(i, j)
            constituent = -np.expm1(log_softmax(scores, calibration.label_temperature)[:, 0])
            among = np.exp(log_softmax(scores[:, 1:], calibration.label_temperature))
            named = among[np.arange(len(label)), label - 1]
            parts["spans"] = dict(
                zip(places, _probabilities(spans[i, j] * constituent), strict=True)
            )
            parts["labels"] = dict(zip(places, _probabilities(named), strict=True))
            other["labels"] = dict(
                zip(places, _others(among, label - 1, inventories.labels[1:]), strict=True)
            )
            i, j = np.nonzero(np.triu(spans, 1) >= LEAST)
            nothing = np.exp(log_softmax(self.labels(i, j), calibration.label_temperature))[:, 0]
            other["spans"] = _crossing(places, i, j, spans[i, j] * (1 - nothing))
        if prediction.heads is not None and arcs is not None:
            m = np.arange(self.n)
            parts["arcs"] = _probabilities(arcs[m + 1, prediction.heads])
            other["heads"] = _others(arcs[1:], prediction.heads, range(self.n + 1))
            if prediction.relations is not None:
                scores = self.relations(prediction.heads)
                chances = np.exp(log_softmax(scores, calibration.relation_temperature))
                parts["relations"] = _probabilities(chances[m, prediction.relations])
                other["relations"] = _others(chances, prediction.relations, inventories.relations)
                found = replace(prediction, relations=scores.argmax(1))  # as before guidelines
        if (
            self.predictor.labelled and calibration == self.predictor.calibration
        ):  # what was searched for
            pair = min(0.0, prediction.score / temperature - self.partition(temperature))
        else:
            pair = self.log_probability(found, calibration, binary=True)
        layers = (replace(found, heads=None), replace(found, nodes=None))
        logarithms = [pair, *(self.log_probability(one, calibration) for one in layers)]
        entropies = (
            decoding.entropy(*self._divided(part, temperature), threads=1) for part in self.parts
        )
        parts |= zip(("sentence", *LAYERS), _probabilities(np.exp(logarithms)), strict=True)
        return Confidence(
            **parts,
            alternatives=Alternatives(**other),
            entropies=() if arcs is None else _head_entropies(arcs),
            entropy=sum(max(0.0, float(one[0])) for one in entropies),
        )

    def _divided(self, scores: Scores, temperature: float) -> tuple[Any, Any, np.ndarray, Any]:
        """What sums over trees take: scores divided by a temperature, and the length after those of arcs."""
        parts = (scores.span, scores.arc, scores.headed)
        span, arc, headed = (
            None if part is None else part / np.float32(temperature) for part in parts
        )
        return span, arc, self._lengths, headed

    def log_probability(
        self,
        prediction: Prediction,
        calibration: Calibration | None = None,
        *,
        binary: bool = False,
    ) -> float:
        """The log-probability of all labelled trees that look like the parse: its arcs, its constituents, no others.

        Of a prediction without heads, or without nodes, that of its one tree. Heads and relations of -1 are any. With
        `binary`, that of the one labelled tree that the nodes are.
        """
        calibration = calibration or self.predictor.calibration
        only = [self._only(prediction, scores, calibration, binary) for scores in self.parts]
        temperature = calibration.structure_temperature
        return min(0.0, self._total(only, temperature) - self.partition(temperature))

    def partition(self, temperature: float) -> float:
        """The logarithm of the sum over all trees."""
        if temperature not in self._partitions:
            self._partitions[temperature] = self._total(self.parts, temperature)
        return self._partitions[temperature]

    def _total(self, scores: Sequence[Scores], temperature: float) -> float:
        given = (self._divided(one, temperature) for one in scores)
        return sum(float(decoding.log_partition(*one, threads=1)[0]) for one in given)

    def _only(
        self, prediction: Prediction, scores: Scores, calibration: Calibration, binary: bool
    ) -> Scores:
        """Scores with the names of the parse, that forbid every tree that does not look like it."""
        span, arc, unit = scores.span, scores.arc, calibration.structure_temperature
        if arc is not None and prediction.heads is not None:
            m = np.flatnonzero(prediction.heads >= 0)
            h = prediction.heads[m]
            kept = arc.copy()
            kept[0, m + 1] = -np.inf
            kept[0, m + 1, h] = arc[0, m + 1, h]
            if prediction.relations is not None:
                named = prediction.relations[m] >= 0
                m, h, names = m[named], h[named], prediction.relations[m[named]]
                scored = self.relations(prediction.heads.clip(0))
                chances = log_softmax(scored, calibration.relation_temperature)
                kept[0, m + 1, h] += unit * chances[m, names]
            arc = kept
        if span is not None and prediction.nodes is not None:
            span = span.copy()
            label = np.zeros((self.n + 1, self.n + 1), np.int64)
            if binary:
                kept = np.full_like(span, -np.inf)
                at = (0, *prediction.nodes[:, :2].T)
                kept[at] = span[at]
                span = kept
            for i, j, _, own in prediction.nodes.tolist():
                if own:
                    label[i, j] = own
                    span[0, :i, i + 1 : j] = span[
                        0, i + 1 : j, j + 1 :
                    ] = -np.inf  # what crosses it
            i, j = np.nonzero(np.triu(~np.isneginf(span[0]), 1))
            chances = log_softmax(self.labels(i, j), calibration.label_temperature)
            span[0, i, j] += unit * chances[np.arange(len(i)), label[i, j]]
        return scores._replace(span=span, arc=arc)

    def _weigh_names(self) -> None:
        """Where constraints leave some names, or prefer some, give spans and arcs what these are worth together."""
        unit = self.predictor.calibration.structure_temperature
        for place, labeller in enumerate(self.batch.labellers):
            for name, worth in labeller.worth(self.b).items():
                changed = getattr(self.parts[place], name)
                if changed is not None and worth:
                    changed = changed.copy()
                    for (x, y), value in worth.items():
                        changed[0, x, y] += unit * value
                    self.parts[place] = self.parts[place]._replace(**{name: changed})


def _probabilities(values: np.ndarray) -> tuple[float, ...]:
    return tuple(np.clip(np.asarray(values, np.float64), 0.0, 1.0).tolist())


def _sentence(scores: Scores, b: int, n: int) -> Scores:
    """The scores of sentence b alone, which has n words."""
    at = (slice(b, b + 1), slice(n + 1), slice(n + 1))
    span, arc = (None if part is None else on_host(part)[at] for part in (scores.span, scores.arc))
    headed = (
        None
        if scores.headed is None
        else pack_headed(on_host(scores.headed)[b], n, np.float32)[None]
    )
    return scores._replace(span=span, arc=arc, headed=headed)


def _head_entropies(arcs: np.ndarray) -> tuple[float, ...]:
    """The entropy of each word's head, in nats, of probabilities [n+1, n+1].

    >>> _head_entropies(np.array([[0, 0, 0], [0.5, 0, 0.5], [0.5, 0.5, 0]]))[0].__round__(3)
    0.693
    """
    chances = arcs[1:].astype(np.float64)
    logarithms = np.log(chances, where=chances > 0, out=np.zeros_like(chances))
    return tuple(np.maximum(-(chances * logarithms).sum(1), 0).tolist())


def _others(chances: np.ndarray, chosen: np.ndarray, names: Sequence[Any]) -> tuple[Any, ...]:
    """For each row: (name, probability) of what is likely and not chosen."""
    likely = chances >= LEAST
    likely[np.arange(len(chosen)), chosen] = False
    rows, columns = np.nonzero(likely)
    values = chances[rows, columns]
    order = np.lexsort((columns, -values))
    found: list[list[tuple[Any, float]]] = [[] for _ in chosen]
    for row, column, value in zip(
        *(part[order].tolist() for part in (rows, columns, values)), strict=True
    ):
        found[row].append((names[column], value))
    return tuple(map(tuple, found))


def _crossing(
    places: Sequence[tuple[int, int]], i: np.ndarray, j: np.ndarray, chances: np.ndarray
) -> dict[tuple[int, int], tuple[tuple[int, int, float], ...]]:
    """Of each place (i, j): those of the spans (i, j, probability) that are likely and cross it."""
    order = np.argsort(-chances, kind="stable")
    rows = zip(*(part[order].tolist() for part in (i, j, chances)), strict=True)
    rivals = [(a, b, p) for a, b, p in rows if p >= LEAST]
    return {
        (c, d): tuple((a, b, p) for a, b, p in rivals if a < c < b < d or c < a < d < b)
        for c, d in places
    }
