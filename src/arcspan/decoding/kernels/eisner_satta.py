"""Eisner-Satta (1999) over lexicalized trees, first and second order: O(n^4) time, half a cube of memory.

One chart holds the whole search. x[i, j, h] is the best score of span (i, j]: with h inside, the headed span,
the tree below it whose head word is h; with h outside, the hooked span, that tree once its head word has been
attached to h. For h in (i, j] exactly one part of a split contains h, so one formula serves both directions:

    x[i, j, h] = s_c(i, j) (+ s(i, j, h)) + max over k of x[i, k, h] + x[k, j, h]         h inside
    x[i, j, h] = max over m in (i, j] of x[i, j, m] + s_d(m, h) (+ s(i, j, h))            h outside

Order. The row of spans that begin at i is computed from i = n-1 down to 0, in tiles of four spans (i, j) with
neighbouring ends j. When a tile is finished, its four spans are pushed at once as left parts into every later
span of the row: x[i, j] takes the maximum with x[i, k] + x[k, j] for the four k. So four values sit in
registers while j runs, and both operands are read along contiguous memory; combining in order of width with a
mirrored triangle would read two values for each addition, this reads five for four.

Layout. Heads stand in blocks of eight lanes (see `vectors`), and the chart is one plane a block: in plane
h // 8 the spans (i, j), i < j only, follow each other row by row, eight floats each. A tile ends before a multiple
of four, so its ends lie in one block of heads. Lanes that a span has no use for yet hold sums that
nobody reads: inside lanes are computed by blocks, and hooking then writes the lanes outside. Lane 0, the root,
is never hooked: the root arc is added once, to the whole sentence.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from arcspan.decoding.kernels.compile import called, inlined, kernel
from arcspan.decoding.kernels.counters import (
    breathe,
    count,
    doubles_at,
    floats_at,
    integers_at,
    look,
    put,
    step_aside,
    swap,
)
from arcspan.decoding.kernels.vectors import (
    MINUS_INFINITY,
    WIDTH,
    add,
    between,
    largest,
    load,
    mark_unless_below,
    maximum,
    prefetch,
    splat,
    spread,
    store,
)

ZERO = np.float32(0.0)
LARGEST = np.float32(3.4e38)
# The cells of a desk (see `decoding/desks.py`): state, whether somebody is there or called, then the work.
STATE, AWAKE = 0, 1
EMPTY, POSTED, BUSY = 0, 1, 2
CELLS = 32
# How many pauses, of 20 to 50 nanoseconds, the caller watches a helper finish. The queue ends with the shortest
# sentences, so that is mostly a matter of microseconds.
PATIENCE = 2000


@kernel
def search(
    queue,
    taken,
    desks,
    places,
    span,
    arc,
    size,
    headed,
    order,
    packed,
    lengths,
    heads,
    rows,
    starts,
    scores,
    status,
):
    """Search the sentences of the queue, with the helpers at some desks; whether these are ready as well.

    queue       int64 [.], the sentences;  taken  int64 [1], zero: how many of them have been begun
    desks       int64 [., CELLS];  places  int64 [.], the desks of those who help
    span, arc   float32 [B * size * size], flat;  headed  float32, flat: [B, size, size, size], or where `packed`
                the rows [i, j, :] of one sentence, i < j only, each padded to whole blocks; unused at order 1
    heads       int64 [B, size], out;  rows  int64 [., 3], out, sentence b from starts[b];  scores, status [B], out
    """
    # Memory first: a caller who gets none has posted nothing.
    memory = _memory(queue, taken, lengths)
    for place in places:
        desk = desks[place]
        desk[2], desk[3], desk[4] = queue.ctypes.data, len(queue), taken.ctypes.data
        desk[5], desk[6], desk[7] = span.ctypes.data, arc.ctypes.data, size
        desk[8], desk[9], desk[10], desk[11] = headed.ctypes.data, len(headed), order, packed
        desk[12], desk[13] = lengths.ctypes.data, len(lengths)
        desk[14], desk[15], desk[16] = heads.ctypes.data, rows.ctypes.data, len(rows)
        desk[17], desk[18], desk[19] = starts.ctypes.data, scores.ctypes.data, status.ctypes.data
        put(desk, STATE, POSTED)
    batch = span, arc, size, headed, order, packed, lengths
    _take_turns(queue, taken, batch, (heads, rows, starts, scores, status), memory)
    ready = True
    for place in places:
        desk = desks[place]
        if not swap(desk, STATE, POSTED, EMPTY):
            turns = PATIENCE
            while turns > 0 and look(desk, STATE) == BUSY:
                breathe()
                turns -= 1
            ready = ready and look(desk, STATE) != BUSY
    return ready


@kernel
def attend(desks, place, attention):
    """Do what is posted at a desk, until nothing has been for so many pauses."""
    desk = desks[place]
    turns = attention
    while turns > 0:
        if look(desk, STATE) == POSTED and swap(desk, STATE, POSTED, BUSY):
            _work_at(desk)
            put(desk, STATE, EMPTY)
            turns = attention
        else:
            breathe()
            turns -= 1
            if turns % 64 == 0:
                step_aside()
    put(desk, AWAKE, 0)


@inlined
def _work_at(desk):
    """Take turns at the batch whose addresses are on the desk. Without memory no sentence is begun: others do them."""
    queue, taken = carray(integers_at(desk[2]), desk[3]), carray(integers_at(desk[4]), 1)
    size, sentences = desk[7], desk[13]
    span = carray(floats_at(desk[5]), sentences * size * size)
    arc = carray(floats_at(desk[6]), sentences * size * size)
    headed = carray(floats_at(desk[8]), desk[9])
    lengths = carray(integers_at(desk[12]), sentences)
    heads = carray(integers_at(desk[14]), (sentences, size))
    rows = carray(integers_at(desk[15]), (desk[16], 3))
    starts = carray(integers_at(desk[17]), sentences + 1)
    scores = carray(doubles_at(desk[18]), sentences)
    status = carray(integers_at(desk[19]), sentences)
    memory = _memory(queue, taken, lengths)
    batch = span, arc, size, headed, desk[10], desk[11] != 0, lengths
    _take_turns(queue, taken, batch, (heads, rows, starts, scores, status), memory)


@inlined
def _memory(queue, taken, lengths):
    """The charts, large enough for every sentence that is left in the queue."""
    longest = 0
    for b in queue[min(taken[0], len(queue)) :]:
        longest = max(longest, lengths[b])
    stride = WIDTH * (longest // WIDTH + 1)
    x = np.empty(longest * (longest + 1) // 2 * stride, np.float32)
    attach = np.empty((longest + 1) * stride, np.float32)
    inner = np.empty(4 * stride, np.float32)
    stack = np.empty((longest + 1, 3), np.int64)
    return x, attach, inner, stack


@called
def _take_turns(queue, taken, batch, outputs, memory):
    """Take sentence after sentence from the queue and search it; other threads take from it as well."""
    span, arc, size, headed, order, packed, lengths = batch
    heads, rows, starts, scores, status = outputs
    x, attach, inner, stack = memory
    turn = count(taken, 0)
    while turn < len(queue):
        b = queue[turn]
        n = lengths[b]
        scores[b] = 0.0
        status[b] = 0
        if n > 0:
            s = span[b * size * size : (b + 1) * size * size]
            a = arc[b * size * size : (b + 1) * size * size]
            second = headed[(0 if packed else b * size * size * size) :] if order == 2 else headed[:0]
            code = _inside(s, a, size, second, packed, n, x, attach, inner)
            if code == 0:
                tree = rows[starts[b] :]
                code = _trace(s, a, size, second, packed, n, x, stack, heads[b], tree, scores[b : b + 1])
            status[b] = code
        turn = count(taken, 0)


@inlined
def _row(n, i):
    """The row of spans that begin at i: in a plane, span (i, j) is number row + j."""
    return i * n - i * (i + 1) // 2 - 1


@inlined
def _headed_row(size, packed, n, i):
    """Where the second-order scores of span (i, 0) would stand, and how far it is from one j to the next."""
    if packed:
        stride = WIDTH * (n // WIDTH + 1)
        return _row(n, i) * stride, stride
    return i * size * size, size


@inlined
def _inside(span, arc, size, headed, packed, n, x, attach, inner):
    """Fill the chart; 0 where the scores are fit for it, 3 where one is NaN or so large that sums may overflow."""
    limit = LARGEST / np.float32(8 * n + 8)
    fit = _copy_arcs(arc, size, n, limit, attach)
    for i in range(n - 1, -1, -1):
        if len(headed):
            fit &= _fit_headed(headed, size, packed, n, i, limit)
        first = i + 1
        while first <= n:
            last = min(first | 3, n)
            for j in range(first, last + 1):
                value = span[i * size + j]
                fit &= value < limit
                if len(headed):
                    _fetch_headed(headed, size, packed, n, i - 1, j)
                _finish(value, headed, size, packed, n, i, first, j, x, attach, inner)
            _hook(headed, size, packed, n, i, first, last, x, attach, inner)
            if last < n:
                _push(n, i, first, last, x)
            first = last + 1
    return 0 if fit else 3


@inlined
def _copy_arcs(arc, size, n, limit, attach):
    """attach[m, h] = s_d(m, h), rows padded to whole blocks; whether all are below the limit."""
    stride = WIDTH * (n // WIDTH + 1)
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
def _fetch_headed(headed, size, packed, n, i, j):
    """Ask memory for the second-order scores of span (i, j), a row ahead of their use, line by line."""
    source, step = _headed_row(size, packed, n, i)
    for h in range(0, n + 1, 16):
        prefetch(headed, source + j * step + h)


@inlined
def _fit_headed(headed, size, packed, n, i, limit):
    """Whether the second-order scores of the spans that begin at i are all below the limit."""
    source, step = _headed_row(size, packed, n, i)
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
def _finish(value, headed, size, packed, n, i, first, j, x, attach, inner):
    """Headed span (i, j), all heads, from what was pushed and the splits within the tile; then hook its end's block."""
    stride = WIDTH * (n // WIDTH + 1)
    plane = WIDTH * (n * (n + 1) // 2)
    row = WIDTH * _row(n, i)
    mine = (j - first) * stride
    own = j // WIDTH
    source, step = _headed_row(size, packed, n, i)
    source += j * step
    nothing = splat(MINUS_INFINITY)
    best = nothing
    for block in range((i + 1) // WIDTH, own + 1):
        base = block * plane
        if j == i + 1:
            best = splat(ZERO)
        elif first == i + 1:
            best = nothing
        else:
            best = load(x, base + row + WIDTH * j)
        for k in range(first, j):
            best = maximum(
                best, add(load(x, base + row + WIDTH * k), load(x, base + WIDTH * (_row(n, k) + j)))
            )
        best = add(best, splat(value))
        if len(headed):
            best = add(best, load(headed, source + WIDTH * block))
        store(x, base + row + WIDTH * j, best)
        store(inner, mine + WIDTH * block, between(WIDTH * block, i + 1, j + 1, best, nothing))
    hooked = nothing
    for m in range(i + 1, j + 1):
        hooked = maximum(hooked, add(spread(inner, mine + m), load(attach, m * stride + WIDTH * own)))
    if len(headed):
        hooked = add(hooked, load(headed, source + WIDTH * own))
    store(x, own * plane + row + WIDTH * j, between(WIDTH * own, i + 1, j + 1, best, hooked))


@inlined
def _hook(headed, size, packed, n, i, first, last, x, attach, inner):
    """Hook the four spans of a tile to the words of every block but the one that holds their ends."""
    stride = WIDTH * (n // WIDTH + 1)
    plane = WIDTH * (n * (n + 1) // 2)
    row = WIDTH * _row(n, i)
    own = first // WIDTH
    source, step = _headed_row(size, packed, n, i)
    # A tile of fewer than four spans does the last one again.
    second, third = min(first + 1, last), min(first + 2, last)
    a, b, c = (second - first) * stride, (third - first) * stride, (last - first) * stride
    # Blocks with a word at or before i, then blocks with a word after the tile.
    before = i // WIDTH + 1 if i > 0 else 0
    block = 0 if before > 0 else own + 1
    while block < n // WIDTH + 1:
        if block != own:
            p = splat(MINUS_INFINITY)
            q = p
            r = p
            s = p
            for m in range(i + 1, last + 1):
                arc = load(attach, m * stride + WIDTH * block)
                p = maximum(p, add(arc, spread(inner, m)))
                q = maximum(q, add(arc, spread(inner, a + m)))
                r = maximum(r, add(arc, spread(inner, b + m)))
                s = maximum(s, add(arc, spread(inner, c + m)))
            if len(headed):
                at = source + WIDTH * block
                p = add(p, load(headed, at + first * step))
                q = add(q, load(headed, at + second * step))
                r = add(r, load(headed, at + third * step))
                s = add(s, load(headed, at + last * step))
            at = block * plane + row
            # Only in the block of i can a lane lie inside the span: those keep what they have.
            p = between(WIDTH * block, i + 1, n + 1, load(x, at + WIDTH * first), p) if block < own else p
            q = between(WIDTH * block, i + 1, n + 1, load(x, at + WIDTH * second), q) if block < own else q
            r = between(WIDTH * block, i + 1, n + 1, load(x, at + WIDTH * third), r) if block < own else r
            s = between(WIDTH * block, i + 1, n + 1, load(x, at + WIDTH * last), s) if block < own else s
            store(x, at + WIDTH * first, p)
            store(x, at + WIDTH * second, q)
            store(x, at + WIDTH * third, r)
            store(x, at + WIDTH * last, s)
        block += 1
        if block == before and block <= own:
            block = own + 1


@inlined
def _push(n, i, first, last, x):
    """x[i, j] = max(x[i, j], x[i, k] + x[k, j]) for the spans (i, k) of a finished tile and every j after it."""
    plane = WIDTH * (n * (n + 1) // 2)
    row = WIDTH * _row(n, i)
    # A tile of fewer than four spans takes the last one again, which changes no maximum.
    second, third = min(first + 1, last), min(first + 2, last)
    p_row, q_row = WIDTH * _row(n, first), WIDTH * _row(n, second)
    r_row, s_row = WIDTH * _row(n, third), WIDTH * _row(n, last)
    for block in range((i + 1) // WIDTH, n // WIDTH + 1):
        base = block * plane
        p = load(x, base + row + WIDTH * first)
        q = load(x, base + row + WIDTH * second)
        r = load(x, base + row + WIDTH * third)
        s = load(x, base + row + WIDTH * last)
        for j in range(max(last + 1, WIDTH * block), n + 1):
            at = base + WIDTH * j
            best = add(p, load(x, at + p_row))
            best = maximum(best, add(q, load(x, at + q_row)))
            best = maximum(best, add(r, load(x, at + r_row)))
            best = maximum(best, add(s, load(x, at + s_row)))
            if first > i + 1:
                best = maximum(best, load(x, at + row))
            store(x, at + row, best)


@inlined
def _value(x, n, i, j, h):
    return x[WIDTH * (h // WIDTH * (n * (n + 1) // 2) + _row(n, i) + j) + h % WIDTH]


@inlined
def _modifier(x, arc, size, n, i, j, h):
    """The word of (i, j] that attaches to h best (the first of equals), 0 where none may."""
    best, found = MINUS_INFINITY, 0
    for m in range(i + 1, j + 1):
        value = _value(x, n, i, j, m) + arc[m * size + h]
        if value > best:
            best, found = value, m
    return found


@inlined
def _trace(span, arc, size, headed, packed, n, x, stack, heads, rows, score):
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
        if len(headed):
            source, step = _headed_row(size, packed, n, i)
            total += np.float64(headed[source + j * step + h])
        if j == i + 1:
            continue
        best, split = MINUS_INFINITY, i + 1
        for k in range(i + 1, j):
            value = _value(x, n, i, k, h) + _value(x, n, k, j, h)
            if value > best:
                best, split = value, k
        low, high = (split, j) if h <= split else (i, split)
        modifier = _modifier(x, arc, size, n, low, high, h)
        heads[modifier] = h
        total += np.float64(arc[modifier * size + h])
        if len(headed):
            source, step = _headed_row(size, packed, n, low)
            total += np.float64(headed[source + high * step + h])
        stack[top, 0], stack[top, 1], stack[top, 2] = split, j, h if h > split else modifier
        stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = i, split, h if h <= split else modifier
        top += 2
    score[0] = total
    return 0
