"""Training losses: a likelihood or a margin over whole trees, and cross-entropy for what labels
them.

The margin needs only the argmax. Costs are added to the scores of wrong spans and wrong arcs, the
best tree is searched outside autograd, and then the scores of its parts and of the gold tree's are
gathered: no chart enters the graph.

Where a sentence has one gold layer only, the other is a hidden variable: the gold tree is replaced
by the best tree that agrees with the gold layer (of a d-tree: all other arcs are forbidden; of a
c-tree: all spans that cross its brackets), and its score in the likelihood by the sum over all such
trees. The same goes for the binarization of a c-tree, for two layers that are not compatible (each
is learnt once, with the other hidden), and for partial trees: a word whose head is not annotated
may have any, a node without an annotated label teaches none.

A gold tree outside the search space would make the margin negative without bound, and training
diverge: the margin of every sentence is checked to be at least zero. All sums over trees are in
single precision.
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
from arcspan.prediction.outputs import Scores

IGNORE = -100  # the class that cross_entropy ignores
# The scores that a search reads.
_SPANS = ("span",)
_ARCS = ("arc",)
_PAIRS = ("span", "arc", "headed")
_IMPOSSIBLE = -1e30  # a logit of probability 0; -inf would make NaN of rows without any other


@dataclass(frozen=True)
class Gold:
    """The gold structures of a batch, flat: rows of all sentences together, `*_b` their sentences.

    nodes       (i, j, head) of the binarized trees, pre-order, and their labels; none where the
                tree is hidden
    chains      of each sentence with constituents: (i, j) -> its label; None without
    word_b, ... words in order; `answers` has their gold names, by output. Heads are 0 without
                dependencies, -1 where they are not annotated
    unlabelled  of each sentence: the label of nodes that are no constituents, 0, or IGNORE where
                constituents may be missing
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
    """Sentences of a batch that are learnt alike: what is searched, and what contradicts the gold.

    sentences    their numbers in the batch, [T]
    trees        the distribution over all trees that are searched, of both layers or of one
    wrong_spans  bool [T, n+1, n+1]: the spans that contradict gold constituents; None where these
                 are not learnt from
    wrong_arcs   bool [T, n+1, n+1]: the arcs that contradict gold heads; None likewise
    gold_trees   the gold trees; None where several trees agree with the gold layers
    """

    sentences: np.ndarray
    trees: TreeDistribution
    wrong_spans: np.ndarray | None
    wrong_arcs: np.ndarray | None
    gold_trees: Trees | None


class LabelNodes(NamedTuple):
    """Nodes to learn labels at: sentence, (i, j), label."""

    b: np.ndarray
    nodes: np.ndarray
    labels: np.ndarray


