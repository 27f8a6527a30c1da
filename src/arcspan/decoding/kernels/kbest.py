# mypy: allow-untyped-defs
"""The k best lexicalized trees, lazily: Huang & Chiang (2005), their third algorithm, over Eisner-Satta's chart.

An item of the chart is a number: (i, j, h) headed for h inside (i, j], hooked for h outside, and GOAL for the whole
sentence. Its derivations are found one after the other, best first, and only when someone asks for the next one. A
derivation of a headed item is a split with a derivation of each part; of a hooked item or the goal, a modifier with a
derivation of the headed item it is the head of.

Derivations and candidates live in one pool, a row each. Per item there is a list of the derivations found (NEXT) and a
pairing heap of the candidates (CHILD, SIBLING). The first candidates of an item are all its splits with the best parts;
these parts are named FIRST and looked up only if the candidate wins, so that untouched items cost nothing. After a
derivation is taken, its neighbours become candidates: the next right part; and, while the right part is the first one,
the next left part. So each combination is reached once.

With `keys` not empty, two derivations of an item with the same sum of keys are the same to the caller: only the better
one is kept, at every item, so that the number of unseen variants never multiplies up.

A step of the search on one item stops where it needs a derivation of another item first, or room in the pool, and is
taken again later: nothing is changed before it is known to go through. So the recursion is a plain stack of items, and
a full pool can be replaced by a larger one at any time. (numba cannot keep recursive functions on disk.)
"""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.compile import inlined, kernel

GOAL = 0
# Columns of the pool.
ITEM, CHOICE, LEFT, RIGHT, NEXT, CHILD, SIBLING, PUSHED = range(8)
COLUMNS = 8
# Special values in these columns.
NONE, FIRST, LAST, UNKNOWN = -1, -2, -3, -4
# Columns of the items touched.
HEAP, OLDEST, NEWEST, TAKEN = range(4)
# What a step or the whole search says, beside the number of an item that it needs first.
EXHAUSTED, FOUND, NO_ROOM = -1, -2, -3


@kernel
def best_values(span, arc, headed, values):
    """The score of the best derivation of every item: values[i, j, h]; returns the goal's, and whether all is well.

    headed is [pairs, n+1], the rows of spans (i, j), i < j, one after the other, or None for first order.
    """
    size = len(span)
    n = size - 1
    for i in range(n):
        for j in range(i + 1, size):
            if not span[i, j] < np.inf:
                return 0.0, False
            if headed is not None:
                for h in range(1, size):
                    if not headed[packed_row(size, i, j), h] < np.inf:
                        return 0.0, False
    for m in range(1, size):
        for h in range(size):
            if h != m and not arc[m, h] < np.inf:
                return 0.0, False
    for w in range(1, size):
        for i in range(size - w):
            j = i + w
            row = values[i, j]
            for h in range(size):
                row[h] = -np.inf
            if w == 1:
                row[j] = 0.0
            for k in range(i + 1, j):
                left, right = values[i, k], values[k, j]
                for h in range(i + 1, j + 1):
                    value = left[h] + right[h]
                    row[h] = value if value > row[h] else row[h]
            for h in range(i + 1, j + 1):
                row[h] = local(span, headed, i, j, h) + row[h]
            for m in range(i + 1, j + 1):
                for h in range(1, size):
                    if h <= i or h > j:
                        value = row[m] + arc[m, h]
                        row[h] = value if value > row[h] else row[h]
            if headed is not None:
                for h in range(1, size):
                    if h <= i or h > j:
                        row[h] = headed[packed_row(size, i, j), h] + row[h]
    best = -np.inf
    for m in range(1, size):
        best = max(best, values[0, n, m] + arc[m, 0])
    return best, True


@inlined
def packed_row(size, i, j):
    """The number of the pair i < j."""
    return i * (size - 1) - i * (i + 1) // 2 - 1 + j


@inlined
def local(span, headed, i, j, h):
    """The scores that belong to a headed span."""
    return span[i, j] + headed[packed_row(len(span), i, j), h] if headed is not None else span[i, j]


@inlined
def item_number(size, i, j, h):
    """The number of the item (i, j, h)."""
    return (i * size + j) * size + h


