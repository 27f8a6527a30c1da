from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from arcspan import decoding
from arcspan.errors import ScoreError
from tests.decoding.batches import Batch, batches
from tests.decoding.enumeration import projective


@settings(max_examples=300, deadline=None)
@given(batch=batches(5))
def test_finds_the_best_of_all_projective_trees_with_one_root(batch: Batch) -> None:
    for b, n in enumerate(batch.lengths.tolist()):
        arc = batch.arc[b : b + 1]
        words = np.arange(1, n + 1)
        scores = {
            heads: float(arc[0, words, list(heads)].sum(dtype=np.float64)) if n else 0.0
            for heads in projective(n) or [()]
        }
        best = max(scores.values())
        if best == -np.inf:
            with pytest.raises(ScoreError, match=r"sentence 0 .* forbid"):
                decoding.eisner(arc, [n])
            continue
        decoded = decoding.eisner(arc, [n])
        assert decoded.spans is None
        assert decoded.scores[0] == pytest.approx(best, abs=1e-4)
        assert scores[tuple(decoded.heads[0, 1 : n + 1].tolist())] == pytest.approx(best, abs=1e-4)
        assert not decoded.heads[0, n + 1 :].any() and decoded.heads[0, 0] == 0


def test_the_root_has_one_child_however_dear_a_second_would_be() -> None:
    arc = np.zeros((1, 6, 6))
    arc[0, :, 0] = 100
    heads = decoding.eisner(arc, [5]).heads[0]
    assert (heads[1:] == 0).sum() == 1


def test_crossing_arcs_are_not_for_sale() -> None:
    """1 -> 3 and 2 -> 4 cross: the better of the two stays."""
    arc = np.zeros((1, 5, 5))
    arc[0, 3, 1], arc[0, 4, 2] = 5, 6
    best = decoding.eisner(arc, [4])
    assert best.heads[0, 4] == 2 and best.heads[0, 3] != 1
    assert best.scores.tolist() == [6.0]
