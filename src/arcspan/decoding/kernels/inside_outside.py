# mypy: allow-untyped-defs
"""Inside and outside for Eisner-Satta, O(n^4), in probabilities with one power of two a span.

The chart is the one cube of the 1-best search: X[i, j, h] is headed for h inside (i, j] and hooked for h outside,
X[j, i] is a copy of X[i, j]. Its values are not logarithms but the sums themselves, divided by 2**scale[i, j], so that
the inner loops are multiplications and additions that the compiler turns into vector instructions; no exponential is
taken inside them. Besides,

- arc scores are taken relative to the best head of their modifier (every word has one head, so the sum of what was
  subtracted is a constant), hooked scores relative to the greatest of them (there are n-1 hooked spans), headed scores
  relative to the greatest of their span;
- the greatest headed value of a span is kept near 2**TOP: doubles reach from 2**-1022 to 2**1023, and the values that
  need room lie below the greatest one;
- whatever could be lost below 2**-1022 is bounded on the way. Where it might matter (more than 2**-50 of some value:
  scores that differ by many hundreds, or such scores with -inf masks), the kernel gives up and the caller computes the
  sentence with logarithms instead (log_space.py), which is slower and has no limits.

Outside values are divided by the total and multiplied by 2**scale[i, j], so that inside times outside is a marginal
probability: at most one. What is lost below 2**-1022 there is below 2**-100 of probability.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels import log_space
from arcspan.decoding.kernels.compile import kernel
from arcspan.decoding.kernels.exponential import exp_negative, exponent, power_of_two, relaxed

# What a kernel says of a sentence; the first four as the searches do.
DONE, NAN, FORBIDDEN, INFINITE, UNSAFE = 0, 1, 2, 3, 4

TOP = 450.0
# The scale of a span all of whose trees are forbidden.
NOTHING = -1e15
# Products of at least 2**SMALL keep all their digits.
SMALL = -1000.0
# Scores further below their maximum, or further from zero, than this are left to the kernel with logarithms.
DEEP, FAR = -600.0, 1e6
LOG2 = math.log(2.0)
HUGE = 1e308

_u = np.uint64


@kernel
def look(span, arc, headed, b, n):
    """DONE where every score that the search reads is a number or -inf."""
    nan = False
    infinite = False
    for i in range(n + 1):
        for j in range(n + 1):
            if span is not None and i < j:
                nan |= np.isnan(span[b, i, j])
                infinite |= span[b, i, j] == np.inf
            if arc is not None and i > 0 and i != j:
                nan |= np.isnan(arc[b, i, j])
                infinite |= arc[b, i, j] == np.inf
            if headed is not None and i < j:
                for h in range(1, n + 1):
                    nan |= np.isnan(headed[b, i, j, h])
                    infinite |= headed[b, i, j, h] == np.inf
    if nan:
        return NAN
    return INFINITE if infinite else DONE


@kernel
def adds_up(total, expected):
    """Whether a sum of probabilities is what it must be; false for NaN."""
    return abs(total - expected) <= 1e-6 * expected


@relaxed
def combine(acc, begin, begin_step, end, end_step, left, left_row, right, right_row, stride, weights, count):
    """acc[h] += sum over k < count of weights[k] left[left_row + k, h] right[right_row + k, h], begin <= h < end.

    begin and end grow with k by their steps (0 or 1) and are rounded to whole vectors: rows may be read, and acc
    written, a little beyond. Four k at a time, so that acc is read and written once for four products. Unsigned
    indices spare the test for negative ones, which would keep the loop from being vectorised.
    """
    step = _u(stride)
    a = _u(left_row * stride)
    b = _u(right_row * stride)
    k = 0
    while k + 3 < count:
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        a1, a2, a3 = a + step, a + step + step, a + step + step + step
        b1, b2, b3 = b + step, b + step + step, b + step + step + step
        for h in range(_u((begin + k * begin_step) & ~3), _u((end + (k + 3) * end_step + 3) & ~3)):
            acc[h] += (
                w0 * left[a + h] * right[b + h]
                + w1 * left[a1 + h] * right[b1 + h]
                + w2 * left[a2 + h] * right[b2 + h]
                + w3 * left[a3 + h] * right[b3 + h]
            )
        a += step + step + step + step
        b += step + step + step + step
        k += 4
    while k < count:
        w0 = weights[k]
        for h in range(_u((begin + k * begin_step) & ~3), _u((end + k * end_step + 3) & ~3)):
            acc[h] += w0 * left[a + h] * right[b + h]
        a += step
        b += step
        k += 1


@relaxed
def add_rows(acc, begin, end, table, first, stride, weights, count):
    """acc[h] += sum over k < count of weights[first + k] table[first + k, h], begin <= h < end."""
    step = _u(stride)
    a = _u(first * stride)
    k = _u(first)
    last = _u(first + count)
    while k + _u(3) < last:
        w0, w1, w2, w3 = weights[k], weights[k + _u(1)], weights[k + _u(2)], weights[k + _u(3)]
        a1, a2, a3 = a + step, a + step + step, a + step + step + step
        for h in range(_u(begin), _u(end)):
            acc[h] += w0 * table[a + h] + w1 * table[a1 + h] + w2 * table[a2 + h] + w3 * table[a3 + h]
        a += step + step + step + step
        k += _u(4)
    while k < last:
        w0 = weights[k]
        for h in range(_u(begin), _u(end)):
            acc[h] += w0 * table[a + h]
        a += step
        k += _u(1)


@relaxed
def row_of(cube, index, stride):
    """One row of a flat cube."""
    return cube[index * stride : (index + 1) * stride]


@relaxed
def exponentials(row, source, begin, end, shift):
    """row[h] = exp(source[h] - shift), at most one."""
    for h in range(_u(begin), _u(end)):
        row[h] = exp_negative(min(source[h] - shift, 0.0))


@relaxed
def depth(source, begin, end, shift):
    """How far the least score that is not -inf lies below `shift`: at most zero."""
    least = shift
    for h in range(_u(begin), _u(end)):
        value = np.float64(source[h])
        least = min(least, value if value > -np.inf else shift)
    return least - shift


@relaxed
def greatest(source, begin, end, least):
    """The greatest of source[begin:end] and `least`."""
    best = least
    for h in range(_u(begin), _u(end)):
        best = max(best, np.float64(source[h]))
    return best


@relaxed
def prepare_arcs(arc, b, n, stride, arcs, turned, root):
    """exp of the arc scores relative to the best head of each word, as arcs[m, h], turned[h, m] and root[m].

    Returns the sum of what was subtracted, and the least difference.
    """
    total = 0.0
    deepest = 0.0
    row = np.zeros(stride)
    for m in range(1, n + 1):
        scores = arc[b, m]
        shift = greatest(scores, m + 1, n + 1, greatest(scores, 0, m, -np.inf))
        if shift == -np.inf:
            return -np.inf, 0.0
        total += shift
        exponentials(row, scores, 0, n + 1, shift)
        deepest = min(deepest, depth(scores, 0, m, shift), depth(scores, m + 1, n + 1, shift))
        row[m] = 0.0
        root[m] = row[0]
        row[0] = 0.0
        for h in range(stride):
            arcs[m * stride + h] = row[h]
            if h <= n:
                turned[h * stride + m] = row[h]
    return total, deepest


@relaxed
def weigh_splits(i, j, scale, low, weights):
    """weights[k] of the split k of (i, j) relative to the best one; that one's scale, and the least safe exponent."""
    scale_i, scale_j, low_i, low_j = scale[i], scale[j], low[i], low[j]
    best = 2.0 * NOTHING
    for k in range(_u(i + 1), _u(j)):
        best = max(best, scale_i[k] + scale_j[k])
    least = 0.0
    for k in range(_u(i + 1), _u(j)):
        e = scale_i[k] + scale_j[k] - best - TOP
        weights[k] = power_of_two(e)
        least = min(least, e + low_i[k] + low_j[k] if e > 0.5 * NOTHING else 0.0)
    return best, least


