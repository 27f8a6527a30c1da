# mypy: allow-untyped-defs
"""Inside and outside for CKY, O(n^3), with sums of products: log_space.cky without exponentials in its loops.

Scales are those of inside_outside.py: every word has a share of the best tree's score.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels.doubles import HUGE, WIDTH
from arcspan.decoding.kernels.exponential import relaxed
from arcspan.decoding.kernels.inside_outside import DONE, FORBIDDEN, LOG2, SAFE, TOP, UNSAFE, prepare_spans
from arcspan.decoding.kernels.projective import watched
from arcspan.decoding.kernels.sums import dot, share_out


@relaxed
def cky(span, b, n, spans, masked, wanted):
    """What happened, the log-partition of binary trees, and their marginals spans[i, j] where wanted."""
    size = n + 1
    leaf = np.empty(size)
    factor = np.zeros((size, size))
    nothing = np.zeros((size, size))
    code, height, constant, span_depth = prepare_spans(span, b, n, nothing, nothing, 0.0, leaf, factor)
    if code != DONE:
        return code, 0.0
    down = 2.0**-height
    # x[i, j], i < j; x[j, i] is a copy, so that both parts of a split are read along contiguous memory. Flat arrays
    # with eight numbers to spare, as `sums` wants them.
    flat = np.empty(size * size + WIDTH)
    x = flat[: size * size].reshape((size, size))
    whole = 0.0
    for attempt in range(3):
        least = fill(n, x, leaf, factor, down, masked)
        whole = x[0, n]
        if masked:
            # No product of positive values and factors can have become zero.
            safe = 2.0 * math.log(least) - height * LOG2 + span_depth >= SAFE * LOG2
        else:
            safe = least >= 2.0 ** (SAFE - min(height, 0.0))
        if safe and 0.0 <= whole < HUGE:
            break
        # Far off the guess: again, with every word's share of the difference.
        if attempt == 2 or not (0.0 < whole < 2.0**-100 or 2.0**TOP < whole < HUGE):
            return UNSAFE, 0.0
        constant += math.log(whole)
        for j in range(1, size):
            leaf[j] *= math.exp(-math.log(whole) / n)
    if whole == 0.0:
        return FORBIDDEN, 0.0
    if whole < 2.0 ** (SAFE + 60.0):
        return UNSAFE, 0.0
    if wanted:
        gathered = np.zeros(size * size + WIDTH)
        marginal = gathered[: size * size].reshape((size, size))
        marginal[0, n] = 1.0
        for w in range(n, 0, -1):
            for i in range(size - w):
                j = i + w
                mass = marginal[i, j] + marginal[j, i]
                spans[i, j] = mass
                if w > 1 and mass > 0.0:
                    share = mass / x[i, j] * (factor[i, j] * down)
                    at, bt = i * size + i + 1, j * size + i + 1
                    share_out(flat, at, flat, bt, w - 1, share, gathered, gathered)
    return DONE, math.log(whole) + constant


@relaxed
def fill(n, x, leaf, factor, down, masked):
    """The chart; returns its least value."""
    size = n + 1
    least = HUGE
    for w in range(1, size):
        for i in range(size - w):
            j = i + w
            if w == 1:
                value = leaf[j]
            else:
                value = dot(x[i, i + 1 : j], x[j, i + 1 : j], w - 1) * (factor[i, j] * down)
            x[i, j] = x[j, i] = value
            least = watched(least, value, masked)
    return least
