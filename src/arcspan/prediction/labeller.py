"""The one labeller: scores of labels and relations wherever they are asked for, and predictions made of them.

Everything that may not be chosen scores -inf here and nowhere else: names that a sentence's style does not use, labels
that its constraints do not allow, and "no constituent" over a whole sentence. A span or an arc is scored once, when it
is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from arcspan.decoding import Decoded
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.outputs import LAYERS, OUTPUTS, Inventories, Style
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.scores import Places, Scorer, Scores

_ROWS = 1024  # rows that are scored in one run: a biaffine labeller takes memory for each
_NOWHERE = (np.zeros(0, dtype=np.int64),) * 3
_LAYER = {output.name: output.layer for output in OUTPUTS}

Allowed = Mapping[tuple[int, int, int], np.ndarray]


class Labeller:
    """Scores of labels, relations and whatever is said of words, for the sentences of a batch.

    scores   of the batch, by `scorer`;  lengths [B] and styles, one per sentence
    allowed  (b, i, j) -> bool [labels]: what constraints leave of the labels of a span
    """

    def __init__(
        self,
        scorer: Scorer,
        scores: Scores,
        lengths: np.ndarray,
        styles: Sequence[Style],
        inventories: Inventories,
        allowed: Allowed | None = None,
    ) -> None:
        self.scorer, self.lengths, self.inventories = scorer, lengths, inventories
        self._hidden, self._words = scores.hidden, scores.words
        self._styles = np.asarray(styles, dtype=np.int64).reshape(-1, len(LAYERS))
        self._allowed = allowed or {}
        shape = (len(lengths), int(lengths.max()) + 1, int(lengths.max()) + 1)
        self._known = {name: _Table(shape) for name in ("label", "relation") if name in scorer.outputs}

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
            if labels is not None and len(own[0][0]):
                self._known["label"].add(own[0], self._allow(own[0], self._in_style("label", labels, own[0])))
            if relations is not None and len(own[1][0]):
                self._known["relation"].add(own[1], self._in_style("relation", relations, own[1]))

    def _in_style(self, name: str, scores: np.ndarray, places: Places) -> np.ndarray:
        """Scores of an output without the names that the sentences' styles do not use."""
        styles = self._styles[places[0], LAYERS.index(_LAYER[name])]
        return self.inventories.forbid_unused(name, scores, styles)

    def _allow(self, places: Places, labels: np.ndarray) -> np.ndarray:
        b, i, j = places
        labels[(i == 0) & (j == self.lengths[b]) & (j > 1), 0] = -np.inf  # the whole is always a constituent
        if self._allowed:
            for row, place in enumerate(zip(b.tolist(), i.tolist(), j.tolist(), strict=True)):
                if place in self._allowed:
                    labels[row, ~self._allowed[place]] = -np.inf
        return labels

    def visible(self, b: int) -> np.ndarray:
        """Which spans of a sentence are constituents if they are in the tree: bool [n+1, n+1]."""
        n = int(self.lengths[b])
        found = np.zeros((n + 1, n + 1), np.bool_)
        if "label" in self._known:
            i, j = np.triu_indices(n + 1, 1)
            found[i, j] = self.labels(np.full_like(i, b), i, j).argmax(1) != 0
        return found

    def predictions(
        self, decoded: Decoded, sentences: np.ndarray, guidelines: Guidelines | None
    ) -> list[Prediction]:
        """Structures with their labels; `sentences` says which sentence of the batch each is of."""
        lengths = self.lengths[sentences]
        b, m = word_places(lengths)
        of = sentences[b]
        nodes: Places = _NOWHERE
        arcs: Places = _NOWHERE
        found = heads = relations = None
        if decoded.spans is not None:
            found = np.concatenate(decoded.spans)
            nodes = np.repeat(sentences, 2 * lengths - 1), found[:, 0], found[:, 1]
        if decoded.heads is not None:
            heads = decoded.heads[b, m]
            arcs = of, m, heads
        self.look_up(nodes, arcs)
        words = {
            name: self._in_style(name, part[of, m], (of,)).argmax(1) for name, part in self._words.items()
        }
        if found is not None:
            found = np.column_stack([_with_heads(found), self.labels(*nodes).argmax(1)])
        if heads is not None:
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


class _Table:
    """Rows of scores by place (b, x, y), numbered from 1 in the order in which they were added."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self._number = np.zeros(shape, dtype=np.int32)  # 0 for unknown: pages never touched take no memory
        self._added: list[np.ndarray] = []
        self._count = 0

    def unknown(self, places: Places) -> Places:
        """The places without a row."""
        new = self._number[tuple(places)] == 0
        return places if new.all() else tuple(place[new] for place in places)

    def add(self, places: Places, rows: np.ndarray) -> None:
        self._number[tuple(places)] = np.arange(self._count + 1, self._count + len(rows) + 1)
        self._count += len(rows)
        self._added.append(rows)

    def rows(self, *places: np.ndarray) -> np.ndarray:
        if len(self._added) > 1:
            self._added = [np.concatenate(self._added)]
        return self._added[0][self._number[places] - 1]


def word_places(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every word of a batch: its sentence and its position 1..n."""
    b = np.repeat(np.arange(len(lengths)), lengths)
    begins = np.cumsum(lengths) - lengths
    return b, np.arange(len(b)) - begins[b] + 1


def _with_heads(spans: np.ndarray) -> np.ndarray:
    """Spans (i, j, head); those of a search without arcs have the head 0."""
    return spans if spans.shape[1] == 3 else np.column_stack([spans, np.zeros(len(spans), np.int64)])


def _bounds(lengths: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Where the words and the nodes of each sentence stand."""
    word = node = 0
    for n in lengths.tolist():
        yield slice(word, word + n), slice(node, node + 2 * n - 1)
        word, node = word + n, node + 2 * n - 1
