"""Everything that a model says of one sentence, for questions beyond its best parse.

The k best parses and the confidence of any parse follow from the scores of a batch (`BatchScores`), which are under the
constraints already. A pair of trees as the user sees it is a set of arcs and a set of constituents. A span is a
constituent if its best label is one, whatever tree it is in, and an arc's relation depends on the arc alone; so the
k best pairs are the k best lexicalized trees, those that differ only in spans without a label counted once.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from arcspan import decoding
from arcspan.decoding.batch import pack_headed
from arcspan.errors import ArcspanError
from arcspan.prediction.alternatives import find_alternatives, head_entropies
from arcspan.prediction.batch_scores import BatchScores
from arcspan.prediction.confidence import Calibration, Confidence, log_softmax
from arcspan.prediction.labeller import Labeller
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.scores import Scores, log_partition, marginals, on_host


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
        self._scores = [_sentence(part.scores, b, self.n) for part in batch.parts]
        self._lengths = np.asarray([self.n])
        self._partitions: dict[float, float] = {}
        self._probabilities: dict[float, Probabilities] = {}
        self._visible: np.ndarray | None = None

    @property
    def visible(self) -> np.ndarray:
        """Which spans are constituents if they are in the tree: bool [n+1, n+1]."""
        if self._visible is None:
            self._visible = self.batch.visible(self.b)
        return self._visible

    @property
    def parts(self) -> list[Scores]:
        """What each of the models says of the sentence."""
        return self._scores

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
        (scores,), (part,) = self._scores, self.batch.parts
        with self.predictor.memory.take(needed):
            headed = None if scores.headed is None else scores.headed[0]
            found = decoding.kbest_iter(scores.span[0], scores.arc[0], headed, visible=self.visible)
            trees = list(islice(found, min(k, sys.maxsize)))
        decoded = decoding.Decoded(
            np.stack([tree.heads for tree in trees]),
            [tree.spans for tree in trees],
            np.asarray([tree.score for tree in trees]),
        )
        return part.labeller.predictions(decoded, np.full(len(trees), self.b), self.predictor.guidelines)

    def _labeller(self, output: str) -> Labeller:
        for part in self.batch.parts:
            if output in part.labeller.scorer.outputs:
                return part.labeller
        raise ArcspanError(f"this model does not predict {output}s")

    def labels(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Scores of labels [K, labels] at spans (i, j)."""
        return self._labeller("label").labels(np.full_like(i, self.b), i, j)

    def relations(self, heads: np.ndarray) -> np.ndarray:
        """Scores of relations [n, relations] at the arcs to these heads, one for each word."""
        m = np.arange(1, self.n + 1)
        return self._labeller("relation").relations(np.full_like(m, self.b), m, heads)

    def probabilities(self, temperature: float) -> Probabilities:
        """Marginals at a temperature; kept, since several parses may be asked about."""
        if temperature not in self._probabilities:
            needed = self.predictor.chart_bytes(self.n, sums=True)
            self._check_length(needed)
            with self.predictor.memory.take(needed):
                found = [marginals(scores, self._lengths, temperature) for scores in self._scores]
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
        whole = np.zeros(3)  # log-probabilities of the pair, of the c-tree and of the d-tree
        if prediction.nodes is not None and marginal.spans is not None:
            i, j, _, label = prediction.nodes.T
            scores = self.labels(i, j)
            chances = log_softmax(scores, calibration.label_temperature)
            whole[:2] += chances[np.arange(len(label)), label].sum()
            whole[1] += self.structure(replace(prediction, heads=None), temperature)
            shown = np.flatnonzero(label)
            i, j, label, chances = i[shown], j[shown], label[shown], chances[shown]
            constituent = -np.expm1(chances[:, 0])
            among = log_softmax(scores[shown, 1:], calibration.label_temperature)
            among = np.exp(among[np.arange(len(label)), label - 1])
            places = list(zip(i.tolist(), j.tolist(), strict=True))
            sure = dict(zip(places, _probabilities(marginal.spans[i, j] * constituent), strict=True))
            names = dict(zip(places, _probabilities(among), strict=True))
        if prediction.heads is not None and marginal.arcs is not None:
            m = np.arange(self.n)
            heads = _probabilities(marginal.arcs[m + 1, prediction.heads])
            whole[2] += self.structure(replace(prediction, nodes=None), temperature)
            if prediction.relations is not None:
                chances = log_softmax(self.relations(prediction.heads), calibration.relation_temperature)
                chances = chances[m, prediction.relations]
                relations = _probabilities(np.exp(chances))
                whole[[0, 2]] += chances.sum()
        whole[0] += self.structure(prediction, temperature)
        pair, constituency, dependency = _probabilities(np.exp(whole))
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
        )

    def structure(self, prediction: Prediction, temperature: float) -> float:
        """The log-probability of all trees that look like the parse: its arcs, its constituents and no others.

        Of a prediction without heads, or without nodes, that of its one tree.
        """

        def total(all_scores: list[Scores]) -> float:
            return sum(float(log_partition(one, self._lengths, temperature)[0]) for one in all_scores)

        if temperature not in self._partitions:
            self._partitions[temperature] = total(self._scores)
        alike = total([self._only(prediction, scores) for scores in self._scores])
        return min(0.0, alike - self._partitions[temperature])

    def _only(self, prediction: Prediction, scores: Scores) -> Scores:
        """Scores that forbid every tree that does not look like the parse."""
        span, arc = scores.span, scores.arc
        if arc is not None and prediction.heads is not None:
            m = np.arange(1, self.n + 1)
            kept = np.full_like(arc, -np.inf)
            kept[0, m, prediction.heads] = arc[0, m, prediction.heads]
            arc = kept
        if span is not None and prediction.nodes is not None:
            span = span.copy()
            others = self.visible.copy()
            for i, j, _, label in prediction.nodes.tolist():
                if label:
                    others[i, j] = False
                    span[0, :i, i + 1 : j] = span[0, i + 1 : j, j + 1 :] = -np.inf  # what crosses it
            span[0, others] = -np.inf
        return scores._replace(span=span, arc=arc)


def _probabilities(values: np.ndarray) -> tuple[float, ...]:
    return tuple(np.clip(np.asarray(values, np.float64), 0.0, 1.0).tolist())


def _sentence(scores: Scores, b: int, n: int) -> Scores:
    """The scores of sentence b alone, which has n words."""
    at = (slice(b, b + 1), slice(n + 1), slice(n + 1))
    span, arc = (None if part is None else on_host(part)[at] for part in (scores.span, scores.arc))
    headed = None if scores.headed is None else pack_headed(on_host(scores.headed)[b], n, np.float32)[None]
    return scores._replace(span=span, arc=arc, headed=headed)
