# mypy: allow-untyped-defs
"""Eisner-Satta's chart and the three steps that fill it, for the best tree and for sums over all trees.

One chart holds the whole search. x[i, j, h] is the value of span (i, j]: with h inside, the headed span,
the trees below it whose head word is h; with h outside, the hooked span, those trees once their head word has been
attached to h. For h in (i, j] exactly one part of a split contains h, so one formula serves both directions:

    x[i, j, h] = s_c(i, j) (+ s(i, j, h)) + max over k of x[i, k, h] + x[k, j, h]         h inside
    x[i, j, h] = max over m in (i, j] of x[i, j, m] + s_d(m, h) (+ s(i, j, h))            h outside

Arithmetic. In a float32 chart values are scores: `combine` takes the greater, `extend` adds. In a float64 chart they
are exponentials of scores: `combine` adds, `extend` multiplies. The type of the chart chooses.

Order. The row of spans that begin at i is computed from i = n-1 down to 0, in tiles of four spans (i, j) with
neighbouring ends j. When a tile is finished, its four spans are pushed at once as left parts into every later
span of the row: x[i, j] is combined with x[i, k] x[k, j] for the four k. So four values sit in
registers while j runs, and both operands are read along contiguous memory; combining in order of width with a
mirrored triangle would read two values for each addition, this reads five for four.

Layout. Heads stand in blocks of eight lanes (see `vectors`), and the chart is one plane for each block: in plane
h // 8 the spans (i, j), i < j only, follow each other row by row, eight numbers each. A tile ends before a multiple
of four, so its ends lie in one block of heads. Lanes that a span has no use for yet hold values that
nobody reads: inside lanes are computed by blocks, and hooking then writes the lanes outside. Lane 0, the root,
is never hooked: the root arc is added once, to the whole sentence.

The functions share these arguments:

    attach   [(n + 1) * stride]: attach[m, h], the arcs' scores
    inner    [4 * stride]: the values of a tile's spans with h inside, `nothing` elsewhere
    headed   second-order scores, those of (i, j, h) at source + j * step + h; None at first order
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from arcspan.decoding.kernels.compile import inlined
from arcspan.decoding.kernels.vectors import (
    WIDTH,
    Lanes,
    between,
    call_llvm,
    constant,
    greater,
    lane_by_lane,
    load,
    splat,
    spread,
    store,
)


def _is_sum(vector: Any) -> bool:
    return bool(vector.type.element == ir.DoubleType())


extend = lane_by_lane(
    lambda builder, a, b: builder.fmul(a, b) if _is_sum(a) else builder.fadd(a, b),
    "The value of two parts together.",
)


@intrinsic
def combine(typingctx: Any, value: Any, a: Any, b: Any) -> Any:
    """A value, or the parts a and b together: the greater, or the sum."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, a, b = args
        if _is_sum(a):
            return call_llvm(builder, "fmuladd", a, b, value)
        return greater(builder, value, builder.fadd(a, b))

    return value(value, value, value), codegen


def _neutral(best: float, total: float, doc: str) -> Any:
    """An intrinsic that gives one number in all lanes, by the type of the chart."""

    def operation(typingctx: Any, x: Any) -> Any:
        kind = Lanes(x.dtype)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return constant(kind.llvm, best if x.dtype == types.float32 else total)

        return kind(x), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


nothing = _neutral(float("-inf"), 0.0, "The value of no tree, in all lanes.")
unscored = _neutral(0.0, 1.0, "The value of a tree without scores, in all lanes.")


