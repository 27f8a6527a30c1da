# mypy: allow-untyped-defs
"""Sums over all binary trees, O(n^3): CKY with products, log_sums.cky without exponentials in its loops.

Scales are those of scaling.py: every word has a share of the best tree's score.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels import log_sums
from arcspan.decoding.kernels.compile import kernel, relaxed
from arcspan.decoding.kernels.queue import take_turn
from arcspan.decoding.kernels.scaling import (
    DONE,
    FORBIDDEN,
    HUGE,
    LOG2,
    NOTHING,
    SAFE,
    TOP,
    UNSAFE,
    look,
    prepare_spans,
)
from arcspan.decoding.kernels.splits import dot, share_out, square, watched


@kernel
def sum_trees(queue, taken, span, lengths, partition, spans, status):
    """Log-partition and marginals, the latter unless `spans` is empty, of sentence after sentence of the queue."""
    turn = take_turn(taken)
    while turn < len(queue):
        b = queue[turn]
        n = lengths[b]
        partition[b] = 0.0
        status[b], masked = look(span, None, None, None, b, n)
        if n > 0 and status[b] == DONE:
            status[b], partition[b] = cky(span, b, n, spans[b], masked)
            if status[b] == UNSAFE:
                partition[b] = log_sums.cky(span, b, n, spans[b])
                status[b] = FORBIDDEN if partition[b] < NOTHING else DONE
        turn = take_turn(taken)


@relaxed
def cky(span, b, n, spans, masked):
    """What happened, the log-partition of binary trees, and their marginals spans[i, j] unless that is empty."""
    size = n + 1
    leaf = np.empty(size)
    factor = np.zeros((size, size))
    nothing = np.zeros((size, size))
    code, height, constant, span_depth = prepare_spans(span, b, n, nothing, nothing, 0.0, leaf, factor)
    if code != DONE:
        return code, 0.0
    # x[i, j], i < j; x[j, i] is a copy, so that both parts of a split are read along contiguous memory.
    flat, x = square(size)
    whole = 0.0
    for attempt in range(3):
        least = fill(n, x, leaf, factor, masked)
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
    if len(spans) > 0:
        gathered, marginal = square(size)
        marginal[0, n] = 1.0
        for w in range(n, 0, -1):
            for i in range(size - w):
                j = i + w
                mass = marginal[i, j] + marginal[j, i]
                spans[i, j] = mass
                if w > 1 and mass > 0.0:
                    share = mass / x[i, j] * factor[i, j]
                    at, bt = i * size + i + 1, j * size + i + 1
                    share_out(flat, at, flat, bt, w - 1, share, gathered, gathered)
    return DONE, math.log(whole) + constant


@relaxed
def fill(n, x, leaf, factor, masked):
    """The chart; returns its least value."""
    size = n + 1
    least = HUGE
    for w in range(1, size):
        for i in range(size - w):
            j = i + w
            if w == 1:
                value = leaf[j]
            else:
                value = dot(x[i, i + 1 : j], x[j, i + 1 : j], w - 1) * factor[i, j]
            x[i, j] = x[j, i] = value
            least = watched(least, value, masked)
    return least
