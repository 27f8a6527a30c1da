# mypy: allow-untyped-defs
"""Sums over all trees with logarithms: CKY and Eisner, O(n^3), and Eisner-Satta, O(n^4), without limits of range.

A chart holds logarithms of sums; a forbidden item holds ZERO, finite so that differences stay numbers. Marginals
go from the whole to the parts: a part receives the marginal of what it was built into times the share of that way of
building it among all. Shares add up to one however large the scores are, and no outside chart is needed.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels.compile import inlined, kernel, relaxed
from arcspan.decoding.kernels.exponential import exp_negative
from arcspan.decoding.kernels.queue import take_turn
from arcspan.decoding.kernels.scaling import DONE, FORBIDDEN, NOTHING, ZERO


@kernel
def sum_trees(queue, taken, span, arc, headed, first, lengths, partition, spans, heads, parts, status):
    """Log-partition and marginals, as in eisner_satta_sums.py; the scores are in order."""
    turn = take_turn(taken)
    while turn < len(queue):
        b = queue[turn]
        partition[b] = eisner_satta(span, arc, headed, first, b, lengths[b], spans[b], heads[b], parts)
        status[b] = FORBIDDEN if partition[b] < NOTHING else DONE
        turn = take_turn(taken)


@relaxed
def finite(score):
    """A score, or ZERO for -inf."""
    return max(np.float64(score), ZERO)


@inlined
def difference(a, b, best):
    """(a + b) - best, in this order whatever the caller allows: where a + b is the best, exactly zero."""
    return (a + b) - best


@relaxed
def weigh(a, b, count):
    """The greatest of a[k] + b[k] for k < count, and the sum of their exponentials relative to it."""
    best = 2.0 * ZERO
    for k in range(count):
        best = max(best, a[k] + b[k])
    total = 0.0
    for k in range(count):
        total += exp_negative(difference(a[k], b[k], best))
    return best, total


@relaxed
def log_sum(a, b, count):
    """The log of the sum over k < count of exp(a[k] + b[k])."""
    best, total = weigh(a, b, count)
    return best + math.log(total) if best > NOTHING else ZERO


@relaxed
def share_out(a, b, count, mass, into_a, into_b):
    """Hand out `mass` to the parts, into_a[k] and into_b[k], in proportion to exp(a[k] + b[k])."""
    best, total = weigh(a, b, count)
    for k in range(count):
        value = mass / total * exp_negative(difference(a[k], b[k], best))
        into_a[k] += value
        into_b[k] += value


@relaxed
def cky(span, b, n, spans):
    """The log-partition of binary trees over span scores; their marginals into spans[i, j] unless that is empty."""
    size = n + 1
    # x[i, j], i < j; x[j, i] is a copy, so that both parts of a split are read along contiguous memory.
    x = np.empty((size, size))
    for w in range(1, size):
        for i in range(size - w):
            j = i + w
            value = 0.0 if w == 1 else log_sum(x[i, i + 1 : j], x[j, i + 1 : j], w - 1)
            value += finite(span[b, i, j])
            x[i, j] = x[j, i] = value if value > NOTHING else ZERO
    if len(spans) == 0 or x[0, n] < NOTHING:
        return x[0, n]
    marginal = np.zeros((size, size))
    marginal[0, n] = 1.0
    for w in range(n, 0, -1):
        for i in range(size - w):
            j = i + w
            mass = marginal[i, j] + marginal[j, i]
            spans[i, j] = mass
            if w > 1 and mass > 0.0:
                parts = slice(i + 1, j)
                share_out(x[i, parts], x[j, parts], w - 1, mass, marginal[i, parts], marginal[j, parts])
    return x[0, n]


@relaxed
def eisner(arc, b, n, heads):
    """The log-partition of projective trees with one root; their marginals into heads[m, h].

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
    if len(heads) == 0 or total < NOTHING:
        return total
    in_complete = np.zeros((size, size))
    in_turned = np.zeros((size, size))
    in_incomplete = np.zeros((size, size))
    chances = np.zeros((2, size))
    share_out(whole[1:], rest[1:], n, 1.0, chances[0, 1:], chances[1, 1:])
    for m in range(1, size):
        heads[m, 0] = chances[0, m]
        in_complete[m, 1] += chances[0, m]
        in_complete[m, n] += chances[0, m]
    for w in range(n - 1, 0, -1):
        for left in range(1, size - w):
            right = left + w
            here, after = slice(left, right), slice(left + 1, right + 1)
            mass = in_complete[left, right] + in_turned[right, left]
            if mass > 0.0:
                into, beside = in_incomplete[left, after], in_turned[right, after]
                share_out(incomplete[left, after], turned[right, after], w, mass, into, beside)
            mass = in_complete[right, left] + in_turned[left, right]
            if mass > 0.0:
                into, beside = in_incomplete[right, here], in_turned[left, here]
                share_out(incomplete[right, here], turned[left, here], w, mass, into, beside)
            heads[right, left] = in_incomplete[left, right]
            heads[left, right] = in_incomplete[right, left]
            mass = in_incomplete[left, right] + in_incomplete[right, left]
            if mass > 0.0:
                # Both arcs are built from the same two halves: the share of a split is the same for both.
                into, beside = in_complete[left, here], in_complete[right, after]
                share_out(complete[left, here], complete[right, after], w, mass, into, beside)
    return total