@inlined
def stride_of(n):
    """The numbers in a row of heads 0..n: whole blocks."""
    return WIDTH * (n // WIDTH + 1)


@inlined
def plane_size(n):
    """The numbers in a plane of the chart: eight heads of every span."""
    return WIDTH * (n * (n + 1) // 2)


@inlined
def chart_size(n):
    """The numbers in a chart."""
    return plane_size(n) * (n // WIDTH + 1)


@inlined
def first_of_row(n, i):
    """Where the row of spans that begin at i stands in a plane: span (i, j) is WIDTH * j further."""
    return WIDTH * (i * n - i * (i + 1) // 2 - 1)


@inlined
def place(n, i, j, h):
    """Where x[i, j, h] stands."""
    return h // WIDTH * plane_size(n) + first_of_row(n, i) + WIDTH * j + h % WIDTH


@inlined
def finish(score, headed, source, step, n, i, first, j, x, attach, inner):
    """Headed span (i, j), all heads, from what was pushed and the splits within the tile; then hook its end's block."""
    stride = stride_of(n)
    plane = plane_size(n)
    row = first_of_row(n, i)
    mine = (j - first) * stride
    own = j // WIDTH
    value = nothing(x)
    for block in range((i + 1) // WIDTH, own + 1):
        base = block * plane
        if j == i + 1:
            value = unscored(x)
        elif first == i + 1:
            value = nothing(x)
        else:
            value = load(x, base + row + WIDTH * j)
        for k in range(first, j):
            value = combine(
                value, load(x, base + row + WIDTH * k), load(x, base + first_of_row(n, k) + WIDTH * j)
            )
        value = extend(value, splat(score))
        if headed is not None:
            value = extend(value, load(headed, source + j * step + WIDTH * block))
        store(x, base + row + WIDTH * j, value)
        store(inner, mine + WIDTH * block, between(WIDTH * block, i + 1, j + 1, value, nothing(x)))
    hooked = nothing(x)
    for m in range(i + 1, j + 1):
        hooked = combine(hooked, spread(inner, mine + m), load(attach, m * stride + WIDTH * own))
    if headed is not None:
        hooked = extend(hooked, load(headed, source + j * step + WIDTH * own))
    store(x, own * plane + row + WIDTH * j, between(WIDTH * own, i + 1, j + 1, value, hooked))


@inlined
def hook(headed, source, step, n, i, first, last, x, attach, inner):
    """Hook the four spans of a tile to the words of every block but the one that holds their ends."""
    stride = stride_of(n)
    plane = plane_size(n)
    row = first_of_row(n, i)
    own = first // WIDTH
    # A tile of fewer than four spans does the last one again.
    second, third = min(first + 1, last), min(first + 2, last)
    a, b, c = (second - first) * stride, (third - first) * stride, (last - first) * stride
    # Blocks with a word at or before i, then blocks with a word after the tile.
    before = i // WIDTH + 1 if i > 0 else 0
    block = 0 if before > 0 else own + 1
    while block < n // WIDTH + 1:
        if block != own:
            p = nothing(x)
            q = p
            r = p
            s = p
            for m in range(i + 1, last + 1):
                arc = load(attach, m * stride + WIDTH * block)
                p = combine(p, arc, spread(inner, m))
                q = combine(q, arc, spread(inner, a + m))
                r = combine(r, arc, spread(inner, b + m))
                s = combine(s, arc, spread(inner, c + m))
            at = block * plane + row
            for_head = source + WIDTH * block
            _store_hooked(headed, for_head + first * step, n, i, block, own, x, at + WIDTH * first, p)
            _store_hooked(headed, for_head + second * step, n, i, block, own, x, at + WIDTH * second, q)
            _store_hooked(headed, for_head + third * step, n, i, block, own, x, at + WIDTH * third, r)
            _store_hooked(headed, for_head + last * step, n, i, block, own, x, at + WIDTH * last, s)
        block += 1
        if block == before and block <= own:
            block = own + 1


@inlined
def _store_hooked(headed, score, n, i, block, own, x, at, value):
    """Write the hooked values of one span in one block; lanes inside the span, in the block of i, stay as they are."""
    if headed is not None:
        value = extend(value, load(headed, score))
    if block < own:
        value = between(WIDTH * block, i + 1, n + 1, load(x, at), value)
    store(x, at, value)


@inlined
def push(n, i, first, last, x):
    """Combine x[i, j] with x[i, k] and x[k, j] for the spans (i, k) of a finished tile and every j after it."""
    plane = plane_size(n)
    row = first_of_row(n, i)
    # What a tile of fewer than four spans lacks is the last one again, without its trees.
    second, third = min(first + 1, last), min(first + 2, last)
    p_row, q_row = first_of_row(n, first), first_of_row(n, second)
    r_row, s_row = first_of_row(n, third), first_of_row(n, last)
    for block in range((i + 1) // WIDTH, n // WIDTH + 1):
        base = block * plane
        p = load(x, base + row + WIDTH * first)
        q = load(x, base + row + WIDTH * second) if last > first + 1 else nothing(x)
        r = load(x, base + row + WIDTH * third) if last > first + 2 else nothing(x)
        s = load(x, base + row + WIDTH * last) if last > first else nothing(x)
        for j in range(max(last + 1, WIDTH * block), n + 1):
            at = base + WIDTH * j
            value = load(x, at + row) if first > i + 1 else nothing(x)
            value = combine(value, p, load(x, at + p_row))
            value = combine(value, q, load(x, at + q_row))
            value = combine(value, r, load(x, at + r_row))
            value = combine(value, s, load(x, at + s_row))
            store(x, at + row, value)
