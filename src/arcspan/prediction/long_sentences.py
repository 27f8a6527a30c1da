"""Sentences whose chart does not fit the memory limit: parsed in pieces, and the pieces joined.

The whole sentence is encoded (through windows) and its spans and arcs are scored once, without
second-order scores, which takes memory in n^2 only. The sentence is then cut in two where both
parts score best as spans, after a full stop, colon or semicolon if there is one, else after a
comma, else anywhere; and the parts again, until none is longer than `PIECE` words. Each piece is
parsed exactly, like a sentence of its own. The cuts are a binary tree above the pieces; which piece
heads each of its nodes is found exactly from the arc scores between the pieces' root words
(Eisner-Satta over a fixed tree: every pair of pieces meets at one node). So both trees are
complete, and compatible wherever those of the pieces are.

A "sentence" for which even that would be too much (`BLOCK`, some pages of text) is cut by its
length first; the roots of the later blocks attach to the root of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from arcspan.prediction.charts import Charts
from arcspan.prediction.model import EncodedSentence, ParserModel
from arcspan.prediction.query import PLAIN, Query
from arcspan.prediction.results import Prediction

# Words of a piece; treebank sentences are rarely longer.
PIECE = 96
# No cut makes a shorter piece, in words.
LEAST = 16
# Words of a block, and what it costs to encode it: twice as many pieces.
BLOCK = 4000
BLOCK_COST = 8000

_CLOSING = frozenset(".!?;:…。！？；：")
_COMMAS = frozenset(",，、،)]–—")

ParseFunction = Callable[[Sequence[tuple[Sequence[str], Query]]], list[Prediction]]
"""The best prediction of each sentence, with its query."""


def predict_long(
    model: ParserModel, sentence: EncodedSentence, longest: int, parse: ParseFunction
) -> Prediction:
    """Return the approximate prediction for a sentence that is too long for the exact search.

    longest  words of the longest piece that `parse` can parse exactly
    """
    n = len(sentence.words)
    block = min(BLOCK, max(1, BLOCK_COST * n // sentence.cost))
    if n > block:
        # Blocks of equal length, as few as possible.
        count = -(-n // block)
        cuts = [*range(0, n, -(-n // count)), n]
        return _join_flat(model, sentence, _Pieces(_parse_pieces(parse, sentence, cuts), cuts))
    return _parse_and_join(model, sentence, longest, parse)


def _parse_pieces(
    parse: ParseFunction, sentence: EncodedSentence, cuts: Sequence[int]
) -> list[Prediction]:
    """Parse the words between neighbouring cuts, each as a sentence of its own."""
    questions = []
    for i, j in pairwise(cuts):
        tags = None if sentence.tags is None else tuple(sentence.tags[i:j])
        questions.append((sentence.words[i:j], Query(style=sentence.style, tags=tags)))
    predictions = parse(questions)
    for prediction in predictions:
        if prediction.error is not None:
            raise ValueError(prediction.error)
    return predictions


def _parse_and_join(
    model: ParserModel, sentence: EncodedSentence, longest: int, parse: ParseFunction
) -> Prediction:
    charts = Charts(model, [sentence], [PLAIN], headed=False)
    span = arc = None
    for part in charts.parts:
        if span is None and part.scores.span is not None:
            span = part.scores.span[0]
        if arc is None and part.scores.arc is not None:
            arc = part.scores.arc[0]
    tree = cut(sentence.words, span, min(PIECE, longest))
    cuts = sorted({i for i, _ in tree} | {len(sentence.words)})
    pieces = _Pieces(_parse_pieces(parse, sentence, cuts), cuts)
    piece_at = {i: piece for piece, i in enumerate(cuts)}
    over_pieces = [(piece_at[i], piece_at[j]) for i, j in tree]
    roots = np.zeros(0, dtype=np.int64)
    node_heads = [0] * len(tree)
    score = pieces.score
    if pieces.heads is not None and arc is not None:
        roots = pieces.roots()
        candidates = np.append(0, roots)
        heads, head_pieces, arc_score = choose_heads(over_pieces, arc[np.ix_(roots, candidates)])
        score += arc_score
        pieces.heads[roots - 1] = candidates[heads]
        node_heads = [int(roots[piece]) for piece in head_pieces]
    # Nodes above the pieces; the other nodes of the tree are the pieces themselves.
    inner = [index for index, (a, b) in enumerate(over_pieces) if b - a > 1]
    labels = _label(charts, [tree[index] for index in inner], roots, pieces)
    nodes = None
    if span is not None:
        score += float(sum(span[tree[index]] for index in inner))
        label_of = dict(zip(inner, labels, strict=True))
        rows: list[Any] = []
        for index, (a, _) in enumerate(over_pieces):
            if index in label_of:
                rows.append([[*tree[index], node_heads[index], label_of[index]]])
            else:
                rows.append(pieces.nodes(a))
        nodes = np.concatenate(rows)
    return pieces.prediction(nodes, score)


class _Pieces:
    """Predictions for neighbouring parts of a sentence, with positions in the whole sentence."""

    def __init__(self, predictions: Sequence[Prediction], cuts: Sequence[int]) -> None:
        self._predictions = predictions
        self.cuts = cuts
        self.score = sum(prediction.score for prediction in predictions)
        self.words = {
            output: np.concatenate([prediction.words[output] for prediction in predictions])
            for output in predictions[0].words
        }
        self.relations = _concatenate([prediction.relations for prediction in predictions])
        self.heads = _concatenate([prediction.heads for prediction in predictions])
        if self.heads is not None:
            starts = np.repeat(cuts[:-1], np.diff(cuts))
            self.heads = np.where(self.heads > 0, self.heads + starts, 0)

    def roots(self) -> np.ndarray:
        return np.flatnonzero(self.heads == 0) + 1

    def nodes(self, piece: int) -> np.ndarray:
        start = self.cuts[piece]
        nodes = np.array(self._predictions[piece].nodes)
        nodes[:, :2] += start
        # A head of 0 stands for none.
        nodes[nodes[:, 2] > 0, 2] += start
        return nodes

    def all_nodes(self) -> list[np.ndarray] | None:
        if self._predictions[0].nodes is None:
            return None
        return [self.nodes(piece) for piece in range(len(self._predictions))]

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


def _concatenate(parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    arrays = [part for part in parts if part is not None]
    return np.concatenate(arrays) if arrays else None


def cut(words: Sequence[str], span: np.ndarray | None, longest: int) -> list[tuple[int, int]]:
    """Return the spans of a binary tree in pre-order, whose leaves have at most `longest` words.

    >>> cut("a b c . d e f g".split(), None, 4)
    [(0, 8), (0, 4), (4, 8)]
    """
    n = len(words)
    least = max(1, min(LEAST, longest // 4))
    # How good it is to cut after each word.
    rank = np.zeros(n + 1, dtype=np.int64)
    for k, word in enumerate(words, 1):
        if word[-1:] in _CLOSING:
            rank[k] = 2
        elif word in _COMMAS:
            rank[k] = 1
    tree = []
    stack = [(0, n)]
    while stack:
        i, j = stack.pop()
        tree.append((i, j))
        if j - i <= longest:
            continue
        splits = np.arange(i + least, j - least + 1)
        splits = splits[rank[splits] == rank[splits].max()]
        if span is None:
            # Without scores, as near to the middle as possible.
            k = int(splits[np.abs(splits - (i + j) / 2).argmin()])
        else:
            k = int(splits[(span[i, splits] + span[splits, j]).argmax()])
        # The left part is popped first: pre-order.
        stack += [(k, j), (i, k)]
    return tree


def choose_heads(
    tree: Sequence[tuple[int, int]], arc: np.ndarray
) -> tuple[np.ndarray, list[int], float]:
    """Return the best heads of K pieces that fit a binary tree over them, by dynamic programming.

    tree  spans (a, b) over the pieces, pre-order
    arc   [K, K+1]: arc[m, h] scores piece h (1..K, 0 the root) as the head of piece m (0..K-1)

    Returns the heads of the pieces, 1..K or 0, the head piece, 0..K-1, of every node, and the arcs'
    score.

    >>> choose_heads([(0, 2), (0, 1), (1, 2)], np.array([[0.0, 0.0, 5.0], [1.0, 2.0, 0.0]]))[0].tolist()
    [2, 0]
    """
    index_of = {span: index for index, span in enumerate(tree)}
    # For each node: the best score of its inside for each of its pieces as its head.
    best: list[np.ndarray] = [np.zeros(0)] * len(tree)
    split: dict[int, tuple[int, int]] = {}
    # In pre-order parts stand after the whole.
    for index in range(len(tree) - 1, -1, -1):
        a, b = tree[index]
        if b - a == 1:
            best[index] = np.zeros(1)
            continue
        left = index + 1
        k = tree[left][1]
        right = index_of[k, b]
        split[index] = left, right
        on_left = (best[right][:, None] + arc[k:b, a + 1 : k + 1]).max(0)
        on_right = (best[left][:, None] + arc[a:k, k + 1 : b + 1]).max(0)
        best[index] = np.concatenate([best[left] + on_left, best[right] + on_right])
    heads = np.zeros(len(arc), dtype=np.int64)
    node_heads = [0] * len(tree)
    whole = best[0] + arc[:, 0]
    node_heads[0] = int(whole.argmax())
    # Trace back from the whole to its parts.
    for index in range(len(tree)):
        if index not in split:
            continue
        left, right = split[index]
        k = tree[left][1]
        h = node_heads[index]
        inside, outside = (left, right) if h < k else (right, left)
        start, stop = tree[outside]
        m = start + int((best[outside] + arc[start:stop, h + 1]).argmax())
        node_heads[inside] = h
        node_heads[outside] = m
        heads[m] = h + 1
    return heads, node_heads, float(whole.max())


def _label(
    charts: Charts, spans: Sequence[tuple[int, int]], roots: np.ndarray, pieces: _Pieces
) -> list[int]:
    """Return the labels of spans above the pieces; set the relations of the pieces' roots."""
    labels: list[int] = []
    i, j = np.asarray(spans, dtype=np.int64).reshape(-1, 2).T
    guidelines = charts.model.guidelines
    for part in charts.parts:
        if "label" in part.scorer.outputs and len(i):
            labels = part.label_scores("label", np.zeros_like(i), i, j).argmax(1).tolist()
        if "relation" not in part.scorer.outputs:
            continue
        if pieces.heads is None or pieces.relations is None:
            continue
        heads = pieces.heads[roots - 1]
        relation = part.label_scores("relation", np.zeros_like(roots), roots, heads)
        pieces.relations[roots - 1] = relation.argmax(1)
        if guidelines is not None:
            # The relations inside the pieces are fixed.
            is_fixed = np.arange(relation.shape[1]) == pieces.relations[:, None]
            values = np.where(is_fixed, 0.0, -np.inf)
            values[roots - 1] = relation
            pieces.relations, pieces.words = guidelines.choose(
                values, pieces.heads, charts.lengths, pieces.words
            )
    return labels


