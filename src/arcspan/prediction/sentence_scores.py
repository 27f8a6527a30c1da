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

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from arcspan import decoding
from arcspan.decoding.batch import pack_headed
from arcspan.errors import ArcspanError
from arcspan.prediction.alternatives import find_alternatives, head_entropies
from arcspan.prediction.batch_scores import BatchScores, Part, with_values
from arcspan.prediction.confidence import Calibration, Confidence, log_softmax
from arcspan.prediction.labeller import Labeller
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.scores import Scores, on_host


class Probabilities(NamedTuple):
    """Marginal probabilities of spans and arcs [n+1, n+1]."""

    spans: np.ndarray | None
    arcs: np.ndarray | None


class LengthError(ArcspanError):
    """A sentence that is too long for what was asked, and not for plain parsing."""

    @classmethod
    def of(cls, words: int, needed: int, limit: int) -> LengthError:
        """For a sentence of so many words, which would take `needed` bytes."""
        return cls(
            f"a sentence of {words} words needs about {needed >> 20} MB for this: "
            f"load the parser with a larger memory_limit (now {limit >> 20} MB)"
        )


class SentenceScores:
    """The scores of sentence b of a batch. Raises the ArcspanError of its constraints."""

    def __init__(self, batch: BatchScores, b: int = 0) -> None:
        if b in batch.errors:
            raise batch.errors[b]
        self.batch, self.predictor, self.b, self.n = batch, batch.predictor, b, int(batch.lengths[b])
        self.parts = [_sentence(part.scores, b, self.n) for part in batch.parts]
        """What each of the models says of the sentence."""
        self._weigh_names()
        self._lengths = np.asarray([self.n])
        self._partitions: dict[float, float] = {}
        self._probabilities: dict[float, Probabilities] = {}

    def _check_length(self, needed: int) -> None:
        limit = self.predictor.budget.memory
        if needed > limit:
            raise LengthError.of(self.n, needed, limit)

    def best(self) -> Prediction:
        """The best parse."""
        return self.batch.best()[self.b]

    def kbest(self, k: int) -> list[Prediction]:
        """The k best parses that differ in what the user sees, best first; fewer where there are fewer."""
        if not self.predictor.joint:
            raise ArcspanError(
                "the k best pairs need a model that finds both trees at once: this one finds each by itself"
            )
        needed = decoding.memory_needed(self.n, headed="headed" in self.predictor.outputs, kbest=True)
        self._check_length(needed)
        (part,) = self.batch.parts
        scores = self._labelled_scores(part)
        with self.predictor.memory.take(needed):
            headed = None if scores.headed is None else scores.headed[0]
            visible = self.batch.visible(self.b)
            trees = decoding.kbest_iter(scores.span[0], scores.arc[0], headed, visible=visible)
            found = list(islice(trees, min(k, sys.maxsize)))
        values, heads, spans = zip(*found, strict=True)
        decoded = decoding.Decoded(np.stack(heads), list(spans), np.asarray(values))
        return part.labeller.predictions(decoded, np.full(len(found), self.b), self.predictor.guidelines)

    def _labelled_scores(self, part: Part) -> Scores:
        """The scores of the structure with what the best names add, or without them for a search in two stages."""
        if not self.predictor.labelled:
            return _sentence(self.batch.with_preferences(part.scores), self.b, self.n)
        part.labeller.look_up_all(self.b)
        return _sentence(with_values(part.scores, part.labeller.values), self.b, self.n)

    def _labeller(self, output: str) -> Labeller:
        for part in self.batch.parts:
            if output in part.labeller.scorer.outputs:
                return part.labeller
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
            self._check_length(needed)
            with self.predictor.memory.take(needed):
                given = (self._divided(scores, temperature) for scores in self.parts)
                found = [decoding.marginals(*one, with_headed=False, threads=1) for one in given]
            self._probabilities[temperature] = Probabilities(
                next((one.spans[0] for one in found if one.spans is not None), None),
                next((one.arcs[0] for one in found if one.arcs is not None), None),
            )
        return self._probabilities[temperature]

    def confidence(self, prediction: Prediction, calibration: Calibration | None = None) -> Confidence:
        """The probabilities of a parse of this sentence, at the model's temperatures or others."""
        calibration = calibration or self.predictor.calibration
        temperature = calibration.structure_temperature
        marginal = self.probabilities(temperature)
        sure: dict[tuple[int, int], float] = {}
        names: dict[tuple[int, int], float] = {}
        heads: tuple[float, ...] = ()
        relations: tuple[float, ...] = ()
        if prediction.nodes is not None and marginal.spans is not None:
            i, j, _, label = prediction.nodes[prediction.nodes[:, 3] > 0].T
            scores = self.labels(i, j)
            constituent = -np.expm1(log_softmax(scores, calibration.label_temperature)[:, 0])
            among = log_softmax(scores[:, 1:], calibration.label_temperature)
            among = np.exp(among[np.arange(len(label)), label - 1])
            places = list(zip(i.tolist(), j.tolist(), strict=True))
            sure = dict(zip(places, _probabilities(marginal.spans[i, j] * constituent), strict=True))
            names = dict(zip(places, _probabilities(among), strict=True))
        if prediction.heads is not None and marginal.arcs is not None:
            m = np.arange(self.n)
            heads = _probabilities(marginal.arcs[m + 1, prediction.heads])
            if prediction.relations is not None:
                chances = log_softmax(self.relations(prediction.heads), calibration.relation_temperature)
                relations = _probabilities(np.exp(chances[m, prediction.relations]))
        found = prediction
        if prediction.heads is not None and relations:  # as the model has them, before guidelines
            found = replace(prediction, relations=self.relations(prediction.heads).argmax(1))
        layers = (replace(found, heads=None), replace(found, nodes=None))
        trees = [self.log_probability(one, calibration) for one in layers]
        logarithms = [self._tree_log_probability(found, calibration), *trees]
        pair, constituency, dependency = _probabilities(np.exp(logarithms))
        return Confidence(
            sure,
            names,
            heads,
            relations,
            pair,
            constituency,
            dependency,
            alternatives=find_alternatives(self, prediction, calibration),
            entropies=() if marginal.arcs is None else head_entropies(marginal.arcs),
            entropy=sum(
                max(0.0, float(decoding.entropy(*self._divided(part, temperature), threads=1)[0]))
                for part in self.parts
            ),
        )

    def _divided(self, scores: Scores, temperature: float) -> tuple[Any, Any, np.ndarray, Any]:
        """What sums over trees take: scores divided by a temperature, and the length after those of arcs."""
        parts = (scores.span, scores.arc, scores.headed)
        span, arc, headed = (None if part is None else part / np.float32(temperature) for part in parts)
        return span, arc, self._lengths, headed

    def log_probability(
        self, prediction: Prediction, calibration: Calibration | None = None, *, binary: bool = False
    ) -> float:
        """The log-probability of all labelled trees that look like the parse: its arcs, its constituents, no others.

        Of a prediction without heads, or without nodes, that of its one tree. Heads and relations of -1 are any. With
        `binary`, that of the one labelled tree that the nodes are.
        """
        calibration = calibration or self.predictor.calibration
        only = [self._only(prediction, scores, calibration, binary) for scores in self.parts]
        temperature = calibration.structure_temperature
        return min(0.0, self._total(only, temperature) - self.partition(temperature))

    def _tree_log_probability(self, prediction: Prediction, calibration: Calibration) -> float:
        """That of the labelled tree that was found; by its score, where that is what was searched for."""
        if calibration != self.predictor.calibration or not self.predictor.labelled:
            return self.log_probability(prediction, calibration, binary=True)
        temperature = calibration.structure_temperature
        return min(0.0, prediction.score / temperature - self.partition(temperature))

    def partition(self, temperature: float) -> float:
        """The logarithm of the sum over all trees."""
        if temperature not in self._partitions:
            self._partitions[temperature] = self._total(self.parts, temperature)
        return self._partitions[temperature]

    def _total(self, scores: Sequence[Scores], temperature: float) -> float:
        given = (self._divided(one, temperature) for one in scores)
        return sum(float(decoding.log_partition(*one, threads=1)[0]) for one in given)

    def _only(self, prediction: Prediction, scores: Scores, calibration: Calibration, binary: bool) -> Scores:
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
                    span[0, :i, i + 1 : j] = span[0, i + 1 : j, j + 1 :] = -np.inf  # what crosses it
            i, j = np.nonzero(np.triu(~np.isneginf(span[0]), 1))
            chances = log_softmax(self.labels(i, j), calibration.label_temperature)
            span[0, i, j] += unit * chances[np.arange(len(i)), label[i, j]]
        return scores._replace(span=span, arc=arc)

    def _weigh_names(self) -> None:
        """Where constraints leave some names, or prefer some, give spans and arcs what these are worth together."""
        unit = self.predictor.calibration.structure_temperature
        for place, part in enumerate(self.batch.parts):
            for name, worth in part.labeller.worth(self.b).items():
                scores = self.parts[place]
                changed = getattr(scores, name)
                if changed is not None and worth:
                    changed = changed.copy()
                    for (x, y), value in worth.items():
                        changed[0, x, y] += unit * value
                    self.parts[place] = scores._replace(**{name: changed})


def _probabilities(values: np.ndarray) -> tuple[float, ...]:
    return tuple(np.clip(np.asarray(values, np.float64), 0.0, 1.0).tolist())


def _sentence(scores: Scores, b: int, n: int) -> Scores:
    """The scores of sentence b alone, which has n words."""
    at = (slice(b, b + 1), slice(n + 1), slice(n + 1))
    span, arc = (None if part is None else on_host(part)[at] for part in (scores.span, scores.arc))
    headed = None if scores.headed is None else pack_headed(on_host(scores.headed)[b], n, np.float32)[None]
    return scores._replace(span=span, arc=arc, headed=headed)
