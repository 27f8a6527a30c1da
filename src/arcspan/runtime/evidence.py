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
from arcspan.runtime.confidence import Calibration, Confidence, log_softmax
from arcspan.runtime.constraints import Arc, Constraint, Head, Span, allowed_labels, structure_masks
from arcspan.runtime.predictor import Item, Prediction, Predictor, divided, marginals, marginals_at, merge
from arcspan.runtime.session import Scores, Session

_ROWS = 1024  # nodes that are labelled in one run: a biaffine labeller takes memory for each


class Measured(NamedTuple):
    """Probabilities of spans and arcs [n+1, n+1], and the log-probability of a parse's structure."""

    spans: np.ndarray | None
    arcs: np.ndarray | None
    structure: float


class LengthError(ArcspanError):
    """A sentence that is too long for what was asked, and not for plain parsing."""


class Evidence:
    """The scores of one sentence of at least one word, under constraints.

    Raises ArcspanError for a sentence that is too long for the exact search, and for constraints that contradict each
    other or that the model has no part for.
    """

    def __init__(
        self,
        predictor: Predictor,
        words: Sequence[str],
        tags: Sequence[str] | None = None,
        *,
        require: Sequence[Constraint] = (),
        forbid: Sequence[Constraint] = (),
    ) -> None:
        self.predictor, self.n = predictor, len(words)
        (ready,) = predictor.inputs.prepare([words])
        self._item = Item(words, ready, self.n, predictor.inputs.cost(ready), tags)
        self._lengths = np.asarray([self.n])
        self._partitions: dict[float, float] = {}
        self._probabilities: dict[Calibration, tuple[np.ndarray | None, np.ndarray | None]] = {}
        if predictor.is_too_long(self._item):
            self._refuse_length(predictor.chart_bytes(self.n))
        self._check(require, forbid)
        self._allowed: dict[tuple[int, int], np.ndarray] = {}
        if any(not isinstance(one, Arc) for one in [*require, *forbid]):
            self._allowed = allowed_labels(self.n, require, forbid, predictor.inventories.labels)
        self._scored = [
            (session, session.score(predictor.arrays(session, [self._item])))
            for session in predictor.sessions
        ]
        if require or forbid:
            seen = self.visible if any(isinstance(one, Head) for one in forbid) else None
            masks = structure_masks(self.n, require, forbid, seen)
            self._scored = [
                (session, scores._replace(**_under(scores, masks))) for session, scores in self._scored
            ]

    def _refuse_length(self, needed: int) -> None:
        raise LengthError(
            f"a sentence of {self.n} words needs about {needed >> 20} MB for this: "
            f"load the parser with a larger memory_limit (now {self.predictor.memory_limit >> 20} MB)"
        )

    def _check(self, require: Sequence[Constraint], forbid: Sequence[Constraint]) -> None:
        known = {name for session in self.predictor.sessions for name in session.outputs}
        for one in [*require, *forbid]:
            if "arc" not in known and isinstance(one, (Arc, Head)):
                raise ArcspanError(f"{one}: this model predicts no dependencies")
            if "span" not in known and isinstance(one, (Span, Head)):
                raise ArcspanError(f"{one}: this model predicts no constituents")
        if not self.joint and any(isinstance(one, Head) for one in forbid):
            raise ArcspanError("a head of a span can be forbidden only where one model finds both trees")

    @property
    def joint(self) -> bool:
        """Whether one search finds both trees."""
        outputs = self.predictor.sessions[0].outputs
        return "span" in outputs and "arc" in outputs

    @cached_property
    def labels(self) -> np.ndarray | None:
        """Scores of labels [n+1, n+1, labels] of all spans i < j, -inf where constraints forbid them."""
        for session, scores in self._scored:
            if "label" in session.outputs:
                i, j = np.triu_indices(self.n + 1, 1)
                rows = [
                    session.label(
                        scores.hidden, [np.zeros_like(i[at]), i[at], j[at]], [_FIRST, _FIRST + 1, _FIRST]
                    )[0]
                    for at in (slice(begin, begin + _ROWS) for begin in range(0, len(i), _ROWS))
                ]
                found = np.full((self.n + 1, self.n + 1, rows[0].shape[1]), -np.inf, np.float32)
                found[i, j] = np.concatenate(rows)
                if self.n > 1:
                    found[0, self.n, 0] = -np.inf  # the whole sentence is a constituent
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
        parts = [
            self._assemble(session, scores, self.predictor.search(scores, self._lengths))[0]
            for session, scores in self._scored
        ]
        return parts[0] if len(parts) == 1 else merge(*parts)

    def kbest(self, k: int) -> list[Prediction]:
        """The k best parses that differ in what the user sees, best first; fewer where there are fewer."""
        if k < 1:
            raise ArcspanError(f"k must be at least 1, not {k}")
        if self.predictor.decode == "mbr":
            raise ArcspanError(
                'the k best parses are those with the best scores: load the parser without decode="mbr"'
            )
        if not self.joint:
            system = self.predictor.config.get("system", "this")
            raise ArcspanError(
                f"the k best pairs need a model that finds both trees at once: {system} does not"
            )
        needed = 24 * (self.n + 1) ** 3
        if needed > self.predictor.memory_limit:
            self._refuse_length(needed)
        ((session, scores),) = self._scored
        assert scores.span is not None and scores.arc is not None
        headed = None
        if scores.headed is not None:  # cells without a span hold anything
            headed = np.where(
                np.triu(np.ones_like(scores.span[0], np.bool_), 1)[:, :, None], scores.headed[0], 0
            )
        trees = list(
            islice(decoding.kbest_iter(scores.span[0], scores.arc[0], headed, visible=self.visible), k)
        )
        decoded = decoding.Decoded(
            np.stack([tree.heads for tree in trees]),
            [tree.spans for tree in trees],
            np.asarray([tree.score for tree in trees]),
        )
        return self._assemble(session, scores, decoded)

    def _assemble(self, session: Session, scores: Scores, decoded: decoding.Decoded) -> list[Prediction]:
        """Label trees of this sentence."""
        count = len(decoded.scores)
        labels = relations = None
        if decoded.spans is not None and self.labels is not None:
            nodes = np.concatenate(decoded.spans)
            labels = self.labels[nodes[:, 0], nodes[:, 1]]
        if decoded.heads is not None:
            relations = self._relations(session, scores, decoded.heads[:, 1:])
        tags, upos = (
            None if part is None else np.tile(part[0, 1 : self.n + 1].argmax(1), count)
            for part in (scores.tag, scores.upos)
        )
        return self.predictor.assemble(decoded, np.full(count, self.n), labels, relations, tags, upos)

    def _relations(self, session: Session, scores: Scores, heads: np.ndarray) -> np.ndarray | None:
        """Scores of relations [words, relations] at the arcs to these heads, [n] or several rows of n."""
        h = np.asarray(heads).reshape(-1)
        m = np.resize(np.arange(1, self.n + 1), len(h))
        found: np.ndarray | None = session.label(
            scores.hidden, [_FIRST, _FIRST, _FIRST + 1], [np.zeros_like(h), m, h]
        )[1]
        return found

    def relations(self, heads: np.ndarray) -> np.ndarray:
        """Scores of relations [n, relations] at the arcs to these heads, one a word."""
        for session, scores in self._scored:
            if "relation" in session.outputs:
                found = self._relations(session, scores, heads)
                assert found is not None
                return found
        raise ArcspanError("this model predicts no relations")

    def at(self, temperature: float, prediction: Prediction) -> Measured:
        """Marginal probabilities, and the log-probability of a parse's structure, at a temperature."""
        found = [marginals_at(scores, self._lengths, temperature) for _, scores in self._scored]
        spans = next((one.spans[0] for one in found if one.spans is not None), None)
        arcs = next((one.arcs[0] for one in found if one.arcs is not None), None)
        return Measured(spans, arcs, self._structure(prediction, temperature))

    def _marginals(self, calibration: Calibration) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Probabilities of spans and arcs [n+1, n+1]; kept, since several parses may be asked about."""
        if calibration not in self._probabilities:
            needed = self.predictor.chart_bytes(self.n, sums=True)
            if needed > self.predictor.memory_limit:
                self._refuse_length(needed)
            with self.predictor.memory.take(needed):
                found = [marginals(scores, self._lengths, calibration) for _, scores in self._scored]
            spans = next((span[0] for span, _ in found if span is not None), None)
            arcs = next((arc[0] for _, arc in found if arc is not None), None)
            self._probabilities[calibration] = spans, arcs
        return self._probabilities[calibration]

    def confidence(self, prediction: Prediction, calibration: Calibration | None = None) -> Confidence:
        """The probabilities of a parse of this sentence, at the bundle's temperatures or others."""
        calibration = calibration or self.predictor.calibration
        spans, arcs = self._marginals(calibration)
        sure: dict[tuple[int, int], float] = {}
        names: dict[tuple[int, int], float] = {}
        right = self._structure(prediction, 1.0)  # the temperature of the whole comes last
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
            _probabilities(np.exp([right / calibration.sentence_temperature]))[0],
        )

    def _structure(self, prediction: Prediction, temperature: float) -> float:
        """The log-probability of all trees that look like the parse: its arcs, its constituents and no others."""
        if temperature not in self._partitions:
            self._partitions[temperature] = sum(
                self._log_partition(scores, temperature) for _, scores in self._scored
            )
        total = sum(
            self._log_partition(self._only(prediction, scores), temperature) for _, scores in self._scored
        )
        return min(0.0, total - self._partitions[temperature])

    def _log_partition(self, scores: Scores, temperature: float) -> float:
        span, arc, headed = divided(scores, temperature)
        return float(decoding.log_partition(span, arc, self._lengths, headed, threads=1)[0])

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


def _under(scores: Scores, masks: Masks) -> dict[str, np.ndarray]:
    """The scores that masks change, one sentence."""
    found = {}
    if scores.span is not None:
        found["span"] = scores.span + masks.span
    if scores.arc is not None:
        found["arc"] = scores.arc + masks.arc
    if masks.headed is not None:
        with np.errstate(invalid="ignore"):  # cells without a span hold anything
            found["headed"] = masks.headed[None] if scores.headed is None else scores.headed + masks.headed
    return found