@inlined
def before(pool, scores, a, b):
    """Whether candidate a comes before b: the better one, of equals the one with the smaller choice, then the older."""
    if scores[a] != scores[b]:
        return scores[a] > scores[b]
    if pool[a, CHOICE] != pool[b, CHOICE]:
        return pool[a, CHOICE] < pool[b, CHOICE]
    return a < b


@inlined
def meld(pool, scores, a, b):
    """Two pairing heaps made one."""
    if a == NONE:
        return b
    if b == NONE:
        return a
    if before(pool, scores, b, a):
        a, b = b, a
    pool[b, SIBLING] = pool[a, CHILD]
    pool[a, CHILD] = b
    return a


@inlined
def without_root(pool, scores, root):
    """A pairing heap without its first candidate: its children melded in pairs, then the pairs from the last on."""
    waiting = NONE
    child = pool[root, CHILD]
    while child != NONE:
        other = pool[child, SIBLING]
        rest = NONE if other == NONE else pool[other, SIBLING]
        pool[child, SIBLING] = NONE
        if other != NONE:
            pool[other, SIBLING] = NONE
        pair = meld(pool, scores, child, other)
        pool[pair, SIBLING] = waiting
        waiting = pair
        child = rest
    merged = NONE
    while waiting != NONE:
        rest = pool[waiting, SIBLING]
        pool[waiting, SIBLING] = NONE
        merged = meld(pool, scores, merged, waiting)
        waiting = rest
    return merged


@inlined
def push(pool, scores, used, items, touched, item, choice, left, right, score):
    """A new candidate of an item."""
    row = used[0]
    used[0] += 1
    pool[row, ITEM] = item
    pool[row, CHOICE] = choice
    pool[row, LEFT] = left
    pool[row, RIGHT] = right
    pool[row, NEXT] = UNKNOWN
    pool[row, CHILD] = NONE
    pool[row, SIBLING] = NONE
    pool[row, PUSHED] = 0
    scores[row] = score
    mine = touched[item]
    items[mine, HEAP] = meld(pool, scores, items[mine, HEAP], row)


@inlined
def touch(span, arc, headed, values, pool, scores, used, items, touched, item):
    """Give an item its heap, filled with every choice of the best parts; whether there was room."""
    if touched[item] >= 0:
        return True
    size = len(span)
    if used[0] + size > len(pool) or used[1] + 1 > len(items):
        return False
    mine = used[1]
    touched[item] = mine
    used[1] += 1
    items[mine, HEAP] = items[mine, OLDEST] = items[mine, NEWEST] = items[mine, TAKEN] = NONE
    i, j, h = item // (size * size), item // size % size, item % size
    if item == GOAL:
        i, j, h = 0, size - 1, 0
    if i < h <= j:
        if j - i == 1:
            push(pool, scores, used, items, touched, item, 0, NONE, NONE, local(span, headed, i, j, h) + 0.0)
        for k in range(i + 1, j):
            score = local(span, headed, i, j, h) + (values[i, k, h] + values[k, j, h])
            if score > -np.inf:
                push(pool, scores, used, items, touched, item, k, FIRST, FIRST, score)
    else:
        for m in range(i + 1, j + 1):
            score = values[i, j, m] + arc[m, h]
            if headed is not None and item != GOAL:
                score = headed[packed_row(size, i, j), h] + score
            if score > -np.inf:
                push(pool, scores, used, items, touched, item, m, FIRST, NONE, score)
    return True


@kernel
def advance(span, arc, headed, keys, arc_keys, values, pool, scores, sums, used, items, touched):
    """Find the next derivation of the goal and append it to its list."""
    stack = np.empty(2 * len(span) + 2, np.int64)
    stack[0] = GOAL
    top = 1
    while True:
        code = step(
            span,
            arc,
            headed,
            keys,
            arc_keys,
            values,
            pool,
            scores,
            sums,
            used,
            items,
            touched,
            stack[top - 1],
        )
        if code >= 0:
            stack[top] = code
            top += 1
        elif code == NO_ROOM or top == 1:
            return code
        else:
            top -= 1


