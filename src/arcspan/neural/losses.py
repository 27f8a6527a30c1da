"""What training minimises: a likelihood or a margin over whole trees, and cross-entropy for what labels them.

The margin needs only the argmax. Costs are added to the scores of wrong spans and wrong arcs, the best tree is searched
outside autograd, and then the scores of its parts and of the gold tree's are gathered: no chart enters the graph.

Where a sentence has one gold layer only, the other is a hidden variable: in place of the gold tree stands the best tree
that agrees with the gold layer (of a d-tree: all other arcs are forbidden; of a c-tree: all spans that cross its
brackets), and in place of the gold tree's score in the likelihood the sum over all such trees. The same goes for the
binarization of a c-tree, for two layers that do not fit each other (each is learnt once, with the other hidden), and
for partial trees: a word whose head is not known may have any, a node without a known label teaches none.

A gold tree outside the search space would make the margin negative without bound, and training diverge: the
margin of every sentence is checked to be at least zero. All sums over trees are in single precision.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from arcspan.distributions import TreeDistribution, Trees
from arcspan.errors import ScoreError, TreeError
from arcspan.neural.model import Model, as_indices
from arcspan.prediction.scores import Scores

IGNORE = -100  # cross_entropy passes over this class


@dataclass(frozen=True)
class Gold:
    """The gold structures of a batch, flat: rows of all sentences together, `*_b` the sentence of each row.

    nodes       (i, j, head) of the binarized trees, pre-order, and their labels; none where the tree is hidden
    chains      of each sentence with constituents: (i, j) -> its label; None without
    word_b, ... words in order; `answers` has what is said of them, by output. Heads are 0 without dependencies, -1
                where they are not known
    unlabelled  of each sentence: the label of nodes that are no constituents, 0, or IGNORE where this is not known
    joint       which sentences have compatible trees, and are learnt as l-trees
    hidden      which have something hidden: a layer, the binarization, or each layer from the other
    has_arcs    which have dependencies;  projective: d-trees that the search can reach
    weights     of the sentences
    """

    lengths: np.ndarray
    node_b: np.ndarray
    nodes: np.ndarray
    labels: np.ndarray
    word_b: np.ndarray
    word_m: np.ndarray
    heads: np.ndarray
    relations: np.ndarray
    answers: dict[str, np.ndarray]
    chains: list[dict[tuple[int, int], int] | None]
    unlabelled: np.ndarray
    joint: np.ndarray
    hidden: np.ndarray
    has_arcs: np.ndarray
    projective: np.ndarray
    weights: np.ndarray
    names: list[str]


class Task(NamedTuple):
    """Some sentences, what is searched for them, and what of it is known.

    spans, arcs              what is searched: both, or one layer alone
    know_spans, know_arcs    which gold layers the tree must agree with
    fixed                    whether these leave one tree, that of `Gold.nodes` and `Gold.heads`
    """

    chosen: np.ndarray
    spans: bool
    arcs: bool
    know_spans: bool
    know_arcs: bool
    fixed: bool


class Nodes(NamedTuple):
    """Nodes to learn labels at: sentence, (i, j), label."""

    b: np.ndarray
    nodes: np.ndarray
    labels: np.ndarray


class StructureLoss:
    """The loss over trees of one of the four systems; `seconds` adds up what search and bookkeeping took."""

    def __init__(self, system: str, loss: str, cost: str = "both") -> None:
        self.cost = cost
        self.joint = system.startswith("joint")
        self.crf = loss == "crf"
        self.seconds = 0.0

    def __call__(self, scores: Scores, gold: Gold) -> tuple[Tensor, Nodes]:
        """The sum over the sentences of the batch, and where to learn labels: at the nodes of the gold trees.

        Where those are hidden, the nodes are those of the best tree that agrees with the constituents.
        """
        span, arc, headed = (None if part is None else part.float() for part in scores[1:4])
        scores = Scores(None, span, arc, headed)
        some = scores.span if scores.span is not None else scores.arc
        total = some.new_zeros(())
        agreed = [Nodes(gold.node_b, gold.nodes, gold.labels)]
        with self.timed(some.device):
            for task in self._tasks(scores, gold):
                value, nodes = self._loss(scores, gold, task)
                total = total + value
                agreed += [] if nodes is None else [nodes]
            crossing = np.flatnonzero(~gold.projective & gold.has_arcs)
            if len(crossing) and scores.arc is not None:
                # No projective search reaches these d-trees; each word still learns its head by itself.
                total = total + _head_selection(scores.arc, gold, crossing)
        return total, Nodes(*(np.concatenate(part) for part in zip(*agreed, strict=True)))

    @contextlib.contextmanager
    def timed(self, device: torch.device) -> Iterator[None]:
        """Add what the block takes to `seconds`, without what an accelerator still computes for the encoder."""
        if device.type != "cpu":
            torch.accelerator.synchronize(device)
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started

    def _tasks(self, scores: Scores, gold: Gold) -> list[Task]:
        """Joint where possible, otherwise each layer with the other hidden, or apart."""
        has_spans = np.asarray([own is not None for own in gold.chains])
        has_arcs = gold.has_arcs & gold.projective
        hidden, joint = gold.hidden, gold.joint
        if self.joint and scores.span is not None and scores.arc is not None:
            kinds = [
                (joint & ~hidden, True, True, True, True, True),
                (joint & hidden, True, True, True, True, False),
                (~joint & hidden & has_spans, True, True, True, False, False),
                (~joint & hidden & has_arcs, True, True, False, True, False),
                (~joint & ~hidden & has_spans, True, False, True, False, True),
                (~joint & ~hidden & has_arcs, False, True, False, True, True),
            ]
        else:
            fixed, partial = np.zeros((2, len(hidden)), dtype=bool)
            fixed[np.unique(gold.node_b)] = True
            partial[gold.word_b[gold.heads < 0]] = True
            kinds = []
            if scores.arc is not None:
                kinds.append((has_arcs & ~partial, False, True, False, True, True))
                kinds.append((has_arcs & partial, False, True, False, True, False))
            if scores.span is not None:
                kinds.append((has_spans & fixed, True, False, True, False, True))
                kinds.append((has_spans & ~fixed, True, False, True, False, False))
        return [Task(np.flatnonzero(which), *rest) for which, *rest in kinds if which.any()]

    def _loss(self, scores: Scores, gold: Gold, task: Task) -> tuple[Tensor, Nodes | None]:
        """The loss of a task's sentences, and the nodes of the agreed trees where these were hidden."""
        both = task.spans and task.arcs
        span, arc = scores.span if task.spans else None, scores.arc if task.arcs else None
        whole = TreeDistribution(span, arc, scores.headed if both else None, gold.lengths)
        chosen, trees = task.chosen, whole.rows(task.chosen)
        names = [gold.names[b] for b in chosen]
        shape = (len(whole), whole.size, whole.size)
        wrong_span = wrong_arc = None
        if task.know_spans and task.fixed:
            wrong_span = np.ones(shape, dtype=bool)
            wrong_span[gold.node_b, gold.nodes[:, 0], gold.nodes[:, 1]] = False
            wrong_span = wrong_span[chosen]
        elif task.know_spans:
            wrong_span = np.stack([_crossing(gold.chains[b] or (), whole.size) for b in chosen])
        if task.know_arcs:
            known = gold.heads >= 0
            b, m, h = (part[known] for part in (gold.word_b, gold.word_m, gold.heads))
            wrong_arc = np.zeros(shape, dtype=bool)
            wrong_arc[b, m] = True
            wrong_arc[b, m, h] = False
            wrong_arc = wrong_arc[chosen]
        agreeing = nodes = None
        if task.fixed:
            agreed = _gold_trees(gold, chosen, whole.size)
        else:
            agreeing = trees.masked(wrong_span, wrong_arc)
            agreed = _best(agreeing, names)
            if task.know_spans:
                nodes = _label_nodes(agreed, gold, chosen)
        if self.crf:
            right = trees.score(agreed) if agreeing is None else agreeing.log_partition
            value = trees.log_partition - right
        else:
            if self.cost == "arcs" and wrong_arc is not None:
                wrong_span, wrong_arc = None, wrong_arc & (np.arange(whole.size) > 0)
            value = _margin(trees, trees.plus(wrong_span, wrong_arc), agreed, names)
        return (value * torch.as_tensor(gold.weights[chosen], device=value.device)).sum(), nodes


