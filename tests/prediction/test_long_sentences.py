"""Sentences too long for the exact search: still two complete trees that fit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from arcspan.parser import Parser
from arcspan.prediction import long_sentences as long
from arcspan.prediction.long_sentences import choose_heads, cut
from arcspan.trees import ConstituencyTree, DependencyTree, compatible
from tests.runtime.random_bundles import RandomBundle, load, sentences


def binary_trees(i: int, j: int) -> list[list[tuple[int, int]]]:
    """All binary trees over (i, j), each as its spans in pre-order."""
    if j - i == 1:
        return [[(i, j)]]
    return [
        [(i, j), *left, *right]
        for k in range(i + 1, j)
        for left in binary_trees(i, k)
        for right in binary_trees(k, j)
    ]


def best_by_enumeration(tree: list[tuple[int, int]], arc: np.ndarray) -> float:
    """The best score of heads of which each span of the tree has one word outside."""
    pieces = len(arc)
    best = -np.inf
    for heads in itertools.product(range(pieces + 1), repeat=pieces):
        if heads.count(0) != 1 or any(h == m for m, h in enumerate(heads, 1)):
            continue
        try:
            d = DependencyTree(heads, ["x"] * pieces)
        except ValueError:
            continue
        c = ConstituencyTree(["w"] * pieces, None, [(a, b, "X") for a, b in tree])
        if compatible(c, d):
            best = max(best, sum(arc[m, h] for m, h in enumerate(heads)))
    return best


@pytest.mark.parametrize("pieces", [1, 2, 3, 4])
def test_heads_above_the_pieces_are_the_best_that_fit(pieces: int) -> None:
    draw = np.random.default_rng(pieces)
    for tree in binary_trees(0, pieces):
        arc = draw.normal(size=(pieces, pieces + 1))
        heads, tops, score = choose_heads(tree, arc)
        assert score == pytest.approx(best_by_enumeration(tree, arc))
        assert sum(arc[m, h] for m, h in enumerate(heads)) == pytest.approx(score)
        for (a, b), top in zip(tree, tops, strict=True):
            outside = [m for m in range(a, b) if not a < heads[m] <= b]
            assert outside == [top]


def test_cuts_make_a_binary_tree_of_short_pieces() -> None:
    span = np.random.default_rng(1).normal(size=(301, 301))
    tree = cut(["w"] * 300, span, 40)
    leaves = [(i, j) for i, j in tree if j - i <= 40]
    assert [i for i, _ in sorted(leaves)] == [0, *(j for _, j in sorted(leaves)[:-1])]
    assert len(tree) == 2 * len(leaves) - 1
    assert min(j - i for i, j in leaves) >= 10


def test_cuts_are_made_after_full_stops_then_commas_then_where_spans_are_good() -> None:
    words = ["w"] * 40
    words[20], words[12] = ".", ","
    assert cut(words, None, 25)[1] == (0, 21)
    words[20] = "w"
    assert cut(words, None, 30)[1] == (0, 13)
    words[12] = "w"
    span = np.zeros((41, 41))
    span[0, 17] = 1
    assert cut(words, span, 30)[1] == (0, 17)


def assert_whole(parser: Parser, words: list[str], fits: bool) -> None:
    parse = parser.parse(words)
    c, d = parse.constituency, parse.dependencies
    assert parse.approximate
    assert c.words == d.words == tuple(words)
    # The constructors check that these are trees.
    assert ConstituencyTree(c.words, c.tags, c.spans) == c
    assert DependencyTree(d.heads, d.relations, d.words, d.tags, d.upos) == d
    assert d.is_projective
    if fits:
        assert compatible(c, d)
        assert parse.prediction.nodes is not None
        assert len(parse.prediction.nodes) == 2 * len(words) - 1


@pytest.mark.parametrize("blocks", [False, True])
def test_a_sentence_whose_chart_does_not_fit_has_both_trees(
    bundle: RandomBundle, blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if blocks:
        monkeypatch.setattr(long, "BLOCK", 70)
    limit = load(bundle.folder).model.chart_bytes(30)
    words = [word for sentence in sentences(20, seed=3) for word in sentence][:150]
    assert len(words) == 150
    assert_whole(Parser(bundle.folder, memory_limit=limit), words, fits=len(bundle.models) == 1)


def test_a_limit_below_any_chart_still_gives_trees(joint2o: RandomBundle) -> None:
    assert_whole(Parser(joint2o.folder, memory_limit=1), sentences(1, seed=8)[0], fits=True)


def test_three_thousand_words_are_parsed(joint2o: RandomBundle) -> None:
    words = [word for sentence in sentences(300, seed=5) for word in sentence][:3000]
    assert len(words) == 3000
    assert_whole(Parser(joint2o.folder), words, fits=True)


def test_long_sentences_do_not_change_their_neighbours(joint1o: RandomBundle) -> None:
    short = sentences(10, longest=20, seed=6)
    limit = load(joint1o.folder).model.chart_bytes(25)
    predictor = load(joint1o.folder, memory_limit=limit, threads=2)
    predictions = predictor.predict([*short[:5], ["dog"] * 80, *short[5:]])
    expected = predictor.predict(short)
    assert [prediction.score for prediction in predictions[:5] + predictions[6:]] == [
        prediction.score for prediction in expected
    ]
    assert [prediction.approximate for prediction in predictions] == [False] * 5 + [True] + [
        False
    ] * 5


def test_the_whole_is_a_constituent_though_the_model_prefers_none(joint1o: RandomBundle) -> None:
    """Of sentences in pieces as of any other: "no constituent" is not a label of the whole."""
    limit = load(joint1o.folder).model.chart_bytes(12)
    predictor = load(joint1o.folder, memory_limit=limit, threads=1)
    scorer = next(
        candidate for candidate in predictor.model.scorers if "label" in candidate.outputs
    )
    nothing_preferred = 0
    for seed in range(12):
        words = [word for sentence in sentences(6, seed=seed) for word in sentence][:30]
        sentence = predictor.model.encode(words)
        arrays = predictor.model.arrays([sentence], tags=scorer.reads_tags)
        hidden = scorer.score(arrays, headed=False).hidden
        position = [np.asarray([0]), np.asarray([0]), np.asarray([len(words)])]
        labels, _ = scorer.label(
            hidden, position, [np.asarray([0]), np.asarray([1]), np.asarray([0])]
        )
        assert labels is not None
        if labels.argmax() == 0:
            nothing_preferred += 1
            prediction = predictor.predict([words])[0]
            assert prediction.nodes is not None
            assert prediction.nodes[0, 3] != 0
    assert nothing_preferred
