"""The best lexicalized tree: Eisner-Satta (1999), first and second order, O(n^4) time, half a cube of memory.

`chart` tells how the chart is filled. It holds values only: the tree is found again from them.
"""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.chart import chart_size, finish, hook, place, push, stride_of
from arcspan.decoding.kernels.compile import inlined, kernel, merged
from arcspan.decoding.kernels.queue import take_turn
from arcspan.decoding.kernels.vectors import (
    MINUS_INFINITY,
    WIDTH,
    between,
    largest,
    load,
    mark_unless_below,
    maximum,
    prefetch,
    splat,
    store,
)

ZERO = np.float32(0.0)
LARGEST = np.float32(3.4e38)


@kernel
def search(queue, taken, span, arc, headed, first, size, lengths, heads, rows, starts, scores, status):
    """Search sentence after sentence of the queue.

    span, arc   float32 [B * size * size], flat
    headed      float32 [B * . * size], flat: rows of one h after the other, that of span (i, j) is number first[i] + j
                of its sentence; None at first order
    heads       int64 [B, size], out;  rows  int64 [., 3], out, sentence b from starts[b];  scores, status [B], out
    """
    longest = 0
    for b in queue:
        longest = max(longest, lengths[b])
    stride = stride_of(longest)
    x = np.empty(chart_size(longest), np.float32)
    attach = np.empty((longest + 1) * stride, np.float32)
    inner = np.empty(4 * stride, np.float32)
    tail = np.empty(2 * size + WIDTH, np.float32)
    stack = np.empty((longest + 1, 3), np.int64)
    turn = take_turn(taken)
    while turn < len(queue):
        b = queue[turn]
        n = lengths[b]
        scores[b] = 0.0
        status[b] = 0
        if n > 0:
            s = span[b * size * size : (b + 1) * size * size]
            a = arc[b * size * size : (b + 1) * size * size]
            second = headed
            if headed is not None:
                second = headed[b * (len(headed) // len(lengths)) :]
            code = _inside(s, a, second, first, size, n, x, attach, inner, tail)
            if code == 0:
                tree = rows[starts[b] :]
                code = _trace(s, a, second, first, size, n, x, stack, heads[b], tree, scores[b : b + 1])
            status[b] = code
        turn = take_turn(taken)


@merged
def _inside(span, arc, headed, first_row, size, n, x, attach, inner, tail):
    """Fill the chart; 0 where the scores are fit for it, 3 where one is NaN or so large that sums may overflow."""
    limit = LARGEST / np.float32(8 * n + 8)
    fit = _copy_arcs(arc, size, n, limit, attach)
    for i in range(n - 1, -1, -1):
        scores, source = headed, 0
        if headed is not None:
            source = first_row[i] * size
            if i >= n - 2:
                # These may be the last rows of all, and eight lanes would run over the end.
                source = -(i + 1) * size
                for j in range(i + 1, n + 1):
                    for h in range(n + 1):
                        tail[source + j * size + h] = headed[(first_row[i] + j) * size + h]
                scores = tail
            fit &= _fit_headed(scores, source, size, n, i, limit)
        first = i + 1
        while first <= n:
            last = min(first | 3, n)
            for j in range(first, last + 1):
                value = span[i * size + j]
                fit &= value < limit
                if headed is not None and i > 0:
                    # Ask memory for the scores of (i - 1, j), a row ahead of their use, line by line.
                    for h in range(0, n + 1, 16):
                        prefetch(headed, (first_row[i - 1] + j) * size + h)
                finish(value, scores, source, size, n, i, first, j, x, attach, inner)
            hook(scores, source, size, n, i, first, last, x, attach, inner)
            if last < n:
                push(n, i, first, last, x)
            first = last + 1
    return 0 if fit else 3


@inlined
def _copy_arcs(arc, size, n, limit, attach):
    """attach[m, h] = s_d(m, h), rows padded to whole blocks; whether all are below the limit."""
    stride = stride_of(n)
    zero = splat(ZERO)
    marks = zero
    fit = True
    for m in range(1, n + 1):
        if m * size + stride <= size * size:
            for h in range(0, stride, WIDTH):
                value = between(h, m, m + 1, zero, load(arc, m * size + h))
                value = between(h, 0, n + 1, value, zero)
                marks = mark_unless_below(marks, value, splat(limit))
                store(attach, m * stride + h, value)
        else:
            # Eight lanes would run over the end of the scores.
            for h in range(stride):
                value = arc[m * size + h] if h <= n and h != m else ZERO
                fit &= value < limit
                attach[m * stride + h] = value
    return fit and largest(marks) == ZERO


@inlined
def _fit_headed(headed, source, step, n, i, limit):
    """Whether the second-order scores of the spans that begin at i are all below the limit."""
    zero = splat(ZERO)
    first = zero
    inner = zero
    last = zero
    end = n // WIDTH * WIDTH
    for j in range(i + 1, n + 1):
        at = source + j * step
        first = mark_unless_below(first, load(headed, at), splat(limit))
        for h in range(WIDTH, end, WIDTH):
            inner = mark_unless_below(inner, load(headed, at + h), splat(limit))
        last = mark_unless_below(last, load(headed, at + end), splat(limit))
    # Lane 0, the root, and lanes after the last word belong to no tree.
    marks = maximum(inner, between(0, 1, n + 1, first, zero))
    return largest(maximum(marks, between(end, 1, n + 1, last, zero))) == ZERO


@inlined
def _modifier(x, arc, size, n, i, j, h):
    """The word of (i, j] that attaches to h best (the first of equals), 0 where none may."""
    best, found = MINUS_INFINITY, 0
    for m in range(i + 1, j + 1):
        value = x[place(n, i, j, m)] + arc[m * size + h]
        if value > best:
            best, found = value, m
    return found


@merged
def _trace(span, arc, headed, first_row, size, n, x, stack, heads, rows, score):
    """Find the best tree again from the values: at each span the winner is the first of the best splits."""
    root = _modifier(x, arc, size, n, 0, n, 0)
    if root == 0:
        return 2
    heads[root] = 0
    total = np.float64(arc[root * size])
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, root
    top, row = 1, 0
    while top > 0:
        top -= 1
        i, j, h = stack[top, 0], stack[top, 1], stack[top, 2]
        rows[row, 0], rows[row, 1], rows[row, 2] = i, j, h
        row += 1
        total += np.float64(span[i * size + j])
        if headed is not None:
            total += np.float64(headed[(first_row[i] + j) * size + h])
        if j == i + 1:
            continue
        best, split = MINUS_INFINITY, i + 1
        for k in range(i + 1, j):
            value = x[place(n, i, k, h)] + x[place(n, k, j, h)]
            if value > best:
                best, split = value, k
        low, high = (split, j) if h <= split else (i, split)
        modifier = _modifier(x, arc, size, n, low, high, h)
        heads[modifier] = h
        total += np.float64(arc[modifier * size + h])
        if headed is not None:
            total += np.float64(headed[(first_row[low] + high) * size + h])
        stack[top, 0], stack[top, 1], stack[top, 2] = split, j, h if h > split else modifier
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = i, split, h if h <= split else modifier
        top += 2
    score[0] = total
    return 0