@kernel
def lossless(acc, i, j, scale, best):
    """Whether the headed values of (i, j) are so large that what was lost in underflow is below 2**-50 of each."""
    lost = TOP + 40.0 - 1022.0
    for k in range(i + 1, j):
        e = scale[i, k] + scale[j, k] - best - TOP
        if 0.5 * NOTHING < e < -1022.0:
            lost = 2.0 * TOP + 40.0 - 1022.0
    for h in range(i + 1, j + 1):
        if acc[h] == 0.0 or exponent(acc[h]) < lost + 50.0:
            return False
    return True


@relaxed
def least_positive(row, begin, end):
    """The exponent of the least positive value of row[begin:end]."""
    least = HUGE
    for h in range(_u(begin), _u(end)):
        least = min(least, row[h] if row[h] > 0.0 else HUGE)
    return exponent(least)


@relaxed
def forget(row, other):
    """Two rows of zeros."""
    for h in range(len(row)):
        row[h] = 0.0
        other[h] = 0.0


@relaxed
def second_order(row, scores, i, j, size, shift, hook_shift):
    """The exponentials of the headed and hooked scores of a span, and how deep they reach."""
    exponentials(row, scores, 0, size, hook_shift)
    exponentials(row, scores, i + 1, j + 1, shift)
    row[0] = 0.0
    for h in range(size, len(row)):
        row[h] = 0.0
    return min(
        depth(scores, i + 1, j + 1, shift),
        depth(scores, 1, i + 1, hook_shift),
        depth(scores, j + 1, size, hook_shift),
    )


