"""Everything that a model says of one sentence, for questions beyond its best parse.

Scores are computed once; then the best parse under constraints, the k best parses, and the confidence of any of them
follow from them. A pair of trees as the user sees it is a set of arcs and a set of constituents. A span is a
constituent if its best label is one, whatever tree it is in, and an arc's relation depends on the arc alone; so the
k best pairs are the k best lexicalized trees, those that differ only in spans without a label counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from arcspan import decoding
from arcspan.decoding.constraints import Masks
from arcspan.errors import ArcspanError
from arcspan.prediction.confidence import Calibration, Confidence, log_softmax
from arcspan.prediction.constraints import Arc, Constraint, Head, Span, allowed_labels, structure_masks
from arcspan.prediction.outputs import Style
from arcspan.prediction.prediction import Prediction, assemble, merge, whole_is_constituent
from arcspan.prediction.predictor import Item, Predictor
from arcspan.prediction.scores import Scorer, Scores, log_partition, marginals

_ROWS = 1024  # nodes that are labelled in one run: a biaffine labeller takes memory for each


class Probabilities(NamedTuple):
    """Marginal probabilities of spans and arcs [n+1, n+1]."""

    spans: np.ndarray | None
    arcs: np.ndarray | None


class LengthError(ArcspanError):
    """A sentence that is too long for what was asked, and not for plain parsing."""


class SentenceScores:
    """The scores of one sentence of at least one word, under constraints.

    Raises ArcspanError for a sentence that is too long for the exact search, and for constraints that contradict each
    other or that the model has no part for.
    """

    def __init__(
        self,
        predictor: Predictor,
        words: Sequence[str],
        tags: Sequence[str] | None = None,
        style: Style | None = None,
        *,
        require: Sequence[Constraint] = (),
        forbid: Sequence[Constraint] = (),
    ) -> None:
        self.predictor, self.n = predictor, len(words)
        (ready,) = predictor.inputs.prepare([words])
        self._item = Item(words, ready, self.n, predictor.inputs.cost(ready), tags, style or predictor.style)
        self._lengths = np.asarray([self.n])
        self._partitions: dict[float, float] = {}
        self._probabilities: dict[float, Probabilities] = {}
        if predictor.is_too_long(self._item):
            self._refuse_length(predictor.chart_bytes(self.n))
        self._check(require, forbid)
        self._allowed: dict[tuple[int, int], np.ndarray] = {}
        if any(not isinstance(one, Arc) for one in [*require, *forbid]):
            self._allowed = allowed_labels(self.n, require, forbid, predictor.inventories.labels)
        self._scored = [
            (scorer, scorer.score(predictor.arrays(scorer, [self._item]))) for scorer in predictor.scorers
        ]
        if require or forbid:
            seen = self.visible if any(isinstance(one, Head) for one in forbid) else None
            masks = structure_masks(self.n, require, forbid, seen)
            self._scored = [(scorer, _under(scores, masks)) for scorer, scores in self._scored]

    def _refuse_length(self, needed: int) -> None:
        raise LengthError(
            f"a sentence of {self.n} words needs about {needed >> 20} MB for this: "
            f"load the parser with a larger memory_limit (now {self.predictor.budget.memory >> 20} MB)"
        )

    def _check(self, require: Sequence[Constraint], forbid: Sequence[Constraint]) -> None:
        known = self.predictor.outputs
        for one in [*require, *forbid]:
            if "arc" not in known and isinstance(one, (Arc, Head)):
                raise ArcspanError(f"{one}: this model predicts no dependencies")
            if "span" not in known and isinstance(one, (Span, Head)):
                raise ArcspanError(f"{one}: this model predicts no constituents")
        if not self.predictor.joint and any(isinstance(one, Head) for one in forbid):
            raise ArcspanError("a head of a span can be forbidden only where one model finds both trees")

    @cached_property
    def labels(self) -> np.ndarray | None:
        """Scores of labels [n+1, n+1, labels] of all spans i < j, -inf where constraints forbid them."""
        for scorer, scores in self._scored:
            if "label" in scorer.outputs:
                i, j = np.triu_indices(self.n + 1, 1)
                rows = []
                for at in (slice(begin, begin + _ROWS) for begin in range(0, len(i), _ROWS)):
                    nodes = [np.zeros_like(i[at]), i[at], j[at]]
                    labels, _ = scorer.label(scores.hidden, nodes, [_FIRST, _FIRST + 1, _FIRST])
                    assert labels is not None
                    rows.append(labels)
                found = np.full((self.n + 1, self.n + 1, rows[0].shape[1]), -np.inf, np.float32)
                flat = whole_is_constituent(np.concatenate(rows), i, j, self.n)
                found[i, j] = self._forbid_unused("label", flat)
                for place, allowed in self._allowed.items():
                    found[place][~allowed] = -np.inf
                return found
        return None

    @cached_property
    def visible(self) -> np.ndarray:
        """Which spans are constituents if they are in the tree: bool [n+1, n+1]."""
        if self.labels is None:
            return np.zeros((self.n + 1, self.n + 1), np.bool_)
        return self.labels.argmax(2) != 0

    def best(self) -> Prediction:
        """The best parse."""
        return merge(
            [
                self._assemble(scorer, scores, self.predictor.search(scores, self._lengths))[0]
                for scorer, scores in self._scored
            ]
        )

    def kbest(self, k: int) -> list[Prediction]:
        """The k best parses that differ in what the user sees, best first; fewer where there are fewer."""
        if k < 1:
            raise ArcspanError(f"k must be at least 1, not {k}")
        if self.predictor.decode == "mbr":
            raise ArcspanError(
                'the k best parses are those with the best scores: load the parser without decode="mbr"'
            )
        if not self.predictor.joint:
            raise ArcspanError(
                "the k best pairs need a model that finds both trees at once: this one finds each by itself"
            )
        needed = decoding.memory_needed(self.n, headed="headed" in self.predictor.outputs, kbest=True)
        if needed > self.predictor.budget.memory:
            self._refuse_length(needed)
        ((scorer, scores),) = self._scored
        headed = None if scores.headed is None else scores.headed[0]
        trees = list(
            islice(decoding.kbest_iter(scores.span[0], scores.arc[0], headed, visible=self.visible), k)
        )
        decoded = decoding.Decoded(
            np.stack([tree.heads for tree in trees]),
            [tree.spans for tree in trees],
            np.asarray([tree.score for tree in trees]),
        )
        return self._assemble(scorer, scores, decoded)

    def _assemble(self, scorer: Scorer, scores: Scores, decoded: decoding.Decoded) -> list[Prediction]:
        """Label trees of this sentence."""
        count = len(decoded.scores)
        labels = relations = None
        if decoded.spans is not None and self.labels is not None:
            nodes = np.concatenate(decoded.spans)
            labels = self.labels[nodes[:, 0], nodes[:, 1]]
        if decoded.heads is not None:
            relations = self._relations(scorer, scores, decoded.heads[:, 1:])
        words = {
            name: np.tile(self._forbid_unused(name, part[0, 1 : self.n + 1]).argmax(1), count)
            for name, part in scores.words.items()
        }
        lengths, of = np.full(count, self.n), self.predictor
        return assemble(decoded, lengths, labels, relations, words, of.labelling, of.guidelines)

    def _relations(self, scorer: Scorer, scores: Scores, heads: np.ndarray) -> np.ndarray | None:
        """Scores of relations [words, relations] at the arcs to these heads, [n] or several rows of n."""
        h = np.asarray(heads).reshape(-1)
        m = np.resize(np.arange(1, self.n + 1), len(h))
        found = scorer.label(scores.hidden, [_FIRST, _FIRST, _FIRST + 1], [np.zeros_like(h), m, h])[1]
        return None if found is None else self._forbid_unused("relation", found)

    def _forbid_unused(self, name: str, scores: np.ndarray) -> np.ndarray:
        style = self._item.style.constituency if name == "label" else self._item.style.dependency
        return self.predictor.inventories.forbid_unused(name, scores, np.full(len(scores), style))

    def relations(self, heads: np.ndarray) -> np.ndarray:
        """Scores of relations [n, relations] at the arcs to these heads, one for each word."""
        for scorer, scores in self._scored:
            if "relation" in scorer.outputs:
                found = self._relations(scorer, scores, heads)
                assert found is not None
                return found
        raise ArcspanError("this model predicts no relations")

    def probabilities(self, temperature: float) -> Probabilities:
        """Marginals at a temperature; kept, since several parses may be asked about."""
        if temperature not in self._probabilities:
            needed = self.predictor.chart_bytes(self.n, sums=True)
            if needed > self.predictor.budget.memory:
                self._refuse_length(needed)
            with self.predictor.memory.take(needed):
                found = [marginals(scores, self._lengths, temperature) for _, scores in self._scored]
            self._probabilities[temperature] = Probabilities(
                next((one.spans[0] for one in found if one.spans is not None), None),
                next((one.arcs[0] for one in found if one.arcs is not None), None),
            )
        return self._probabilities[temperature]

    def confidence(self, prediction: Prediction, calibration: Calibration | None = None) -> Confidence:
        """The probabilities of a parse of this sentence, at the model's temperatures or others."""
        calibration = calibration or self.predictor.calibration
        spans, arcs = self.probabilities(calibration.structure_temperature)
        sure: dict[tuple[int, int], float] = {}
        names: dict[tuple[int, int], float] = {}
        right = self.structure(prediction, calibration.structure_temperature)
        if prediction.nodes is not None and spans is not None and self.labels is not None:
            i, j, _, label = prediction.nodes.T
            chances = log_softmax(self.labels[i, j], calibration.label_temperature)
            right += chances[np.arange(len(label)), label].sum()
            shown = np.flatnonzero(label)
            i, j, label, chances = i[shown], j[shown], label[shown], chances[shown]
            constituent = -np.expm1(chances[:, 0])
            among = log_softmax(self.labels[i, j, 1:], calibration.label_temperature)
            places = list(zip(i.tolist(), j.tolist(), strict=True))
            sure = dict(zip(places, _probabilities(spans[i, j] * constituent), strict=True))
            names = dict(
                zip(places, _probabilities(np.exp(among[np.arange(len(label)), label - 1])), strict=True)
            )
        heads: tuple[float, ...] = ()
        relations: tuple[float, ...] = ()
        if prediction.heads is not None and arcs is not None:
            heads = _probabilities(arcs[np.arange(1, self.n + 1), prediction.heads])
            if prediction.relations is not None:
                chances = log_softmax(self.relations(prediction.heads), calibration.relation_temperature)
                chances = chances[np.arange(self.n), prediction.relations]
                relations, right = _probabilities(np.exp(chances)), right + chances.sum()
        return Confidence(
            sure,
            names,
            heads,
            relations,
            _probabilities(np.exp([right]))[0],
        )

    def structure(self, prediction: Prediction, temperature: float) -> float:
        """The log-probability of all trees that look like the parse: its arcs, its constituents and no others."""

        def total(all_scores: list[Scores]) -> float:
            return sum(float(log_partition(one, self._lengths, temperature)[0]) for one in all_scores)

        if temperature not in self._partitions:
            self._partitions[temperature] = total([scores for _, scores in self._scored])
        alike = total([self._only(prediction, scores) for _, scores in self._scored])
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


_FIRST = np.zeros(1, dtype=np.int64)


def _probabilities(values: np.ndarray | list[float]) -> tuple[float, ...]:
    return tuple(np.clip(np.asarray(values, np.float64), 0.0, 1.0).tolist())


def _under(scores: Scores, masks: Masks) -> Scores:
    """The scores of one sentence under masks."""
    span, arc, headed = masks.apply(scores.span, scores.arc, scores.headed)
    return scores._replace(span=span, arc=arc, headed=headed)
