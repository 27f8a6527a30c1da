"""The O(n^5) head-driven search of Zhou & Zhao (2019): plain loops over split, head and modifier, in float64.

x[i, j, h] is the best headed span as in `kernels/eisner_satta`, but nothing is hooked in advance: at every split
each word of the other part is tried as the modifier of h.
"""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.compile import inlined, kernel
from arcspan.decoding.kernels.queue import take_turn


@kernel
def search(queue, taken, span, arc, headed, order, lengths, heads, rows, starts, scores, status):
    """Search sentence after sentence of the queue; arrays as in the public call, float64."""
    turn = take_turn(taken)
    while turn < len(queue):
        b = queue[turn]
        n = lengths[b]
        scores[b] = 0.0
        status[b] = 0
        if n > 0:
            x = np.empty((n + 1, n + 1, n + 1))
            _inside(span[b], arc[b], headed[b], order, n, x)
            status[b] = _trace(
                span[b], arc[b], headed[b], order, n, x, heads[b], rows[starts[b] :], scores[b : b + 1]
            )
        turn = take_turn(taken)


@inlined
def _inside(span, arc, headed, order, n, x):
    for w in range(1, n + 1):
        for i in range(n + 1 - w):
            j = i + w
            for h in range(i + 1, j + 1):
                best = 0.0 if w == 1 else -np.inf
                for k in range(i + 1, j):
                    value = _split(arc, headed, order, x, i, k, j, h)[0]
                    if value > best:
                        best = value
                x[i, j, h] = best + span[i, j] + (headed[i, j, h] if order == 2 else 0.0)


@inlined
def _split(arc, headed, order, x, i, k, j, h):
    """The best score of (i, j] with head h split at k, and the modifier: the first of the best in the other part."""
    low, high = (k, j) if h <= k else (i, k)
    best, modifier = -np.inf, 0
    for m in range(low + 1, high + 1):
        value = x[low, high, m] + arc[m, h]
        if value > best:
            best, modifier = value, m
    if order == 2:
        best += headed[low, high, h]
    return best + (x[i, k, h] if h <= k else x[k, j, h]), modifier


@inlined
def _trace(span, arc, headed, order, n, x, heads, rows, score):
    """Status, and where it is 0 the best tree."""
    best, root = -np.inf, 0
    for m in range(1, n + 1):
        value = x[0, n, m] + arc[m, 0]
        if value > best:
            best, root = value, m
    if root == 0:
        return 2
    heads[root] = 0
    score[0] = best
    stack = np.empty((n + 1, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, root
    top, row = 1, 0
    while top > 0:
        top -= 1
        i, j, h = stack[top, 0], stack[top, 1], stack[top, 2]
        rows[row, 0], rows[row, 1], rows[row, 2] = i, j, h
        row += 1
        if j == i + 1:
            continue
        best, split, modifier = -np.inf, i + 1, 0
        for k in range(i + 1, j):
            value, m = _split(arc, headed, order, x, i, k, j, h)
            if value > best:
                best, split, modifier = value, k, m
        heads[modifier] = h
        stack[top, 0], stack[top, 1], stack[top, 2] = split, j, h if h > split else modifier
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = i, split, h if h <= split else modifier
        top += 2
    return 0
