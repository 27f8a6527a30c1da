"""The k best trees, against all of them."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcspan import decoding
from arcspan.errors import ScoreError
from tests.decoding.all_trees import scores_of


def random_scores(seed: int, n: int, second: bool, ties: bool, masked: float = 0.0):
    """Scores of one sentence; small whole numbers where ties are wanted, some of them -inf."""
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:
        values = random.integers(-2, 3, shape).astype(float) if ties else random.normal(size=shape)
        return np.where(random.random(shape) < masked, -np.inf, values)

    return (
        draw(n + 1, n + 1),
        draw(n + 1, n + 1),
        draw(n + 1, n + 1, n + 1) if second else None,
        random,
    )


def score_of(tree: decoding.ScoredTree, span, arc, headed) -> float:
    """The score of a tree by its definition."""
    heads, spans = tree.heads.tolist(), tree.spans.tolist()
    total = sum(span[i, j] for i, j, _ in spans) + sum(
        arc[m, heads[m]] for m in range(1, len(heads))
    )
    if headed is not None:
        total += sum(headed[i, j, h] for i, j, h in spans)
        tops = {
            h: (i, j) for i, j, h in reversed(spans)
        }  # the widest span of each head comes first in pre-order
        total += sum(headed[tops[m]][heads[m]] for m in range(1, len(heads)) if heads[m])
    return float(total)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.15]),
)
def test_the_k_best_are_the_first_k_of_all_trees(seed, n, second, ties, masked) -> None:
    span, arc, headed, _ = random_scores(seed, n, second, ties, masked)
    expected = sorted(
        (score for _, score in scores_of(n, span, arc, headed) if score > -np.inf), reverse=True
    )
    if not expected:
        with pytest.raises(ScoreError, match="has no tree"):
            decoding.kbest_iter(span, arc, headed)
        return
    trees_found = list(islice(decoding.kbest_iter(span, arc, headed), 300))
    assert len(trees_found) == min(300, len(expected))
    np.testing.assert_allclose([tree.score for tree in trees_found], expected[:300], atol=1e-9)
    assert len({(tuple(t.heads), t.spans.tobytes()) for t in trees_found}) == len(trees_found)
    for tree in trees_found:
        assert tree.score == pytest.approx(score_of(tree, span, arc, headed))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.0, 0.3, 0.7]),
)
def test_trees_that_differ_only_in_unseen_spans_count_once(seed, n, second, ties, share) -> None:
    span, arc, headed, random = random_scores(seed, n, second, ties)
    visible = random.random((n + 1, n + 1)) < share
    # Marks for spans with any head, and for each head.
    for marks in (visible, random.random((n + 1, n + 1, n + 1)) < share):
        cube = np.broadcast_to(marks.T, (n + 1,) * 3).T if marks.ndim == 2 else marks
        best: dict[object, float] = {}
        for tree, score in sorted(scores_of(n, span, arc, headed), key=lambda pair: -pair[1]):
            spans_seen = frozenset((i, j) for i, j, h in tree.headed if cube[i, j, h])
            best.setdefault((tree.heads, spans_seen), score)
        trees_found = list(decoding.kbest_iter(span, arc, headed, visible=marks))
        np.testing.assert_allclose(
            [tree.score for tree in trees_found], sorted(best.values(), reverse=True), atol=1e-9
        )
        shown = set()
        for found in trees_found:
            spans_seen = frozenset((i, j) for i, j, h in found.spans.tolist() if cube[i, j, h])
            shown.add((tuple(found.heads), spans_seen))
        assert shown == set(best)
        in_batch = decoding.kbest(
            span[None],
            arc[None],
            [n],
            3,
            None if headed is None else headed[None],
            visible=marks[None],
        )
        assert in_batch[0].scores.tolist() == [tree.score for tree in trees_found[:3]]


def test_the_first_is_the_best_tree_of_the_search_and_scores_never_rise() -> None:
    n = 40
    span, arc, headed, random = random_scores(1, n, True, False)
    best = decoding.eisner_satta(span[None], arc[None], [n], headed[None])
    for visible in (None, random.random((n + 1, n + 1)) < 0.3):
        trees_found = list(islice(decoding.kbest_iter(span, arc, headed, visible=visible), 500))
        assert trees_found[0].score == pytest.approx(best.scores[0], rel=1e-5)
        assert trees_found[0].spans.tolist() == best.spans[0].tolist()
        scores = [tree.score for tree in trees_found]
        assert len(scores) == 500
        assert all(a >= b for a, b in pairwise(scores))


def test_many_unseen_variants_of_each_tree_do_not_hide_the_next_one() -> None:
    n = 24
    span, arc, _, _ = random_scores(2, n, False, False)
    span *= 1e-3  # hardly any difference between the binarizations of a dependency tree
    trees_found = list(
        islice(decoding.kbest_iter(span, arc, visible=np.zeros((n + 1, n + 1), bool)), 50)
    )
    assert len({tuple(tree.heads) for tree in trees_found}) == 50
    assert trees_found[0].heads.tolist() == decoding.eisner(arc[None], [n]).heads[0].tolist()


def test_equal_scores_come_in_the_same_order_each_time() -> None:
    zeros = np.zeros((8, 8))
    first, second = (
        [
            (t.heads.tolist(), t.spans.tolist())
            for t in islice(decoding.kbest_iter(zeros, zeros), 200)
        ]
        for _ in range(2)
    )
    assert first == second


def test_a_batch_gives_every_sentence_its_own_list_whatever_stands_in_the_padding() -> None:
    lengths = [3, 0, 5, 1]
    random = np.random.default_rng(3)
    span, arc = random.normal(size=(2, 4, 6, 6))
    headed = random.normal(size=(4, 6, 6, 6))
    for b, n in enumerate(lengths):
        span[b, n + 1 :], span[b, :, n + 1 :], arc[b, n + 1 :], arc[b, :, n + 1 :] = (
            np.nan,
            np.inf,
            np.inf,
            np.nan,
        )
    trees_found = decoding.kbest(span, arc, lengths, 10, headed)
    assert [len(trees.scores) for trees in trees_found] == [8, 1, 10, 1]
    for b, n in enumerate(lengths):
        alone = islice(
            decoding.kbest_iter(
                span[b, : n + 1, : n + 1],
                arc[b, : n + 1, : n + 1],
                headed[b, : n + 1, : n + 1, : n + 1],
            ),
            10,
        )
        for row, tree in enumerate(alone):
            assert trees_found[b].scores[row] == tree.score
            assert trees_found[b].heads[row, : n + 1].tolist() == tree.heads.tolist()
            assert trees_found[b].spans[row].tolist() == tree.spans.tolist()
    assert [list(t.scores) for t in decoding.kbest(span, arc, lengths, 10, headed, threads=1)] == [
        list(t.scores) for t in decoding.kbest(span, arc, lengths, 10, headed, threads=3)
    ]


def test_what_cannot_be_searched_is_named() -> None:
    zeros = np.zeros((2, 4, 4))
    with pytest.raises(ScoreError, match="k must be a whole number of at least 1"):
        decoding.kbest(zeros, zeros, [3, 3], 0)
    bad = zeros.copy()
    bad[1, 0, 2] = np.nan
    with pytest.raises(ScoreError, match="sentence 1 of the batch has a score that is NaN"):
        decoding.kbest(bad, zeros, [3, 3], 2)
    bad[1, 0, 3] = bad[1, 0, 2] = -np.inf
    with pytest.raises(ScoreError, match="sentence 1 of the batch has no tree"):
        decoding.kbest(bad, zeros, [3, 3], 2)
    with pytest.raises(ScoreError, match="arc must have the shape"):
        decoding.kbest_iter(zeros[0], np.zeros((3, 3)))
