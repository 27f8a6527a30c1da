from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from arcspan import decoding
from arcspan.errors import ScoreError
from tests.decoding.batches import Batch, batches, random_batch
from tests.decoding.enumeration import all_scores, score_of


@settings(max_examples=300, deadline=None)
@given(batch=batches())
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("search", [decoding.eisner_satta, decoding.naive])
def test_finds_the_best_of_all_trees(search, order: int, batch: Batch) -> None:
    """The same best score as full enumeration, and a valid tree that has it."""
    for b, n in enumerate(batch.lengths.tolist()):
        span, arc = batch.span[b : b + 1], batch.arc[b : b + 1]
        headed = batch.headed[b : b + 1] if order == 2 else None
        second = None if headed is None else headed[0]
        best = all_scores(n, span[0], arc[0], second).max() if n else 0.0
        if best == -np.inf:
            with pytest.raises(ScoreError, match=r"sentence 0 .* forbid"):
                search(span, arc, [n], headed)
            continue
        decoded = search(span, arc, [n], headed)
        assert decoded.scores[0] == pytest.approx(best, abs=1e-4)
        assert decoded.spans[0].shape == (max(2 * n - 1, 0), 3)
        assert not decoded.heads[0, n + 1 :].any()
        if n:
            score = score_of(decoded.spans[0], decoded.heads[0, 1 : n + 1], span[0], arc[0], second)
            assert score == pytest.approx(best, abs=1e-4)


def uniform(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        np.zeros((1, n + 1, n + 1)),
        np.zeros((1, n + 1, n + 1)),
        np.zeros((1, n + 1, n + 1, n + 1)),
    )


def test_the_sentence_of_the_paper() -> None:
    """Logic plays a maximal role here: figure 1 and figure 2 of the paper, from scores that reward
    their parts.
    """
    span, arc, _ = uniform(6)
    for i, j in [(0, 6), (1, 6), (1, 5), (2, 5), (3, 5)]:
        span[0, i, j] = 1
    for m, h in enumerate([2, 0, 5, 5, 2, 2], 1):
        arc[0, m, h] = 1
    best = decoding.eisner_satta(span, arc, [6])
    assert best.heads.tolist() == [[0, 2, 0, 5, 5, 2, 2]]
    assert best.spans[0].tolist() == [
        [0, 6, 2],
        [0, 1, 1],
        [1, 6, 2],
        [1, 5, 2],
        [1, 2, 2],
        [2, 5, 5],
        [2, 3, 3],
        [3, 5, 5],
        [3, 4, 4],
        [4, 5, 5],
        [5, 6, 6],
    ]  # fmt: skip
    assert best.scores.tolist() == [11.0]


def test_a_reward_for_one_headed_span_decides_the_head_of_the_span() -> None:
    """Words 1 2 3; arcs prefer 1 <- 2 -> 3 by 1. A headed span (1, 3] with head 3 pays 3: then 2
    hangs on 3.
    """
    span, arc, headed = uniform(3)
    arc[0, 2, 0] = arc[0, 1, 2] = arc[0, 3, 2] = 1
    assert decoding.eisner_satta(span, arc, [3], headed).heads.tolist() == [[0, 2, 0, 2]]
    headed[0, 1, 3, 3] = 3
    best = decoding.eisner_satta(span, arc, [3], headed)
    # (1 (2 3)), 3 heads (1, 3]: word 2 attaches to 3. Keeping 1 <- 2 would cross the span. What is
    # left is 0.
    assert [1, 3, 3] in best.spans[0].tolist()
    assert best.heads[0, 2] == 3
    assert best.scores.tolist() == [3.0]


def test_a_reward_for_one_hooked_span_decides_where_the_span_attaches() -> None:
    """Span (1, 3] attached to word 1 pays 5: it must be a constituent, and its head word must hang
    on 1.
    """
    span, arc, headed = uniform(3)
    arc[0, 2, 0] = arc[0, 1, 2] = arc[0, 3, 2] = 1
    headed[0, 1, 3, 1] = 5
    best = decoding.eisner_satta(span, arc, [3], headed)
    # Root 1 -> 2 -> 3: of the three rewarded arcs only 2 -> 3 fits.
    assert best.heads.tolist() == [[0, 0, 1, 2]]
    assert best.spans[0].tolist() == [[0, 3, 1], [0, 1, 1], [1, 3, 2], [1, 2, 2], [2, 3, 3]]
    assert best.scores.tolist() == [6.0]


def test_a_hooked_span_is_scored_for_the_largest_span_of_the_modifier_only() -> None:
    """2 heads (1, 2] and (1, 3], and hangs on 1: only (1, 3] is hooked, so a reward for (1, 2] with
    1 is not paid.
    """
    span, arc, headed = uniform(3)
    for m, h in enumerate([0, 1, 2], 1):
        arc[0, m, h] = 10
    span[0, 1, 3] = 10
    headed[0, 1, 2, 1] = 1
    best = decoding.eisner_satta(span, arc, [3], headed)
    assert best.heads.tolist() == [[0, 0, 1, 2]]
    assert best.scores.tolist() == [40.0]


def test_the_root_attachment_has_no_hooked_score() -> None:
    """headed[i, j, 0] is no part of any tree."""
    span, arc, headed = uniform(4)
    headed[0, :, :, 0] = 7
    assert decoding.eisner_satta(span, arc, [4], headed).scores.tolist() == [0.0]


def test_singletons_and_the_whole_sentence_are_scored_once() -> None:
    span, arc, headed = uniform(3)
    span[0, 0, 1], span[0, 1, 2], span[0, 2, 3], span[0, 0, 3] = 1, 2, 4, 8
    headed[0, 0, 1, 1], headed[0, 1, 2, 2], headed[0, 2, 3, 3], headed[0, 0, 3, 1:] = (
        16,
        32,
        64,
        128,
    )
    assert decoding.eisner_satta(span, arc, [3]).scores.tolist() == [15.0]
    assert decoding.eisner_satta(span, arc, [3], headed).scores.tolist() == [255.0]


def test_of_equal_trees_the_first_split_and_the_first_head_win() -> None:
    span, arc, headed = uniform(4)
    for second in (None, headed):
        best = decoding.eisner_satta(span, arc, [4], second)
        assert best.heads.tolist() == [[0, 0, 1, 2, 3]]
        assert best.spans[0][:, :2].tolist() == [
            [0, 4],
            [0, 1],
            [1, 4],
            [1, 2],
            [2, 4],
            [2, 3],
            [3, 4],
        ]


def test_a_forbidden_arc_and_a_forbidden_span_are_avoided_at_any_price() -> None:
    batch = random_batch([12], 3, rubbish=0.0)
    free = decoding.eisner_satta(batch.span, batch.arc, [12])
    m, h = 5, int(free.heads[0, 5])
    i, j, _ = free.spans[0][3].tolist()
    batch.arc[0, m, h] = batch.span[0, i, j] = -np.inf
    bound = decoding.eisner_satta(batch.span, batch.arc, [12])
    assert bound.heads[0, m] != h
    assert [i, j] not in bound.spans[0][:, :2].tolist()
    assert np.isfinite(bound.scores[0]) and bound.scores[0] < free.scores[0]
