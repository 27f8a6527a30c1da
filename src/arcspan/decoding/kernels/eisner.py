"""Eisner (1996) over projective trees with one root: O(n^3) time, O(n^2) memory.

Over words i..j, i <= j:  right[i, j] the best half tree that i heads, left[i, j] that j heads ("complete"),
arc_right[i, j] and arc_left[i, j] those in which the arc between i and j was just made ("incomplete"):

    joined          = max over i <= k < j of right[i, k] + left[k+1, j]
    arc_right[i, j] = joined + s_d(j, i)                 arc_left[i, j] = joined + s_d(i, j)
    right[i, j]     = max over i < k <= j of arc_right[i, k] + right[k, j]
    left[i, j]      = max over i <= k < j of left[i, k] + arc_left[k, j]

The row of i is computed from i = n down to 1. What is known of (i, k) is pushed at once into all (i, j), j > k,
eight ends at a time: every operand lies along a row.
"""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.compile import inlined, kernel
from arcspan.decoding.kernels.queue import take_turn
from arcspan.decoding.kernels.vectors import MINUS_INFINITY, WIDTH, add, load, maximum, splat, store

LARGEST = np.float32(3.4e38)


@kernel
def search(queue, taken, arc, size, lengths, heads, scores, status):
    """Search sentence after sentence of the queue.

    arc   float32 [B * size * size], flat;  heads  int64 [B, size], out;  scores, status  [B], out
    """
    longest = 0
    for b in queue:
        longest = max(longest, lengths[b])
    cells = (longest + 2) * (longest + 1 + WIDTH)
    right = np.empty(cells, np.float32)
    left = np.empty(cells, np.float32)
    arc_right = np.empty(cells, np.float32)
    arc_left = np.empty(cells, np.float32)
    stack = np.empty((2 * longest + 2, 2), np.int64)
    turn = take_turn(taken)
    while turn < len(queue):
        b = queue[turn]
        n = lengths[b]
        scores[b] = 0.0
        status[b] = 0
        if n > 0:
            mine = arc[b * size * size : (b + 1) * size * size]
            code = _inside(mine, size, n, right, left, arc_right, arc_left)
            if code == 0:
                code = _trace(
                    mine, size, n, right, left, arc_right, arc_left, stack, heads[b], scores[b : b + 1]
                )
            status[b] = code
        turn = take_turn(taken)


@inlined
def _inside(arc, size, n, right, left, arc_right, arc_left):
    """Fill the charts; until (i, j) has its turn, arc_right[i, j] holds what is known of `joined`."""
    stride = n + 1 + WIDTH
    limit = LARGEST / np.float32(8 * n + 8)
    fit = True
    for i in range(n, 0, -1):
        row = i * stride
        score = arc[i * size]
        fit &= score < limit
        right[row + i] = 0.0
        left[row + i] = 0.0
        for e in range(i + 1, n + 1, WIDTH):
            store(right, row + e, splat(MINUS_INFINITY))
            store(left, row + e, splat(MINUS_INFINITY))
            # k = i: i alone, and a left half tree of the words after it.
            store(arc_right, row + e, load(left, row + stride + e))
        for j in range(i + 1, n + 1):
            from_left, from_right = arc[j * size + i], arc[i * size + j]
            fit &= from_left < limit and from_right < limit
            joined = arc_right[row + j]
            to_right, to_left = joined + from_left, joined + from_right
            arc_right[row + j] = to_right
            arc_left[row + j] = to_left
            right[row + j] = max(right[row + j], to_right)
            left[row + j] = max(left[row + j], to_left)
            tree_right, tree_left, made = splat(right[row + j]), splat(left[row + j]), splat(to_right)
            at = j * stride
            for e in range(j + 1, n + 1, WIDTH):
                here = row + e
                store(
                    arc_right,
                    here,
                    maximum(load(arc_right, here), add(tree_right, load(left, at + stride + e))),
                )
                store(right, here, maximum(load(right, here), add(made, load(right, at + e))))
                store(left, here, maximum(load(left, here), add(tree_left, load(arc_left, at + e))))
    return 0 if fit else 3


@inlined
def _trace(arc, size, n, right, left, arc_right, arc_left, stack, heads, score):
    """Find the best tree again from the values: the winner is always the first of equals, counted from the left."""
    stride = n + 1 + WIDTH
    best, root = MINUS_INFINITY, 0
    for m in range(1, n + 1):
        value = left[stride + m] + right[m * stride + n] + arc[m * size]
        if value > best:
            best, root = value, m
    if root == 0:
        return 2
    heads[root] = 0
    total = np.float64(arc[root * size])
    # A half tree: its head, its other end.
    stack[0, 0], stack[0, 1] = root, 1
    stack[1, 0], stack[1, 1] = root, n
    top = 2
    while top > 0:
        top -= 1
        h, end = stack[top, 0], stack[top, 1]
        if h == end:
            continue
        best, m = MINUS_INFINITY, end
        if h < end:
            for k in range(h + 1, end + 1):
                value = arc_right[h * stride + k] + right[k * stride + end]
                if value > best:
                    best, m = value, k
        else:
            for k in range(end, h):
                value = left[end * stride + k] + arc_left[k * stride + h]
                if value > best:
                    best, m = value, k
        heads[m] = h
        total += np.float64(arc[m * size + h])
        i, j = min(h, m), max(h, m)
        best, split = MINUS_INFINITY, i
        for k in range(i, j):
            value = right[i * stride + k] + left[(k + 1) * stride + j]
            if value > best:
                best, split = value, k
        stack[top, 0], stack[top, 1] = m, end
        stack[top + 1, 0], stack[top + 1, 1] = i, split
        stack[top + 2, 0], stack[top + 2, 1] = j, split + 1
        top += 3
    score[0] = total
    return 0
