# mypy: allow-untyped-defs
"""Sums and maxima over the splits of a span, along two rows of charts, eight doubles at a time.

Left to LLVM, such loops begin with a check whether the rows overlap, and as functions of their own with handing over
arrays: that takes longer than the loop, which has some ten steps. Rows are parts of flat arrays that go on for at
least eight numbers after the last: the last block reads them, and leaves them as they are.
"""

from __future__ import annotations

import numpy as np

from arcspan.decoding.kernels.compile import inlined, relaxed
from arcspan.decoding.kernels.vectors import (
    WIDTH,
    add,
    between,
    largest,
    load,
    maximum,
    multiply,
    splat,
    store,
)


@relaxed
def dot(a, b, count):
    """The sum over k < count of a[k] b[k]. No number is written, so LLVM finds the best by itself."""
    gathered = 0.0
    for k in range(count):
        gathered += a[k] * b[k]
    return gathered


@inlined
def share_out(a, at, b, bt, count, factor, into_a, into_b):
    """into_a[at + k] and into_b[bt + k] += factor a[at + k] b[bt + k], for k < count; the two do not overlap."""
    zero = splat(0.0)
    scale = splat(factor)
    for k in range(0, count, WIDTH):
        value = multiply(multiply(load(a, at + k), load(b, bt + k)), scale)
        if k + WIDTH > count:
            value = between(k, 0, count, value, zero)
        store(into_a, at + k, add(load(into_a, at + k), value))
        store(into_b, bt + k, add(load(into_b, bt + k), value))


@inlined
def best_split(a, at, b, bt, hook_a, hook_b, count, least):
    """The greatest of a[at + k] + b[bt + k] + the greater of the same places of two others, and of `least`."""
    bottom = splat(least)
    best = bottom
    for k in range(0, count, WIDTH):
        value = add(
            add(load(a, at + k), load(b, bt + k)), maximum(load(hook_a, at + k), load(hook_b, bt + k))
        )
        if k + WIDTH > count:
            value = between(k, 0, count, value, bottom)
        best = maximum(value, best)
    return largest(best)


@relaxed
def watched(least, value, masked):
    """The least value so far; with masks, zeros are honest and do not count."""
    return least if masked and value == 0.0 else min(least, value)


@inlined
def square(size):
    """A square of zeros, and the flat array that it is a part of, with eight numbers to spare."""
    flat = np.zeros(size * size + WIDTH)
    return flat, flat[: size * size].reshape((size, size))