@relaxed
def greatest_hooked(headed, b, n):
    """The greatest score of a hooked span."""
    best = -np.inf
    for i in range(n):
        for j in range(i + 1, n + 1):
            best = greatest(headed[b, i, j], j + 1, n + 1, greatest(headed[b, i, j], 1, i + 1, best))
    return best


@relaxed
def inside(span, arc, headed, b, n, stride, x, g, arcs, turned, root, scale, tops, mantissas):
    """Fill the chart x; returns what happened, the total scaled down by 2**scale[0, n], and its logarithm.

    g takes the exponentials of the second-order scores.
    """
    size = n + 1
    constant, deepest = prepare_arcs(arc, b, n, stride, arcs, turned, root)
    if constant == -np.inf:
        return FORBIDDEN, 0.0, 0.0
    arc_low = math.floor(deepest / LOG2)
    hook_shift = 0.0
    if headed is not None and n > 1:
        hook_shift = greatest_hooked(headed, b, n)
        if hook_shift == -np.inf:
            return FORBIDDEN, 0.0, 0.0
        constant += hook_shift * (n - 1)
    # The exponent of the least positive value of a span, at most zero.
    low = np.zeros((size, size))
    acc = np.zeros(stride)
    row = np.zeros(stride)
    weights = np.empty(size)
    # All spans that end in j, the narrowest first: the rows x[j, k] of their right parts stay in the cache.
    for j in range(1, size):
        for i in range(j - 1, -1, -1):
            x_ij, x_ji = row_of(x, i * size + j, stride), row_of(x, j * size + i, stride)
            scale[i, j] = scale[j, i] = NOTHING
            score = np.float64(span[b, i, j])
            second_low = 0.0
            if headed is not None:
                shift = greatest(headed[b, i, j], i + 1, j + 1, -np.inf)
                score += shift
                if score > -np.inf:
                    second = row_of(g, i * size + j, stride)
                    deepest = second_order(second, headed[b, i, j], i, j, size, shift, hook_shift)
                    if deepest < DEEP:
                        return UNSAFE, 0.0, 0.0
                    second_low = math.floor(deepest / LOG2)
            if score == -np.inf:
                forget(x_ij, x_ji)
                continue
            if abs(score) > FAR:
                return UNSAFE, 0.0, 0.0
            log2 = math.floor(score / LOG2)
            mantissa = 2.0 * exp_negative(score - log2 * LOG2 - LOG2)

            for h in range(stride):
                acc[h] = 0.0
            best = -TOP
            if j - i == 1:
                acc[j] = mantissa
            else:
                best, least = weigh_splits(i, j, scale, low, weights)
                if best < 0.5 * NOTHING:
                    forget(x_ij, x_ji)
                    continue
                first = i + 1
                combine(
                    acc,
                    first,
                    0,
                    j + 1,
                    0,
                    x,
                    i * size + first,
                    x,
                    j * size + first,
                    stride,
                    weights[first:],
                    j - first,
                )
                if least < SMALL and not lossless(acc, i, j, scale, best):
                    return UNSAFE, 0.0, 0.0
                for h in range(_u(i + 1), _u(j + 1)):
                    acc[h] *= mantissa
            if headed is not None:
                if least_positive(acc, i + 1, j + 1) + second_low < SMALL:
                    return UNSAFE, 0.0, 0.0
                for h in range(_u(i + 1), _u(j + 1)):
                    acc[h] *= second[h]
            top, lowest = 0.0, HUGE
            for h in range(_u(i + 1), _u(j + 1)):
                top = max(top, acc[h])
                lowest = min(lowest, acc[h] if acc[h] > 0.0 else HUGE)
            if top == 0.0:
                forget(x_ij, x_ji)
                continue
            up = exponent(top) - TOP
            head_low = exponent(lowest) - up
            if head_low < SMALL:
                return UNSAFE, 0.0, 0.0
            scale[i, j] = scale[j, i] = best + TOP + log2 + up
            tops[i, j] = tops[j, i] = log2
            mantissas[i, j] = mantissa
            factor = power_of_two(-up)

            # Hooked: the head m of the span attaches to h outside.
            for h in range(stride):
                acc[h] *= factor
                row[h] = 0.0
            left_end = (i + 4) & ~3
            right_begin = max((j + 1) & ~3, left_end)
            add_rows(row, 0, left_end, arcs, i + 1, stride, acc, j - i)
            add_rows(row, right_begin, stride, arcs, i + 1, stride, acc, j - i)
            if head_low + arc_low + second_low < SMALL:
                for h in range(1, size):
                    if h <= i or h > j:
                        if head_low + arc_low < SMALL and (row[h] == 0.0 or exponent(row[h]) < SMALL + 100.0):
                            return UNSAFE, 0.0, 0.0
                        if row[h] > 0.0 and exponent(row[h]) + second_low < SMALL:
                            return UNSAFE, 0.0, 0.0
            if headed is not None:
                for h in range(stride):
                    row[h] *= second[h]
            for h in range(_u(i + 1), _u(j + 1)):
                row[h] = acc[h]
            lowest = HUGE
            for h in range(stride):
                x_ij[h] = row[h]
                x_ji[h] = row[h]
                lowest = min(lowest, row[h] if row[h] > 0.0 else HUGE)
            low[i, j] = low[j, i] = min(exponent(lowest), 0.0)
    if scale[0, n] == NOTHING:
        return FORBIDDEN, 0.0, 0.0
    total = 0.0
    for m in range(1, size):
        total += x[n * stride + m] * root[m]
    if total == 0.0 and low[0, n] + arc_low >= SMALL:
        return FORBIDDEN, 0.0, 0.0
    if total == 0.0 or exponent(total) < SMALL + 100.0:
        return UNSAFE, 0.0, 0.0
    return DONE, total, math.log(total) + scale[0, n] * LOG2 + constant


