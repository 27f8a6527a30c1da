"""Everything that a parser's models say of a batch of sentences, under the constraints of each sentence's query.

The best parses of all sentences come from one search. What else a query asks for, k best parses or probabilities, comes
from the scores of its sentence alone (`SentenceScores`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arcspan.decoding import Decoded
from arcspan.decoding.constraints import Masks
from arcspan.errors import ArcspanError
from arcspan.prediction.constraints import Arc, Bonuses, Head, Span, name_bonuses, structure_masks
from arcspan.prediction.labeller import Labeller
from arcspan.prediction.outputs import Style
from arcspan.prediction.prediction import Prediction, merge
from arcspan.prediction.query import Query
from arcspan.prediction.scores import Places, Scores, on_host

if TYPE_CHECKING:
    from arcspan.prediction.predictor import Predictor

ROUNDS = 30  # searches of a sentence; text never needed a dozen, 200 repetitions of one word need over 100
PATIENCE = (
    12  # searches after which all of a sentence is labelled, which takes as long as one of them
)
LABELLED = 400  # words that such a sentence may have: its labels take a few kilobytes for each pair of words


@dataclass(frozen=True)
class ModelInput:
    """A sentence ready for the encoder, its length in words, what it costs to encode, and what is asked about it.

    Sentences of one `kind` may share a batch: all their sums are cut alike (`inputs.columns`).
    """

    words: Sequence[str]
    ready: Any
    length: int
    cost: int
    query: Query = Query()
    style: Style = Style()
    kind: tuple[Any, ...] = ()


class BatchScores:
    """Scores of a batch; `errors` holds what is wrong with the constraints of a sentence, by its place."""

    def __init__(
        self, predictor: Predictor, items: Sequence[ModelInput], *, headed: bool = True
    ) -> None:
        self.predictor, self.items = predictor, items
        self.lengths = np.asarray([item.length for item in items], dtype=np.int64)
        self.errors: dict[int, ArcspanError] = {}
        self.rounds = np.ones(len(items), np.int64)
        """How many searches the best parse of each sentence took."""
        bonuses: Bonuses = {}
        self._constrained = [b for b, item in enumerate(items) if item.query.constrained]
        for b in self._constrained:
            try:
                for name, own in self._name_bonuses(items[b]).items():
                    bonuses.setdefault(name, {}).update(
                        {(b, *place): bonus for place, bonus in own.items()}
                    )
            except ArcspanError as error:
                self.errors[b] = error
        given = (
            self.lengths,
            [item.style for item in items],
            predictor.inventories,
            predictor.calibration,
        )
        self.labellers: list[Labeller] = []
        """One for each model: one, or the two of SEP."""
        for scorer in predictor.scorers:
            scores = scorer.score(predictor.arrays(scorer, items), headed=headed)
            self.labellers.append(Labeller(scorer, scores, *given, bonuses))
        for b in self._constrained:
            self._constrain(b)

    def _name_bonuses(self, item: ModelInput) -> Bonuses:
        predictor, query = self.predictor, item.query
        every = [*query.require, *query.forbid, *(one for one, _ in query.prefer)]
        for one in every:
            if "arc" not in predictor.outputs and isinstance(one, (Arc, Head)):
                raise ArcspanError(f"{one}: this model predicts no dependencies")
            if "span" not in predictor.outputs and isinstance(one, (Span, Head)):
                raise ArcspanError(f"{one}: this model predicts no constituents")
        if not predictor.joint and any(
            isinstance(one, Head) for one in every[len(query.require) :]
        ):
            raise ArcspanError(
                "a head of a span can be forbidden or preferred only where one model finds both trees"
            )
        return name_bonuses(item.length, query, predictor.inventories)

    def _constrain(self, b: int) -> None:
        """Forbid the structures of a sentence that its constraints rule out, and prefer those that they prefer."""
        if b in self.errors:
            return
        query, n = self.items[b].query, int(self.lengths[b])
        heads = [
            one
            for one in (*query.forbid, *(what for what, _ in query.prefer))
            if isinstance(one, Head)
        ]
        seen = self.visible(b) if heads else None
        try:
            masks = structure_masks(n, query, seen)
        except ArcspanError as error:
            self.errors[b] = error
            return
        unit = np.float32(self.predictor.calibration.structure_temperature)
        for labeller in self.labellers:
            labeller.given = _under(labeller.given, b, n, masks, unit)

    def visible(self, b: int) -> np.ndarray:
        """Which spans of a sentence are constituents if they are in the tree: bool [n+1, n+1]."""
        return np.logical_or.reduce([labeller.visible(b) for labeller in self.labellers])

    def best(self) -> list[Prediction]:
        """The best parse of each sentence."""
        everyone = np.arange(len(self.lengths))
        found = [
            labeller.predictions(self._search(labeller), everyone, self.predictor.guidelines)
            for labeller in self.labellers
        ]
        best = found[0] if len(found) == 1 else [merge(own) for own in zip(*found, strict=True)]
        return [
            replace(one, approximate=True) if rounds > ROUNDS else one
            for one, rounds in zip(best, self.rounds.tolist(), strict=True)
        ]

    def _search(self, labeller: Labeller) -> Decoded:
        """The best labelled structures, exactly.

        The log-probability of a label is at most zero, so that scores without labels are bounds. What a search chose is
        labelled, and its scores are lowered; a structure all of which was labelled before is the best one. Where the
        same word stands hundreds of times, every structure is as good as the next: then everything is labelled. Names
        that are preferred may be worth more than nothing: they are looked up before the first search.
        """
        search = self.predictor.search
        if not self.predictor.labelled:
            return search(self.with_preferences(labeller.given), self.lengths)
        if self._constrained:
            labeller.look_up_named()
        scores = with_values(labeller.given, labeller.values)
        found = last = search(scores, self.lengths)
        active = np.arange(len(self.lengths))

        def lower(nodes: Places, arcs: Places) -> None:
            for values, own, places in (
                ("label", scores.span, nodes),
                ("relation", scores.arc, arcs),
            ):
                if own is not None and len(places[0]):
                    own[tuple(places)] += labeller.values[values][tuple(places)]

        for number in range(ROUNDS):
            nodes, arcs = labeller.look_up(*labeller.places(last, active))
            lower(nodes, arcs)
            active = np.flatnonzero(np.bincount(np.concatenate([nodes[0], arcs[0]])))
            for b in active[self.lengths[active] <= LABELLED] if number == PATIENCE else ():
                lower(*labeller.look_up_all(int(b)))
            if not len(active):
                break
            self.rounds[active] += 1
            if len(active) == len(self.lengths):
                found = last = search(scores, self.lengths)
                continue
            span, arc, headed = (None if part is None else part[active] for part in scores[1:4])
            last = search(Scores(None, span, arc, headed), self.lengths[active])
            _put(found, active, last)
        return found

    def with_preferences(self, scores: Scores) -> Scores:
        """For a search without labels: scores with the weights of preferred spans and arcs, whatever their names."""
        if not any(item.query.prefer for item in self.items):
            return scores
        unit = self.predictor.calibration.structure_temperature
        span, arc = (
            None if part is None else on_host(part).copy() for part in (scores.span, scores.arc)
        )
        for b, item in enumerate(self.items):
            for one, weight in item.query.prefer if b not in self.errors else ():
                if isinstance(one, Span) and span is not None:
                    span[b, one.i, one.j] += unit * weight
                elif isinstance(one, Arc) and one.relation and arc is not None:
                    arc[b, one.modifier, one.head] += unit * weight
        return scores._replace(span=span, arc=arc)


def with_values(scores: Scores, values: Mapping[str, np.ndarray]) -> Scores:
    """Copies of the scores of spans and arcs with what their names are worth, as far as that is known."""
    span, arc = (
        None if part is None else on_host(part) + values[name]
        for name, part in (("label", scores.span), ("relation", scores.arc))
    )
    return scores._replace(span=span, arc=arc)


def _put(found: Decoded, chosen: np.ndarray, again: Decoded) -> None:
    """Put the structures of some sentences in their places."""
    found.scores[chosen] = again.scores
    if found.heads is not None and again.heads is not None:
        found.heads[chosen] = again.heads
    if found.spans is not None and again.spans is not None:
        for b, spans in zip(chosen.tolist(), again.spans, strict=True):
            found.spans[b] = spans


def _under(scores: Scores, b: int, n: int, masks: Masks, unit: np.float32) -> Scores:
    """The scores of a batch, with masks added, in place, to those of its sentence b of n words; in units of scores."""
    span, arc, headed = (None if part is None else on_host(part) for part in scores[1:4])
    at = (b, slice(n + 1), slice(n + 1))
    with np.errstate(invalid="ignore"):  # cells that belong to no tree may hold anything
        for part, mask in ((span, masks.span), (arc, masks.arc)):
            if part is not None:
                part[at] += mask * unit
        if masks.headed is not None and span is not None:
            size = span.shape[1]
            i, j = np.triu_indices(size, 1)
            if headed is None:
                headed = np.zeros((len(span), len(i), size), np.float32)
            rows = np.flatnonzero(j <= n)
            headed[b, rows[:, None], np.arange(n + 1)] += unit * masks.headed[i[rows], j[rows]]
    return scores._replace(span=span, arc=arc, headed=headed)