def _margin(
    trees: TreeDistribution, costly: TreeDistribution, agreed: Trees, names: Sequence[str]
) -> Tensor:
    """The greatest score + cost of all trees, less the agreed tree's score; cost counts wrong spans and arcs."""
    found = _best(costly, names)
    target, score = trees.score(agreed), trees.score(found)
    cost = (costly.score(found) - score.detach()).round()
    margin = score + cost - target
    # float32 sums of some hundred parts, in two orders: what rounding may leave below zero.
    slack = 1e-4 * (1 + target.detach().abs()) + 1e-3
    below = (margin.detach() < -slack).nonzero()
    if len(below):
        raise TreeError(
            f"{names[int(below[0, 0])]}: the gold tree scores more than the best tree of the search, so the "
            "search does not contain it (is its binarization head-consistent, its d-tree projective with one root?)"
        )
    return margin.clamp(min=0)


def _best(trees: TreeDistribution, names: Sequence[str]) -> Trees:
    """The best trees; where a sentence has none, an error that names it."""
    try:
        return trees.argmax
    except ScoreError:
        for b, name in enumerate(names):
            try:
                trees.rows([b]).argmax  # noqa: B018
            except ScoreError as error:
                raise TreeError(
                    f"{name}: no tree of the search agrees with its gold layer: {error}"
                ) from None
        raise