@relaxed
def outside(n, stride, x, g, second, arcs, turned, root, scale, tops, mantissas, total, spans, heads, parts):
    """Marginals from the chart: spans[i, j], heads[m, h] and, where wanted, parts[i, j, h]; False where they are off.

    g[i, j, h] becomes the outside value of a headed span, times its own scores: what its two parts receive.
    """
    size = n + 1
    out = np.empty(stride)
    weights = np.empty(size)
    hooked = np.empty(size * stride)
    sums = np.zeros(size * stride)
    everything = 0.0
    # All spans that begin in i, the widest first: the rows g[i, k] and x[i, k] stay in the cache.
    for i in range(n):
        for j in range(n, i, -1):
            w = j - i
            x_ij = row_of(x, i * size + j, stride)
            g_ij, g_ji = row_of(g, i * size + j, stride), row_of(g, j * size + i, stride)
            hooks = row_of(hooked, j, stride)
            if scale[i, j] == NOTHING:
                forget(g_ij, g_ji)
                forget(hooks, hooks)
                spans[i, j] = 0.0
                if parts is not None:
                    for h in range(1, size):
                        parts[i, j, h] = 0.0
                continue
            for h in range(stride):
                out[h] = 0.0
            if w == n:
                for m in range(1, size):
                    out[m] = root[m] / total
                    heads[m, 0] = x_ij[m] * out[m]
            else:
                # As the left part of (i, k), then as the right part of (k, j).
                scale_ij, scale_i, scale_j, tops_i, tops_j = scale[i, j], scale[i], scale[j], tops[i], tops[j]
                for k in range(_u(j + 1), _u(size)):
                    weights[k] = power_of_two(scale_ij + scale_j[k] + tops_i[k] - scale_i[k])
                first = j + 1
                combine(
                    out,
                    i + 1,
                    0,
                    first + 1,
                    1,
                    g,
                    i * size + first,
                    x,
                    j * size + first,
                    stride,
                    weights[first:],
                    n - j,
                )
                for k in range(i):
                    weights[k] = power_of_two(scale_ij + scale_i[k] + tops_j[k] - scale_j[k])
                combine(out, 1, 1, j + 1, 0, g, j * size, x, i * size, stride, weights, i)
                for h in range(stride):
                    out[h] = out[h] if x_ij[h] > 0.0 else 0.0

            for h in range(stride):
                hooks[h] = out[h]
            if second:
                for h in range(stride):
                    hooks[h] *= g_ij[h]
            for h in range(_u(i + 1), _u(j + 1)):
                hooks[h] = 0.0
            if parts is not None:
                for h in range(1, size):
                    parts[i, j, h] = x_ij[h] * out[h]
            if w < n:
                add_rows(out, (i + 1) & ~3, (j + 4) & ~3, turned, 1, stride, hooks, i)
                add_rows(out, (i + 1) & ~3, (j + 4) & ~3, turned, j + 1, stride, hooks, n - j)

            probability = 0.0
            for h in range(_u(i + 1), _u(j + 1)):
                out[h] = out[h] if x_ij[h] > 0.0 else 0.0
                probability += x_ij[h] * out[h]
            spans[i, j] = probability
            everything += probability
            if parts is not None:
                for h in range(i + 1, j + 1):
                    parts[i, j, h] = x_ij[h] * out[h]
            mantissa = mantissas[i, j]
            for h in range(_u(i + 1), _u(j + 1)):
                out[h] *= mantissa
            if second:
                for h in range(_u(i + 1), _u(j + 1)):
                    out[h] *= g_ij[h]
            for h in range(i + 1):
                out[h] = 0.0
            for h in range(j + 1, stride):
                out[h] = 0.0
            for h in range(stride):
                g_ij[h] = out[h]
                g_ji[h] = out[h]
        # An arc from m to h has a share in all spans headed by m that h is outside of.
        left_end = (i + 4) & ~3
        for m in range(i + 1, size):
            for j in range(m, size):
                weights[j] = x[(i * size + j) * stride + m]
            sums_m = row_of(sums, m, stride)
            add_rows(sums_m, 0, left_end, hooked, m, stride, weights, size - m)
            add_rows(sums_m, max((m + 1) & ~3, left_end), stride, hooked, m, stride, weights, size - m)
    good = adds_up(everything, 2.0 * n - 1.0)
    for m in range(1, size):
        mass = np.float64(heads[m, 0])
        for h in range(1, size):
            weight = arcs[m * stride + h]
            value = weight * sums[m * stride + h] if weight > 0.0 else 0.0
            heads[m, h] = value
            mass += value
        good &= adds_up(mass, 1.0)
    return good


