"""Labels and relations that fit each other: the paper's open extension of compatibility to labels.

Treebanks' relations mostly follow from constituents: an NP beside the VP of an S is its nsubj. A model that chooses
labels and relations one by one may contradict itself. Here they are chosen together. A child constituent (or bare
word) that attaches to a sibling inside a constituent is a rule (parent label, label of that sibling, label of the
child) -> relation; rules were counted in the training treebank (`arcspan.trees.learn_rules`). The labels and relations
chosen are those with the greatest

    sum of log p(label) + sum of log p(relation) + weight * sum of log p(relation | parent, sibling, child)

where the last probability is the counted one, smoothed by back-off, so that no combination is ruled out. The optimum
over the best few labels of every constituent is found exactly: given the parent's label, the children of a constituent
are a tree (each attaches to a sibling, one is the head), and messages along it, from small constituents to large,
settle everything. Which spans are constituents stays as the model says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arcspan.prediction.confidence import log_softmax
from arcspan.trees.conversion.back_off import general_share, symbol

Counts = Mapping[str, Mapping[str, int]]


class RuleTable:
    """Counted rules as arrays: log p(relation | parent, sibling, child) for labels, tags and relations by number.

    counts     {"parent sibling child": {relation: count}}
    chains     the model's labels: the innermost of a chain is a parent, the outermost a child
    tags       a bare word's label is its tag

    Back-off is Witten and Bell's, from (parent, sibling, child) to (parent, child), (child), and all alike.

    >>> table = RuleTable({"S VP NP": {"nsubj": 3}}, [(), ("NP",), ("S",), ("VP",)], ["NN"], ["nsubj", "obj"])
    >>> s, vp, np_ = table.parent_of[2], table.child_of[3], table.child_of[1]
    >>> bool(np.diff(table.log_p[table.rows[s, vp, np_]])[0] < -1)
    True
    """

    def __init__(
        self, counts: Counts, chains: Sequence[tuple[str, ...]], tags: Sequence[str], relations: Sequence[str]
    ) -> None:
        parents = sorted({symbol(chain[-1]) for chain in chains if chain})
        children = sorted({symbol(chain[0]) for chain in chains if chain} | {*map(symbol, tags), "_"})
        parent_ids = {name: number for number, name in enumerate(parents)}
        child_ids = {name: number for number, name in enumerate(children)}
        relation_ids = {name: number for number, name in enumerate(relations)}
        self.parent_of = np.asarray([parent_ids[symbol(chain[-1])] if chain else -1 for chain in chains])
        self.child_of = np.asarray([child_ids[symbol(chain[0])] if chain else -1 for chain in chains])
        self.child_of_tag = np.asarray([child_ids[symbol(tag)] for tag in tags], dtype=np.int64)
        self.no_tag = child_ids["_"]

        size = max(1, len(relations))
        by_child: dict[int, np.ndarray] = {}
        by_pair: dict[tuple[int, int], np.ndarray] = {}
        by_rule: dict[tuple[int, int, int], np.ndarray] = {}
        for rule, answers in counts.items():
            parent, sibling, child = rule.split(" ")
            if parent not in parent_ids or sibling not in child_ids or child not in child_ids:
                continue
            p, t, c = parent_ids[parent], child_ids[sibling], child_ids[child]
            own = np.zeros(size)
            for relation, count in answers.items():
                if relation in relation_ids:
                    own[relation_ids[relation]] += count
            by_rule[p, t, c] = own
            by_pair[p, c] = by_pair.get((p, c), 0) + own
            by_child[c] = by_child.get(c, 0) + own
        rows = [np.full(size, 1 / size)]
        self.rows = np.zeros((len(parents), len(children), len(children)), dtype=np.int32)
        for c, own in by_child.items():
            self.rows[:, :, c] = len(rows)
            rows.append(_mixed(own, rows[0]))
        for (p, c), own in by_pair.items():
            general = rows[self.rows[p, 0, c]]
            self.rows[p, :, c] = len(rows)
            rows.append(_mixed(own, general))
        for (p, t, c), own in by_rule.items():
            general = rows[self.rows[p, t, c]]
            self.rows[p, t, c] = len(rows)
            rows.append(_mixed(own, general))
        self.log_p = np.log(np.stack(rows)).astype(np.float32)


def _mixed(counts: np.ndarray, general: np.ndarray) -> np.ndarray:
    kinds = int(np.count_nonzero(counts))
    if not kinds:
        return general
    seen = counts.sum()
    share = general_share(seen, kinds)
    return (1 - share) * counts / seen + share * general


@dataclass(frozen=True)
class Structure:
    """The constituents and bare words ("units") of a tree, pre-order, and how they attach.

    node      of each unit: its row among the nodes
    head      of each unit: its head word
    children  of each unit, as units
    """

    node: list[int]
    head: list[int]
    children: list[list[int]]


def structure_of(nodes: np.ndarray) -> Structure:
    """Units of a binarized tree; rows (i, j, head, label) in pre-order, label 0 for none.

    >>> structure_of(np.asarray([[0, 3, 2, 1], [0, 2, 2, 0], [0, 1, 1, 1], [1, 2, 2, 0], [2, 3, 3, 0]])).children
    [[1, 2, 3], [], [], []]
    """
    node: list[int] = []
    head: list[int] = []
    end: list[int] = []
    children: list[list[int]] = []
    opened: list[int] = []
    for row, (i, j, h, label) in enumerate(nodes.tolist()):
        if label == 0 and j - i > 1:
            continue
        while opened and end[opened[-1]] <= i:
            opened.pop()
        unit = len(node)
        if opened:
            children[opened[-1]].append(unit)
        node.append(row)
        head.append(h)
        end.append(j)
        children.append([])
        opened.append(unit)
    return Structure(node, head, children)


class Labelling:
    """Chooses labels and relations together.

    table       the counted rules
    weight      of their log-probabilities; 0 gives what the model would choose by itself
    candidates  how many labels of a constituent, and relations of a word, are considered for labels
    labels_only   relations stay as they would be without rules, and labels are chosen that fit them
    """

    def __init__(
        self, table: RuleTable, weight: float, candidates: int = 5, *, labels_only: bool = False
    ) -> None:
        self.table, self.weight, self.candidates = table, float(weight), int(candidates)
        self.labels_only = labels_only

    def choose(
        self,
        nodes: np.ndarray,
        heads: np.ndarray,
        labels: np.ndarray,
        relations: np.ndarray,
        tags: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The labels of all nodes of one sentence, in numbers, and scores of relations beside them [n, relations].

        nodes      int (2n-1, 4): i, j, head, the label that the model prefers (0 for none: stays so)
        heads      int (n,);  labels  [2n-1, labels] and relations  [n, relations] are scores (logits)
        tags       int (n,), or None where the model has none
        """
        chosen, scores = nodes[:, 3].copy(), log_softmax(relations)
        tree = structure_of(nodes)
        if len(tree.node) < 2:
            return chosen, scores
        values, names, parents, children = self._candidates(nodes, tree, labels, tags)
        edges = _edges(tree, heads)
        up, to, of = np.asarray([edge for edge in edges if edge[1] >= 0]).T
        words = np.asarray(tree.head)[of] - 1
        # Of every attachment: the best relation for each label of the parent, the sibling and the child.
        ranked = _best(relations[words], self.candidates)
        alone = np.take_along_axis(scores[words], ranked, 1).astype(np.float32)
        rules = self.table.rows[
            parents[up][:, :, None, None], children[to][:, None, :, None], children[of][:, None, None, :]
        ]
        fit = self.table.log_p[rules[..., None], ranked[:, None, None, None, :]]
        best = (alone[:, None, None, None, :] + np.float32(self.weight) * fit).max(-1)

        # The value of a unit and all below it [unit, label of its parent, own label]. Edges stand top-down: from
        # the end, everything below a unit is settled before the unit.
        inside = values[:, None, :].repeat(values.shape[1], 1)
        back: dict[int, np.ndarray] = {}
        number = len(up)
        for parent, sibling, child in reversed(edges):
            if sibling < 0:
                back[child] = inside[child].argmax(1)
                inside[parent] += inside[child].max(1)
            else:
                number -= 1
                both = inside[child][:, None, :] + best[number]
                back[child] = both.argmax(2)
                inside[sibling] += both.max(2)
        label = [int(inside[0, 0].argmax())] + [0] * (len(tree.node) - 1)
        for parent, sibling, child in edges:
            above = label[parent]
            if sibling < 0:
                label[child] = int(back[child][above])
            else:
                beside = label[sibling]
                label[child] = int(back[child][above, beside])
                rule = rules[number, above, beside, label[child]]
                scores[words[number]] += self.weight * self.table.log_p[rule]
                number += 1
        for unit, row in enumerate(tree.node):
            chosen[row] = names[unit, label[unit]]
        return chosen, scores

    def _candidates(
        self, nodes: np.ndarray, tree: Structure, labels: np.ndarray, tags: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For each unit [units, K]: log-probabilities, labels, and their numbers as parents and as children.

        A bare word has one candidate, itself.
        """
        rows = np.asarray(tree.node)
        own = labels[rows].astype(np.float64)
        own[:, 0] = -np.inf
        names = _best(own, self.candidates)
        values = np.take_along_axis(log_softmax(own), names, 1)
        parents, children = self.table.parent_of[names], self.table.child_of[names]
        bare = nodes[rows, 3] == 0
        words = nodes[rows[bare], 0]
        children[bare] = self.table.no_tag if tags is None else self.table.child_of_tag[tags[words]][:, None]
        names[bare], values[bare] = 0, -np.inf
        values[bare, 0] = 0
        return values.astype(np.float32), names, parents, children


def _best(scores: np.ndarray, count: int) -> np.ndarray:
    """The numbers of the `count` greatest of each row, greatest first, the first of equals first."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :count]


def _edges(tree: Structure, heads: np.ndarray) -> list[tuple[int, int, int]]:
    """(parent, sibling, child): each child attaches to a sibling; to -1 where it is the head child.

    Parents before what is inside them, siblings before what attaches to them.
    """
    head_of = heads.tolist()
    found: list[tuple[int, int, int]] = []
    for parent, children in enumerate(tree.children):
        if not children:
            continue
        place = {tree.head[child]: child for child in children}
        dependents: dict[int, list[int]] = {child: [] for child in children}
        top = place[tree.head[parent]]
        for child in children:
            if child != top:
                dependents[place[head_of[tree.head[child] - 1]]].append(child)
        found.append((parent, -1, top))
        waiting = [top]
        while waiting:
            sibling = waiting.pop()
            for child in dependents[sibling]:
                found.append((parent, sibling, child))
                waiting.append(child)
    return found