def losses(
    model: Model, structure: StructureLoss, inputs: dict[str, Tensor], gold: Gold
) -> dict[str, Tensor]:
    """The loss of the structure and of every other output, summed over a batch: divide by its words.

    Labels and relations are learnt at the gold spans and arcs only.
    """
    hidden = model.styled(model.encode(inputs), inputs.get("styles"))
    found = {}
    found["structure"], where = structure(Scores(hidden, **model.structure(hidden)), gold)
    device = hidden.dependency.device
    words = b, m, _ = as_indices((gold.word_b, gold.word_m, gold.heads.clip(0)), device)
    nodes = as_indices((where.b, where.nodes[:, 0], where.nodes[:, 1]), device)
    placed = model.at_places(hidden, nodes, words, folded=False)
    labels = with_intermediate(where, model.inventories.labels, model.intermediate)
    relations = np.where(gold.heads < 0, IGNORE, gold.relations)
    for name, rows, classes in (("label", where.b, labels), ("relation", gold.word_b, relations)):
        if name in placed:
            found[name] = _cross_entropy(placed[name], classes, gold.weights[rows])
    for name, logits in model.of_words(hidden).items():
        found[name] = _cross_entropy(logits[b, m], gold.answers[name], gold.weights[gold.word_b])
    return found


def with_intermediate(
    where: Nodes, chains: Sequence[tuple[str, ...]], intermediate: Sequence[str]
) -> np.ndarray:
    """The labels of nodes in pre-order; where they are none (0), the number of the label right above them.

    >>> nodes = np.asarray([[0, 3, 2], [0, 1, 1], [1, 3, 2], [1, 2, 2], [2, 3, 3]])
    >>> where = Nodes(np.zeros(5, int), nodes, np.asarray([1, 2, 0, 0, 2]))  # S, NP, none, none, NP
    >>> with_intermediate(where, [(), ("S",), ("NP",)], ["S", "NP"]).tolist()
    [1, 2, 3, 3, 2]
    """
    labels = where.labels.copy()
    if not intermediate:
        return labels
    numbers = {name: len(chains) + place for place, name in enumerate(intermediate)}
    around: list[
        tuple[int, int, int]
    ] = []  # sentence, end and label of the constituents that are open
    places = zip(where.b.tolist(), where.nodes[:, :2].tolist(), labels.tolist(), strict=True)
    for row, (b, (i, j), label) in enumerate(places):
        while around and (around[-1][0] != b or around[-1][1] <= i):
            around.pop()
        if label:
            around.append((b, j, label))
        elif around:
            above = around[-1][2]
            labels[row] = IGNORE if above == IGNORE else numbers[chains[above][-1]]
    return labels


def _gold_trees(gold: Gold, chosen: np.ndarray, size: int) -> Trees:
    """The gold trees of some sentences, of the layers that a task knows."""
    heads = np.zeros((len(gold.lengths), size), dtype=np.int64)
    heads[gold.word_b, gold.word_m] = gold.heads
    spans = np.zeros((len(gold.lengths), 2 * size - 3, 3), dtype=np.int64)
    first = np.searchsorted(gold.node_b, gold.node_b)  # where the rows of its sentence begin
    spans[gold.node_b, np.arange(len(first)) - first] = gold.nodes
    return Trees(torch.from_numpy(heads[chosen]), torch.from_numpy(spans[chosen]), torch.zeros(0))


def _crossing(brackets: Iterable[tuple[int, int]], size: int) -> np.ndarray:
    """Spans that cross one of the brackets, [n+1, n+1]."""
    wrong = np.zeros((size, size), dtype=bool)
    for i, j in brackets:
        wrong[:i, i + 1 : j] = wrong[i + 1 : j, j + 1 :] = True
    return wrong


def _label_nodes(agreed: Trees, gold: Gold, chosen: np.ndarray) -> Nodes:
    """The nodes of trees that agree with gold constituents, with the constituents' labels, or `unlabelled`."""
    assert agreed.spans is not None
    spans = agreed.spans.cpu().numpy()
    row, column = np.nonzero(spans[:, :, 1])
    b, nodes = chosen[row], np.pad(spans[row, column, :2], ((0, 0), (0, 1)))
    places = zip(b.tolist(), nodes[:, 0].tolist(), nodes[:, 1].tolist(), strict=True)
    unlabelled = gold.unlabelled.tolist()
    labels = [
        (gold.chains[own] or {}).get((start, end), unlabelled[own]) for own, start, end in places
    ]
    return Nodes(b, nodes, np.asarray(labels, dtype=np.int64))


def _cross_entropy(logits: Tensor, classes: np.ndarray, weights: np.ndarray) -> Tensor:
    target = torch.as_tensor(classes, device=logits.device)
    each = torch.nn.functional.cross_entropy(
        logits.float(), target, ignore_index=IGNORE, reduction="none"
    )
    return (each * torch.as_tensor(weights, device=logits.device)).sum()


def _head_selection(arc: Tensor, gold: Gold, chosen: np.ndarray) -> Tensor:
    """Cross-entropy of each known head among all positions of its sentence."""
    mine = np.isin(gold.word_b, chosen) & (gold.heads >= 0)
    b, m, heads = gold.word_b[mine], gold.word_m[mine], gold.heads[mine]
    logits = arc[tuple(as_indices((b, m), arc.device))]
    position = torch.arange(logits.shape[1], device=arc.device)
    outside = position > torch.as_tensor(gold.lengths[b], device=arc.device).unsqueeze(1)
    return _cross_entropy(logits.masked_fill(outside, -1e30), heads, gold.weights[b])
