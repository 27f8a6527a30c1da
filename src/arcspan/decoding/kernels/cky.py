"""CKY over unlabelled binary trees: O(n^3) time, O(n^2) memory.

    x[i, j] = s_c(i, j) + max over k of x[i, k] + x[k, j]

The row of spans that begin at i is computed from i = n-1 down to 0. As soon as x[i, k] is known it is pushed as a
left part into all later spans of the row, eight ends j at a time: both operands lie along rows.
"""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.compile import inlined, kernel
from arcspan.decoding.kernels.queue import take_turn
from arcspan.decoding.kernels.vectors import MINUS_INFINITY, WIDTH, add, load, maximum, splat, store

LARGEST = np.float32(3.4e38)


@kernel
def search(queue, taken, span, size, lengths, rows, starts, scores, status):
    """Search sentence after sentence of the queue.

    span   float32 [B * size * size], flat;  rows  int64 [., 2], out, sentence b from starts[b];
    scores, status   [B], out
    """
    longest = 0
    for b in queue:
        longest = max(longest, lengths[b])
    x = np.empty((longest + 1) * (longest + 1 + WIDTH), np.float32)
    stack = np.empty((longest + 1, 2), np.int64)
    turn = take_turn(taken)
    while turn < len(queue):
        b = queue[turn]
        n = lengths[b]
        scores[b] = 0.0
        status[b] = 0
        if n > 0:
            mine = span[b * size * size : (b + 1) * size * size]
            code = _inside(mine, size, n, x)
            if code == 0:
                code = _trace(mine, size, n, x, stack, rows[starts[b] :], scores[b : b + 1])
            status[b] = code
        turn = take_turn(taken)


@inlined
def _inside(span, size, n, x):
    """Fill the chart, x[i, j] at i * stride + j; rows are padded so that eight lanes may run over their end."""
    stride = n + 1 + WIDTH
    limit = LARGEST / np.float32(8 * n + 8)
    fit = True
    for i in range(n - 1, -1, -1):
        row = i * stride
        for j in range(i + 2, n + 1, WIDTH):
            store(x, row + j, splat(MINUS_INFINITY))
        for k in range(i + 1, n + 1):
            score = span[i * size + k]
            fit &= score < limit
            value = score if k == i + 1 else score + x[row + k]
            x[row + k] = value
            left = splat(value)
            for j in range(k + 1, n + 1, WIDTH):
                store(x, row + j, maximum(load(x, row + j), add(left, load(x, k * stride + j))))
    return 0 if fit else 3


@inlined
def _trace(span, size, n, x, stack, rows, score):
    """Find the best tree again from the values: at each span the winner is the first of the best splits."""
    stride = n + 1 + WIDTH
    if x[n] == MINUS_INFINITY:
        return 2
    total = 0.0
    stack[0, 0], stack[0, 1] = 0, n
    top, row = 1, 0
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        rows[row, 0], rows[row, 1] = i, j
        row += 1
        total += np.float64(span[i * size + j])
        if j > i + 1:
            best, split = MINUS_INFINITY, i + 1
            for k in range(i + 1, j):
                value = x[i * stride + k] + x[k * stride + j]
                if value > best:
                    best, split = value, k
            stack[top, 0], stack[top, 1] = split, j
            stack[top + 1, 0], stack[top + 1, 1] = i, split
            top += 2
    score[0] = total
    return 0
