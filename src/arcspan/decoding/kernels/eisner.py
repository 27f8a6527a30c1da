"""Eisner, O(n^3)."""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.compile import kernel

INFINITY = np.float32(np.inf)


@kernel
def search(sentences, arc, lengths, heads, scores, status):
    """Search the listed sentences."""
    for b in sentences:
        n = lengths[b]
        status[b] = 0
        scores[b] = 0.0
        if n > 0:
            _search_one(arc, b, n, heads, scores, status)


@kernel
def _search_one(arc, b, n, heads, scores, status):
    # complete[l, r]: words l..r, headed by l; complete[r, l]: headed by r. incomplete: the same with the arc.
    complete = np.empty((n + 1, n + 1), np.float32)
    incomplete = np.empty((n + 1, n + 1), np.float32)
    for i in range(n + 1):
        complete[i, i] = 0.0
    nan = False
    for w in range(1, n):
        for l in range(1, n + 1 - w):
            r = l + w
            nan |= np.isnan(arc[b, l, r]) or np.isnan(arc[b, r, l])
            best = -INFINITY
            for k in range(l, r):
                value = complete[l, k] + complete[r, k + 1]
                best = value if value > best else best
            incomplete[l, r] = best + arc[b, r, l]
            incomplete[r, l] = best + arc[b, l, r]
            best = -INFINITY
            for k in range(l + 1, r + 1):
                value = incomplete[l, k] + complete[k, r]
                best = value if value > best else best
            complete[l, r] = best
            best = -INFINITY
            for k in range(l, r):
                value = incomplete[r, k] + complete[k, l]
                best = value if value > best else best
            complete[r, l] = best
    for m in range(1, n + 1):
        nan |= np.isnan(arc[b, m, 0])
    if nan:
        status[b] = 1
        return
    best, root = -INFINITY, 0
    for m in range(1, n + 1):
        value = complete[m, 1] + complete[m, n] + arc[b, m, 0]
        if value > best:
            best, root = value, m
    if root == 0:
        status[b] = 2
        return
    heads[b, root] = 0
    total = np.float64(arc[b, root, 0])
    stack = np.empty((2 * n + 2, 2), np.int64)
    stack[0] = root, 1
    stack[1] = root, n
    top = 2
    while top:
        top -= 1
        h, e = stack[top]
        if h == e:
            continue
        best, m = -INFINITY, h
        step = 1 if e > h else -1
        for k in range(h + step, e + step, step):
            value = incomplete[h, k] + complete[k, e]
            if value > best:
                best, m = value, k
        heads[b, m] = h
        total += arc[b, m, h]
        l, r = min(h, m), max(h, m)
        best, split = -INFINITY, l
        for k in range(l, r):
            value = complete[l, k] + complete[r, k + 1]
            if value > best:
                best, split = value, k
        stack[top] = m, e
        stack[top + 1] = l, split
        stack[top + 2] = r, split + 1
        top += 3
    scores[b] = total
