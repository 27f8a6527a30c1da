"""The scores of a batch of sentences under the constraints of their queries, with a cache of label
scores.

`Charts` are what searches and sums read. They are made of the scores of a model, which they leave
as they are: charts of the same sentences under other constraints can be made without running the
encoder again.

All that may not be chosen scores -inf here and nowhere else: names that a sentence's style does not
use, names and structures that its constraints rule out, and "no constituent" over a whole sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from arcspan.decoding.batch import pair_number
from arcspan.decoding.constraints import Masks
from arcspan.errors import ArcspanError
from arcspan.prediction.confidence import log_softmax
from arcspan.prediction.constraints import (
    Bonuses,
    Demand,
    check_outputs,
    head_bonuses,
    name_bonuses,
    structure_masks,
)
from arcspan.prediction.model import EncodedSentence, ParserModel
from arcspan.prediction.outputs import LAYERS, OUTPUTS, Indices, Scorer, Scores, Style, on_host
from arcspan.prediction.pictograms import PENALTY, find_pictograms
from arcspan.prediction.query import Query

# Rows that are labelled in one run: a biaffine labeller takes memory for each.
_ROWS = 1024
HeadSlot = tuple[int, int, int, int]
"""A sentence b of a batch, and a span (i, j) of it with the head h."""

NOWHERE: Indices = (np.zeros(0, dtype=np.int64),) * 3
_LAYER_OF = {
    output.name: LAYERS.index(output.layer) for output in OUTPUTS if output.layer in LAYERS
}


class Charts:
    """The scores of a batch, one `Chart` for each scorer of the model.

    scores   of each scorer; None to run the model, and then without second order unless `headed`
    lengths  int64 [B], in words
    errors   by sentence: the contradiction in its constraints. Its scores are not to be used
    """

    def __init__(
        self,
        model: ParserModel,
        sentences: Sequence[EncodedSentence],
        queries: Sequence[Query],
        scores: Sequence[Scores] | None = None,
        *,
        headed: bool = True,
    ) -> None:
        self.model = model
        self.sentences = sentences
        self.lengths = np.asarray([len(sentence.words) for sentence in sentences], dtype=np.int64)
        self.errors: dict[int, ArcspanError] = {}
        self.demands = {b: query.demands for b, query in enumerate(queries) if query.constrained}
        """By sentence: its constraints, if there are any."""
        self.head_bonuses: dict[HeadSlot, float] = {}
        """What labels gain by the head of their span (`constraints.head_bonuses`)."""
        bonuses = self._name_bonuses() if self.demands else {}
        if scores is None:
            scores = model.score(sentences, headed=headed)
        self.parts = [
            Chart(self, scorer, scorer_scores, bonuses)
            for scorer, scorer_scores in zip(model.scorers, scores, strict=True)
        ]
        if model.guidelines is not None:
            self._mask_pictograms()
        if self.demands:
            self._mask_structures()

    def part_with(self, output: str) -> Chart:
        """Return the chart of the scorer that has an output."""
        for part in self.parts:
            if output in part.scorer.outputs:
                return part
        raise ArcspanError(f"this model does not predict {output}s")

    def _name_bonuses(self) -> Bonuses:
        """Return the bonuses of all sentences; their indices begin with the sentence's number."""
        model = self.model
        bonuses: Bonuses = {}
        for b, demands in self.demands.items():
            try:
                check_outputs(demands, model.outputs, model.joint)
                of_sentence = name_bonuses(int(self.lengths[b]), demands, model.inventories)
            except ArcspanError as error:
                self.errors[b] = error
                continue
            for output, of_output in of_sentence.items():
                for indices, bonus in of_output.items():
                    slot = (b, *indices)
                    bonuses.setdefault(output, {})[slot] = bonus
        return bonuses

    def _mask_pictograms(self) -> None:
        """Lower the scores of arcs from emoji and emoticons to their dependents, and to the root."""
        by_sentence = {}
        for b, sentence in enumerate(self.sentences):
            positions = find_pictograms(sentence.words)
            if positions:
                by_sentence[b] = positions
        if not by_sentence:
            return
        unit = np.float32(self.model.calibration.structure_temperature)
        is_pictogram = np.zeros((len(self.lengths), int(self.lengths.max()) + 1), np.bool_)
        for b, positions in by_sentence.items():
            is_pictogram[b, positions] = True
        for part in self.parts:
            part.is_pictogram = is_pictogram
            if part.scores.arc is None:
                continue
            part.copy_scores()
            for b in by_sentence:
                n = int(self.lengths[b])
                span, arc = np.zeros((2, n + 1, n + 1), np.float32)
                # Not -inf: a constraint may still require such an arc.
                arc[:, is_pictogram[b, : n + 1]] = -PENALTY
                arc[is_pictogram[b, : n + 1], 0] = -PENALTY
                part.add_masks(b, n, Masks(span, arc, None), unit)

    def _mask_structures(self) -> None:
        """Add to the scores what constraints forbid and prefer of structure."""
        for part in self.parts:
            part.copy_scores()
        unit = np.float32(self.model.calibration.structure_temperature)
        for b, demands in self.demands.items():
            if b in self.errors:
                continue
            n = int(self.lengths[b])
            try:
                masks = structure_masks(n, demands)
            except ArcspanError as error:
                self.errors[b] = error
                continue
            for part in self.parts:
                part.add_masks(b, n, masks, unit)
            for (i, j, h), bonus in head_bonuses(demands).items():
                self.head_bonuses[b, i, j, h] = bonus


