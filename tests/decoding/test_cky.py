from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from arcspan import decoding
from arcspan.errors import ScoreError
from tests.decoding.batches import Batch, batches
from tests.decoding.enumeration import lexicalized


@settings(max_examples=300, deadline=None)
@given(batch=batches())
def test_finds_the_best_of_all_binary_trees(batch: Batch) -> None:
    for b, n in enumerate(batch.lengths.tolist()):
        span = batch.span[b : b + 1]
        trees = (
            {tuple((i, j) for i, j, _ in tree.spans) for tree in lexicalized(0, n)} if n else {()}
        )
        scores = {tree: sum(float(span[0, i, j]) for i, j in tree) for tree in trees}
        best = max(scores.values())
        if best == -np.inf:
            with pytest.raises(ScoreError, match=r"sentence 0 .* forbid"):
                decoding.cky(span, [n])
            continue
        decoded = decoding.cky(span, [n])
        assert decoded.heads is None
        assert decoded.scores[0] == pytest.approx(best, abs=1e-4)
        assert decoded.spans[0].shape == (max(2 * n - 1, 0), 2)
        assert scores[tuple(map(tuple, decoded.spans[0].tolist()))] == pytest.approx(best, abs=1e-4)


def test_of_equal_trees_the_first_split_wins() -> None:
    assert decoding.cky(np.zeros((1, 4, 4)), [3]).spans[0].tolist() == [
        [0, 3],
        [0, 1],
        [1, 3],
        [1, 2],
        [2, 3],
    ]


def test_a_long_sentence_is_bracketed_as_its_scores_say() -> None:
    """300 words, the right-branching tree rewarded: rows of the chart longer than any vector."""
    n = 300
    span = np.zeros((1, n + 1, n + 1), np.float32)
    span[0, np.arange(n), n] = 1
    best = decoding.cky(span, [n])
    assert best.scores.tolist() == [n]
    assert {(i, n) for i in range(n)} <= set(map(tuple, best.spans[0].tolist()))