def _join_flat(model: ParserModel, sentence: EncodedSentence, blocks: _Pieces) -> Prediction:
    """Put blocks side by side under one root, headed by the first block's."""
    root = 0
    if blocks.heads is not None and blocks.relations is not None:
        root, *others = blocks.roots().tolist()
        positions = np.asarray(others, dtype=np.int64) - 1
        blocks.heads[positions] = root
        blocks.relations[positions] = _loose_relation(model, sentence)
    nodes = None
    of_blocks = blocks.all_nodes()
    if of_blocks is not None:
        # ((first second) third): every node above the blocks is headed by the first.
        above = [[0, j, root, 0] for j in reversed(blocks.cuts[2:])]
        # The top is a constituent: it takes the label of a block.
        labels = [int(rows[0, 3]) for rows in of_blocks if rows[0, 3]]
        above[0][3] = labels[0] if labels else 1
        nodes = np.concatenate([above, *of_blocks])
    return blocks.prediction(nodes, blocks.score)


def _loose_relation(model: ParserModel, sentence: EncodedSentence) -> int:
    """Return the number of a relation between sentences that the sentence's style uses."""
    relations = model.inventories.relations
    style = np.asarray([sentence.style.dependency])
    penalties = np.zeros((1, len(relations)))
    is_used = model.inventories.forbid_unused("relation", penalties, style)[0] == 0
    used = [name for name, use in zip(relations, is_used, strict=True) if use and name]
    for name in ("parataxis", "list", "conj", "dep"):
        if name in used:
            return relations.index(name)
    return relations.index(used[0])
