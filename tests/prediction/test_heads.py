"""Forbidden and preferred heads of constituents, against every labelled tree of short sentences.

The tests check 200 queries. 1,200 others take half a minute: python -m tests.prediction.test_heads
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import arcspan
from arcspan.prediction.charts import Charts
from arcspan.prediction.confidence import Calibration, log_softmax
from arcspan.prediction.constraints import Head, Span
from arcspan.prediction.model import EncodedSentence, ParserModel
from arcspan.prediction.outputs import Inventories, Scores, Style
from arcspan.prediction.probability import TreeDistribution
from arcspan.prediction.query import Query
from arcspan.prediction.results import Prediction
from arcspan.prediction.search import best, kbest
from arcspan.trees import ConstituencyTree
from tests.decoding.all_trees import Tree, scores_of

INVENTORIES = Inventories(((), ("NP",), ("VP",)), ("root", "obj"), (), ())
CALIBRATION = Calibration(1.3, 0.8, 1.6)
LENGTHS = (5, 2, 4, 1, 3)

Key = tuple[tuple[int, ...], frozenset[tuple[int, int, int]]]


class RandomScorer:
    """A scorer of random numbers for a batch of sentences of `LENGTHS`."""

    reads_tags = False

    def __init__(self, seed: int, *, second_order: bool) -> None:
        random = np.random.default_rng(seed)
        size = max(LENGTHS) + 1
        shape = (len(LENGTHS), size, size)
        self.span = random.normal(0, 1, shape).astype(np.float32)
        self.arc = random.normal(0, 1, shape).astype(np.float32)
        # Most spans have about as good a label as none.
        self.labels = random.normal(0, 2, (*shape, 3)).astype(np.float32)
        self.relations = random.normal(0, 1, (*shape, 2)).astype(np.float32)
        self.outputs = frozenset({"span", "arc", "label", "relation"})
        self.headed = None
        if second_order:
            pairs = size * (size - 1) // 2
            self.headed = random.normal(0, 1, (len(LENGTHS), pairs, size)).astype(np.float32)
            self.outputs |= {"headed"}

    def score(self, arrays: Any, *, headed: bool = True) -> Scores:
        return Scores(None, self.span, self.arc, self.headed)

    def label(self, hidden: Any, nodes: Any, words: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.labels[tuple(nodes)].copy(), self.relations[tuple(words)].copy()

    def reset_after_fork(self) -> None: ...


def charts_of(scorer: RandomScorer, queries: list[Query]) -> Charts:
    model = ParserModel([scorer], None, INVENTORIES, CALIBRATION)  # type: ignore[arg-type]
    sentences = [EncodedSentence(["word"] * n, None, n, (), Style()) for n in LENGTHS]
    return Charts(model, sentences, queries, [scorer.score(None)])


def random_query(random: np.random.Generator, n: int) -> Query:
    """Return a query with up to six heads that are forbidden or preferred, and perhaps a span."""

    def random_head() -> Head:
        i, j = sorted(random.choice(n + 1, 2, replace=False).tolist())
        return Head(i, j, int(random.integers(i + 1, j + 1)))

    forbid = [random_head() for _ in range(random.integers(0, 5))]
    prefer = [(random_head(), float(random.normal(0, 3))) for _ in range(random.integers(0, 3))]
    require = []
    if random.random() < 0.3:
        part = random_head()
        require.append(Span(part.i, part.j, "NP" if random.random() < 0.3 else None))
    return Query(require=tuple(require), forbid=tuple(forbid), prefer=tuple(prefer))


@dataclass
class Enumeration:
    """All labelled trees of sentence b that meet a query.

    trees   each tree, with the log-weight of its structure, and of its labels by span
    pairs   by what users see: the score of the best labelled tree
    total   the sum over all labelled trees
    """

    scorer: RandomScorer
    b: int
    query: Query
    trees: list[tuple[Tree, float, dict[tuple[int, int], np.ndarray]]] = field(default_factory=list)
    pairs: dict[Key, float] = field(default_factory=dict)
    total: float = 0.0

    def __post_init__(self) -> None:
        n = LENGTHS[self.b]
        window = (self.b, slice(n + 1), slice(n + 1))
        relations = log_softmax(self.scorer.relations[window], CALIBRATION.relation_temperature)
        self.relation_weights = relations
        headed = None
        if self.scorer.headed is not None:
            size = max(LENGTHS) + 1
            cube = np.zeros((size, size, size))
            cube[np.triu_indices(size, 1)] = self.scorer.headed[self.b]
            headed = cube[: n + 1, : n + 1, : n + 1]
        unit = CALIBRATION.structure_temperature
        for tree, score in scores_of(n, self.scorer.span[window], self.scorer.arc[window], headed):
            rows = {(i, j): self.labels_of(i, j, h) for i, j, h in tree.headed}
            if any((part.i, part.j) not in rows for part in self.query.require):  # type: ignore[attr-defined]
                continue
            if any(np.isneginf(row).all() for row in rows.values()):
                continue
            weight = score / unit
            self.trees.append((tree, weight, rows))
            self.total += math.exp(weight) * math.prod(np.exp(row).sum() for row in rows.values())
            top = weight + sum(row.max() for row in rows.values())
            top += sum(relations[m, h].max() for m, h in enumerate(tree.heads[1:], 1))
            chosen = {span: int(row.argmax()) for span, row in rows.items()}
            shown = frozenset((i, j, label) for (i, j), label in chosen.items() if label)
            key = (tree.heads[1:], shown)
            self.pairs[key] = max(self.pairs.get(key, -math.inf), unit * top)

    def labels_of(self, i: int, j: int, h: int) -> np.ndarray:
        """Return the log-weights of the labels of a span with a head, under the query."""
        scores = self.scorer.labels[self.b, i, j].copy()
        if (i, j) == (0, LENGTHS[self.b]) and j > 1:
            scores[0] = -np.inf
        row = log_softmax(scores, CALIBRATION.label_temperature)
        for part in self.query.require:
            assert isinstance(part, Span)
            if (part.i, part.j) == (i, j):
                row[0] = -np.inf
                if part.label == "NP":
                    row[2] = -np.inf
        for forbidden in dict.fromkeys(self.query.forbid):
            if forbidden == Head(i, j, h):
                row[1:] = -np.inf
        for preferred, weight in self.query.prefer:
            if preferred == Head(i, j, h):
                row[1:] += weight
        return row

    def share(self, prediction: Prediction, *, c: bool = True, d: bool = True) -> float:
        """Return the probability of all labelled trees that look like a parse in some layers."""
        heads = tuple(prediction.heads.tolist())
        labels = {(i, j): label for i, j, _, label in prediction.nodes.tolist() if label}
        alike = 0.0
        for tree, weight, rows in self.trees:
            if (d and tree.heads[1:] != heads) or (c and not labels.keys() <= rows.keys()):
                continue
            chance = math.exp(weight)
            for span, row in rows.items():
                chance *= math.exp(row[labels.get(span, 0)]) if c else np.exp(row).sum()
            alike += chance
        if d:
            for m, (h, relation) in enumerate(zip(heads, prediction.relations, strict=True), 1):
                alike *= math.exp(self.relation_weights[m, h, relation])
        return alike / self.total

    def constituents(self) -> dict[tuple[int, int], float]:
        """Return the probability of each span that it is a constituent."""
        chances: defaultdict[tuple[int, int], float] = defaultdict(float)
        for _, weight, rows in self.trees:
            sums = {span: np.exp(row).sum() for span, row in rows.items()}
            chance = math.exp(weight) * math.prod(sums.values()) / self.total
            for span, row in rows.items():
                chances[span] += chance * np.exp(row[1:]).sum() / sums[span]
        return chances


def key_of(prediction: Prediction) -> Key:
    shown = frozenset((i, j, label) for i, j, _, label in prediction.nodes.tolist() if label)
    return tuple(prediction.heads.tolist()), shown


def check_query(scorer: RandomScorer, charts: Charts, b: int, query: Query) -> bool:
    """Compare all answers to a query with the enumeration; return whether any tree meets it."""
    trees = Enumeration(scorer, b, query)
    assert (b in charts.errors) == (not trees.pairs)
    if not trees.pairs:
        return False
    parse = best(charts)[b]
    in_order = sorted(trees.pairs, key=lambda key: -trees.pairs[key])
    assert key_of(parse) == in_order[0]
    assert parse.score == pytest.approx(trees.pairs[in_order[0]], abs=1e-4)
    parses = kbest(charts, b, 100_000)
    assert [key_of(other) for other in parses] == in_order
    scores = [other.score for other in parses]
    assert scores == pytest.approx([trees.pairs[key] for key in in_order], abs=1e-4)

    distribution = TreeDistribution(charts, b)
    chances = trees.constituents()
    for other in (parse, parses[len(parses) // 2]):
        pair = math.exp(distribution.log_probability(other))
        assert pair == pytest.approx(trees.share(other), rel=1e-3, abs=1e-6)
        sure = distribution.confidence(other)
        share = math.exp(trees.pairs[key_of(other)] / CALIBRATION.structure_temperature)
        assert sure.sentence == pytest.approx(share / trees.total, rel=1e-3, abs=1e-6)
        assert sure.constituency == pytest.approx(trees.share(other, d=False), rel=1e-3, abs=1e-6)
        assert sure.dependency == pytest.approx(trees.share(other, c=False), rel=1e-3, abs=1e-6)
        assert dict(sure.spans) == pytest.approx(
            {span: chances[span] for span in sure.spans}, abs=1e-4
        )
        for crossing in sure.alternatives.spans.values():
            for i, j, p in crossing:
                assert p == pytest.approx(chances[i, j], abs=1e-4)
    return True


@pytest.mark.parametrize("second_order", [False, True])
def test_forbidden_and_preferred_heads_leave_the_trees_of_the_enumeration(
    second_order: bool,
) -> None:
    random = np.random.default_rng(int(second_order))
    possible = 0
    for seed in range(20):
        scorer = RandomScorer(seed, second_order=second_order)
        queries = [random_query(random, n) for n in LENGTHS]
        charts = charts_of(scorer, queries)
        possible += sum(check_query(scorer, charts, b, query) for b, query in enumerate(queries))
    # Most queries can be met, some cannot.
    assert 70 <= possible <= 97


def test_a_contradiction_of_heads_is_named_and_changes_no_other_sentence() -> None:
    scorer = RandomScorer(1, second_order=False)
    heads = tuple(Head(0, 5, h) for h in range(1, 6))
    charts = charts_of(scorer, [Query(forbid=heads)] + [Query()] * 4)
    assert "cannot all hold" in str(charts.errors[0])
    alone = best(charts_of(scorer, [Query()] * 5))
    for b, prediction in enumerate(best(charts)[1:], 1):
        assert key_of(prediction) == key_of(alone[b])


def test_one_word_may_be_no_constituent_and_several_are_one() -> None:
    scorer = RandomScorer(2, second_order=False)
    scorer.labels[..., 0] = 50
    predictions = best(charts_of(scorer, [Query()] * len(LENGTHS)))
    for n, prediction in zip(LENGTHS, predictions, strict=True):
        constituents = {(i, j) for i, j, _, label in prediction.nodes.tolist() if label}
        assert constituents == ({(0, n)} if n > 1 else set())


@pytest.fixture(scope="module")
def parser() -> arcspan.Parser:
    return arcspan.load(threads=1)


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [("Oversaw car manufacturing", Head(1, 3, 3)), ("Hey guys .", Head(1, 2, 2))],
)
def test_a_forbidden_head_allows_the_same_words_without_a_label(
    parser: arcspan.Parser, text: str, forbidden: Head
) -> None:
    words = text.split()
    plain = parser.parse(words).constituency
    smaller = ConstituencyTree(
        plain.words,
        plain.tags,
        [span for span in plain.spans if span[:2] != (forbidden.i, forbidden.j)],
    )
    assert smaller != plain
    parse = parser.parse(words, forbid=[forbidden])
    heads = {node.span: node.head.position for node in parse.nodes()}
    assert heads.get((forbidden.i, forbidden.j)) != forbidden.head
    allowed = parser.score_trees(words, smaller, parser.parse(words).dependencies)
    assert parser.score_trees(words, *parse.trees) >= allowed - 1e-3


def test_a_preferred_head_weighs_the_constituent_and_not_the_span(parser: arcspan.Parser) -> None:
    words = ["John", "boils", "water"]
    plain = parser.parse(words, confidence=True).confidence.spans[2, 3]
    weighted = parser.parse(words, prefer=[(Head(2, 3, 3), 2.0)], confidence=True)
    odds = math.exp(2.0) * plain / (1 - plain)
    assert weighted.confidence.spans[2, 3] == pytest.approx(odds / (1 + odds), abs=1e-4)


if __name__ == "__main__":
    numbers = np.random.default_rng(7)
    for seed in range(240):
        scorer = RandomScorer(1000 + seed, second_order=bool(seed % 2))
        queries = [random_query(numbers, n) for n in LENGTHS]
        charts = charts_of(scorer, queries)
        for b, query in enumerate(queries):
            check_query(scorer, charts, b, query)
