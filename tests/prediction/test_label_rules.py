"""Labels and relations chosen together, against all combinations."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

from arcspan.decoding import Decoded
from arcspan.prediction.confidence import log_softmax
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.label_rules import Labelling, RuleTable, structure_of
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.prediction import Prediction, assemble
from tests.decoding.all_trees import lexicalized_trees

CHAINS: list[tuple[str, ...]] = [(), ("NP",), ("VP",), ("S",), ("S", "VP")]
TAGS = ["NN", "VB"]
RELATIONS = ["nsubj", "obj", "punct"]
COUNTS = {
    "S VP NP": {"nsubj": 9, "obj": 1},
    "VP VB NP": {"obj": 5},
    "VP NP NN": {"punct": 2, "nsubj": 1},
    "S NN NP": {"obj": 3},
    "NP NN NN": {"punct": 4},
    "S S VP": {"nsubj": 2, "unheard": 7},
}


@cache
def rule_probability(parent: str, sibling: str, child: str, relation: str) -> float:
    """Witten-Bell, from the counts, by the definition."""
    p = 1 / len(RELATIONS)
    for matches in (
        lambda rule: rule[2] == child,
        lambda rule: (rule[0], rule[2]) == (parent, child),
        lambda rule: tuple(rule) == (parent, sibling, child),
    ):
        answers = dict.fromkeys(RELATIONS, 0)
        for rule, counts in COUNTS.items():
            if matches(rule.split()):
                for name, count in counts.items():
                    if name in answers:
                        answers[name] += count
        kinds = sum(count > 0 for count in answers.values())
        if kinds:
            p = (answers[relation] + kinds * p) / (sum(answers.values()) + kinds)
    return p


@pytest.fixture(scope="module")
def table() -> RuleTable:
    return RuleTable(COUNTS, CHAINS, TAGS, RELATIONS)


def test_the_table_holds_the_smoothed_probabilities(table: RuleTable) -> None:
    outer = {chain[0]: table.child_of[number] for number, chain in enumerate(CHAINS) if chain}
    outer |= {tag: table.child_of_tag[number] for number, tag in enumerate(TAGS)}
    inner = {chain[-1]: table.parent_of[number] for number, chain in enumerate(CHAINS) if chain}
    for parent, sibling, child in product(inner, outer, outer):
        row = table.log_p[table.rows[inner[parent], outer[sibling], outer[child]]]
        wanted = [rule_probability(parent, sibling, child, relation) for relation in RELATIONS]
        assert np.exp(row) == pytest.approx(wanted, rel=1e-4)
        assert sum(wanted) == pytest.approx(1)


class Case:
    """A random tree over a few words, some of its spans hidden, with random scores."""

    def __init__(self, n: int, seed: int) -> None:
        draw = np.random.default_rng(seed)
        trees = lexicalized_trees(n)
        tree = trees[draw.integers(len(trees))]
        self.n, self.heads = n, np.asarray(tree.heads[1:])
        self.labels = draw.normal(0, 2, (2 * n - 1, len(CHAINS)))
        self.labels[0, 0] = -np.inf
        self.relations = draw.normal(0, 2, (n, len(RELATIONS)))
        self.tags = draw.integers(0, len(TAGS), n)
        self.nodes = np.asarray([(*node, 0) for node in tree.headed])
        self.nodes[:, 3] = self.labels.argmax(1)
        own = self.labels.copy()
        own[:, 0] = -np.inf
        self.label_chances, self.relation_chances = log_softmax(own), log_softmax(self.relations)

    def value(self, labels: tuple[int, ...], weight: float, relations: list[int] | None = None) -> float:
        """The objective, straight from its definition; the best relations where none are given, which labels
        part from each other.
        """
        shown = {
            (i, j): CHAINS[label] if label else (TAGS[self.tags[i]],)
            for (i, j, _, _), label in zip(self.nodes.tolist(), labels, strict=True)
            if label or j - i == 1
        }
        total = sum(self.label_chances[row, label] for row, label in enumerate(labels) if label)
        for m, h in enumerate(self.heads.tolist(), 1):
            if h:
                around = [place for place in shown if place[0] < min(m, h) and max(m, h) <= place[1]]
                i, j = min(around, key=lambda place: place[1] - place[0])
                inside = [place for place in shown if place != (i, j) and i <= place[0] and place[1] <= j]
                child, sibling = (
                    max((p for p in inside if p[0] < word <= p[1]), key=lambda p: p[1] - p[0])
                    for word in (m, h)
                )
                rule = (shown[i, j][-1], shown[sibling][0], shown[child][0])
                total += max(
                    self.relation_chances[m - 1, r] + weight * math.log(rule_probability(*rule, RELATIONS[r]))
                    for r in (range(len(RELATIONS)) if relations is None else [relations[m - 1]])
                )
        return float(total)


@pytest.mark.parametrize("weight", [0.0, 0.7, 3.0])
@pytest.mark.parametrize(("n", "seed"), [(2, 1), (2, 2), (3, 3), (3, 4), (3, 5), (3, 6), (3, 7)])
def test_no_other_labels_and_relations_are_better(table: RuleTable, n: int, seed: int, weight: float) -> None:
    case = Case(n, seed)
    labels, scores = Labelling(table, weight, candidates=9).choose(
        case.nodes, case.heads, case.labels, case.relations, case.tags
    )
    assert ((labels == 0) == (case.nodes[:, 3] == 0)).all()
    options = [range(1, len(CHAINS)) if label else (0,) for label in case.nodes[:, 3].tolist()]
    best = max(case.value(chosen, weight) for chosen in product(*options))
    assert case.value(tuple(labels.tolist()), weight, scores.argmax(1).tolist()) == pytest.approx(
        best, abs=1e-3
    )


def test_without_weight_nothing_changes(table: RuleTable) -> None:
    for seed in range(20):
        case = Case(5, seed)
        labels, scores = Labelling(table, 0.0).choose(
            case.nodes, case.heads, case.labels, case.relations, case.tags
        )
        assert labels.tolist() == case.nodes[:, 3].tolist()
        assert scores.argmax(1).tolist() == case.relations.argmax(1).tolist()


def test_rules_turn_a_close_decision() -> None:
    table = RuleTable({"S VP NP": {"nsubj": 50}}, CHAINS, TAGS, RELATIONS)
    nodes = np.asarray([[0, 2, 2, 3], [0, 1, 1, 1], [1, 2, 2, 2]])
    labels = np.full((3, len(CHAINS)), -9.0)
    labels[[0, 1, 2], [3, 1, 2]] = 9
    relations = np.asarray([[1.0, 1.2, 0.0], [0.0, 0.0, 0.0]])
    for weight, wanted in ((0.0, "obj"), (0.5, "nsubj")):
        _, found = Labelling(table, weight).choose(
            nodes, np.asarray([2, 0]), labels, relations, np.asarray([0, 1])
        )
        assert RELATIONS[found[0].argmax()] == wanted


def test_a_model_without_tags_has_words_without_label(table: RuleTable) -> None:
    case = Case(4, 1)
    labels, scores = Labelling(table, 1.0).choose(case.nodes, case.heads, case.labels, case.relations, None)
    assert len(labels) == 7
    assert len(scores) == 4


def test_hidden_nodes_are_no_units() -> None:
    tree = structure_of(np.asarray([[0, 3, 2, 1], [0, 2, 2, 0], [0, 1, 1, 1], [1, 2, 2, 0], [2, 3, 3, 0]]))
    assert tree.node == [0, 2, 3, 4]
    assert tree.children[0] == [1, 2, 3]


def assembled(case: Case, labelling: Labelling | None) -> Prediction:
    decoded = Decoded(np.append(0, case.heads)[None], [case.nodes[:, :3]], np.zeros(1))
    words = {"tag": case.tags}
    return assemble(decoded, np.asarray([case.n]), case.labels, case.relations, words, labelling)[0]


@pytest.mark.parametrize(("n", "seed"), [(2, 1), (3, 3), (3, 4), (3, 5), (3, 6)])
def test_labels_alone_are_the_best_beside_the_relations_that_stay(
    table: RuleTable, n: int, seed: int
) -> None:
    case = Case(n, seed)
    found = assembled(case, Labelling(table, 3.0, candidates=9, labels_only=True))
    assert found.nodes is not None and found.relations is not None
    relations = case.relations.argmax(1).tolist()
    assert found.relations.tolist() == relations
    options = [range(1, len(CHAINS)) if label else (0,) for label in case.nodes[:, 3].tolist()]
    best = max(case.value(chosen, 3.0, relations) for chosen in product(*options))
    assert case.value(tuple(found.nodes[:, 3].tolist()), 3.0, relations) == pytest.approx(best, abs=1e-3)


def test_labels_alone_and_together_differ(table: RuleTable) -> None:
    together = kept = labels = 0
    for seed in range(20):
        case = Case(4, seed)
        plain = assembled(case, None)
        one, other = (
            assembled(case, Labelling(table, 3.0, labels_only=labels_only)) for labels_only in (False, True)
        )
        assert plain.relations is not None and plain.nodes is not None and other.nodes is not None
        together += plain.relations.tolist() != one.relations.tolist()  # type: ignore[union-attr]
        kept += plain.relations.tolist() == other.relations.tolist()  # type: ignore[union-attr]
        labels += plain.nodes.tolist() != other.nodes.tolist()
    assert together > 0
    assert kept == 20
    assert labels > 0


def test_the_guidelines_hold_beside_rules() -> None:
    """Rules may prefer what the guidelines forbid: a root that is a subject, two objects of one word."""
    relations = ("root", "nsubj", "obj")
    table = RuleTable({"S VB NN": {"obj": 50}}, CHAINS, TAGS, relations)
    guidelines = Guidelines(Inventories(tuple(CHAINS), relations, tuple(TAGS), ()))
    for seed in range(10):
        case = Case(3, seed)
        decoded = Decoded(np.append(0, case.heads)[None], [case.nodes[:, :3]], np.zeros(1))
        for labels_only in (False, True):
            labelling = Labelling(table, 3.0, labels_only=labels_only)
            (found,) = assemble(
                decoded,
                np.asarray([3]),
                case.labels,
                case.relations,
                {"tag": case.tags},
                labelling,
                guidelines,
            )
            assert found.relations is not None
            said = list(zip(case.heads.tolist(), found.relations.tolist(), strict=True))
            assert all((head == 0) == (relation == 0) for head, relation in said)
            assert len(set(said)) == len(said)
