# mypy: allow-untyped-defs
"""Inside and outside for Eisner, O(n^3), with sums of products: log_space.eisner without exponentials in its loops.

Arc scores are taken relative to the best head of each word, and every word multiplies by 2**-1.4, since the number
of projective trees grows by almost 2**2.8 a word. The least value is watched as in inside_outside.py: where something
might have been lost, the caller turns to logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels.compile import inlined
from arcspan.decoding.kernels.doubles import HUGE, WIDTH
from arcspan.decoding.kernels.exponential import relaxed
from arcspan.decoding.kernels.inside_outside import (
    DEEP,
    DONE,
    FORBIDDEN,
    LOG2,
    SAFE,
    UNSAFE,
    prepare_arcs,
)
from arcspan.decoding.kernels.sums import dot, share_out

GROWTH = 1.4
# With masks: no product of two values or factors above this can become zero.
MASKED = -500.0


@relaxed
def watched(least, value, masked):
    """The least value so far; with masks, zeros are honest and do not count."""
    return least if masked and value == 0.0 else min(least, value)


@relaxed
def eisner(arc, b, n, heads, masked, wanted):
    """What happened, the log-partition of projective trees with one root, and their marginals heads[m, h] where wanted.

    complete[h, e], incomplete[h, m] and turned[e, m] = complete[m, e] as in log_space.eisner.
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
    # Flat arrays with eight numbers to spare, as `sums` wants them, and the same as squares.
    flat_complete, complete = _square(size)
    flat_incomplete, incomplete = _square(size)
    flat_turned, turned = _square(size)
    _, both = _square(size)
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
    if not wanted:
        return DONE, logarithm

    flat_in_complete, in_complete = _square(size)
    flat_in_turned, in_turned = _square(size)
    flat_in_incomplete, in_incomplete = _square(size)
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


@inlined
def _square(size):
    """A square of zeros, and the flat array that it is a part of."""
    flat = np.zeros(size * size + WIDTH)
    return flat, flat[: size * size].reshape((size, size))