@inlined
def step(span, arc, headed, keys, arc_keys, values, pool, scores, sums, used, items, touched, item):
    """Find the next derivation of an item and append it to its list, or say which item needs its next one first."""
    if not touch(span, arc, headed, values, pool, scores, used, items, touched, item):
        return NO_ROOM
    size = len(span)
    mine = touched[item]
    i, j, h = item // (size * size), item // size % size, item % size
    if item == GOAL:
        i, j, h = 0, size - 1, 0
    inside = i < h <= j
    while True:
        # The neighbours of what was taken last become candidates: the next left part, then the next right part.
        taken = items[mine, TAKEN]
        while taken != NONE and pool[taken, PUSHED] < 2:
            side = pool[taken, PUSHED]
            choice, left, right = pool[taken, CHOICE], pool[taken, LEFT], pool[taken, RIGHT]
            part = left if side == 0 else right
            if part == NONE or (
                side == 0 and right != NONE and items[touched[pool[right, ITEM]], OLDEST] != right
            ):
                pool[taken, PUSHED] += 1
                continue
            if pool[part, NEXT] == UNKNOWN:
                return pool[part, ITEM]
            following = pool[part, NEXT]
            if following != LAST:
                if used[0] == len(pool):
                    return NO_ROOM
                if side == 0:
                    left = following
                else:
                    right = following
                if inside:
                    score = local(span, headed, i, j, h) + (scores[left] + scores[right])
                else:
                    score = scores[left] + arc[choice, h]
                    if headed is not None and item != GOAL:
                        score = headed[packed_row(size, i, j), h] + score
                push(pool, scores, used, items, touched, item, choice, left, right, score)
            pool[taken, PUSHED] += 1

        row = items[mine, HEAP]
        if row == NONE:
            if items[mine, NEWEST] != NONE:
                pool[items[mine, NEWEST], NEXT] = LAST
            return EXHAUSTED
        # Name the parts of the best candidate, each the best derivation of its item.
        choice = pool[row, CHOICE]
        for side in range(2):
            if pool[row, LEFT + side] == FIRST:
                if not inside:
                    below = item_number(size, i, j, choice)
                elif side == 0:
                    below = item_number(size, i, choice, h)
                else:
                    below = item_number(size, choice, j, h)
                if touched[below] < 0 or items[touched[below], OLDEST] == NONE:
                    return below
                pool[row, LEFT + side] = items[touched[below], OLDEST]
        items[mine, HEAP] = without_root(pool, scores, row)
        items[mine, TAKEN] = row

        # Has the caller seen all that can be seen of it?
        new = True
        if len(keys) > 0:
            total = keys[i, j] if inside else arc_keys[choice, h]
            for side in range(2):
                if pool[row, LEFT + side] != NONE:
                    total += sums[pool[row, LEFT + side]]
            sums[row] = total
            other = items[mine, OLDEST]
            while other != NONE and new:
                new = sums[other] != total
                other = pool[other, NEXT] if other != items[mine, NEWEST] else NONE
        if new:
            if items[mine, NEWEST] == NONE:
                items[mine, OLDEST] = row
            else:
                pool[items[mine, NEWEST], NEXT] = row
            items[mine, NEWEST] = row
            return FOUND


@kernel
def trace(size, pool, row, heads, rows):
    """The tree of a derivation of the goal: heads[m], and its headed spans (i, j, head) in pre-order."""
    heads[pool[row, CHOICE]] = 0
    stack = np.empty(2 * size + 2, np.int64)
    stack[0] = pool[row, LEFT]
    top, found = 1, 0
    while top > 0:
        top -= 1
        row = stack[top]
        item = pool[row, ITEM]
        i, j, h = item // (size * size), item // size % size, item % size
        if h <= i or h > j:
            heads[pool[row, CHOICE]] = h
            stack[top] = pool[row, LEFT]
            top += 1
            continue
        rows[found, 0], rows[found, 1], rows[found, 2] = i, j, h
        found += 1
        if j - i > 1:
            stack[top] = pool[row, RIGHT]
            stack[top + 1] = pool[row, LEFT]
            top += 2
