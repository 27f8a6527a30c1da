"""Batches of scores for the tests: random, full of ties, masked, with rubbish in every cell that no
tree uses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class Batch(NamedTuple):
    span: np.ndarray
    arc: np.ndarray
    headed: np.ndarray
    lengths: np.ndarray


def random_batch(
    lengths: list[int],
    seed: int = 0,
    *,
    pattern: str = "normal",
    masked: float = 0.0,
    rubbish: float = np.nan,
) -> Batch:
    """Scores for sentences of these lengths; `masked` is the share of parts that are forbidden."""
    rng = np.random.default_rng(seed)
    n = max(lengths, default=0)
    shape = (len(lengths), n + 1, n + 1)

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        values = (
            rng.normal(size=shape)
            if pattern == "normal"
            else rng.integers(-1, 2, size=shape).astype(float)
        )
        values[rng.random(shape) < masked] = -np.inf
        return values.astype(np.float32)

    span, arc, headed = draw(shape), draw(shape), draw((*shape, n + 1))
    for b, length in enumerate(lengths):
        i, j = np.indices((n + 1, n + 1))
        unused = (i >= j) | (j > length)
        span[b][unused] = rubbish
        headed[b][unused] = rubbish
        headed[b, :, :, 0] = rubbish
        headed[b, :, :, length + 1 :] = rubbish
        arc[b][(i == 0) | (i == j) | (i > length) | (j > length)] = rubbish
    return Batch(span, arc, headed, np.array(lengths, np.int64))


def packed(headed) -> np.ndarray:
    """The rows i < j of headed scores alone."""
    cube = np.asarray(headed)
    i, j = np.triu_indices(cube.shape[-1], 1)
    return cube[:, i, j]


@st.composite
def batches(draw: st.DrawFn, longest: int = 6) -> Batch:
    """Small batches of every kind; hypothesis chooses."""
    lengths = draw(st.lists(st.integers(0, longest), min_size=1, max_size=3))
    return random_batch(
        lengths,
        draw(st.integers(0, 2**32 - 1)),
        pattern=draw(st.sampled_from(["normal", "ties"])),
        masked=draw(st.sampled_from([0.0, 0.1, 0.4])),
    )
