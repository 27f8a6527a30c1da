"""Sentences whose chart does not fit the memory limit: parsed in pieces, and the pieces joined.

The whole sentence is encoded (through windows) and its spans and arcs are scored once, without second-order
scores, which takes memory in n^2 only. The sentence is then cut in two where both parts score best as spans,
after a full stop, colon or semicolon if there is one, else after a comma, else anywhere; and the parts again,
until none is longer than `PIECE` words. Each piece is parsed exactly, like a sentence of its own. The cuts are
a binary tree above the pieces; which piece heads each of its nodes is found exactly from the arc scores
between the pieces' root words (Eisner-Satta over a given tree: every pair of pieces meets at one node). So both
trees are complete, and compatible wherever those of the pieces are.

A "sentence" for which even that would be too much (`BLOCK`, some pages of text) is cut by its length first;
the roots of the later blocks attach to the root of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from arcspan.prediction.batch_scores import BatchScores, ModelInput
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.query import Query

if TYPE_CHECKING:
    from arcspan.prediction.predictor import Predictor

PIECE = 96  # words; treebank sentences are rarely longer
LEAST = 16  # words; no cut makes a shorter piece
BLOCK = 4000  # words, and half as many pieces again as an ordinary word has
BLOCK_COST = 8000

_CLOSING = frozenset(".!?;:…。！？；：")
_COMMAS = frozenset(",，、،)]–—")


def predict_long(predictor: Predictor, item: ModelInput) -> Prediction:
    """The approximate prediction for a sentence that is too long for the exact one."""
    block = min(BLOCK, max(1, BLOCK_COST * item.length // item.cost))
    if item.length > block:
        cuts = list(range(0, item.length, -(-item.length // -(-item.length // block))))
        return _join_flat(predictor, item, [*cuts, item.length])
    return _join(predictor, item)


def _parse_parts(predictor: Predictor, item: ModelInput, cuts: Sequence[int]) -> list[Prediction]:
    """The words between neighbouring cuts, each as a sentence of its own."""
    requests = []
    for i, j in pairwise(cuts):
        tags = item.query.tags
        requests.append(
            (item.words[i:j], Query(style=item.style, tags=None if tags is None else tags[i:j]))
        )
    found = [own[0] for own in predictor.submit(requests, here=True).result()]
    for prediction in found:
        if prediction.error is not None:
            raise ValueError(prediction.error)
    return found


def _join(predictor: Predictor, item: ModelInput) -> Prediction:
    batch = BatchScores(predictor, [item], headed=False)
    scored = [labeller.given for labeller in batch.labellers]
    span = next((scores.span[0] for scores in scored if scores.span is not None), None)
    arc = next((scores.arc[0] for scores in scored if scores.arc is not None), None)
    tree = cut(item.words, span, min(PIECE, predictor.longest))
    cuts = sorted({i for i, _ in tree} | {item.length})
    parts = _Parts(_parse_parts(predictor, item, cuts), cuts)
    number = {i: piece for piece, i in enumerate(cuts)}
    over_pieces = [(number[i], number[j]) for i, j in tree]
    roots = np.zeros(0, dtype=np.int64)
    tops = [0] * len(tree)
    score = parts.score
    if parts.heads is not None and arc is not None:
        roots = parts.roots()
        heads, pieces, value = choose_heads(over_pieces, arc[np.ix_(roots, np.append(0, roots))])
        score += value
        parts.heads[roots - 1] = np.append(0, roots)[heads]
        tops = [int(roots[piece]) for piece in pieces]
    inner = [place for place, (a, b) in enumerate(over_pieces) if b - a > 1]
    labels = _label(batch, [tree[place] for place in inner], roots, parts)
    nodes = None
    if span is not None:
        score += float(sum(span[tree[place]] for place in inner))
        label_of = dict(zip(inner, labels, strict=True))
        nodes = np.concatenate(
            [
                [[*tree[place], tops[place], label_of[place]]]
                if place in label_of
                else parts.nodes(a)
                for place, (a, _) in enumerate(over_pieces)
            ]
        )
    return parts.prediction(nodes, score)


class _Parts:
    """Predictions for neighbouring parts of a sentence, counted in words of the whole."""

    def __init__(self, predictions: Sequence[Prediction], cuts: Sequence[int]) -> None:
        self._predictions, self._cuts = predictions, cuts
        self.score = sum(part.score for part in predictions)
        self.words = {
            name: np.concatenate([part.words[name] for part in predictions])
            for name in predictions[0].words
        }
        self.relations = _all([part.relations for part in predictions])
        self.heads = _all([part.heads for part in predictions])
        if self.heads is not None:
            begins = np.repeat(cuts[:-1], np.diff(cuts))
            self.heads = np.where(self.heads > 0, self.heads + begins, 0)

    def roots(self) -> np.ndarray:
        return np.flatnonzero(self.heads == 0) + 1

    def nodes(self, part: int) -> np.ndarray:
        begin = self._cuts[part]
        own = np.array(self._predictions[part].nodes)
        own[:, :2] += begin
        own[own[:, 2] > 0, 2] += begin
        return own

    def prediction(self, nodes: np.ndarray | None, score: float) -> Prediction:
        return replace(
            self._predictions[0],
            nodes=nodes,
            heads=self.heads,
            relations=self.relations,
            words=self.words,
            score=float(score),
            approximate=True,
        )


def _all(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None


def cut(words: Sequence[str], span: np.ndarray | None, longest: int) -> list[tuple[int, int]]:
    """The spans of a binary tree in pre-order, whose leaves are pieces of at most `longest` words.

    >>> cut("a b c . d e f g".split(), None, 4)
    [(0, 8), (0, 4), (4, 8)]
    """
    n = len(words)
    least = max(1, min(LEAST, longest // 4))
    rank = np.zeros(n + 1, dtype=np.int64)  # how good it is to cut after a word
    for k, word in enumerate(words, 1):
        rank[k] = 2 if word[-1:] in _CLOSING else 1 if word in _COMMAS else 0
    tree, waiting = [], [(0, n)]
    while waiting:
        i, j = waiting.pop()
        tree.append((i, j))
        if j - i <= longest:
            continue
        places = np.arange(i + least, j - least + 1)
        places = places[rank[places] == rank[places].max()]
        if span is None:
            k = int(places[np.abs(places - (i + j) / 2).argmin()])
        else:
            k = int(places[(span[i, places] + span[places, j]).argmax()])
        waiting += [(k, j), (i, k)]
    return tree


def choose_heads(
    tree: Sequence[tuple[int, int]], arc: np.ndarray
) -> tuple[np.ndarray, list[int], float]:
    """The best heads of K pieces that fit a binary tree over them, by dynamic programming.

    tree  spans (a, b) over the pieces, pre-order
    arc   [K, K+1]: arc[m, h] scores piece h (1..K, 0 the root) as the head of piece m (0..K-1)

    Returns the heads of the pieces, 1..K or 0, the head piece, 0..K-1, of every node of the tree, and the arcs' score.

    >>> choose_heads([(0, 2), (0, 1), (1, 2)], np.array([[0.0, 0.0, 5.0], [1.0, 2.0, 0.0]]))[0].tolist()
    [2, 0]
    """
    place_of = {span: place for place, span in enumerate(tree)}
    best: list[np.ndarray] = [np.zeros(0)] * len(
        tree
    )  # of a node: for each piece inside as its head
    split: dict[int, tuple[int, int]] = {}
    for place in range(len(tree) - 1, -1, -1):  # parts stand after the whole
        a, b = tree[place]
        if b - a == 1:
            best[place] = np.zeros(1)
            continue
        left = place + 1
        k = tree[left][1]
        right = place_of[k, b]
        split[place] = left, right
        on_left = (best[right][:, None] + arc[k:b, a + 1 : k + 1]).max(0)
        on_right = (best[left][:, None] + arc[a:k, k + 1 : b + 1]).max(0)
        best[place] = np.concatenate([best[left] + on_left, best[right] + on_right])
    heads = np.zeros(len(arc), dtype=np.int64)
    tops = [0] * len(tree)
    whole = best[0] + arc[:, 0]
    tops[0] = int(whole.argmax())
    for place in range(len(tree)):
        if place not in split:
            continue
        (a, b), (left, right) = tree[place], split[place]
        k, h = tree[left][1], tops[place]
        inside, outside = (left, right) if h < k else (right, left)
        begin, end = tree[outside]
        m = begin + int((best[outside] + arc[begin:end, h + 1]).argmax())
        tops[inside], tops[outside] = h, m
        heads[m] = h + 1
    return heads, tops, float(whole.max())


def _label(
    batch: BatchScores, spans: Sequence[tuple[int, int]], roots: np.ndarray, parts: _Parts
) -> list[int]:
    """Labels of the spans above the pieces; the relations of the pieces' roots are put in their place."""
    labels: list[int] = []
    i, j = np.asarray(spans, dtype=np.int64).reshape(-1, 2).T
    guidelines = batch.predictor.guidelines
    for labeller in batch.labellers:
        if "label" in labeller.scorer.outputs and len(i):
            labels = labeller.scores("label", np.zeros_like(i), i, j).argmax(1).tolist()
        if (
            "relation" in labeller.scorer.outputs
            and parts.heads is not None
            and parts.relations is not None
        ):
            relation = labeller.scores(
                "relation", np.zeros_like(roots), roots, parts.heads[roots - 1]
            )
            parts.relations[roots - 1] = relation.argmax(1)
            if guidelines is not None:
                fixed = np.arange(relation.shape[1]) == parts.relations[:, None]
                values = np.where(fixed, 0.0, -np.inf)
                values[roots - 1] = relation
                parts.relations = guidelines.choose(values, parts.heads, batch.lengths, parts.words)
    return labels


