"""The eight lanes, one instruction after the other, against numpy."""

from __future__ import annotations

import platform

import numba
import numpy as np
import pytest

from arcspan.decoding.kernels.vectors import (
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

INF = np.inf


@numba.njit
def combine(a, b, out):
    for at in range(0, len(out), 8):
        best = maximum(load(a, at), add(load(a, at), load(b, at)))
        prefetch(a, at + 100)
        store(out, at, maximum(best, add(splat(np.float32(0.5)), spread(b, at))))


@numba.njit
def choose(a, b, first, low, high, out):
    store(out, 0, between(first, low, high, load(a, 0), load(b, 0)))


@numba.njit
def judge(a, limit):
    marks = mark_unless_below(splat(np.float32(0.0)), load(a, 0), splat(limit))
    return largest(marks), largest(load(a, 0))


def test_loads_sums_and_maxima_are_those_of_numpy_minus_infinity_included() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 40)).astype(np.float32)
    a[::3], b[::5] = -INF, -INF
    out = np.empty(40, np.float32)
    combine(a, b, out)
    np.testing.assert_array_equal(
        out, np.maximum(np.maximum(a, a + b), np.repeat(b[::8], 8) + np.float32(0.5))
    )


@pytest.mark.parametrize(
    ("first", "low", "high"), [(0, 0, 8), (8, 10, 12), (8, 0, 11), (16, 18, 40), (8, 30, 40), (0, 3, 3)]
)
def test_lanes_are_chosen_by_their_number(first: int, low: int, high: int) -> None:
    a, b = np.arange(8, dtype=np.float32), -np.arange(8, dtype=np.float32) - 1
    out = np.empty(8, np.float32)
    choose(a, b, first, low, high, out)
    number = first + np.arange(WIDTH)
    np.testing.assert_array_equal(out, np.where((number >= low) & (number < high), a, b))


@pytest.mark.parametrize(("value", "bad"), [(1.0, 0), (-INF, 0), (9.5, 0), (10.0, 1), (INF, 1), (np.nan, 1)])
def test_what_is_not_below_the_limit_is_marked_nan_too(value: float, bad: int) -> None:
    a = np.full(8, -2, np.float32)
    a[5] = value
    marked, most = judge(a, np.float32(10))
    assert marked == bad
    if not np.isnan(value):
        assert most == max(value, -2)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 instructions")
def test_the_machine_code_works_on_whole_vectors() -> None:
    """One packed addition and one packed maximum for eight lanes (or two of four): no scalar code, no comparison."""
    combine(*np.zeros((3, 8), np.float32))
    code = next(iter(combine.inspect_asm().values()))
    loop = code[: code.find("cpython")]
    assert "maxps" in loop and "addps" in loop
    assert "maxss" not in loop and "ucomiss" not in loop