@relaxed
def weigh_splits(x, i, j, best, total):
    """For every head h inside (i, j]: the best split, and the sum of all relative to it."""
    for h in range(i + 1, j + 1):
        best[h] = 2.0 * ZERO
        total[h] = 0.0
    if j - i == 1:
        best[j] = 0.0
        total[j] = 1.0
    for k in range(i + 1, j):
        left, right = x[i, k], x[k, j]
        for h in range(i + 1, j + 1):
            best[h] = max(best[h], left[h] + right[h])
    for k in range(i + 1, j):
        left, right = x[i, k], x[k, j]
        for h in range(i + 1, j + 1):
            total[h] += exp_negative(difference(left[h], right[h], best[h]))


@relaxed
def weigh_modifiers(row, arcs, i, j, best, total):
    """For every head h: the best word of (i, j] to attach to it, and the sum of all relative to it."""
    for h in range(len(row)):
        best[h] = 2.0 * ZERO
        total[h] = 0.0
    for m in range(i + 1, j + 1):
        value, arc = row[m], arcs[m]
        for h in range(len(row)):
            best[h] = max(best[h], value + arc[h])
    for m in range(i + 1, j + 1):
        value, arc = row[m], arcs[m]
        for h in range(len(row)):
            total[h] += exp_negative(difference(value, arc[h], best[h]))


@relaxed
def eisner_satta(span, arc, headed, first, b, n, spans, heads, parts):
    """The log-partition of lexicalized trees; marginals: spans[i, j], heads[m, h], parts."""
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
            weigh_splits(x, i, j, best, total)
            for h in range(i + 1, j + 1):
                value = best[h] + math.log(total[h]) + finite(span[b, i, j])
                if headed is not None:
                    value += finite(headed[b, first[i] + j, h])
                row[h] = value if value > NOTHING else ZERO
            if w == n:
                continue
            weigh_modifiers(row, arcs, i, j, best, total)
            for h in range(1, size):
                if h <= i or h > j:
                    value = best[h] + math.log(total[h])
                    if headed is not None:
                        value += finite(headed[b, first[i] + j, h])
                    row[h] = value if value > NOTHING else ZERO
    roots = arcs[1:, 0].copy()
    partition = log_sum(x[0, n, 1:], roots, n)
    if len(spans) == 0 or partition < NOTHING:
        return partition
    marginal = np.zeros((size, size, size))
    chances = np.zeros(n)
    share_out(x[0, n, 1:], roots, n, 1.0, chances, marginal[0, n, 1:])
    heads[1:size, 1:size] = 0.0
    for m in range(1, size):
        heads[m, 0] = chances[m - 1]
    for w in range(n, 0, -1):
        for i in range(size - w):
            j = i + w
            row, mass = x[i, j], marginal[i, j]
            weigh_modifiers(row, arcs, i, j, best, total)
            for h in range(1, size):
                if (h <= i or h > j) and mass[h] > 0.0:
                    for m in range(i + 1, j + 1):
                        value = mass[h] / total[h] * exp_negative(difference(row[m], arcs[m, h], best[h]))
                        heads[m, h] += value
                        mass[m] += value
            everything = 0.0
            for h in range(i + 1, j + 1):
                everything += mass[h]
            spans[i, j] = everything
            if len(parts) > 0:
                for h in range(1, size):
                    parts[b, first[i] + j, h] = mass[h]
            weigh_splits(x, i, j, best, total)
            for k in range(i + 1, j):
                left, right = x[i, k], x[k, j]
                into_left, into_right = marginal[i, k], marginal[k, j]
                for h in range(i + 1, j + 1):
                    value = mass[h] / total[h] * exp_negative(difference(left[h], right[h], best[h]))
                    into_left[h] += value
                    into_right[h] += value
    return partition