def _join_flat(predictor: Predictor, item: ModelInput, cuts: Sequence[int]) -> Prediction:
    """Blocks side by side under one root, headed by the first block's."""
    blocks = _parse_parts(predictor, item, cuts)
    parts = _Parts(blocks, cuts)
    nodes = None
    root = 0
    if parts.heads is not None and parts.relations is not None:
        root, *others = parts.roots().tolist()
        known = predictor.inventories
        style = np.asarray([item.style.dependency])
        used = known.forbid_unused("relation", np.zeros((1, len(known.relations))), style)[0] == 0
        names = [name if use else "" for name, use in zip(known.relations, used, strict=True)]
        wanted = ("parataxis", "list", "conj", "dep", *filter(None, names))
        beside = next(name for name in wanted if name in names)
        places = np.asarray(others, dtype=np.int64) - 1
        parts.heads[places], parts.relations[places] = root, names.index(beside)
    if blocks[0].nodes is not None:
        # ((first second) third): every node above the blocks is headed by the first, and the top has a label.
        above = [[0, j, root, 0] for j in reversed(cuts[2:])]
        firsts = [parts.nodes(number) for number in range(len(blocks))]
        above[0][3] = next((int(own[0, 3]) for own in firsts if own[0, 3]), 1)
        nodes = np.concatenate([above, *firsts])
    return parts.prediction(nodes, parts.score)
