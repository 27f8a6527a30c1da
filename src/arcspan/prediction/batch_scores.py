"""Everything that a parser's models say of a batch of sentences, under the constraints of each sentence's query.

The best parses of all sentences come from one search. What else a query asks for, k best parses or probabilities, comes
from the scores of its sentence alone (`SentenceScores`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arcspan.decoding.constraints import Masks
from arcspan.errors import ArcspanError
from arcspan.prediction.constraints import Arc, Head, Span, allowed_labels, structure_masks
from arcspan.prediction.labeller import Labeller
from arcspan.prediction.outputs import Style
from arcspan.prediction.prediction import Prediction, merge
from arcspan.prediction.query import Query
from arcspan.prediction.scores import Scores, on_host

if TYPE_CHECKING:
    from arcspan.prediction.predictor import Predictor


@dataclass(frozen=True)
class ModelInput:
    """A sentence ready for the encoder, its length in words, what it costs to encode, and what is asked about it."""

    words: Sequence[str]
    ready: Any
    length: int
    cost: int
    query: Query = Query()
    style: Style = Style()


class Part(NamedTuple):
    """What one model says of a batch: one model, or one of the two of SEP."""

    scores: Scores
    labeller: Labeller


class BatchScores:
    """Scores of a batch; `errors` holds what is wrong with the constraints of a sentence, by its place."""

    def __init__(self, predictor: Predictor, items: Sequence[ModelInput], *, headed: bool = True) -> None:
        self.predictor, self.items = predictor, items
        self.lengths = np.asarray([item.length for item in items], dtype=np.int64)
        self.errors: dict[int, ArcspanError] = {}
        allowed: dict[tuple[int, int, int], np.ndarray] = {}
        constrained = [b for b, item in enumerate(items) if item.query.constrained]
        for b in constrained:
            try:
                own = self._allowed_labels(items[b])
                allowed |= {(b, *place): labels for place, labels in own.items()}
            except ArcspanError as error:
                self.errors[b] = error
        styles = [item.style for item in items]
        self.parts: list[Part] = []
        for scorer in predictor.scorers:
            scores = scorer.score(predictor.arrays(scorer, items), headed=headed)
            given = self.lengths, styles, predictor.inventories, allowed
            self.parts.append(Part(scores, Labeller(scorer, scores, *given)))
        for b in constrained:
            self._constrain(b)

    def _allowed_labels(self, item: ModelInput) -> dict[tuple[int, int], np.ndarray]:
        predictor, query = self.predictor, item.query
        for one in [*query.require, *query.forbid]:
            if "arc" not in predictor.outputs and isinstance(one, (Arc, Head)):
                raise ArcspanError(f"{one}: this model predicts no dependencies")
            if "span" not in predictor.outputs and isinstance(one, (Span, Head)):
                raise ArcspanError(f"{one}: this model predicts no constituents")
        if not predictor.joint and any(isinstance(one, Head) for one in query.forbid):
            raise ArcspanError("a head of a span can be forbidden only where one model finds both trees")
        if all(isinstance(one, Arc) for one in [*query.require, *query.forbid]):
            return {}
        return allowed_labels(item.length, query.require, query.forbid, predictor.inventories.labels)

    def _constrain(self, b: int) -> None:
        """Forbid the structures of a sentence that its constraints rule out."""
        if b in self.errors:
            return
        query, n = self.items[b].query, int(self.lengths[b])
        heads = [one for one in query.forbid if isinstance(one, Head)]
        try:
            masks = structure_masks(n, query.require, query.forbid, self.visible(b) if heads else None)
        except ArcspanError as error:
            self.errors[b] = error
            return
        self.parts = [part._replace(scores=_under(part.scores, b, n, masks)) for part in self.parts]

    def visible(self, b: int) -> np.ndarray:
        """Which spans of a sentence are constituents if they are in the tree: bool [n+1, n+1]."""
        found = [part.labeller.visible(b) for part in self.parts]
        return np.logical_or.reduce(found)

    def best(self) -> list[Prediction]:
        """The best parse of each sentence."""
        everyone = np.arange(len(self.lengths))
        found = []
        for scores, labeller in self.parts:
            decoded = self.predictor.search(scores, self.lengths)
            found.append(labeller.predictions(decoded, everyone, self.predictor.guidelines))
        return [merge(own) for own in zip(*found, strict=True)]


def _under(scores: Scores, b: int, n: int, masks: Masks) -> Scores:
    """The scores of a batch, with masks added, in place, to those of its sentence b of n words."""
    span, arc, headed = (
        None if part is None else on_host(part) for part in (scores.span, scores.arc, scores.headed)
    )
    at = (b, slice(n + 1), slice(n + 1))
    with np.errstate(invalid="ignore"):  # cells that belong to no tree may hold anything
        if span is not None:
            span[at] += masks.span
        if arc is not None:
            arc[at] += masks.arc
        if masks.headed is not None and span is not None:
            size = span.shape[1]
            i, j = np.triu_indices(size, 1)
            if headed is None:
                headed = np.zeros((len(span), len(i), size), np.float32)
            rows = np.flatnonzero(j <= n)
            headed[b, rows[:, None], np.arange(n + 1)] += masks.headed[i[rows], j[rows]]
    return scores._replace(span=span, arc=arc, headed=headed)
