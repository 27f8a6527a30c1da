"""Eisner-Satta, O(n^4)."""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.compile import kernel

INFINITY = np.float32(np.inf)


@kernel
def search(sentences, span, arc, headed, lengths, heads, rows, starts, scores, status):
    """Search the listed sentences."""
    size = 0
    for b in sentences:
        size = max(size, lengths[b])
    chart = np.empty((size + 1, size + 1, size + 1), np.float32)
    stack = np.empty((2 * size + 1, 3), np.int64)
    for b in sentences:
        n = lengths[b]
        status[b] = 0
        scores[b] = 0.0
        if n > 0:
            _inside(span, arc, headed, b, n, chart)
            _trace(span, arc, headed, b, n, chart, stack, heads, rows, starts[b], scores, status)


@kernel
def _inside(span, arc, headed, b, n, x):
    for w in range(1, n + 1):
        for i in range(n + 1 - w):
            j = i + w
            if w == 1:
                x[i, j, j] = 0.0
            else:
                for h in range(i + 1, j + 1):
                    x[i, j, h] = -INFINITY
                for k in range(i + 1, j):
                    for h in range(i + 1, j + 1):
                        value = x[i, k, h] + x[k, j, h]
                        x[i, j, h] = value if value > x[i, j, h] else x[i, j, h]
            for h in range(i + 1, j + 1):
                x[i, j, h] += span[b, i, j]
                if headed is not None:
                    x[i, j, h] += headed[b, i, j, h]
            for h in range(1, n + 1):
                if h <= i or h > j:
                    best = -INFINITY
                    for m in range(i + 1, j + 1):
                        value = x[i, j, m] + arc[b, m, h]
                        best = value if value > best else best
                    if headed is not None:
                        best += headed[b, i, j, h]
                    x[i, j, h] = best


@kernel
def _trace(span, arc, headed, b, n, x, stack, heads, rows, start, scores, status):
    nan = False
    for i in range(n + 1):
        for j in range(n + 1):
            nan |= (i < j and np.isnan(span[b, i, j])) or (i > 0 and i != j and np.isnan(arc[b, i, j]))
            if headed is not None and i < j:
                for h in range(1, n + 1):
                    nan |= np.isnan(headed[b, i, j, h])
    if nan:
        status[b] = 1
        return
    best, root = -INFINITY, 0
    for m in range(1, n + 1):
        if x[0, n, m] + arc[b, m, 0] > best:
            best, root = x[0, n, m] + arc[b, m, 0], m
    if root == 0:
        status[b] = 2
        return
    heads[b, root] = 0
    total = np.float64(arc[b, root, 0])
    stack[0] = 0, n, root
    top = 1
    row = start
    while top:
        top -= 1
        i, j, h = stack[top]
        rows[row] = i, j, h
        row += 1
        total += span[b, i, j]
        if headed is not None:
            total += headed[b, i, j, h]
        if j - i == 1:
            continue
        best, split = -INFINITY, 0
        for k in range(i + 1, j):
            if x[i, k, h] + x[k, j, h] > best:
                best, split = x[i, k, h] + x[k, j, h], k
        left, right = (i, split), (split, j)
        other = right if h <= split else left
        best, modifier = -INFINITY, 0
        for m in range(other[0] + 1, other[1] + 1):
            if x[other[0], other[1], m] + arc[b, m, h] > best:
                best, modifier = x[other[0], other[1], m] + arc[b, m, h], m
        heads[b, modifier] = h
        total += arc[b, modifier, h]
        if headed is not None:
            total += headed[b, other[0], other[1], h]
        stack[top] = split, j, h if h > split else modifier
        stack[top + 1] = i, split, h if h <= split else modifier
        top += 2
    scores[b] = total
