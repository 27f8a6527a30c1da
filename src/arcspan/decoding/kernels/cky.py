"""CKY, O(n^3)."""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.compile import kernel

INFINITY = np.float32(np.inf)


@kernel
def search(sentences, span, lengths, rows, starts, scores, status):
    """Search the listed sentences."""
    for b in sentences:
        n = lengths[b]
        status[b] = 0
        scores[b] = 0.0
        if n == 0:
            continue
        x = np.empty((n + 1, n + 1), np.float32)
        nan = False
        for w in range(1, n + 1):
            for i in range(n + 1 - w):
                j = i + w
                nan |= np.isnan(span[b, i, j])
                best = np.float32(0.0) if w == 1 else -INFINITY
                for k in range(i + 1, j):
                    value = x[i, k] + x[j, k]
                    best = value if value > best else best
                x[i, j] = best + span[b, i, j]
                x[j, i] = x[i, j]
        if nan:
            status[b] = 1
            continue
        if x[0, n] == -INFINITY:
            status[b] = 2
            continue
        stack = np.empty((n + 1, 2), np.int64)
        stack[0] = 0, n
        top = 1
        row = starts[b]
        total = 0.0
        while top:
            top -= 1
            i, j = stack[top]
            rows[row] = i, j
            row += 1
            total += span[b, i, j]
            if j - i > 1:
                best, split = -INFINITY, 0
                for k in range(i + 1, j):
                    if x[i, k] + x[j, k] > best:
                        best, split = x[i, k] + x[j, k], k
                stack[top] = split, j
                stack[top + 1] = i, split
                top += 2
        scores[b] = total
