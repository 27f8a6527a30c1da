"""What training minimises: a margin (or a likelihood) over whole trees, and cross-entropy for what labels them.

The margin needs only the argmax. Costs are added to the scores of wrong spans and wrong arcs, the best tree
is searched outside autograd, and then the scores of the predicted and the gold parts are gathered: no chart
enters the graph.

A gold tree outside the search space would make the margin negative without bound, and training diverge: the
margin of every sentence is checked to be at least zero.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from arcspan.errors import TreeError
from arcspan.neural.model import Model, Scores, flatten, search, unpack
from arcspan.neural.scorers import fenceposts

IGNORE = -100  # cross_entropy passes over this class


@dataclass(frozen=True)
class Gold:
    """The gold structures of a batch, flat: rows of all sentences together, `*_b` the sentence of each row.

    nodes: (i, j, head) of the binarized trees, pre-order; words: in order. `joint` says which sentences have
    compatible trees and are trained on as l-trees; `projective` which d-trees the search can reach.
    """

    lengths: np.ndarray
    node_b: np.ndarray
    nodes: np.ndarray
    labels: np.ndarray
    word_b: np.ndarray
    word_m: np.ndarray
    heads: np.ndarray
    relations: np.ndarray
    tags: np.ndarray
    upos: np.ndarray
    joint: np.ndarray
    projective: np.ndarray
    names: list[str] = field(default_factory=list)

    @property
    def words(self) -> int:
        """How many words the batch has."""
        return int(self.lengths.sum())


class Parts(NamedTuple):
    """Index arrays into scores: spans (b, i, j), arcs (b, m, h), headed and hooked spans (b, i, j, h)."""

    spans: tuple[np.ndarray, ...] | None
    arcs: tuple[np.ndarray, ...] | None
    headed: tuple[np.ndarray, ...] | None


def parts_of(
    node_b: np.ndarray | None,
    nodes: np.ndarray | None,
    arcs: tuple[np.ndarray, ...] | None,
    second_order: bool,
) -> Parts:
    """The scored parts of trees given as nodes (i, j, head) and arcs (b, m, h)."""
    spans = None if nodes is None else (node_b, nodes[:, 0], nodes[:, 1])
    headed = None
    if second_order:
        assert nodes is not None and arcs is not None and node_b is not None
        # In pre-order the first node that a word heads is its maximal projection.
        stride = int(nodes[:, 2].max(initial=0)) + 1
        keys, first = np.unique(node_b * stride + nodes[:, 2], return_index=True)
        head_of = np.zeros(int(node_b.max(initial=0) + 1) * stride, dtype=np.int64)
        head_of[arcs[0] * stride + arcs[1]] = arcs[2]
        hook = head_of[keys]
        first, hook = first[hook > 0], hook[hook > 0]
        headed = (
            np.concatenate([node_b, node_b[first]]),
            np.concatenate([nodes[:, 0], nodes[first, 0]]),
            np.concatenate([nodes[:, 1], nodes[first, 1]]),
            np.concatenate([nodes[:, 2], hook]),
        )
    return Parts(spans, arcs, headed)  # type: ignore[arg-type]


def sum_parts(scores: Scores, parts: Parts, batch: int) -> Tensor:
    """The score of each sentence's parts, [B]."""
    some = scores.span if scores.span is not None else scores.arc
    assert some is not None
    total = some.new_zeros(batch)

    def add(values: Tensor, b: np.ndarray) -> None:
        nonlocal total
        total = total.index_add(0, _index(b, some), values)

    if parts.spans is not None and scores.span is not None:
        b, i, j = parts.spans
        add(scores.span[_index(b, some), _index(i, some), _index(j, some)], b)
    if parts.arcs is not None and scores.arc is not None:
        b, m, h = parts.arcs
        add(scores.arc[_index(b, some), _index(m, some), _index(h, some)], b)
    if parts.headed is not None and scores.headed is not None:
        b, i, j, h = parts.headed
        positions = scores.headed.shape[2]
        pair = i * positions - i * (i + 1) // 2 + (j - i - 1)  # the place of (i, j) among all i < j
        add(scores.headed[_index(b, some), _index(pair, some), _index(h, some)], b)
    return total


