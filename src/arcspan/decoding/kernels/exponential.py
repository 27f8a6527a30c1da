# mypy: allow-untyped-defs
"""The exponential function in plain arithmetic, which the compiler can turn into vector instructions.

numba calls the C library for `math.exp`, once a number; a polynomial is several times faster in a loop over an array.
"""

from __future__ import annotations

import math

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from arcspan.decoding.kernels.compile import relaxed

# exp(x) = 2**k exp(r) with x = k log(2) + r and |r| <= log(2) / 2; log(2) in two parts, so that r keeps its digits.
LOG2E = 1.0 / math.log(2.0)
LN2_HIGH = 6.93145751953125e-1
LN2_LOW = 1.42860682030941723212e-6
# The Taylor series of exp to the 13th power, the last coefficient first: what is left off is below 5e-17.
TAYLOR = tuple(1.0 / math.factorial(power) for power in range(13, -1, -1))


@intrinsic
def _as_double(typing_context, bits):
    """The double whose bits are those of an int64."""

    def code(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code


@relaxed
def power_of_two(e):
    """2**e for a whole number e up to 1023; zero below -1022."""
    return _as_double((types.int64(types.int32(max(min(e, 1023.0), -1023.0))) + 1023) << 52)


@relaxed
def exp_negative(x):
    """exp(x) for x <= 0, to 1 unit in the 15th digit; 0 below -708, where doubles lose precision."""
    clipped = max(x, -708.0)
    k = math.floor(clipped * LOG2E + 0.5)
    r = (clipped - k * LN2_HIGH) - k * LN2_LOW
    p = TAYLOR[0]
    for coefficient in TAYLOR[1:]:
        p = p * r + coefficient
    value = p * power_of_two(k)
    return value if x >= -708.0 else 0.0
