"""The one labeller: scores of labels and relations wherever they are asked for, and predictions made of them.

Everything that may not be chosen scores -inf here and nowhere else: names that a sentence's style does not use, names
that its constraints do not allow, and "no constituent" over a whole sentence. A span or an arc is scored once, when it
is first asked for; its value is what its best name adds to the score of a labelled tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from arcspan.decoding import Decoded
from arcspan.prediction.confidence import Calibration, log_softmax
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.outputs import LAYERS, OUTPUTS, Inventories, Style
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.scores import Places, Scorer, Scores

_ROWS = 1024  # rows that are scored in one run: a biaffine labeller takes memory for each
_NOWHERE = (np.zeros(0, dtype=np.int64),) * 3
_LAYER = {output.name: output.layer for output in OUTPUTS}

Bonuses = Mapping[str, Mapping[tuple[int, ...], np.ndarray]]


class Labeller:
    """Scores of labels, relations and whatever is said of words, for the sentences of a batch.

    scores   of the batch, by `scorer`;  lengths [B] and styles, one per sentence
    calibration  temperatures of the structure, of labels and of relations
    bonuses  by output and place, (b, i, j), (b, m, h) or (b, m): what constraints make each name worth, or -inf
    """

    def __init__(
        self,
        scorer: Scorer,
        scores: Scores,
        lengths: np.ndarray,
        styles: Sequence[Style],
        inventories: Inventories,
        calibration: Calibration,
        bonuses: Bonuses,
    ) -> None:
        self.scorer, self.lengths, self.inventories = scorer, lengths, inventories
        self._hidden, self._words = scores.hidden, scores.words
        self._styles = np.asarray(styles, dtype=np.int64).reshape(-1, len(LAYERS))
        self._calibration, self._bonuses = calibration, bonuses
        self._worth: dict[str, dict[tuple[int, ...], float]] = {"label": {}, "relation": {}}
        shape = (len(lengths), int(lengths.max()) + 1, int(lengths.max()) + 1)
        self._known: dict[str, _Table] = {
            name: _Table(shape) for name in ("label", "relation") if name in scorer.outputs
        }

    def labels(self, b: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Scores [K, labels] at spans (i, j) of sentences b."""
        self.look_up((b, i, j), _NOWHERE)
        return self._known["label"].rows(b, i, j)

    def relations(self, b: np.ndarray, m: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Scores [K, relations] at arcs from heads h to modifiers m of sentences b."""
        self.look_up(_NOWHERE, (b, m, h))
        return self._known["relation"].rows(b, m, h)

    def look_up(self, nodes: Places, arcs: Places) -> None:
        """Score what is not known yet of spans (b, i, j) and arcs (b, m, h)."""
        new_nodes, new_arcs = (
            self._known[name].unknown(places) if name in self._known else _NOWHERE
            for name, places in (("label", nodes), ("relation", arcs))
        )
        for begin in range(0, max(len(new_nodes[0]), len(new_arcs[0])), _ROWS):
            at = slice(begin, begin + _ROWS)
            own = [place[at] for place in new_nodes], [place[at] for place in new_arcs]
            labels, relations = self.scorer.label(self._hidden, *own)
            for name, places, rows in (("label", own[0], labels), ("relation", own[1], relations)):
                if rows is not None and len(places[0]):
                    self._add(name, places, self._in_style(name, rows, places))

    def values(self, nodes: Places, arcs: Places) -> tuple[np.ndarray, np.ndarray]:
        """What the best names of spans and arcs that were looked up add to the score of a tree."""
        nothing = np.zeros(0, np.float32)
        label, relation = (
            self._known[name].values(*places) if len(places[0]) else nothing
            for name, places in (("label", nodes), ("relation", arcs))
        )
        return label, relation

    def all_places(self, b: int) -> tuple[Places, Places]:
        """All spans (b, i, j) and all arcs (b, m, h) of a sentence."""
        n = int(self.lengths[b])
        i, j = np.triu_indices(n + 1, 1)
        m, h = np.nonzero(~np.eye(n + 1, dtype=np.bool_)[1:])
        return (np.full_like(i, b), i, j), (np.full_like(m, b), m + 1, h)

    def named_places(self) -> tuple[Places, Places]:
        """The spans and arcs whose names constraints are about."""
        nodes, arcs = (
            np.asarray(list(self._bonuses.get(name, ()) if name in self._known else ()), np.int64)
            .reshape(-1, 3)
            .T
            for name in ("label", "relation")
        )
        return tuple(nodes), tuple(arcs)

    def _in_style(self, name: str, scores: np.ndarray, places: Places) -> np.ndarray:
        """Scores of an output without the names that the sentences' styles do not use."""
        styles = self._styles[places[0], LAYERS.index(_LAYER[name])]
        return self.inventories.forbid_unused(name, scores, styles)

    def worth(self, b: int) -> dict[str, dict[tuple[int, int], float]]:
        """At the spans and arcs of a sentence whose names constraints are about: log of the sum of p(name) e^bonus."""
        self.look_up(*self.named_places())
        return {
            kind: {(x, y): worth for (s, x, y), worth in self._worth[name].items() if s == b}
            for kind, name in (("span", "label"), ("arc", "relation"))
        }

    def _add(self, name: str, places: Places, rows: np.ndarray) -> None:
        b, x, y = places
        temperature = getattr(self._calibration, f"{name}_temperature")
        if name == "label":  # the whole is always a constituent
            rows[(x == 0) & (y == self.lengths[b]) & (y > 1), 0] = -np.inf
        top = rows.max(1, keepdims=True)
        best = -np.log(np.exp((rows - top) / np.float32(temperature)).sum(1))
        if bonuses := self._bonuses.get(name):
            for row, place in enumerate(zip(b.tolist(), x.tolist(), y.tolist(), strict=True)):
                if place in bonuses:
                    chances = log_softmax(rows[row], temperature) + bonuses[place]
                    best[row] = chances.max()
                    self._worth[name][place] = float(np.logaddexp.reduce(chances))
                    rows[row] += bonuses[place] * temperature
        self._known[name].add(places, rows, self._calibration.structure_temperature * best)

    def visible(self, b: int) -> np.ndarray:
        """Which spans of a sentence are constituents if they are in the tree: bool [n+1, n+1]."""
        size = int(self.lengths[b]) + 1
        found = np.zeros((size, size), np.bool_)
        if "label" in self._known:
            spans, _ = self.all_places(b)
            found[tuple(spans[1:])] = self.labels(*spans).argmax(1) != 0
        return found

    def places(self, decoded: Decoded, sentences: np.ndarray) -> tuple[Places, Places]:
        """The spans (b, i, j) and arcs (b, m, h) of structures; `sentences` says which sentence each is of."""
        lengths = self.lengths[sentences]
        b, m = word_places(lengths)
        nodes: Places = _NOWHERE
        arcs: Places = _NOWHERE
        if decoded.spans is not None:
            spans = np.concatenate(decoded.spans)
            nodes = np.repeat(sentences, 2 * lengths - 1), spans[:, 0], spans[:, 1]
        if decoded.heads is not None:
            arcs = sentences[b], m, decoded.heads[b, m]
        return nodes, arcs

    def predictions(
        self, decoded: Decoded, sentences: np.ndarray, guidelines: Guidelines | None
    ) -> list[Prediction]:
        """Structures with their labels; `sentences` says which sentence of the batch each is of."""
        lengths = self.lengths[sentences]
        b, m = word_places(lengths)
        of = sentences[b]
        found = heads = relations = None
        nodes, arcs = self.places(decoded, sentences)
        self.look_up(nodes, arcs)
        words = {name: self._word_scores(name, of, m).argmax(1) for name in self._words}
        if decoded.spans is not None:
            spans = np.concatenate(decoded.spans)
            if spans.shape[1] == 2:  # of a search without arcs
                spans = np.column_stack([spans, np.zeros(len(spans), np.int64)])
            found = np.column_stack([spans, self.labels(*nodes).argmax(1)])
        if decoded.heads is not None:
            heads = arcs[2]
            scores = self.relations(*arcs)
            relations = guidelines.choose(scores, heads, lengths, words) if guidelines else scores.argmax(1)
        return [
            Prediction(
                None if found is None else found[below],
                None if heads is None else heads[own],
                None if relations is None else relations[own],
                {name: ids[own] for name, ids in words.items()},
                score,
            )
            for (own, below), score in zip(_bounds(lengths), decoded.scores.tolist(), strict=True)
        ]

    def _word_scores(self, name: str, b: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Scores [K, names] of what is said of words m of sentences b."""
        found = self._in_style(name, self._words[name][b, m], (b,))
        for (sentence, word), bonus in self._bonuses.get(name, {}).items():
            found[(b == sentence) & (m == word)] += bonus
        return found


class _Table:
    """Rows of scores, and a value for each, by place (b, x, y); numbered from 1 in the order of adding."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self._number = np.zeros(shape, dtype=np.int32)  # 0 for unknown: pages never touched take no memory
        self._added: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._count = 0

    def unknown(self, places: Places) -> Places:
        """The places without a row."""
        new = self._number[tuple(places)] == 0
        return places if new.all() else tuple(place[new] for place in places)

    def add(self, places: Places, rows: np.ndarray, values: np.ndarray) -> None:
        self._number[tuple(places)] = np.arange(self._count + 1, self._count + len(rows) + 1)
        self._count += len(rows)
        self._added.append(rows)
        self._values.append(values)

    def rows(self, *places: np.ndarray) -> np.ndarray:
        if len(self._added) > 1:
            self._added = [np.concatenate(self._added)]
        return self._added[0][self._number[places] - 1]

    def values(self, *places: np.ndarray) -> np.ndarray:
        if len(self._values) > 1:
            self._values = [np.concatenate(self._values)]
        return self._values[0][self._number[places] - 1]


def word_places(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every word of a batch: its sentence and its position 1..n."""
    b = np.repeat(np.arange(len(lengths)), lengths)
    begins = np.cumsum(lengths) - lengths
    return b, np.arange(len(b)) - begins[b] + 1


def _bounds(lengths: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Where the words and the nodes of each sentence stand."""
    word = node = 0
    for n in lengths.tolist():
        yield slice(word, word + n), slice(node, node + 2 * n - 1)
        word, node = word + n, node + 2 * n - 1
