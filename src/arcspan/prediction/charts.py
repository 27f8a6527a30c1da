"""The scores of a batch of sentences under the constraints of their queries, with a cache of label
scores.

`Charts` are what searches and sums read. They are made of the scores of a model, which they leave
as they are: charts of the same sentences under other constraints can be made without running the
encoder again.

All that may not be chosen scores -inf here and nowhere else: names that a sentence's style does not
use, names and structures that its constraints rule out, and "no constituent" over a whole sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arcspan.decoding.constraints import Masks
from arcspan.errors import ArcspanError
from arcspan.prediction.confidence import log_softmax
from arcspan.prediction.constraints import (
    Bonuses,
    Demand,
    changes_heads,
    check_outputs,
    name_bonuses,
    structure_masks,
)
from arcspan.prediction.model import EncodedSentence, ParserModel
from arcspan.prediction.outputs import LAYERS, OUTPUTS, Indices, Scorer, Scores, Style, on_host
from arcspan.prediction.query import Query

# Rows that are labelled in one run: a biaffine labeller takes memory for each.
_ROWS = 1024
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
        bonuses = self._name_bonuses() if self.demands else {}
        if scores is None:
            scores = model.score(sentences, headed=headed)
        self.parts = [
            Chart(self, scorer, scorer_scores, bonuses)
            for scorer, scorer_scores in zip(model.scorers, scores, strict=True)
        ]
        if self.demands:
            self._mask_structures()

    def part_with(self, output: str) -> Chart:
        """Return the chart of the scorer that has an output."""
        for part in self.parts:
            if output in part.scorer.outputs:
                return part
        raise ArcspanError(f"this model does not predict {output}s")

    def visible(self, b: int) -> np.ndarray:
        """Return which spans of a sentence are constituents if they are in the tree: bool [n+1,
        n+1].
        """
        return np.logical_or.reduce([part.visible(b) for part in self.parts])

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

    def _mask_structures(self) -> None:
        """Add to the scores what constraints forbid and prefer of structure."""
        for part in self.parts:
            part.copy_scores()
        unit = np.float32(self.model.calibration.structure_temperature)
        for b, demands in self.demands.items():
            if b in self.errors:
                continue
            n = int(self.lengths[b])
            visible = self.visible(b) if any(map(changes_heads, demands)) else None
            try:
                masks = structure_masks(n, demands, visible)
            except ArcspanError as error:
                self.errors[b] = error
                continue
            for part in self.parts:
                part.add_masks(b, n, masks, unit)


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
        """Add masks, in units of scores, to a sentence of n words."""
        span, arc = self.scores.span, self.scores.arc
        window = (b, slice(n + 1), slice(n + 1))
        # Cells that belong to no tree may hold anything.
        with np.errstate(invalid="ignore"):
            if span is not None:
                span[window] += masks.span * unit
            if arc is not None:
                arc[window] += masks.arc * unit
            if masks.headed is not None and span is not None:
                size = span.shape[1]
                i, j = np.triu_indices(size, 1)
                if self.scores.headed is None:
                    headed = np.zeros((len(span), len(i), size), np.float32)
                else:
                    headed = np.array(on_host(self.scores.headed))
                rows = np.flatnonzero(j <= n)
                headed[b, rows[:, None], np.arange(n + 1)] += unit * masks.headed[i[rows], j[rows]]
                self.scores = self.scores._replace(headed=headed)

    def with_values(self) -> Scores:
        """Return copies of the scores of spans and arcs with the values of the names known so
        far.
        """
        span, arc = self.scores.span, self.scores.arc
        return self.scores._replace(
            span=None if span is None else on_host(span) + self.values["label"],
            arc=None if arc is None else on_host(arc) + self.values["relation"],
        )

    def with_preferences(self) -> Scores:
        """Return scores for a search without labels: preferred names count, whichever is chosen."""
        preferred = []
        for b, demands in self._demands.items():
            preferred += [(b, demand) for demand in demands if self._weighs_names(demand)]
        if not preferred:
            return self.scores
        unit = self._calibration.structure_temperature
        span, arc = (
            None if scores is None else np.array(on_host(scores))
            for scores in (self.scores.span, self.scores.arc)
        )
        by_output = {"label": span, "relation": arc}
        for b, demand in preferred:
            for output, indices in demand.constraint.slots(self.inventories):
                scores = by_output.get(output)
                if scores is not None:
                    slot = (b, *indices)
                    scores[slot] += unit * demand.weight
        return self.scores._replace(span=span, arc=arc)

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

    def visible(self, b: int) -> np.ndarray:
        """Return which spans of a sentence are constituents if they are in the tree: bool [n+1,
        n+1].
        """
        size = int(self.lengths[b]) + 1
        is_visible = np.zeros((size, size), np.bool_)
        if "label" in self._rows:
            i, j = np.triu_indices(size, 1)
            is_visible[i, j] = self.label_scores("label", np.full_like(i, b), i, j).argmax(1) != 0
        return is_visible

    def best_of_words(self, output: str, b: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the best name of an output of words, as its number, for each word m of sentence
        b.
        """
        scores = self.scores.words[output][b, m]
        scores = self.inventories.forbid_unused(output, scores, self._styles[b, _LAYER_OF[output]])
        for (sentence, word), bonus in self.bonuses.get(output, {}).items():
            scores[(b == sentence) & (m == word)] += bonus
        return scores.argmax(1)
