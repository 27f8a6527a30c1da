# mypy: allow-untyped-defs
"""Sums over all lexicalized trees, O(n^4): inside and outside over Eisner-Satta's chart, with products, not logarithms.

The chart is filled as that of the best tree is (chart.py). Its values are the sums over trees themselves, scaled
(scaling.py), so that the inner loops multiply and add in registers and take no exponential.

Outside values g are divided by the total, so that inside times outside is a marginal probability: at most one. Once
(i, j) is done, g[i, j, h] holds for h inside what its two parts receive: the outside value times the span's own
scores. It reaches the left part (i, k) along the row of i, gathered in registers, and the right part (k, j) from four
rows i at a time.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels.chart import (
    chart_size,
    finish,
    first_of_row,
    hook,
    place,
    plane_size,
    push,
    stride_of,
)
from arcspan.decoding.kernels.compile import called, inlined, kernel
from arcspan.decoding.kernels.queue import take_turn
from arcspan.decoding.kernels.scaling import (
    DEEP,
    DONE,
    FORBIDDEN,
    HUGE,
    LOG2,
    SAFE,
    TOP,
    UNSAFE,
    look,
    prepare_arcs,
    prepare_headed,
    prepare_spans,
)
from arcspan.decoding.kernels.vectors import (
    WIDTH,
    add,
    between,
    exponential,
    load,
    minimum,
    multiply,
    multiply_add,
    smallest,
    splat,
    spread,
    store,
    subtract,
    total,
    where_above,
)

# So many words tell whether the guess is off, and by so many powers of two it may be.
PILOT, FAR = 24, 300.0


@kernel
def sum_trees(
    queue, taken, span, arc, headed, first, lengths, x, g, seconds, partition, spans, heads, parts, status
):
    """Log-partition and marginals of sentence after sentence of the queue.

    span, arc   float64 [B, size, size]
    headed      float32 or float64 [B, ., size], the row of span (i, j) at first[i] + j; None at first order
    x, g        room for charts of the longest sentence
    seconds     the same, for the exponentials of second-order scores; None at first order
    partition, status [B], spans, heads [B, size, size], parts [B, ., size] as headed   out;
                the last three are empty where they are not wanted
    """
    turn = take_turn(taken)
    while turn < len(queue):
        b = queue[turn]
        n = lengths[b]
        partition[b] = 0.0
        code, masked = look(span, arc, headed, first, b, n)
        if code == DONE and n > 0:
            stride = stride_of(n)
            attach = np.zeros((n + 1) * stride)
            turned = np.zeros(stride * stride)
            root = np.zeros(stride)
            factor = np.zeros((n + 1, n + 1))
            code, whole, constant = fill(
                span, arc, headed, first, b, n, masked, x, seconds, attach, turned, root, factor
            )
            if code == DONE:
                partition[b] = math.log(whole) + constant
            if code == DONE and len(spans[b]) > 0:
                for m in range(1, n + 1):
                    root[m] /= whole
                code = outside(
                    n, x, g, seconds, turned, attach, root, factor, spans[b], heads[b], parts, first, b
                )
        status[b] = code
        turn = take_turn(taken)


@called
def fill(span, arc, headed, first, b, n, masked, x, seconds, attach, turned, root, factor):
    """Fill the chart; returns what happened, the sum over all trees, and what to add to its logarithm."""
    constant, arc_depth = prepare_arcs(arc, b, n, len(root), attach, turned, root)
    if constant == -np.inf:
        return FORBIDDEN, 0.0, 0.0
    hook_shift = 0.0
    second_depth = 0.0
    shift = np.zeros((n + 1, n + 1))
    hooks = np.zeros((n + 1, n + 1))
    if headed is not None:
        hook_shift = prepare_headed(headed, first, b, n, shift, hooks)
        if hook_shift == -np.inf:
            return FORBIDDEN, 0.0, 0.0
        constant += hook_shift * (n - 1)
        second_depth = second_order(headed, first, b, n, shift, hook_shift, seconds)
    leaf = np.empty(n + 1)
    code, height, share, span_depth = prepare_spans(span, b, n, shift, hooks, hook_shift, leaf, factor)
    if code != DONE:
        return code, 0.0, 0.0
    constant += share
    if n > 2 * PILOT:
        # The last words first, at next to no cost: if the guess is far off there, it is so everywhere.
        inside(n, x, seconds, attach, leaf, factor, masked, n - PILOT)
        pilot = 0.0
        for h in range(n - PILOT + 1, n + 1):
            pilot = max(pilot, x[place(n, n - PILOT, n, h)])
        rise = n / PILOT * (height * LOG2 - math.log(pilot))
        if FAR * LOG2 < rise < np.inf:
            constant -= rise
            leaf *= math.exp(rise / n)
    for _ in range(3):
        least = inside(n, x, seconds, attach, leaf, factor, masked, 0)
        whole = 0.0
        for m in range(1, n + 1):
            whole += root[m] * x[place(n, 0, n, m)]
        if whole < HUGE and safe(least, height, arc_depth, span_depth, second_depth, masked):
            if masked and whole == 0.0:
                return FORBIDDEN, 0.0, 0.0
            return (DONE if whole >= 2.0 ** (SAFE + 60.0) else UNSAFE), whole, constant
        if 2.0**-100 < whole < 2.0**TOP:
            break
        # Far off the guess: again, with every word's share of the difference.
        if 0.0 < whole < HUGE:
            rise = -math.log(whole)
        else:
            rise = -SAFE * LOG2 if whole == 0.0 else SAFE * LOG2
        constant -= rise
        leaf *= math.exp(rise / n)
    return UNSAFE, 0.0, 0.0


@inlined
def safe(least, height, arc_depth, span_depth, second_depth, masked):
    """Whether nothing that matters was lost below the range of doubles, by the least headed value of the chart.

    depths are the least differences of scores, in nats. A hooked value is at least `least` times the least arc and
    second-order factors.
    """
    if not min(arc_depth, second_depth) >= DEEP or not least > 0.0:
        return False
    hooked = math.log(least) / LOG2 + (arc_depth + second_depth) / LOG2
    if not masked:
        # Every value is so large that 2**-1022 from each product is nothing, before it was scaled down as well.
        return hooked + min(height, 0.0) >= SAFE
    # No product of positive values and factors can have become zero.
    return 2.0 * hooked - height + (span_depth + second_depth) / LOG2 >= SAFE and hooked >= SAFE


@inlined
def place_second(n, i):
    """Where the second-order factors of span (i, 0) would stand in `seconds`: those of (i, j) are j strides further."""
    return first_of_row(n, i) // WIDTH * stride_of(n)


@called
def second_order(headed, first, b, n, shift, hook_shift, seconds):
    """The exponentials of all headed and hooked scores, scaled, into `seconds`; zero for h = 0 and beyond n.

    Returns how deep the scores reach.
    """
    stride = stride_of(n)
    buffer = np.zeros(stride)
    lowest = splat(0.0)
    nothing = splat(-np.inf)
    for i in range(n):
        for j in range(i + 1, n + 1):
            scores = headed[b, first[i] + j]
            for h in range(1, n + 1):
                buffer[h] = scores[h]
            heads, hooks = splat(shift[i, j]), splat(hook_shift)
            for h in range(0, stride, WIDTH):
                value = subtract(load(buffer, h), between(h, i + 1, j + 1, heads, hooks))
                value = between(h, 1, n + 1, value, nothing)
                lowest = minimum(lowest, where_above(value, nothing, value, lowest))
                store(seconds, place_second(n, i) + j * stride + h, exponential(value))
    return smallest(lowest)


@called
def inside(n, x, seconds, attach, leaf, factor, masked, least_row):
    """Fill the chart x from its last row to `least_row`; returns its least headed value."""
    stride = stride_of(n)
    inner = np.zeros(4 * stride)
    watch = np.full(WIDTH, HUGE)
    for i in range(n - 1, least_row - 1, -1):
        source = place_second(n, i)
        first = i + 1
        while first <= n:
            last = min(first | 3, n)
            for j in range(first, last + 1):
                own = leaf[j] if j == i + 1 else factor[i, j]
                finish(own, seconds, source, stride, n, i, first, j, x, attach, inner)
                _watch(i, j, inner, (j - first) * stride, masked, watch)
            hook(seconds, source, stride, n, i, first, last, x, attach, inner)
            if last < n:
                push(n, i, first, last, x)
            first = last + 1
    return smallest(load(watch, 0))


@inlined
def _watch(i, j, inner, mine, masked, watch):
    """Keep the least headed value of each lane; with masks, zeros are honest and do not count."""
    lowest, huge, floor = load(watch, 0), splat(HUGE), splat(0.0 if masked else -1.0)
    for block in range((i + 1) // WIDTH, j // WIDTH + 1):
        value = load(inner, mine + WIDTH * block)
        value = between(WIDTH * block, i + 1, j + 1, where_above(value, floor, value, huge), huge)
        lowest = minimum(lowest, value)
    store(watch, 0, lowest)


@called
def outside(n, x, g, seconds, turned, attach, root, factor, spans, heads, parts, first_row, b):
    """Marginals from the chart: spans[i, j], heads[m, h], and parts where there is room. UNSAFE if they are off.

    root[m] is the outside value of the whole sentence headed by m.
    """
    stride = stride_of(n)
    g[: chart_size(n)] = 0.0
    outs = np.zeros(4 * stride)
    second = seconds
    buffer = np.zeros(stride)
    # Of the spans (i, j) of one row: hooked[j, h], the outside values for h outside; inner[j, m], x for m inside.
    hooked = np.zeros((n + 1) * stride)
    inner = np.zeros((n + 1) * stride)
    # sums[m, h] becomes the marginal of the arc, but for its own score.
    sums = np.zeros(stride * stride)
    everything = 0.0
    for i in range(n):
        last = n
        while last > i:
            first = max(last & ~3, i + 1)
            if seconds is not None:
                second = seconds[place_second(n, i) + first * stride :]
            _gather(n, i, first, last, x, g, outs)
            if last - i == n:
                for h in range(stride):
                    outs[(n - first) * stride + h] = root[h]
            _unhook(n, i, first, last, x, turned, outs, hooked, second)
            for j in range(last, first - 1, -1):
                _unhook_own(n, i, first, j, last, x, g, turned, outs, hooked, second)
                if len(parts) > 0:
                    _marginals(n, i, first, j, x, outs, parts[b, first_row[i] + j], buffer)
                weight = factor[i, j] if j > i + 1 else 0.0
                value = _settle(n, i, first, j, weight, x, g, outs, inner, second)
                spans[i, j] = value
                everything += value
            last = first - 1
        _add_arcs(n, i, inner, hooked, sums)
        _push_right(n, i, x, g)
    good = adds_up(everything, 2.0 * n - 1.0)
    for m in range(1, n + 1):
        heads[m, 0] = root[m] * x[place(n, 0, n, m)]
        mass = np.float64(heads[m, 0])
        for h in range(1, n + 1):
            weight = attach[m * stride + h]
            heads[m, h] = weight * sums[m * stride + h] if weight > 0.0 else 0.0
            mass += heads[m, h]
        good &= adds_up(mass, 1.0)
    return DONE if good else UNSAFE


@inlined
def adds_up(mass, expected):
    """Whether a sum of probabilities is what it must be; false for NaN."""
    return abs(mass - expected) <= 1e-5 * expected


@inlined
def _gather(n, i, first, last, x, g, outs):
    """The outside values of the spans of a tile, from the spans (i, j) beyond it and from what was pushed."""
    stride = stride_of(n)
    plane = plane_size(n)
    row = first_of_row(n, i)
    # A tile of fewer than four spans does the last one again.
    one, two = min(first + 1, last), min(first + 2, last)
    p_row, q_row = first_of_row(n, first), first_of_row(n, one)
    r_row, s_row = first_of_row(n, two), first_of_row(n, last)
    for block in range(n // WIDTH + 1):
        at = block * plane + row
        p = load(g, at + WIDTH * first)
        q = load(g, at + WIDTH * one)
        r = load(g, at + WIDTH * two)
        s = load(g, at + WIDTH * last)
        if block >= (i + 1) // WIDTH:
            for j in range(max(last + 1, WIDTH * block), n + 1):
                whole = load(g, at + WIDTH * j)
                beside = block * plane + WIDTH * j
                p = multiply_add(whole, load(x, beside + p_row), p)
                q = multiply_add(whole, load(x, beside + q_row), q)
                r = multiply_add(whole, load(x, beside + r_row), r)
                s = multiply_add(whole, load(x, beside + s_row), s)
        store(outs, WIDTH * block, p)
        store(outs, (one - first) * stride + WIDTH * block, q)
        store(outs, (two - first) * stride + WIDTH * block, r)
        store(outs, (last - first) * stride + WIDTH * block, s)


@inlined
def _unhook(n, i, first, last, x, turned, outs, hooked, second):
    """From the hooked values of a tile to the headed ones, for the words of every block but the one of its ends."""
    stride = stride_of(n)
    plane = plane_size(n)
    row = first_of_row(n, i)
    own = first // WIDTH
    zero = splat(0.0)
    for j in range(first, last + 1):
        mine = (j - first) * stride
        for block in range(n // WIDTH + 1):
            if block != own:
                value = where_above(
                    load(x, block * plane + row + WIDTH * j), zero, load(outs, mine + WIDTH * block), zero
                )
                if second is not None:
                    value = multiply(value, load(second, mine + WIDTH * block))
                if block < own:
                    value = between(WIDTH * block, 1, i + 1, value, zero)
                store(hooked, j * stride + WIDTH * block, value)
    one, two = min(first + 1, last), min(first + 2, last)
    a, b, c, d = first * stride, one * stride, two * stride, last * stride
    for block in range((i + 1) // WIDTH, own + 1):
        p = zero
        q = p
        r = p
        s = p
        for part in range(2):
            begin = 1 if part == 0 else WIDTH * (own + 1)
            end = min(i + 1, WIDTH * own) if part == 0 else n + 1
            for h in range(begin, end):
                arc = load(turned, h * stride + WIDTH * block)
                p = multiply_add(arc, spread(hooked, a + h), p)
                q = multiply_add(arc, spread(hooked, b + h), q)
                r = multiply_add(arc, spread(hooked, c + h), r)
                s = multiply_add(arc, spread(hooked, d + h), s)
        # Stored last to first, so that of a short tile each span is written once with its own value.
        at = WIDTH * block
        _add_inside(outs, (last - first) * stride + at, block, i, last, s)
        if last > first + 2:
            _add_inside(outs, 2 * stride + at, block, i, two, r)
        if last > first + 1:
            _add_inside(outs, stride + at, block, i, one, q)
        if last > first:
            _add_inside(outs, at, block, i, first, p)


@inlined
def _add_inside(outs, at, block, i, j, value):
    """Add to the lanes of heads inside (i, j]."""
    store(outs, at, add(load(outs, at), between(WIDTH * block, i + 1, j + 1, value, splat(0.0))))


@inlined
def _unhook_own(n, i, first, j, last, x, g, turned, outs, hooked, second):
    """What a span receives from later spans of its tile; then unhook the words of the block of its end."""
    stride = stride_of(n)
    plane = plane_size(n)
    row = first_of_row(n, i)
    own = j // WIDTH
    mine = (j - first) * stride
    zero = splat(0.0)
    for block in range((i + 1) // WIDTH, own + 1):
        base = block * plane
        value = load(outs, mine + WIDTH * block)
        for k in range(j + 1, last + 1):
            value = multiply_add(
                load(g, base + row + WIDTH * k), load(x, base + first_of_row(n, j) + WIDTH * k), value
            )
        store(outs, mine + WIDTH * block, value)
    value = where_above(load(x, own * plane + row + WIDTH * j), zero, load(outs, mine + WIDTH * own), zero)
    if second is not None:
        value = multiply(value, load(second, mine + WIDTH * own))
    store(hooked, j * stride + WIDTH * own, between(WIDTH * own, i + 1, j + 1, zero, value))
    for block in range((i + 1) // WIDTH, own + 1):
        value = zero
        for part in range(2):
            begin = WIDTH * own if part == 0 else j + 1
            end = i + 1 if part == 0 else min(WIDTH * (own + 1), n + 1)
            for h in range(begin, end):
                value = multiply_add(
                    load(turned, h * stride + WIDTH * block), spread(hooked, j * stride + h), value
                )
        _add_inside(outs, mine + WIDTH * block, block, i, j, value)


@called
def _marginals(n, i, first, j, x, outs, parts, buffer):
    """Inside times outside: the marginals of the headed and hooked spans (i, j, h)."""
    plane = plane_size(n)
    row = first_of_row(n, i)
    mine = (j - first) * stride_of(n)
    zero = splat(0.0)
    for block in range(n // WIDTH + 1):
        value = load(x, block * plane + row + WIDTH * j)
        out = where_above(value, zero, load(outs, mine + WIDTH * block), zero)
        store(buffer, WIDTH * block, multiply(value, out))
    for h in range(1, n + 1):
        parts[h] = buffer[h]


@inlined
def _settle(n, i, first, j, weight, x, g, outs, inner, second):
    """Finish the span (i, j): g for its parts, and its marginal."""
    stride = stride_of(n)
    plane = plane_size(n)
    row = first_of_row(n, i)
    mine = (j - first) * stride
    zero = splat(0.0)
    mass = zero
    for block in range((i + 1) // WIDTH, j // WIDTH + 1):
        at = block * plane + row + WIDTH * j
        value = between(WIDTH * block, i + 1, j + 1, load(x, at), zero)
        out = where_above(value, zero, load(outs, mine + WIDTH * block), zero)
        mass = multiply_add(value, out, mass)
        out = multiply(out, splat(weight))
        if second is not None:
            out = multiply(out, load(second, mine + WIDTH * block))
        store(g, at, out)
        store(inner, j * stride + WIDTH * block, value)
    # Rows are pushed by fours: a later row of the four may begin a block later than the first.
    for block in range(((i & ~3) + 1) // WIDTH, (i + 1) // WIDTH):
        store(g, block * plane + row + WIDTH * j, zero)
    return total(mass)


@called
def _add_arcs(n, i, inner, hooked, sums):
    """sums[m, h] += inner[j, m] hooked[j, h] for the spans (i, j) of a row, four modifiers at a time."""
    stride = stride_of(n)
    for m in range((i + 1) & ~3, n + 1, 4):
        a, b, c, d = m * stride, (m + 1) * stride, (m + 2) * stride, (m + 3) * stride
        for block in range(n // WIDTH + 1):
            before = WIDTH * block <= i
            if before or block >= m // WIDTH:
                at = WIDTH * block
                p = load(sums, a + at)
                q = load(sums, b + at)
                r = load(sums, c + at)
                s = load(sums, d + at)
                for j in range(max(m, i + 1), (n if before else min(n, at + WIDTH - 1)) + 1):
                    out = load(hooked, j * stride + at)
                    p = multiply_add(out, spread(inner, j * stride + m), p)
                    q = multiply_add(out, spread(inner, j * stride + m + 1), q)
                    r = multiply_add(out, spread(inner, j * stride + m + 2), r)
                    s = multiply_add(out, spread(inner, j * stride + m + 3), s)
                store(sums, a + at, p)
                store(sums, b + at, q)
                store(sums, c + at, r)
                store(sums, d + at, s)


@called
def _push_right(n, i, x, g):
    """g[k, j] += g[i, j] x[i, k]: to the rows k of the same four at once, to later ones when all four are done."""
    plane = plane_size(n)
    four = i & ~3
    row = first_of_row(n, i)
    for block in range((i + 1) // WIDTH, n // WIDTH + 1):
        base = block * plane
        for k in range(i + 1, min(four + 4, n)):
            p = load(x, base + row + WIDTH * k)
            into = first_of_row(n, k)
            for j in range(max(k + 1, WIDTH * block), n + 1):
                at = base + WIDTH * j
                store(g, at + into, multiply_add(p, load(g, at + row), load(g, at + into)))
    if i != four + 3:
        return
    p_row, q_row = first_of_row(n, four), first_of_row(n, four + 1)
    r_row, s_row = first_of_row(n, four + 2), first_of_row(n, four + 3)
    for block in range((four + 1) // WIDTH, n // WIDTH + 1):
        base = block * plane
        for k in range(four + 4, n):
            p = load(x, base + p_row + WIDTH * k)
            q = load(x, base + q_row + WIDTH * k)
            r = load(x, base + r_row + WIDTH * k)
            s = load(x, base + s_row + WIDTH * k)
            into = first_of_row(n, k)
            for j in range(max(k + 1, WIDTH * block), n + 1):
                at = base + WIDTH * j
                value = multiply_add(p, load(g, at + p_row), load(g, at + into))
                value = multiply_add(q, load(g, at + q_row), value)
                value = multiply_add(r, load(g, at + r_row), value)
                value = multiply_add(s, load(g, at + s_row), value)
                store(g, at + into, value)