class StructureLoss:
    """The loss over trees of one of the four systems.

    `seconds` adds up the time that search and bookkeeping took.
    """

    def __init__(self, system: str, loss: str, cost: str = "both") -> None:
        self.cost = cost
        self.joint = system.startswith("joint")
        self.crf = loss == "crf"
        self.seconds = 0.0

    def __call__(self, scores: Scores, gold: Gold) -> tuple[Tensor, LabelNodes]:
        """Return the sum of the sentences' losses, and the nodes of the gold trees to learn labels
        at.

        Where those are hidden, the nodes are those of the best tree that agrees with the
        constituents.
        """
        any_scores = scores.span if scores.span is not None else scores.arc
        total = any_scores.new_zeros(())
        label_nodes = [LabelNodes(gold.node_b, gold.nodes, gold.labels)]
        with self.timed(any_scores.device):
            for task in self._tasks(scores, gold):
                loss, nodes = self._loss(task, gold)
                total = total + loss
                if nodes is not None:
                    label_nodes.append(nodes)
            crossing = np.flatnonzero(~gold.projective & gold.has_arcs)
            if len(crossing) and scores.arc is not None:
                # No projective search reaches these d-trees; each word still learns its head alone.
                total = total + _head_selection(scores.arc, gold, crossing)
        columns = [np.concatenate(column) for column in zip(*label_nodes, strict=True)]
        return total, LabelNodes(*columns)

    @contextlib.contextmanager
    def timed(self, device: torch.device) -> Iterator[None]:
        """Add the time of the block to `seconds`, without the encoder's on an accelerator."""
        if device.type != "cpu":
            torch.accelerator.synchronize(device)
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started

    def _tasks(self, scores: Scores, gold: Gold) -> Iterator[Task]:
        """Yield the tasks of a batch, each as it is needed: their masks are as large as charts."""
        has_spans = np.asarray([chains is not None for chains in gold.chains])
        has_arcs = gold.has_arcs & gold.projective
        # Rows: sentences, what is searched, the layers to agree with, and whether these leave one
        # tree, that of `Gold.nodes` and `Gold.heads`.
        plan: list[tuple[np.ndarray, Sequence[str], Sequence[str], bool]] = []
        if self.joint and scores.span is not None and scores.arc is not None:
            apart = ~gold.joint & ~gold.hidden
            one_hidden = ~gold.joint & gold.hidden
            plan.append((gold.joint & ~gold.hidden, _PAIRS, _PAIRS, True))
            plan.append((gold.joint & gold.hidden, _PAIRS, _PAIRS, False))
            plan.append((one_hidden & has_spans, _PAIRS, _SPANS, False))
            plan.append((one_hidden & has_arcs, _PAIRS, _ARCS, False))
            plan.append((apart & has_spans, _SPANS, _SPANS, True))
            plan.append((apart & has_arcs, _ARCS, _ARCS, True))
        else:
            batch = np.arange(len(gold.lengths))
            partial = np.isin(batch, gold.word_b[gold.heads < 0])
            fixed = np.isin(batch, gold.node_b)
            if scores.arc is not None:
                plan.append((has_arcs & ~partial, _ARCS, _ARCS, True))
                plan.append((has_arcs & partial, _ARCS, _ARCS, False))
            if scores.span is not None:
                plan.append((has_spans & fixed, _SPANS, _SPANS, True))
                plan.append((has_spans & ~fixed, _SPANS, _SPANS, False))
        for chosen_sentences, searched, learnt, one_tree in plan:
            if chosen_sentences.any():
                sentences = np.flatnonzero(chosen_sentences)
                yield _task(scores, gold, sentences, searched, learnt, one_tree)

    def _loss(self, task: Task, gold: Gold) -> tuple[Tensor, LabelNodes | None]:
        """Return the loss of a task, and the nodes of the agreed trees where these were hidden."""
        names = [gold.names[b] for b in task.sentences]
        trees, nodes = task.trees, None
        if task.gold_trees is not None:
            agreed = task.gold_trees
        else:
            agreeing = trees.masked(task.wrong_spans, task.wrong_arcs)
            agreed = _best(agreeing, names)
            if task.wrong_spans is not None:
                nodes = _label_nodes(agreed, gold, task.sentences)
        if self.crf:
            right = trees.score(agreed) if task.gold_trees is not None else agreeing.log_partition
            loss = trees.log_partition - right
        else:
            wrong_spans, wrong_arcs = task.wrong_spans, task.wrong_arcs
            if self.cost == "arcs" and wrong_arcs is not None:
                # The authors' code: wrong spans cost nothing, and neither does a wrong root arc.
                wrong_spans = None
                wrong_arcs = wrong_arcs & (np.arange(trees.size) > 0)
            loss = _margin(trees, trees.plus(wrong_spans, wrong_arcs), agreed, names)
        weights = torch.as_tensor(gold.weights[task.sentences], device=loss.device)
        return (loss * weights).sum(), nodes


def _task(
    scores: Scores,
    gold: Gold,
    sentences: np.ndarray,
    searched: Sequence[str],
    learnt: Sequence[str],
    one_tree: bool,
) -> Task:
    parts = [getattr(scores, name) if name in searched else None for name in _PAIRS]
    batch = TreeDistribution(parts[0], parts[1], parts[2], gold.lengths)
    size = batch.size
    return Task(
        sentences,
        batch.rows(sentences),
        _wrong_spans(gold, sentences, size, one_tree) if "span" in learnt else None,
        _wrong_arcs(gold, sentences, size) if "arc" in learnt else None,
        _gold_trees(gold, sentences, size) if one_tree else None,
    )


