# mypy: allow-untyped-defs
"""Inside and outside with logarithms: CKY and Eisner, O(n^3), and Eisner-Satta, O(n^4), without limits of range.

A chart holds logarithms of sums; a forbidden item holds ZERO, finite so that differences stay numbers. Marginals
go from the whole to the parts: a part receives the marginal of what it was built into times the share of that way of
building it, exp(parts + scores - whole), which is at most one. Nothing can overflow and no outside chart is needed.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels.exponential import exp_negative, relaxed

# The logarithm of nothing: far below any sum of scores, far above what doubles cannot hold.
ZERO = -1e300
# Anything below is nothing.
NOTHING = -1e200


@relaxed
def finite(score):
    """A score, or ZERO for -inf."""
    return max(np.float64(score), ZERO)


@relaxed
def log_sum(a, b, count):
    """The log of the sum over k < count of exp(a[k] + b[k])."""
    best = 2.0 * ZERO
    for k in range(count):
        best = max(best, a[k] + b[k])
    if best < NOTHING:
        return ZERO
    total = 0.0
    for k in range(count):
        total += exp_negative(a[k] + b[k] - best)
    return best + math.log(total)


@relaxed
def share_out(a, b, count, minus, mass, into_a, into_b):
    """Hand out `mass` to the parts in proportion: into_a[k] and into_b[k] += mass exp(a[k] + b[k] + minus)."""
    for k in range(count):
        value = mass * exp_negative(min(a[k] + b[k] + minus, 0.0))
        into_a[k] += value
        into_b[k] += value


@relaxed
def cky(span, b, n, spans, wanted):
    """The log-partition of binary trees over span scores; their marginals into spans[i, j] where wanted."""
    size = n + 1
    # x[i, j], i < j; x[j, i] is a copy, so that both parts of a split are read along contiguous memory.
    x = np.empty((size, size))
    for w in range(1, size):
        for i in range(size - w):
            j = i + w
            value = 0.0 if w == 1 else log_sum(x[i, i + 1 : j], x[j, i + 1 : j], w - 1)
            value += finite(span[b, i, j])
            x[i, j] = x[j, i] = value if value > NOTHING else ZERO
    if not wanted or x[0, n] < NOTHING:
        return x[0, n]
    marginal = np.zeros((size, size))
    marginal[0, n] = 1.0
    for w in range(n, 0, -1):
        for i in range(size - w):
            j = i + w
            mass = marginal[i, j] + marginal[j, i]
            spans[i, j] = mass
            if w > 1 and mass > 0.0:
                minus = finite(span[b, i, j]) - x[i, j]
                share_out(
                    x[i, i + 1 : j],
                    x[j, i + 1 : j],
                    w - 1,
                    minus,
                    mass,
                    marginal[i, i + 1 : j],
                    marginal[j, i + 1 : j],
                )
    return x[0, n]


@relaxed
def eisner(arc, b, n, heads, wanted):
    """The log-partition of projective trees with one root; their marginals into heads[m, h] where wanted.

    complete[h, e]: the words from h to e, h their head, all modifiers on that side found. incomplete[h, m]: the words
    from h to m, m a modifier of h and its own modifiers on the far side still missing.
    """
    size = n + 1
    complete = np.full((size, size), ZERO)
    incomplete = np.full((size, size), ZERO)
    # turned[e, m] = complete[m, e]: then all sums run along contiguous memory.
    turned = np.full((size, size), ZERO)
    for h in range(1, size):
        complete[h, h] = turned[h, h] = 0.0
    for w in range(1, n):
        for left in range(1, size - w):
            right = left + w
            both = log_sum(complete[left, left:right], complete[right, left + 1 : right + 1], w)
            for h, m in ((left, right), (right, left)):
                value = both + finite(arc[b, m, h])
                incomplete[h, m] = value if value > NOTHING else ZERO
            complete[left, right] = log_sum(
                incomplete[left, left + 1 : right + 1], turned[right, left + 1 : right + 1], w
            )
            complete[right, left] = log_sum(incomplete[right, left:right], turned[left, left:right], w)
            turned[right, left] = complete[left, right]
            turned[left, right] = complete[right, left]
    whole = np.empty(size)
    rest = np.empty(size)
    for m in range(1, size):
        whole[m] = complete[m, 1] + complete[m, n]
        rest[m] = finite(arc[b, m, 0])
    total = log_sum(whole[1:], rest[1:], n)
    if not wanted or total < NOTHING:
        return total
    in_complete = np.zeros((size, size))
    in_turned = np.zeros((size, size))
    in_incomplete = np.zeros((size, size))
    for m in range(1, size):
        value = exp_negative(min(whole[m] + rest[m] - total, 0.0))
        heads[m, 0] = value
        in_complete[m, 1] += value
        in_complete[m, n] += value
    for w in range(n - 1, 0, -1):
        for left in range(1, size - w):
            right = left + w
            mass = in_complete[left, right] + in_turned[right, left]
            if mass > 0.0:
                a, c, m = (
                    incomplete[left, left + 1 : right + 1],
                    turned[right, left + 1 : right + 1],
                    -complete[left, right],
                )
                share_out(
                    a,
                    c,
                    w,
                    m,
                    mass,
                    in_incomplete[left, left + 1 : right + 1],
                    in_turned[right, left + 1 : right + 1],
                )
            mass = in_complete[right, left] + in_turned[left, right]
            if mass > 0.0:
                a, c, m = incomplete[right, left:right], turned[left, left:right], -complete[right, left]
                share_out(a, c, w, m, mass, in_incomplete[right, left:right], in_turned[left, left:right])
            heads[right, left] = in_incomplete[left, right]
            heads[left, right] = in_incomplete[right, left]
            mass = in_incomplete[left, right] + in_incomplete[right, left]
            if mass > 0.0:
                # Both arcs are built from the same two halves: the share of a split is the same for both.
                both = log_sum(complete[left, left:right], complete[right, left + 1 : right + 1], w)
                share_out(
                    complete[left, left:right],
                    complete[right, left + 1 : right + 1],
                    w,
                    -both,
                    mass,
                    in_complete[left, left:right],
                    in_complete[right, left + 1 : right + 1],
                )
    return total


@relaxed
def eisner_satta(span, arc, headed, order, b, n, spans, heads, parts, with_parts, wanted):
    """The log-partition of lexicalized trees; where wanted, marginals: spans[i, j], heads[m, h], parts[b, i, j, h]."""
    size = n + 1
    x = np.full((size, size, size), ZERO)
    best = np.empty(size)
    total = np.empty(size)
    arcs = np.full((size, size), ZERO)
    for m in range(1, size):
        for h in range(size):
            if h != m:
                arcs[m, h] = finite(arc[b, m, h])
    for w in range(1, size):
        for i in range(size - w):
            j = i + w
            row = x[i, j]
            for h in range(size):
                best[h] = 2.0 * ZERO
                total[h] = 0.0
            if w == 1:
                best[j] = 0.0
                total[j] = 1.0
            for k in range(i + 1, j):
                left, right = x[i, k], x[k, j]
                for h in range(i + 1, j + 1):
                    best[h] = max(best[h], left[h] + right[h])
            for k in range(i + 1, j):
                left, right = x[i, k], x[k, j]
                for h in range(i + 1, j + 1):
                    total[h] += exp_negative(left[h] + right[h] - best[h])
            for h in range(i + 1, j + 1):
                value = best[h] + math.log(total[h]) + finite(span[b, i, j])
                if order == 2:
                    value += finite(headed[b, i, j, h])
                row[h] = value if value > NOTHING else ZERO
            if w == n:
                continue
            for m in range(i + 1, j + 1):
                for h in range(size):
                    best[h] = max(best[h], row[m] + arcs[m, h]) if h <= i or h > j else best[h]
            for m in range(i + 1, j + 1):
                for h in range(size):
                    total[h] += exp_negative(min(row[m] + arcs[m, h] - best[h], 0.0))
            for h in range(1, size):
                if h <= i or h > j:
                    value = best[h] + math.log(total[h])
                    if order == 2:
                        value += finite(headed[b, i, j, h])
                    row[h] = value if value > NOTHING else ZERO
    partition = log_sum(x[0, n, 1:], arcs[1:, 0].copy(), n)
    if not wanted or partition < NOTHING:
        return partition
    marginal = np.zeros((size, size, size))
    for m in range(1, size):
        marginal[0, n, m] = exp_negative(min(x[0, n, m] + arcs[m, 0] - partition, 0.0))
        heads[m, 0] = marginal[0, n, m]
        for h in range(1, size):
            heads[m, h] = 0.0
    for w in range(n, 0, -1):
        for i in range(size - w):
            j = i + w
            row, mass = x[i, j], marginal[i, j]
            for h in range(1, size):
                if (h <= i or h > j) and mass[h] > 0.0:
                    minus = -row[h]
                    if order == 2:
                        minus += finite(headed[b, i, j, h])
                    for m in range(i + 1, j + 1):
                        value = mass[h] * exp_negative(min(row[m] + arcs[m, h] + minus, 0.0))
                        heads[m, h] += value
                        mass[m] += value
            everything = 0.0
            for h in range(i + 1, j + 1):
                everything += mass[h]
                best[h] = finite(span[b, i, j]) - row[h]
                if order == 2:
                    best[h] += finite(headed[b, i, j, h])
            spans[i, j] = everything
            if with_parts:
                for h in range(1, size):
                    parts[b, i, j, h] = mass[h]
            for k in range(i + 1, j):
                left, right = x[i, k], x[k, j]
                into_left, into_right = marginal[i, k], marginal[k, j]
                for h in range(i + 1, j + 1):
                    value = mass[h] * exp_negative(min(left[h] + right[h] + best[h], 0.0))
                    into_left[h] += value
                    into_right[h] += value
    return partition
