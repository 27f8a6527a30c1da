# mypy: allow-untyped-defs
"""Inside and outside for Eisner-Satta, O(n^4), with sums of products instead of logarithms.

The chart, its blocks of eight heads, and the order of the loops are those of the 1-best search (eisner_satta.py):
x[i, j, h] is headed for h inside (i, j] and hooked for h outside. Its values are the sums over trees themselves,
scaled, so that the inner loops multiply and add in registers and take no exponential. The scales:

- An arc score is taken relative to the best head of its modifier. Every word has one head, so what was subtracted
  adds up to a constant. Likewise the scores of the n-1 wide spans, and of the n-1 hooked spans, relative to the
  greatest of them; a headed score relative to the greatest of its span, which goes to the span's score.
- Every word has a share of the logarithm of the total, and a span is scaled by the shares of its words. Then parts
  combine without any further factor. The shares come from a guess: the best tree by spans alone (CKY), whose splits
  hand its value out to the words.
- 2**TOP is put where a span exceeds its guess most, far enough from what overflows. Doubles reach down to 2**-1022.
  Where the whole comes out far off, the words' shares of that are corrected, and the chart is filled again.

What is lost below that is watched by the least headed value of the whole chart (see `safe`). Where something that
matters may be lost, the sentence is computed with logarithms instead (log_space.py), slower and without limits.

Outside values g are divided by the total, so that inside times outside is a marginal probability: at most one. Once
(i, j) is done, g[i, j, h] holds for h inside what its two parts receive: the outside value times the span's own
scores. It reaches the left part (i, k) along the row of i, gathered in registers, and the right part (k, j) from four
rows i at a time.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels import log_space
from arcspan.decoding.kernels.compile import called, inlined, kernel
from arcspan.decoding.kernels.doubles import (
    HUGE,
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
from arcspan.decoding.kernels.exponential import exp_negative, relaxed
from arcspan.decoding.kernels.sums import best_split

# What a kernel says of a sentence; the first four as the searches do.
DONE, NAN, FORBIDDEN, INFINITE, UNSAFE = 0, 1, 2, 3, 4

TOP = 380.0
# The sum over trees grows by up to 2**3 a word over the best of them, by nothing where that one is certain.
GROWTH = 2.0
SAFE = -960.0
LOG2 = math.log(2.0)
# Scores further below the greatest than this are left to the kernel with logarithms.
DEEP = -600.0
# So many words tell whether the guess is off, and by so many powers of two it may be.
PILOT, FAR = 24, 300.0

_u = np.uint64


@kernel
def joint(
    sentences,
    span,
    arc,
    headed,
    order,
    lengths,
    x,
    g,
    seconds,
    partition,
    spans,
    heads,
    parts,
    with_parts,
    status,
    wanted,
):
    """Log-partition and, where wanted, marginals of the listed sentences.

    span, arc   float64 [B, size, size];  headed  [B, size, size, size], float32 or float64, read where order is 2
    x, g        room for charts of the longest sentence: n (n + 1) / 2 spans, whole blocks of heads
    seconds     the same, for the exponentials of second-order scores; used where order is 2
    partition, spans, heads, parts, status   [B] and as the scores, out; parts are written where wanted with_parts
    """
    for b in sentences:
        n = lengths[b]
        partition[b] = 0.0
        code, masked = look(span, arc, b, n)
        if order == 2 and code == DONE:
            code, more = look_headed(headed, b, n)
            masked |= more
        if code != DONE or n == 0:
            status[b] = code
            continue
        size = n + 1
        stride = WIDTH * (n // WIDTH + 1)
        attach = np.zeros(size * stride)
        turned = np.zeros(stride * stride)
        root = np.zeros(stride)
        leaf = np.empty(size)
        factor = np.zeros((size, size))
        shift = np.zeros((size, size))
        code, height, constant, hook_shift, arc_depth, span_depth = prepare(
            span, arc, headed, order, b, n, attach, turned, root, leaf, factor, shift
        )
        down = 2.0**-height
        whole = 0.0
        if code == DONE and n > 2 * PILOT:
            # The last words first, at next to no cost: if the guess is far off there, it is so everywhere.
            inside(
                headed,
                order,
                b,
                n,
                x,
                seconds,
                attach,
                leaf,
                factor,
                down,
                shift,
                hook_shift,
                masked,
                n - PILOT,
            )
            rise = n / PILOT * (height * LOG2 - math.log(pilot_value(n, x)))
            if FAR * LOG2 < rise < np.inf:
                constant -= rise
                for j in range(1, size):
                    leaf[j] *= math.exp(rise / n)
        for attempt in range(3):
            if code != DONE:
                break
            least, second_depth = inside(
                headed, order, b, n, x, seconds, attach, leaf, factor, down, shift, hook_shift, masked, 0
            )
            whole = 0.0
            for m in range(1, size):
                whole += root[m] * x[m // WIDTH * plane_size(n) + WIDTH * (n - 1) + m % WIDTH]
            if whole < HUGE and safe(least, height, arc_depth, span_depth, second_depth, masked):
                break
            # Far off the guess: again, with every word's share of the difference.
            if attempt == 2 or (2.0**-100 < whole < 2.0**TOP):
                code = UNSAFE
                break
            if 0.0 < whole < HUGE:
                rise = -math.log(whole)
            else:
                rise = -SAFE * LOG2 if whole == 0.0 else SAFE * LOG2
            constant -= rise
            for j in range(1, size):
                leaf[j] *= math.exp(rise / n)
        if code == DONE:
            if masked and whole == 0.0:
                code = FORBIDDEN
            elif not 2.0 ** (SAFE + 60.0) <= whole < HUGE:
                code = UNSAFE
        if code == DONE:
            partition[b] = math.log(whole) + constant
            if wanted:
                for m in range(1, size):
                    root[m] /= whole
                code = outside(
                    order,
                    n,
                    x,
                    g,
                    seconds,
                    turned,
                    attach,
                    root,
                    factor,
                    down,
                    spans[b],
                    heads[b],
                    parts,
                    with_parts,
                    b,
                )
        status[b] = code


@inlined
def pilot_value(n, x):
    """The greatest value of the span of the last words, over its heads."""
    greatest_value = 0.0
    for h in range(n - PILOT + 1, n + 1):
        at = h // WIDTH * plane_size(n) + first_of_row(n, n - PILOT) + WIDTH * n + h % WIDTH
        greatest_value = max(greatest_value, x[at])
    return greatest_value


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


@called
def look(span, arc, b, n):
    """DONE where every score that the search reads is a number or -inf, and whether some are -inf.

    Either kind of scores may be None.
    """
    nan, infinite, masked = False, False, False
    for i in range(n + 1):
        for j in range(n + 1):
            if span is not None and i < j:
                nan |= np.isnan(span[b, i, j])
                infinite |= span[b, i, j] == np.inf
                masked |= span[b, i, j] == -np.inf
            if arc is not None and i > 0 and i != j:
                nan |= np.isnan(arc[b, i, j])
                infinite |= arc[b, i, j] == np.inf
                masked |= arc[b, i, j] == -np.inf
    return (NAN if nan else INFINITE if infinite else DONE), masked


@called
def look_headed(headed, b, n):
    """The same for the scores of headed and hooked spans."""
    bad, masks = 0, 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            row = headed[b, i, j]
            for h in range(1, n + 1):
                bad += not row[h] < np.inf
                masks += row[h] == -np.inf
    if bad == 0:
        return DONE, masks > 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            for h in range(1, n + 1):
                if np.isnan(headed[b, i, j, h]):
                    return NAN, masks > 0
    return INFINITE, masks > 0


@called
def prepare(span, arc, headed, order, b, n, attach, turned, root, leaf, factor, shift):
    """The scores as factors, and the scales.

    Returns what happened, the height (see prepare_spans), what is to be added to the logarithm of the whole, the
    greatest hooked score, and the least differences of arc and of span scores.
    """
    constant, arc_depth = prepare_arcs(arc, b, n, len(root), attach, turned, root)
    if constant == -np.inf:
        return FORBIDDEN, 0.0, 0.0, 0.0, 0.0, 0.0
    hook_shift = 0.0
    hook = np.zeros((n + 1, n + 1))
    if order == 2:
        hook_shift = prepare_headed(headed, b, n, shift, hook)
        if hook_shift == -np.inf:
            return FORBIDDEN, 0.0, 0.0, 0.0, 0.0, 0.0
        constant += hook_shift * (n - 1)
    code, height, share, span_depth = prepare_spans(span, b, n, shift, hook, hook_shift, leaf, factor)
    return code, height, constant + share, hook_shift, arc_depth, span_depth


@inlined
def plane_size(n):
    """The numbers in a plane of the chart: eight heads of every span."""
    return WIDTH * (n * (n + 1) // 2)


@inlined
def first_of_row(n, i):
    """Where the row of spans that begin at i stands in a plane: span (i, j) is WIDTH * j further."""
    return WIDTH * (i * n - i * (i + 1) // 2 - 1)


@relaxed
def greatest(source, begin, end, least):
    """The greatest of source[begin:end] and `least`."""
    best = least
    for h in range(_u(begin), _u(end)):
        best = max(best, np.float64(source[h]))
    return best


@relaxed
def depth(source, begin, end, shift):
    """How far the least score that is not -inf lies below `shift`: at most zero."""
    least = shift
    for h in range(_u(begin), _u(end)):
        value = np.float64(source[h])
        least = min(least, value if value > -np.inf else shift)
    return least - shift


@relaxed
def exponentials(row, at, source, begin, end, shift):
    """row[at + h] = exp(source[h] - shift), at most one."""
    offset = _u(at)
    for h in range(_u(begin), _u(end)):
        row[offset + h] = exp_negative(min(source[h] - shift, 0.0))


@relaxed
def prepare_arcs(arc, b, n, stride, attach, turned, root):
    """Exponentials of the arc scores relative to the best head of each word: attach[m, h], turned[h, m], root[m].

    Returns the sum of what was subtracted, and the least difference.
    """
    total = 0.0
    deepest = 0.0
    for m in range(1, n + 1):
        scores = arc[b, m]
        best = greatest(scores, m + 1, n + 1, greatest(scores, 0, m, -np.inf))
        if best == -np.inf:
            return -np.inf, 0.0
        total += best
        exponentials(attach, m * stride, scores, 0, n + 1, best)
        deepest = min(deepest, depth(scores, 0, m, best), depth(scores, m + 1, n + 1, best))
        root[m] = attach[m * stride]
        attach[m * stride] = 0.0
        attach[m * stride + m] = 0.0
        for h in range(n + 1):
            turned[h * stride + m] = attach[m * stride + h]
    return total, deepest


@relaxed
def prepare_headed(headed, b, n, shift, hook):
    """The greatest headed and hooked score of every span, into shift and hook [i, j]; returns the greatest of hook."""
    best = 0.0 if n == 1 else -np.inf
    for i in range(n):
        for j in range(i + 1, n + 1):
            scores = headed[b, i, j]
            shift[i, j] = greatest(scores, i + 1, j + 1, -np.inf)
            hook[i, j] = hook[j, i] = greatest(scores, j + 1, n + 1, greatest(scores, 1, i + 1, -np.inf))
            best = max(best, hook[i, j])
    return best


@relaxed
def prepare_spans(span, b, n, shift, hook, hook_shift, leaf, factor):
    """The scales. leaf[j] is the value of the span of word j, factor[i, j] 2**-height goes to every wide span.

    Returns what happened, the height, the logarithm of what the value of the whole sentence is to be multiplied with,
    and the least difference of a score from the greatest.
    """
    size = n + 1
    best = 0.0 if n == 1 else -np.inf
    for i in range(n):
        for j in range(i + 2, size):
            best = max(best, span[b, i, j] + shift[i, j])
    # guess[i, j]: the best binary tree, where each split adds the greatest hooked score of the part that may become the
    # modifier, and GROWTH for the number of trees; guess[j, i] is a copy, to be read along memory. Flat arrays with
    # eight numbers to spare, as `sums` wants them.
    flat = np.empty(size * size + WIDTH)
    guess = flat[: size * size].reshape((size, size))
    hooks = np.zeros(size * size + WIDTH)
    for i in range(size):
        hooks[i * size : (i + 1) * size] = hook[i]
    deepest = 0.0
    for w in range(1, size):
        for i in range(size - w):
            j = i + w
            score = span[b, i, j] + shift[i, j]
            if w > 1:
                score -= best
                if -np.inf < score < DEEP:
                    return UNSAFE, 0.0, 0.0, 0.0
                deepest = min(deepest, score if score > -np.inf else 0.0)
                factor[i, j] = exp_negative(score)
                score += GROWTH * LOG2 - hook_shift
                at, bt = i * size + i + 1, j * size + i + 1
                score += best_split(flat, at, flat, bt, hooks, hooks, w - 1, 2.0 * log_space.ZERO)
            guess[i, j] = guess[j, i] = (
                max(score, log_space.ZERO) if score > log_space.NOTHING else log_space.ZERO
            )
    if guess[0, n] < log_space.NOTHING:
        return FORBIDDEN, 0.0, 0.0, 0.0

    # Hand it out: what a split adds goes to the word before it.
    extra = np.zeros(size)
    stack = np.empty((size, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    top = 1
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        if j - i > 1:
            split, found = i + 1, -np.inf
            for k in range(i + 1, j):
                if guess[i, k] + guess[j, k] > found:
                    split, found = k, guess[i, k] + guess[j, k]
            extra[split] = guess[i, j] - found
            stack[top, 0], stack[top, 1] = i, split
            stack[top + 1, 0], stack[top + 1, 1] = split, j
            top += 2
    shares = np.zeros(size)
    for j in range(1, size):
        shares[j] = shares[j - 1] + guess[j - 1, j] + extra[j]
    excess = 0.0
    for i in range(n):
        for j in range(i + 1, size):
            excess = max(excess, guess[i, j] - (shares[j] - shares[i]))
    if excess > 2.0 * TOP * LOG2:
        return UNSAFE, 0.0, 0.0, 0.0
    height = math.floor(TOP - excess / LOG2)
    for j in range(1, size):
        value = height * LOG2 - extra[j]
        if value < -TOP * LOG2:
            return UNSAFE, 0.0, 0.0, 0.0
        leaf[j] = math.exp(value)
    return DONE, height, shares[n] - height * LOG2 + best * (n - 1), deepest


@called
def second_order(headed, b, n, i, first, last, shift, hook_shift, second, buffer):
    """second[j - first, h] = exp of the headed or hooked score of (i, j, h), scaled, for the spans of a tile.

    Zero for h = 0 and beyond n. Returns how deep the scores reach.
    """
    stride = WIDTH * (n // WIDTH + 1)
    lowest = splat(0.0)
    nothing = splat(-np.inf)
    for j in range(first, last + 1):
        scores = headed[b, i, j]
        for h in range(1, n + 1):
            buffer[h] = scores[h]
        heads, hooks = splat(shift[i, j]), splat(hook_shift)
        for h in range(0, stride, WIDTH):
            value = subtract(load(buffer, h), between(h, i + 1, j + 1, heads, hooks))
            value = between(h, 1, n + 1, value, nothing)
            lowest = minimum(lowest, where_above(value, nothing, value, lowest))
            store(second, (j - first) * stride + h, exponential(value))
    return smallest(lowest)


@called
def inside(headed, order, b, n, x, seconds, attach, leaf, factor, down, shift, hook_shift, masked, least_row):
    """Fill the chart x from its last row to `least_row`.

    Returns its least value, and how deep second-order scores reach.
    """
    stride = WIDTH * (n // WIDTH + 1)
    inner = np.zeros(4 * stride)
    second = seconds
    watch = np.full(WIDTH, HUGE)
    floor = 0.0 if masked else -1.0
    buffer = np.zeros(stride)
    deepest = 0.0
    for i in range(n - 1, least_row - 1, -1):
        first = i + 1
        while first <= n:
            last = min(first | 3, n)
            if order == 2:
                second = seconds[(first_of_row(n, i) // WIDTH + first) * stride :]
                deepest = min(
                    deepest, second_order(headed, b, n, i, first, last, shift, hook_shift, second, buffer)
                )
            for j in range(first, last + 1):
                own = leaf[j] if j == i + 1 else factor[i, j] * down
                _finish(order, n, i, first, j, own, floor, x, attach, inner, second, watch)
            _hook(order, n, i, first, last, x, attach, inner, second)
            if last < n:
                _push(n, i, first, last, x)
            first = last + 1
    return smallest(load(watch, 0)), deepest


@inlined
def _finish(order, n, i, first, j, factor, floor, x, attach, inner, second, watch):
    """Headed span (i, j), all heads, from what was pushed and the splits within the tile; then hook its end's block."""
    stride = WIDTH * (n // WIDTH + 1)
    plane = plane_size(n)
    row = first_of_row(n, i)
    mine = (j - first) * stride
    own = j // WIDTH
    zero, huge, bottom = splat(0.0), splat(HUGE), splat(floor)
    lowest = load(watch, 0)
    scale = splat(factor)
    value = zero
    for block in range((i + 1) // WIDTH, own + 1):
        base = block * plane
        if j == i + 1:
            value = splat(1.0)
        elif first == i + 1:
            value = zero
        else:
            value = load(x, base + row + WIDTH * j)
        for k in range(first, j):
            value = multiply_add(
                load(x, base + row + WIDTH * k), load(x, base + first_of_row(n, k) + WIDTH * j), value
            )
        value = multiply(value, scale)
        if order == 2:
            value = multiply(value, load(second, mine + WIDTH * block))
        lowest = minimum(
            lowest, between(WIDTH * block, i + 1, j + 1, where_above(value, bottom, value, huge), huge)
        )
        store(x, base + row + WIDTH * j, value)
        store(inner, mine + WIDTH * block, between(WIDTH * block, i + 1, j + 1, value, zero))
    hooked = zero
    for m in range(i + 1, j + 1):
        hooked = multiply_add(spread(inner, mine + m), load(attach, m * stride + WIDTH * own), hooked)
    if order == 2:
        hooked = multiply(hooked, load(second, mine + WIDTH * own))
    store(x, own * plane + row + WIDTH * j, between(WIDTH * own, i + 1, j + 1, value, hooked))
    store(watch, 0, lowest)


@inlined
def _hooked(order, n, i, block, own, at, mine, x, value, second):
    """Write the hooked values of one span in one block; lanes inside the span keep what they have."""
    if order == 2:
        value = multiply(value, load(second, mine + WIDTH * block))
    if block < own:
        value = between(WIDTH * block, i + 1, n + 1, load(x, at), value)
    store(x, at, value)


@inlined
def _hook(order, n, i, first, last, x, attach, inner, second):
    """Hook the four spans of a tile to the words of every block but the one that holds their ends."""
    stride = WIDTH * (n // WIDTH + 1)
    plane = plane_size(n)
    row = first_of_row(n, i)
    own = first // WIDTH
    # A tile of fewer than four spans does the last one again.
    one, two = min(first + 1, last), min(first + 2, last)
    a, b, c = (one - first) * stride, (two - first) * stride, (last - first) * stride
    # Blocks with a word at or before i, then blocks with a word after the tile.
    before = i // WIDTH + 1 if i > 0 else 0
    block = 0 if before > 0 else own + 1
    while block < n // WIDTH + 1:
        if block != own:
            p = splat(0.0)
            q = p
            r = p
            s = p
            for m in range(i + 1, last + 1):
                arc = load(attach, m * stride + WIDTH * block)
                p = multiply_add(arc, spread(inner, m), p)
                q = multiply_add(arc, spread(inner, a + m), q)
                r = multiply_add(arc, spread(inner, b + m), r)
                s = multiply_add(arc, spread(inner, c + m), s)
            at = block * plane + row
            _hooked(order, n, i, block, own, at + WIDTH * first, 0, x, p, second)
            _hooked(order, n, i, block, own, at + WIDTH * one, a, x, q, second)
            _hooked(order, n, i, block, own, at + WIDTH * two, b, x, r, second)
            _hooked(order, n, i, block, own, at + WIDTH * last, c, x, s, second)
        block += 1
        if block == before and block <= own:
            block = own + 1


@inlined
def _push(n, i, first, last, x):
    """x[i, j] += x[i, k] x[k, j] for the spans (i, k) of a finished tile and every j after it."""
    plane = plane_size(n)
    row = first_of_row(n, i)
    # What a tile of fewer than four spans lacks is the last one again, times zero.
    one, two = min(first + 1, last), min(first + 2, last)
    p_row, q_row = first_of_row(n, first), first_of_row(n, one)
    r_row, s_row = first_of_row(n, two), first_of_row(n, last)
    zero = splat(0.0)
    for block in range((i + 1) // WIDTH, n // WIDTH + 1):
        base = block * plane
        p = load(x, base + row + WIDTH * first)
        q = load(x, base + row + WIDTH * one) if last > first + 1 else zero
        r = load(x, base + row + WIDTH * two) if last > first + 2 else zero
        s = load(x, base + row + WIDTH * last) if last > first else zero
        for j in range(max(last + 1, WIDTH * block), n + 1):
            at = base + WIDTH * j
            value = load(x, at + row) if first > i + 1 else zero
            value = multiply_add(p, load(x, at + p_row), value)
            value = multiply_add(q, load(x, at + q_row), value)
            value = multiply_add(r, load(x, at + r_row), value)
            value = multiply_add(s, load(x, at + s_row), value)
            store(x, at + row, value)


@called
def outside(order, n, x, g, seconds, turned, attach, root, factor, down, spans, heads, parts, with_parts, b):
    """Marginals from the chart: spans[i, j], heads[m, h] and parts[b, i, j, h] where wanted. UNSAFE if they are off.

    root[m] is the outside value of the whole sentence headed by m.
    """
    stride = WIDTH * (n // WIDTH + 1)
    plane = plane_size(n)
    for at in range(plane * (n // WIDTH + 1)):
        g[at] = 0.0
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
            if order == 2:
                second = seconds[(first_of_row(n, i) // WIDTH + first) * stride :]
            _gather(n, i, first, last, x, g, outs)
            if last - i == n:
                for h in range(stride):
                    outs[(n - first) * stride + h] = root[h]
            _unhook(order, n, i, first, last, x, turned, outs, hooked, second)
            for j in range(last, first - 1, -1):
                _unhook_own(order, n, i, first, j, last, x, g, turned, outs, hooked, second)
                if with_parts:
                    _marginals(n, i, first, j, x, outs, parts[b, i, j], buffer)
                weight = down * factor[i, j] if j > i + 1 else 0.0
                value = _settle(order, n, i, first, j, weight, down, x, g, outs, inner, second)
                spans[i, j] = value
                everything += value
            last = first - 1
        _add_arcs(n, i, inner, hooked, sums)
        _push_right(n, i, x, g)
    good = adds_up(everything, 2.0 * n - 1.0)
    for m in range(1, n + 1):
        heads[m, 0] = root[m] * x[m // WIDTH * plane + WIDTH * (n - 1) + m % WIDTH]
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
    stride = WIDTH * (n // WIDTH + 1)
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
def _unhook(order, n, i, first, last, x, turned, outs, hooked, second):
    """From the hooked values of a tile to the headed ones, for the words of every block but the one of its ends."""
    stride = WIDTH * (n // WIDTH + 1)
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
                if order == 2:
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
def _unhook_own(order, n, i, first, j, last, x, g, turned, outs, hooked, second):
    """What a span receives from later spans of its tile; then unhook the words of the block of its end."""
    stride = WIDTH * (n // WIDTH + 1)
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
    if order == 2:
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
    mine = (j - first) * WIDTH * (n // WIDTH + 1)
    zero = splat(0.0)
    for block in range(n // WIDTH + 1):
        value = load(x, block * plane + row + WIDTH * j)
        out = where_above(value, zero, load(outs, mine + WIDTH * block), zero)
        store(buffer, WIDTH * block, multiply(value, out))
    for h in range(1, n + 1):
        parts[h] = buffer[h]


@inlined
def _settle(order, n, i, first, j, weight, down, x, g, outs, inner, second):
    """Finish the span (i, j): g for its parts, and its marginal."""
    stride = WIDTH * (n // WIDTH + 1)
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
        if order == 2:
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
    stride = WIDTH * (n // WIDTH + 1)
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