def _wrong_spans(gold: Gold, sentences: np.ndarray, size: int, fixed: bool) -> np.ndarray:
    """Return the spans that are not in the gold trees or, unless `fixed`, that cross a bracket."""
    if not fixed:
        return np.stack([_crossing(gold.chains[b] or (), size) for b in sentences])
    wrong = np.ones((len(gold.lengths), size, size), dtype=bool)
    wrong[gold.node_b, gold.nodes[:, 0], gold.nodes[:, 1]] = False
    return wrong[sentences]


def _crossing(brackets: Iterable[tuple[int, int]], size: int) -> np.ndarray:
    """Return the spans that cross one of the brackets, [n+1, n+1]."""
    wrong = np.zeros((size, size), dtype=bool)
    for i, j in brackets:
        wrong[:i, i + 1 : j] = True
        wrong[i + 1 : j, j + 1 :] = True
    return wrong


def _wrong_arcs(gold: Gold, sentences: np.ndarray, size: int) -> np.ndarray:
    """Return the arcs to words with an annotated head that come from another head."""
    annotated = gold.heads >= 0
    b, m, h = gold.word_b[annotated], gold.word_m[annotated], gold.heads[annotated]
    wrong = np.zeros((len(gold.lengths), size, size), dtype=bool)
    wrong[b, m] = True
    wrong[b, m, h] = False
    return wrong[sentences]


def _gold_trees(gold: Gold, sentences: np.ndarray, size: int) -> Trees:
    """Return the gold trees of some sentences."""
    heads = np.zeros((len(gold.lengths), size), dtype=np.int64)
    heads[gold.word_b, gold.word_m] = gold.heads
    spans = np.zeros((len(gold.lengths), 2 * size - 3, 3), dtype=np.int64)
    # For each row, the first row of its sentence: the difference is its number in the sentence.
    first_row = np.searchsorted(gold.node_b, gold.node_b)
    spans[gold.node_b, np.arange(len(first_row)) - first_row] = gold.nodes
    no_scores = torch.zeros(0)
    return Trees(torch.from_numpy(heads[sentences]), torch.from_numpy(spans[sentences]), no_scores)


def _margin(
    trees: TreeDistribution, costly: TreeDistribution, agreed: Trees, names: Sequence[str]
) -> Tensor:
    """Return the greatest score + cost of all trees, less the score of the agreed trees.

    costly   the trees with a cost of 1 added to each wrong span and arc
    """
    worst = _best(costly, names)
    target = trees.score(agreed)
    score = trees.score(worst)
    # The cost is a whole number; rounding removes what two sums in single precision differ by.
    cost = (costly.score(worst) - score.detach()).round()
    margin = score + cost - target
    # What rounding may leave below zero: float32 sums of some hundred parts, in two orders.
    slack = 1e-4 * (1 + target.detach().abs()) + 1e-3
    below = (margin.detach() < -slack).nonzero()
    if len(below):
        raise TreeError(
            f"{names[int(below[0, 0])]}: the gold tree scores more than the best tree of the search, "
            "so the search does not contain it (is its binarization head-consistent, its d-tree "
            "projective with one root?)"
        )
    return margin.clamp(min=0)


def _best(trees: TreeDistribution, names: Sequence[str]) -> Trees:
    """Return the best trees; where a sentence has none, raise an error that names it."""
    try:
        return trees.argmax
    except ScoreError:
        # Search the sentences one by one, to find the one without a tree.
        for b, name in enumerate(names):
            try:
                trees.rows([b]).argmax  # noqa: B018
            except ScoreError as error:
                raise TreeError(
                    f"{name}: no tree of the search agrees with its gold layer: {error}"
                ) from None
        raise


def _label_nodes(agreed: Trees, gold: Gold, sentences: np.ndarray) -> LabelNodes:
    """Return the nodes of trees that agree with gold constituents, and the constituents' labels."""
    assert agreed.spans is not None
    spans = agreed.spans.cpu().numpy()
    row, column = np.nonzero(spans[:, :, 1])  # padding has j = 0
    b = sentences[row]
    nodes = np.pad(spans[row, column, :2], ((0, 0), (0, 1)))
    labels = []
    for sentence, (i, j, _) in zip(b.tolist(), nodes.tolist(), strict=True):
        chains = gold.chains[sentence] or {}
        labels.append(chains.get((i, j), gold.unlabelled[sentence]))
    return LabelNodes(b, nodes, np.asarray(labels, dtype=np.int64))