class Chart:
    """The scores of one scorer, and a cache of its scores of labels and relations.

    A span or an arc is labelled when its label scores are first read. `values` has what the best
    name of each adds to the score of a labelled tree, 0 where it is not known yet: float32 [B, n+1,
    n+1] by output, indexed as the structure scores.
    """

    def __init__(self, charts: Charts, scorer: Scorer, scores: Scores, bonuses: Bonuses) -> None:
        self.scorer = scorer
        self.scores = scores
        self.lengths = charts.lengths
        self.inventories = charts.model.inventories
        styles: list[Style] = [sentence.style for sentence in charts.sentences]
        self._styles = np.asarray(styles, dtype=np.int64).reshape(-1, len(LAYERS))
        self._demands = charts.demands
        self._calibration = charts.model.calibration
        self.bonuses = bonuses
        self.head_bonuses = charts.head_bonuses
        self.is_pictogram: np.ndarray | None = None
        """Words that are emoji or emoticons [B, n+1]; None where there are none."""
        self._sums: dict[str, dict[tuple[int, ...], float]] = {"label": {}, "relation": {}}
        longest = int(self.lengths.max())
        shape = (len(self.lengths), longest + 1, longest + 1)
        # Rows are kept in the order in which they were scored. The number of the row of each span
        # or # arc counts from 1; 0 stands for one that is not in the cache.
        self._row_numbers: dict[str, np.ndarray] = {}
        self._rows: dict[str, list[np.ndarray]] = {}
        self.values: dict[str, np.ndarray] = {}
        for output in ("label", "relation"):
            if output in scorer.outputs:
                self._row_numbers[output] = np.zeros(shape, np.int32)
                self._rows[output] = []
                self.values[output] = np.zeros(shape, np.float32)

    # ---- structure

    def copy_scores(self) -> None:
        """Make copies of the scores of spans and arcs, which masks may then change."""
        span, arc = (
            None if scores is None else np.array(on_host(scores))
            for scores in (self.scores.span, self.scores.arc)
        )
        self.scores = self.scores._replace(span=span, arc=arc)

    def add_masks(self, b: int, n: int, masks: Masks, unit: np.float32) -> None:
        """Add masks, in units of scores, to a sentence of n words.

        Those of headed spans are left out: `head_gains` rules out the same and more.
        """
        span, arc = self.scores.span, self.scores.arc
        window = (b, slice(n + 1), slice(n + 1))
        # Cells that belong to no tree may hold anything.
        with np.errstate(invalid="ignore"):
            if span is not None:
                span[window] += masks.span * unit
            if arc is not None:
                arc[window] += masks.arc * unit

    def with_values(self) -> Scores:
        """Return copies of the scores of spans and arcs with the values of the names known so far,
        and scores of headed spans with the gains of heads.
        """
        span, arc = self.scores.span, self.scores.arc
        scores = self.scores._replace(
            span=None if span is None else on_host(span) + self.values["label"],
            arc=None if arc is None else on_host(arc) + self.values["relation"],
        )
        return add_head_gains(scores, self.head_gains(), self._calibration.structure_temperature)

    def with_preferences(self) -> Scores:
        """Return scores for a search without labels: preferred names count, whichever is chosen."""
        unit = self._calibration.structure_temperature
        gains: dict[HeadSlot, float] = {}
        for slot, gain in self.head_gains().items():
            bonus = self.head_bonuses[slot]
            # A forbidden head matters where the span has to be a constituent. Elsewhere it is none.
            if np.isfinite(bonus) or np.isneginf(gain):
                gains[slot] = bonus
        scores = add_head_gains(self.scores, gains, unit)
        preferred = []
        for b, demands in self._demands.items():
            preferred += [(b, demand) for demand in demands if self._weighs_names(demand)]
        if not preferred:
            return scores
        span, arc = (
            None if scores is None else np.array(on_host(scores))
            for scores in (self.scores.span, self.scores.arc)
        )
        by_output = {"label": span, "relation": arc}
        for b, demand in preferred:
            for output, indices in demand.constraint.slots(self.inventories):
                array = by_output.get(output)
                if array is not None:
                    cell = (b, *indices)
                    array[cell] += unit * demand.weight
        return scores._replace(span=span, arc=arc)

    @staticmethod
    def _weighs_names(demand: Demand) -> bool:
        # The weight of structure is in the masks already.
        return demand.required is None and not demand.constraint.is_structural

    # ---- labels and relations

    def label_scores(self, output: str, *indices: np.ndarray) -> np.ndarray:
        """Return scores [K, names] of labels at spans (b, i, j), or of relations at arcs (b, m,
        h).
        """
        if output == "label":
            self.look_up(nodes=indices)
        else:
            self.look_up(arcs=indices)
        return self.cached_scores(output, indices)

    def cached_scores(self, output: str, indices: Indices) -> np.ndarray:
        """Return scores [K, names] of spans or arcs that were looked up."""
        if not self._rows[output]:
            # A sentence of one word may have no constituent that was ever labelled.
            return np.zeros((0, len(self.inventories.names(output))), np.float32)
        if len(self._rows[output]) > 1:
            self._rows[output] = [np.concatenate(self._rows[output])]
        return self._rows[output][0][self._row_numbers[output][tuple(indices)] - 1]

    def look_up(self, nodes: Indices = NOWHERE, arcs: Indices = NOWHERE) -> tuple[Indices, Indices]:
        """Score those of spans (b, i, j) and arcs (b, m, h) that are not in the cache; return
        them.
        """
        new: list[Indices] = []
        for output, indices in (("label", nodes), ("relation", arcs)):
            if output not in self._rows:
                new.append(NOWHERE)
                continue
            is_new = self._row_numbers[output][tuple(indices)] == 0
            new.append(indices if is_new.all() else [axis[is_new] for axis in indices])
        new_nodes, new_arcs = new
        for start in range(0, max(len(new_nodes[0]), len(new_arcs[0])), _ROWS):
            stop = start + _ROWS
            some_nodes = [axis[start:stop] for axis in new_nodes]
            some_arcs = [axis[start:stop] for axis in new_arcs]
            labels, relations = self.scorer.label(self.scores.hidden, some_nodes, some_arcs)
            if labels is not None and len(labels):
                self._add("label", some_nodes, labels)
            if relations is not None and len(relations):
                self._add("relation", some_arcs, relations)
        return new_nodes, new_arcs

    def _add(self, output: str, indices: Indices, rows: np.ndarray) -> None:
        """Put rows of label scores into the cache."""
        b, x, y = indices
        temperature = getattr(self._calibration, f"{output}_temperature")
        rows = self.inventories.forbid_unused(output, rows, self._styles[b, _LAYER_OF[output]])
        if output == "label":
            # A whole sentence of several words is always a constituent.
            rows[(x == 0) & (y == self.lengths[b]) & (y > 1), 0] = -np.inf
        top = rows.max(1, keepdims=True)
        best = -np.log(np.exp((rows - top) / np.float32(temperature)).sum(1))
        bonuses = self.bonuses.get(output)
        if bonuses:
            for row, slot in enumerate(zip(b.tolist(), x.tolist(), y.tolist(), strict=True)):
                if slot in bonuses:
                    weighted = log_softmax(rows[row], temperature) + bonuses[slot]
                    best[row] = weighted.max()
                    self._sums[output][slot] = float(np.logaddexp.reduce(weighted))
                    rows[row] += bonuses[slot] * temperature
        count = sum(map(len, self._rows[output]))
        numbers = np.arange(count + 1, count + len(rows) + 1)
        self._row_numbers[output][tuple(indices)] = numbers
        self._rows[output].append(rows)
        self.values[output][tuple(indices)] = self._calibration.structure_temperature * best

    def look_up_all(self, b: int) -> tuple[Indices, Indices]:
        """Score all spans and all arcs of a sentence; return those that were not in the cache."""
        n = int(self.lengths[b])
        i, j = np.triu_indices(n + 1, 1)
        m, h = np.nonzero(~np.eye(n + 1, dtype=np.bool_)[1:])
        return self.look_up((np.full_like(i, b), i, j), (np.full_like(m, b), m + 1, h))

    def look_up_constrained(self) -> None:
        """Score the spans and arcs whose names constraints are about."""
        nodes, arcs = (
            np.asarray(list(self.bonuses.get(output, ())), np.int64).reshape(-1, 3).T
            for output in ("label", "relation")
        )
        self.look_up(tuple(nodes), tuple(arcs))

    def bonus_sums(self, output: str, b: int) -> dict[tuple[int, int], float]:
        """Return log(sum of p(name) e^bonus) at the constrained spans or arcs of a sentence."""
        self.look_up_constrained()
        sums = self._sums[output]
        return {(x, y): value for (sentence, x, y), value in sums.items() if sentence == b}

    def head_gains(self, *, sums: bool = False) -> dict[HeadSlot, float]:
        """Return what the bonus of each head adds to the value of its span's best label, or to that
        of all labels together for `sums`.
        """
        if not self.head_bonuses:
            return {}
        # Spans with bonuses of heads are among those whose names constraints are about.
        self.look_up_constrained()
        b, i, j, _ = np.asarray(list(self.head_bonuses), np.int64).T
        bonuses = np.asarray(list(self.head_bonuses.values()))
        # In float64: bonuses may be a billion, beside which labels would all be equal.
        rows = self.cached_scores("label", (b, i, j)).astype(np.float64)
        rows /= self._calibration.label_temperature
        add = np.logaddexp if sums else np.maximum
        constituent = add.reduce(rows[:, 1:], axis=1)
        gains = add(rows[:, 0], constituent + bonuses) - add(rows[:, 0], constituent)
        return dict(zip(self.head_bonuses, gains.tolist(), strict=True))

    def best_labels(self, nodes: Indices, heads: np.ndarray) -> np.ndarray:
        """Return the best label, as its number, of spans (b, i, j) that were looked up, by their
        heads (0 where there are none).
        """
        rows = self.cached_scores("label", nodes)
        labels = rows.argmax(1)
        if not self.head_bonuses:
            return labels
        temperature = self._calibration.label_temperature
        slots = np.stack([*nodes, heads], axis=1).tolist()
        for number, slot in enumerate(slots):
            bonus = self.head_bonuses.get(tuple(slot))
            if bonus is not None:
                row = rows[number].astype(np.float64) / temperature
                row[1:] += bonus
                labels[number] = row.argmax()
        return labels

    def visible(self, b: int) -> np.ndarray:
        """Return which spans of a sentence are constituents if they are in the tree with a head:
        bool [i, j, h], [n+1, n+1, n+1].
        """
        size = int(self.lengths[b]) + 1
        is_visible = np.zeros((size, size, size), np.bool_)
        i, j = np.triu_indices(size, 1)
        sentence = np.full_like(i, b)
        self.look_up(nodes=(sentence, i, j))
        no_head = np.zeros_like(i)
        is_visible[i, j] = self.best_labels((sentence, i, j), no_head)[:, None] != 0
        slots = [slot for slot in self.head_bonuses if slot[0] == b]
        if slots:
            sentence, i, j, h = np.asarray(slots, np.int64).T
            is_visible[i, j, h] = self.best_labels((sentence, i, j), h) != 0
        return is_visible

    def word_scores(self, output: str, b: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return scores [K, names] of an output of words, for each word m of sentence b."""
        scores = self.scores.words[output][b, m]
        scores = self.inventories.forbid_unused(output, scores, self._styles[b, _LAYER_OF[output]])
        for (sentence, word), bonus in self.bonuses.get(output, {}).items():
            scores[(b == sentence) & (m == word)] += bonus
        return scores


def add_head_gains(scores: Scores, gains: Mapping[HeadSlot, float], unit: float) -> Scores:
    """Return scores with gains, in units of scores, added to headed spans (b, i, j, h).

    A model of first order gets scores of headed spans, which are 0 otherwise.
    """
    if not gains:
        return scores
    count, size, _ = scores.span.shape
    if scores.headed is None:
        headed = np.zeros((count, size * (size - 1) // 2, size), np.float32)
    else:
        headed = np.array(on_host(scores.headed))
    for (b, i, j, h), gain in gains.items():
        headed[b, pair_number(size, i, j), h] += unit * gain
    return scores._replace(headed=headed)