class StructureLoss:
    """The loss over trees of one of the four systems; `seconds` adds up what search and bookkeeping took."""

    def __init__(self, system: str, loss: str) -> None:
        self.joint = system.startswith("joint")
        self.crf = loss == "crf"
        self.seconds = 0.0

    def __call__(self, scores: Scores, gold: Gold) -> Tensor:
        """The sum over the sentences of the batch."""
        started = time.perf_counter()
        total: Tensor | None = None
        for spans, arcs, chosen in self._tasks(scores, gold):
            if len(chosen):
                subset = _choose(gold, chosen)
                part = Scores(
                    _rows(scores.span, chosen) if spans else None,
                    _rows(scores.arc, chosen) if arcs else None,
                    _rows(scores.headed, chosen) if spans and arcs else None,
                )
                value = self._likelihood(part, subset) if self.crf else self._margin(part, subset)
                total = value if total is None else total + value
        crossing = np.flatnonzero(~gold.projective)
        if len(crossing) and scores.arc is not None:
            # No projective search reaches these d-trees; each word still learns its head by itself.
            value = _head_selection(scores.arc, gold, crossing)
            total = value if total is None else total + value
        self.seconds += time.perf_counter() - started
        assert total is not None
        return total

    def _tasks(self, scores: Scores, gold: Gold) -> list[tuple[bool, bool, np.ndarray]]:
        """(with spans, with arcs, which sentences): joint where possible, otherwise apart."""
        everything = np.arange(len(gold.lengths))
        has_spans, has_arcs = scores.span is not None, scores.arc is not None
        joint = gold.joint if self.joint and has_spans and has_arcs else np.zeros(len(everything), dtype=bool)
        tasks = [(True, True, everything[joint])]
        if has_spans:
            tasks.append((True, False, everything[~joint]))
        if has_arcs:
            tasks.append((False, True, everything[~joint & gold.projective]))
        return tasks

    def _gold_parts(self, scores: Scores, gold: Gold) -> Parts:
        arcs = (gold.word_b, gold.word_m, gold.heads)
        has_spans, has_arcs = scores.span is not None, scores.arc is not None
        return parts_of(
            gold.node_b if has_spans else None,
            gold.nodes if has_spans else None,
            arcs if has_arcs else None,
            scores.headed is not None,
        )

    def _margin(self, scores: Scores, gold: Gold) -> Tensor:
        """The greatest score + cost of all trees, less the gold tree's score; cost counts wrong spans and arcs."""
        wanted = self._gold_parts(scores, gold)
        augmented = Scores(
            _with_cost(scores.span, wanted.spans), _with_cost(scores.arc, wanted.arcs), scores.headed
        )
        decoded = search(augmented, gold.lengths)
        node_b, nodes = flatten(decoded.spans) if decoded.spans is not None else (None, None)
        arcs = None
        if decoded.heads is not None:
            arcs = (gold.word_b, gold.word_m, decoded.heads[gold.word_b, gold.word_m].astype(np.int64))
        found = parts_of(node_b, nodes, arcs, scores.headed is not None)
        batch = len(gold.lengths)
        cost = np.zeros(batch, dtype=np.float32)
        if found.spans is not None and wanted.spans is not None:
            positions = int(gold.lengths.max()) + 1
            right = np.zeros((batch, positions, positions), dtype=np.bool_)
            right[wanted.spans] = True
            np.add.at(cost, found.spans[0], ~right[found.spans])
        if found.arcs is not None and wanted.arcs is not None:
            np.add.at(cost, found.arcs[0], found.arcs[2] != wanted.arcs[2])
        target = sum_parts(scores, wanted, batch)
        margin = sum_parts(scores, found, batch) - target + torch.as_tensor(cost, device=target.device)
        # float32 sums of some hundred parts, in two orders: what rounding may leave below zero.
        slack = 1e-4 * (1 + target.detach().abs()) + 1e-3
        below = (margin.detach() < -slack).nonzero()
        if len(below):
            place = int(below[0, 0])
            raise TreeError(
                f"{gold.names[place] if gold.names else f'sentence {place}'}: the gold tree scores more than the best "
                "tree of the search, so the search does not contain it (is its binarization head-consistent, its "
                "d-tree projective with one root?)"
            )
        return margin.clamp(min=0).sum()

    def _likelihood(self, scores: Scores, gold: Gold) -> Tensor:
        from arcspan.neural.crf import log_partition

        batch = len(gold.lengths)
        headed = None if scores.headed is None else unpack(scores.headed)
        logs = log_partition(scores.span, scores.arc, gold.lengths, headed)
        return (logs - sum_parts(scores, self._gold_parts(scores, gold), batch)).sum()


