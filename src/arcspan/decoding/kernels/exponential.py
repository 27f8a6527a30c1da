# mypy: allow-untyped-defs
"""The exponential function, and logarithms of sums, as loops that the compiler can turn into vector instructions.

numba calls the C library for `math.exp`, once a number; a polynomial is several times faster in a loop over an array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_LOG2E = 1.0 / math.log(2.0)
_LN2_HIGH = 6.93145751953125e-1
_LN2_LOW = 1.42860682030941723212e-6


def relaxed(function: Callable[..., Any]) -> Any:
    """A part of a kernel whose sums may be reordered, as vectorising them needs; infinities keep their meaning."""
    return numba.njit(
        function, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract", "nnan", "arcp"}
    )


@intrinsic
def _as_double(typing_context, bits):
    """The double whose bits are those of an int64."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


@intrinsic
def _as_bits(typing_context, value):
    """The bits of a double, as an int64."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), code


@relaxed
def exponent(value):
    """The whole number e with 2**e <= value < 2**(e+1), as a double; for value >= 2**-1022."""
    return types.float64((_as_bits(value) >> 52) - 1023)


@relaxed
def power_of_two(e):
    """2**e for a whole number e up to 1023; zero below -1022."""
    return _as_double((types.int64(types.int32(max(min(e, 1023.0), -1023.0))) + 1023) << 52)


@relaxed
def exp_negative(x):
    """exp(x) for x <= 0, to 1 unit in the 15th digit; 0 below -708, where doubles lose precision."""
    clipped = max(x, -708.0)
    k = math.floor(clipped * _LOG2E + 0.5)
    r = (clipped - k * _LN2_HIGH) - k * _LN2_LOW
    # The Taylor series to the 13th power: |r| <= log(2) / 2, so what is left off is below 5e-17.
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    value = p * power_of_two(k)
    return value if x >= -708.0 else 0.0
