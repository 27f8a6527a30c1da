# mypy: allow-untyped-defs
"""Sums over all projective trees, O(n^3): Eisner with products, log_sums.eisner without exponentials in its loops.

Arc scores are taken relative to the best head of each word, and every word multiplies by 2**-1.4, since the number
of projective trees grows by almost 2**2.8 a word. The least value is watched: where something might have been lost,
the sentence is computed with logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels import log_sums
from arcspan.decoding.kernels.compile import kernel, relaxed
from arcspan.decoding.kernels.queue import take_turn
from arcspan.decoding.kernels.scaling import (
    DEEP,
    DONE,
    FORBIDDEN,
    HUGE,
    LOG2,
    NOTHING,
    SAFE,
    UNSAFE,
    look,
    prepare_arcs,
)
from arcspan.decoding.kernels.splits import dot, share_out, square, watched

GROWTH = 1.4
# With masks: no product of two values or factors above this can become zero.
MASKED = -500.0


@kernel
def sum_trees(queue, taken, arc, lengths, partition, heads, status):
    """Log-partition and marginals, the latter unless `heads` is empty, of sentence after sentence of the queue."""
    turn = take_turn(taken)
    while turn < len(queue):
        b = queue[turn]
        n = lengths[b]
        partition[b] = 0.0
        status[b], masked = look(None, arc, None, None, b, n)
        if n > 0 and status[b] == DONE:
            status[b], partition[b] = eisner(arc, b, n, heads[b], masked)
            if status[b] == UNSAFE:
                partition[b] = log_sums.eisner(arc, b, n, heads[b])
                status[b] = FORBIDDEN if partition[b] < NOTHING else DONE
        turn = take_turn(taken)


@relaxed
def eisner(arc, b, n, heads, masked):
    """What happened, the log-partition of projective trees with one root, and their marginals heads[m, h].

    complete[h, e], incomplete[h, m] and turned[e, m] = complete[m, e] as in log_sums.eisner.
    """
    size = n + 1
    attach = np.zeros(size * size)
    aside = np.zeros(size * size)
    root = np.zeros(size)
    constant, deepest = prepare_arcs(arc, b, n, size, attach, aside, root)
    if constant == -np.inf:
        return FORBIDDEN, 0.0
    if deepest < (MASKED * LOG2 if masked else DEEP):
        return UNSAFE, 0.0
    word = 2.0**-GROWTH
    flat_complete, complete = square(size)
    flat_incomplete, incomplete = square(size)
    flat_turned, turned = square(size)
    _, both = square(size)
    least = fill(n, attach, word, masked, complete, incomplete, turned, both)
    whole = 0.0
    for m in range(1, size):
        whole += complete[m, 1] * complete[m, n] * root[m]
    if least < 2.0 ** (MASKED if masked else SAFE):
        return UNSAFE, 0.0
    if masked and whole == 0.0:
        return FORBIDDEN, 0.0
    if whole < 2.0 ** (SAFE + 60.0) or whole > HUGE:
        return UNSAFE, 0.0
    logarithm = math.log(whole) + constant + (n - 1) * GROWTH * LOG2
    if len(heads) == 0:
        return DONE, logarithm

    flat_in_complete, in_complete = square(size)
    flat_in_turned, in_turned = square(size)
    flat_in_incomplete, in_incomplete = square(size)
    for m in range(1, size):
        value = complete[m, 1] * complete[m, n] * (root[m] / whole)
        heads[m, 0] = value
        in_complete[m, 1] += value
        in_complete[m, n] += value
    for w in range(n - 1, 0, -1):
        for left in range(1, size - w):
            right = left + w
            at, bt = left * size + left, right * size + left
            mass = in_complete[left, right] + in_turned[right, left]
            if mass > 0.0:
                share = mass / complete[left, right]
                share_out(
                    flat_incomplete,
                    at + 1,
                    flat_turned,
                    bt + 1,
                    w,
                    share,
                    flat_in_incomplete,
                    flat_in_turned,
                )
            mass = in_complete[right, left] + in_turned[left, right]
            if mass > 0.0:
                share = mass / complete[right, left]
                share_out(flat_incomplete, bt, flat_turned, at, w, share, flat_in_incomplete, flat_in_turned)
            heads[right, left] = in_incomplete[left, right]
            heads[left, right] = in_incomplete[right, left]
            mass = in_incomplete[left, right] + in_incomplete[right, left]
            if mass > 0.0:
                # Both arcs are built from the same two halves: the share of a split is the same for both.
                share = mass / both[left, right] * word
                share_out(
                    flat_complete, at, flat_complete, bt + 1, w, share, flat_in_complete, flat_in_complete
                )
    return DONE, logarithm


@relaxed
def fill(n, attach, word, masked, complete, incomplete, turned, both):
    """The charts; returns their least value."""
    size = n + 1
    least = 1.0
    for h in range(1, size):
        complete[h, h] = turned[h, h] = 1.0
    for w in range(1, n):
        for left in range(1, size - w):
            right = left + w
            # One word more than its parts have modifiers: the new one.
            value = word * dot(complete[left, left:right], complete[right, left + 1 : right + 1], w)
            both[left, right] = value
            least = watched(least, value, masked)
            incomplete[left, right] = value * attach[right * size + left]
            incomplete[right, left] = value * attach[left * size + right]
            complete[left, right] = dot(
                incomplete[left, left + 1 : right + 1], turned[right, left + 1 : right + 1], w
            )
            complete[right, left] = dot(incomplete[right, left:right], turned[left, left:right], w)
            turned[right, left] = complete[left, right]
            turned[left, right] = complete[right, left]
            least = watched(least, incomplete[left, right], masked)
            least = watched(least, incomplete[right, left], masked)
            least = watched(least, complete[left, right], masked)
            least = watched(least, complete[right, left], masked)
    return least