class Losses(NamedTuple):
    """Sums over a batch; divide by its words."""

    structure: Tensor
    label: Tensor
    relation: Tensor
    tag: Tensor


def losses(
    model: Model, structure: StructureLoss, inputs: dict[str, Tensor], gold: Gold, gold_tags: Tensor | None
) -> Losses:
    """All losses of a batch, labels and relations at the gold spans and arcs only."""
    hidden = model.encode(inputs, gold_tags)
    scores = model.score(hidden)
    zero = hidden.new_zeros(())
    label = relation = tag = zero
    if model.label is not None:
        logits = model.label(
            fenceposts(hidden),
            *(_index(x, hidden) for x in (gold.node_b, gold.nodes[:, 0], gold.nodes[:, 1])),
        )
        label = _cross_entropy(logits, gold.labels)
    if model.relation is not None:
        logits = model.relation(
            hidden[:, :-1], *(_index(x, hidden) for x in (gold.word_b, gold.word_m, gold.heads))
        )
        relation = _cross_entropy(logits, gold.relations)
    b, m = _index(gold.word_b, hidden), _index(gold.word_m, hidden)
    if model.tag is not None:
        tag = tag + _cross_entropy(model.tag(hidden)[b, m], gold.tags)
    if model.upos is not None:
        tag = tag + _cross_entropy(model.upos(hidden)[b, m], gold.upos)
    return Losses(structure(scores, gold), label, relation, tag)


def _with_cost(scores: Tensor | None, gold: tuple[np.ndarray, ...] | None) -> Tensor | None:
    """Scores plus one wherever the gold tree has nothing."""
    if scores is None or gold is None:
        return None
    out = scores.detach() + 1
    out[tuple(_index(axis, out) for axis in gold)] -= 1
    return out


def _cross_entropy(logits: Tensor, classes: np.ndarray) -> Tensor:
    target = torch.as_tensor(classes, device=logits.device)
    return torch.nn.functional.cross_entropy(logits.float(), target, ignore_index=IGNORE, reduction="sum")


def _head_selection(arc: Tensor, gold: Gold, chosen: np.ndarray) -> Tensor:
    """Cross-entropy of each word's head among all positions of its sentence."""
    mine = np.isin(gold.word_b, chosen)
    b, m, heads = gold.word_b[mine], gold.word_m[mine], gold.heads[mine]
    logits = arc[_index(b, arc), _index(m, arc)]
    position = torch.arange(logits.shape[1], device=arc.device)
    outside = position > torch.as_tensor(gold.lengths[b], device=arc.device).unsqueeze(1)
    return _cross_entropy(logits.masked_fill(outside, -1e30), heads)


def _choose(gold: Gold, chosen: np.ndarray) -> Gold:
    """The gold structures of some of the sentences, renumbered from 0."""
    if len(chosen) == len(gold.lengths):
        return gold
    place = np.full(len(gold.lengths), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    node, word = place[gold.node_b] >= 0, place[gold.word_b] >= 0
    return Gold(
        lengths=gold.lengths[chosen],
        node_b=place[gold.node_b[node]],
        nodes=gold.nodes[node],
        labels=gold.labels[node],
        word_b=place[gold.word_b[word]],
        word_m=gold.word_m[word],
        heads=gold.heads[word],
        relations=gold.relations[word],
        tags=gold.tags[word],
        upos=gold.upos[word],
        joint=gold.joint[chosen],
        projective=gold.projective[chosen],
        names=[gold.names[b] for b in chosen] if gold.names else [],
    )


def _rows(scores: Tensor | None, chosen: np.ndarray) -> Tensor | None:
    if scores is None or len(chosen) == scores.shape[0]:
        return scores
    return scores[_index(chosen, scores)]


def _index(array: np.ndarray, like: Tensor) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(array, dtype=np.int64), device=like.device)