@kernel
def joint(sentences, span, arc, headed, lengths, x, g, partition, spans, heads, parts, status, wanted):
    """Log-partition and, where wanted, marginals of the listed sentences.

    x and g are room for two charts of the longest of them.
    """
    for b in sentences:
        n = lengths[b]
        partition[b] = 0.0
        status[b] = look(span, arc, headed, b, n)
        if n == 0 or status[b] != DONE:
            continue
        size = n + 1
        stride = (size + 3) & ~3
        arcs = np.zeros(size * stride)
        turned = np.zeros(size * stride)
        root = np.zeros(size)
        scale = np.empty((size, size))
        tops = np.zeros((size, size))
        mantissas = np.zeros((size, size))
        code, total, logarithm = inside(
            span, arc, headed, b, n, stride, x, g, arcs, turned, root, scale, tops, mantissas
        )
        partition[b] = logarithm
        if code == DONE and wanted:
            second = headed is not None
            wide = None if parts is None else parts[b]
            good = outside(
                n,
                stride,
                x,
                g,
                second,
                arcs,
                turned,
                root,
                scale,
                tops,
                mantissas,
                total,
                spans[b],
                heads[b],
                wide,
            )
            code = DONE if good else UNSAFE
        if code == UNSAFE:
            code = DONE
            wide = None if parts is None else parts[b]
            partition[b] = log_space.eisner_satta(span, arc, headed, b, n, spans[b], heads[b], wide, wanted)
            if partition[b] < log_space.NOTHING:
                code = FORBIDDEN
        status[b] = code


@kernel
def spans_only(sentences, span, lengths, partition, spans, status, wanted):
    """The same for binary trees over span scores alone."""
    for b in sentences:
        n = lengths[b]
        partition[b] = 0.0
        status[b] = look(span, None, None, b, n)
        if n > 0 and status[b] == DONE:
            partition[b] = log_space.cky(span, b, n, spans[b], wanted)
            if partition[b] < log_space.NOTHING:
                status[b] = FORBIDDEN


@kernel
def arcs_only(sentences, arc, lengths, partition, heads, status, wanted):
    """The same for projective dependency trees over arc scores alone."""
    for b in sentences:
        n = lengths[b]
        partition[b] = 0.0
        status[b] = look(None, arc, None, b, n)
        if n > 0 and status[b] == DONE:
            partition[b] = log_space.eisner(arc, b, n, heads[b], wanted)
            if partition[b] < log_space.NOTHING:
                status[b] = FORBIDDEN