def losses(
    model: Model, structure: StructureLoss, inputs: dict[str, Tensor], gold: Gold
) -> dict[str, Tensor]:
    """Return the loss of the structure and of every other output, summed over a batch.

    To be divided by the batch's words. Labels and relations are learnt at the gold spans and arcs
    only.
    """
    hidden = model.add_styles(model.encode(inputs), inputs.get("styles"))
    terms = {}
    # In single precision, also if a scorer of another package computes in half.
    parts = {name: part.float() for name, part in model.structure_scores(hidden).items()}
    terms["structure"], where = structure(Scores(hidden, **parts), gold)
    device = hidden.dependency.device
    nodes = as_indices((where.b, where.nodes[:, 0], where.nodes[:, 1]), device)
    words = as_indices((gold.word_b, gold.word_m, gold.heads.clip(0)), device)
    logits = model.label_scores(hidden, nodes, words, folded=False)
    if "label" in logits:
        labels = with_intermediate(where, model.inventories.labels, model.intermediate)
        terms["label"] = _cross_entropy(logits["label"], labels, gold.weights[where.b])
    word_weights = gold.weights[gold.word_b]
    if "relation" in logits:
        relations = np.where(gold.heads < 0, IGNORE, gold.relations)
        terms["relation"] = _cross_entropy(logits["relation"], relations, word_weights)
    b, m, _ = words
    for name, word_logits in model.word_scores(hidden).items():
        terms[name] = _cross_entropy(word_logits[b, m], gold.answers[name], word_weights)
    return terms


def with_intermediate(
    where: LabelNodes, chains: Sequence[tuple[str, ...]], intermediate: Sequence[str]
) -> np.ndarray:
    """Return the labels of nodes in pre-order, with those of intermediate nodes for label 0.

    An intermediate node has the number of the constituent label right above it.

    >>> nodes = np.asarray([[0, 3, 2], [0, 1, 1], [1, 3, 2], [1, 2, 2], [2, 3, 3]])
    >>> labels = np.asarray([1, 2, 0, 0, 2])  # S, NP, none, none, NP
    >>> where = LabelNodes(np.zeros(5, int), nodes, labels)
    >>> with_intermediate(where, [(), ("S",), ("NP",)], ["S", "NP"]).tolist()
    [1, 2, 3, 3, 2]
    """
    labels = where.labels.copy()
    if not intermediate:
        return labels
    numbers = {name: number for number, name in enumerate(intermediate, len(chains))}
    # Constituents around the current node, the innermost last: sentence, end, label.
    around: list[tuple[int, int, int]] = []
    rows = zip(where.b.tolist(), where.nodes[:, :2].tolist(), labels.tolist(), strict=True)
    for row, (b, (i, j), label) in enumerate(rows):
        while around and (around[-1][0] != b or around[-1][1] <= i):
            around.pop()
        if label:
            around.append((b, j, label))
        elif around:
            above = around[-1][2]
            labels[row] = IGNORE if above == IGNORE else numbers[chains[above][-1]]
    return labels


def _cross_entropy(logits: Tensor, classes: np.ndarray, weights: np.ndarray) -> Tensor:
    target = torch.as_tensor(classes, device=logits.device)
    row_losses = torch.nn.functional.cross_entropy(
        logits.float(), target, ignore_index=IGNORE, reduction="none"
    )
    return (row_losses * torch.as_tensor(weights, device=logits.device)).sum()


def _head_selection(arc: Tensor, gold: Gold, sentences: np.ndarray) -> Tensor:
    """Return the cross-entropy of each annotated head among all positions of its sentence."""
    selected = np.isin(gold.word_b, sentences) & (gold.heads >= 0)
    b, m, heads = gold.word_b[selected], gold.word_m[selected], gold.heads[selected]
    logits = arc[tuple(as_indices((b, m), arc.device))]
    position = torch.arange(logits.shape[1], device=arc.device)
    outside = position > torch.as_tensor(gold.lengths[b], device=arc.device).unsqueeze(1)
    return _cross_entropy(logits.masked_fill(outside, _IMPOSSIBLE), heads, gold.weights[b])
