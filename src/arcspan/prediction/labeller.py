"""The one labeller: scores of labels and relations wherever they are asked for, and predictions made of them.

Everything that may not be chosen scores -inf here and nowhere else: names that a sentence's style does not use, names
that its constraints do not allow, and "no constituent" over a whole sentence. A span or an arc is scored once, when it
is first asked for; its value is what its best name adds to the score of a labelled tree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arcspan.decoding import Decoded
from arcspan.prediction.confidence import Calibration, log_softmax
from arcspan.prediction.constraints import Bonuses
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.outputs import LAYERS, OUTPUTS, Inventories, Style
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.scores import Places, Scorer, Scores

_ROWS = 1024  # rows that are scored in one run: a biaffine labeller takes memory for each
_NOWHERE: Places = (np.zeros(0, dtype=np.int64),) * 3
_LAYER = {output.name: LAYERS.index(output.layer) for output in OUTPUTS if output.layer in LAYERS}


class Labeller:
    """Scores of labels, relations and whatever is said of words, for the sentences of a batch.

    scores   of the batch, by `scorer` (`given`; constraints change them);  lengths [B] and styles, one per sentence
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
        self.given = scores
        self._styles = np.asarray(styles, dtype=np.int64).reshape(-1, len(LAYERS))
        self._calibration, self._bonuses = calibration, bonuses
        self._worth: dict[str, dict[tuple[int, ...], float]] = {"label": {}, "relation": {}}
        # Of what is known, by output: the number of each place's row, from 1; rows, as they came; the places' values.
        shape = (len(lengths), int(lengths.max()) + 1, int(lengths.max()) + 1)
        known: list[str] = [name for name in ("label", "relation") if name in scorer.outputs]
        self._number: dict[str, np.ndarray] = {name: np.zeros(shape, np.int32) for name in known}
        self._rows: dict[str, list[np.ndarray]] = {name: [] for name in known}
        self.values: dict[str, np.ndarray] = {name: np.zeros(shape, np.float32) for name in known}

    def scores(self, name: str, *places: np.ndarray) -> np.ndarray:
        """Scores [K, names] of labels at spans (b, i, j), or of relations at arcs (b, m, h)."""
        self.look_up(**{"nodes" if name == "label" else "arcs": places})
        return self._known(name, places)

    def _known(self, name: str, places: Places) -> np.ndarray:
        if len(self._rows[name]) > 1:
            self._rows[name] = [np.concatenate(self._rows[name])]
        return self._rows[name][0][self._number[name][tuple(places)] - 1]

    def look_up(self, nodes: Places = _NOWHERE, arcs: Places = _NOWHERE) -> tuple[Places, Places]:
        """Score what is not known yet of spans (b, i, j) and arcs (b, m, h), and say what that was."""
        asked = []
        for name, places in (("label", nodes), ("relation", arcs)):
            known = (
                self._number[name][tuple(places)]
                if name in self._number
                else np.ones_like(places[0])
            )
            new = known == 0
            asked.append(places if new.all() else tuple(place[new] for place in places))
        for begin in range(0, max(len(asked[0][0]), len(asked[1][0])), _ROWS):
            own = [tuple(place[begin : begin + _ROWS] for place in places) for places in asked]
            made = self.scorer.label(self.given.hidden, *own)
            for name, places, rows in zip(("label", "relation"), own, made, strict=True):
                if rows is not None and len(rows):
                    self._add(name, places, rows)
        return asked[0], asked[1]

    def _add(self, name: str, places: Places, rows: np.ndarray) -> None:
        b, x, y = places
        temperature = getattr(self._calibration, f"{name}_temperature")
        rows = self.inventories.forbid_unused(name, rows, self._styles[b, _LAYER[name]])
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
        count = sum(map(len, self._rows[name]))
        self._number[name][tuple(places)] = np.arange(count + 1, count + len(rows) + 1)
        self._rows[name].append(rows)
        self.values[name][tuple(places)] = self._calibration.structure_temperature * best

    def look_up_all(self, b: int) -> tuple[Places, Places]:
        """Score all spans and all arcs of a sentence, and say which were not known."""
        n = int(self.lengths[b])
        i, j = np.triu_indices(n + 1, 1)
        m, h = np.nonzero(~np.eye(n + 1, dtype=np.bool_)[1:])
        return self.look_up((np.full_like(i, b), i, j), (np.full_like(m, b), m + 1, h))

    def look_up_named(self) -> None:
        """Score the spans and arcs whose names constraints are about."""
        label, relation = (
            np.asarray(list(self._bonuses.get(name, ())), np.int64).reshape(-1, 3).T
            for name in ("label", "relation")
        )
        self.look_up(tuple(label), tuple(relation))

    def worth(self, b: int) -> dict[str, dict[tuple[int, int], float]]:
        """At the spans and arcs of a sentence whose names constraints are about: log of the sum of p(name) e^bonus."""
        self.look_up_named()
        return {
            kind: {(x, y): worth for (s, x, y), worth in self._worth[name].items() if s == b}
            for kind, name in (("span", "label"), ("arc", "relation"))
        }

    def visible(self, b: int) -> np.ndarray:
        """Which spans of a sentence are constituents if they are in the tree: bool [n+1, n+1]."""
        size = int(self.lengths[b]) + 1
        found = np.zeros((size, size), np.bool_)
        if "label" in self._number:
            i, j = np.triu_indices(size, 1)
            found[i, j] = self.scores("label", np.full_like(i, b), i, j).argmax(1) != 0
        return found

    def places(self, decoded: Decoded, sentences: np.ndarray) -> tuple[Places, Places]:
        """The spans (b, i, j) and arcs (b, m, h) of structures; `sentences` says which sentence each is of.

        Where there are no arcs, h is 0 for every word.
        """
        lengths = self.lengths[sentences]
        b = np.repeat(np.arange(len(lengths)), lengths)
        m = np.arange(len(b)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
        arcs = sentences[b], m, np.zeros_like(m) if decoded.heads is None else decoded.heads[b, m]
        if decoded.spans is None:
            return _NOWHERE, arcs
        spans = np.concatenate(decoded.spans)
        return (np.repeat(sentences, 2 * lengths - 1), spans[:, 0], spans[:, 1]), arcs

    def predictions(
        self, decoded: Decoded, sentences: np.ndarray, guidelines: Guidelines | None
    ) -> list[Prediction]:
        """Structures with their labels; `sentences` says which sentence of the batch each is of."""
        lengths = self.lengths[sentences]
        nodes, arcs = self.places(decoded, sentences)
        self.look_up(nodes, arcs if decoded.heads is not None else _NOWHERE)
        of, m, heads = arcs
        words = {}
        for name, scored in self.given.words.items():
            found = self.inventories.forbid_unused(
                name, scored[of, m], self._styles[of, _LAYER[name]]
            )
            for (sentence, word), bonus in self._bonuses.get(name, {}).items():
                found[(of == sentence) & (m == word)] += bonus
            words[name] = found.argmax(1)
        trees = relations = None
        if decoded.spans is not None:
            spans = np.concatenate(decoded.spans)
            trees = np.zeros((len(spans), 4), np.int64)
            trees[:, : spans.shape[1]] = spans  # CKY knows no heads
            trees[:, 3] = self._known("label", nodes).argmax(1)
        if decoded.heads is not None:
            scores = self._known("relation", arcs)
            relations = (
                guidelines.choose(scores, heads, lengths, words) if guidelines else scores.argmax(1)
            )
        predictions = []
        word = node = 0
        for n, score in zip(lengths.tolist(), decoded.scores.tolist(), strict=True):
            own, below = slice(word, word + n), slice(node, node + 2 * n - 1)
            word, node = own.stop, below.stop
            tree = None if trees is None else trees[below]
            own_heads, own_relations = (
                (None, None) if relations is None else (heads[own], relations[own])
            )
            own_words = {name: ids[own] for name, ids in words.items()}
            predictions.append(Prediction(tree, own_heads, own_relations, own_words, score))
        return predictions
