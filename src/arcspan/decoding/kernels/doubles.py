"""Eight float64 lanes as a value that compiled code can hold in registers: `vectors`, for sums instead of maxima.

Sums of probabilities need the range and the digits of doubles. On AVX2 eight of them are two registers, which is also
what keeps two multiplications in flight. Indices are not checked and not wrapped.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, models, register_model

from arcspan.decoding.kernels.exponential import LN2_HIGH, LN2_LOW, LOG2E, TAYLOR

WIDTH = 8
HUGE = 1e308
_DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
_INT32 = ir.IntType(32)
_INTS = ir.VectorType(_INT32, WIDTH)


class Doubles(types.Type):
    """The numba type of eight float64 side by side."""

    def __init__(self) -> None:
        super().__init__(name=f"Doubles(float64 x {WIDTH})")


doubles = Doubles()


@register_model(Doubles)
class _DoublesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _DOUBLES)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _DOUBLES.as_pointer())


def _splat(builder: Any, value: Any, kind: Any) -> Any:
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_INT32, 0))
    zeros = ir.Constant(_INTS, [ir.Constant(_INT32, 0)] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index : index + 8] of a contiguous float64 array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], args[0], args[1]), align=8)

    return doubles(array, types.intp), codegen


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index : index + 8] = value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _address(context, builder, signature.args[0], args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, doubles), codegen


@intrinsic
def splat(typingctx: Any, value: Any) -> Any:
    """The same number in all lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0], _DOUBLES)

    return doubles(types.float64), codegen


@intrinsic
def spread(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index] in all lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return _splat(builder, builder.load(builder.gep(data, [args[1]])), _DOUBLES)

    return doubles(array, types.intp), codegen


@intrinsic
def multiply(typingctx: Any, a: Any, b: Any) -> Any:
    """The product, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return doubles(doubles, doubles), codegen


@intrinsic
def multiply_add(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Product of a and b, plus c, in one instruction where the processor has it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_DOUBLES, [_DOUBLES] * 3)
        return builder.call(get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f64"), args)

    return doubles(doubles, doubles, doubles), codegen


@intrinsic
def add(typingctx: Any, a: Any, b: Any) -> Any:
    """The sum, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return doubles(doubles, doubles), codegen


@intrinsic
def subtract(typingctx: Any, a: Any, b: Any) -> Any:
    """The difference, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fsub(*args)

    return doubles(doubles, doubles), codegen


@intrinsic
def minimum(typingctx: Any, a: Any, b: Any) -> Any:
    """The smaller of a and b, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return doubles(doubles, doubles), codegen


@intrinsic
def maximum(typingctx: Any, a: Any, b: Any) -> Any:
    """The larger of a and b, lane by lane; b where a is NaN."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return doubles(doubles, doubles), codegen


@intrinsic
def where_above(typingctx: Any, value: Any, floor: Any, chosen: Any, other: Any) -> Any:
    """`chosen` in the lanes where value > floor, `other` elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[2], args[3])

    return doubles(doubles, doubles, doubles, doubles), codegen


@intrinsic
def between(typingctx: Any, first: Any, low: Any, high: Any, inside: Any, outside: Any) -> Any:
    """`inside` in the lanes whose number (first, first + 1, ...) is in [low, high), `outside` elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first, low, high, inside, outside = args
        numbers = ir.Constant(_INTS, [ir.Constant(_INT32, lane) for lane in range(WIDTH)])
        start = _splat(builder, builder.trunc(builder.sub(first, low), _INT32), _INTS)
        size = _splat(builder, builder.trunc(builder.sub(high, low), _INT32), _INTS)
        return builder.select(builder.icmp_unsigned("<", builder.add(numbers, start), size), inside, outside)

    return doubles(types.intp, types.intp, types.intp, doubles, doubles), codegen


@intrinsic
def total(typingctx: Any, value: Any) -> Any:
    """The sum of the eight."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = [builder.extract_element(args[0], ir.Constant(_INT32, lane)) for lane in range(WIDTH)]
        while len(lanes) > 1:
            lanes = [builder.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
        return lanes[0]

    return types.float64(doubles), codegen


@intrinsic
def smallest(typingctx: Any, value: Any) -> Any:
    """The smallest of the eight."""
    return types.float64(doubles), _extreme("<")


@intrinsic
def largest(typingctx: Any, value: Any) -> Any:
    """The largest of the eight."""
    return types.float64(doubles), _extreme(">")


def _extreme(comparison: str) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        best = builder.extract_element(args[0], ir.Constant(_INT32, 0))
        for lane in range(1, WIDTH):
            other = builder.extract_element(args[0], ir.Constant(_INT32, lane))
            best = builder.select(builder.fcmp_ordered(comparison, other, best), other, best)
        return best

    return codegen


@intrinsic
def exponential(typingctx: Any, value: Any) -> Any:
    """The exponential of every lane, for values up to zero: to 13 digits, and zero below -708."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def constant(number: float) -> Any:
            return ir.Constant(_DOUBLES, [ir.Constant(ir.DoubleType(), number)] * WIDTH)

        unary = ir.FunctionType(_DOUBLES, [_DOUBLES])
        floor = get_or_insert_function(builder.module, unary, f"llvm.floor.v{WIDTH}f64")
        ternary = ir.FunctionType(_DOUBLES, [_DOUBLES] * 3)
        fused = get_or_insert_function(builder.module, ternary, f"llvm.fmuladd.v{WIDTH}f64")
        (x,) = args
        in_range = builder.fcmp_ordered(">=", x, constant(-708.0))
        x = builder.select(in_range, x, constant(-708.0))
        k = builder.call(floor, [builder.call(fused, [x, constant(LOG2E), constant(0.5)])])
        r = builder.call(fused, [k, constant(-LN2_HIGH), x])
        r = builder.call(fused, [k, constant(-LN2_LOW), r])
        p = constant(TAYLOR[2])
        for coefficient in TAYLOR[3:]:
            p = builder.call(fused, [p, r, constant(coefficient)])
        longs = ir.VectorType(ir.IntType(64), WIDTH)
        bits = builder.sext(builder.fptosi(k, _INTS), longs)
        bits = builder.add(bits, ir.Constant(longs, [ir.Constant(ir.IntType(64), 1023)] * WIDTH))
        bits = builder.shl(bits, ir.Constant(longs, [ir.Constant(ir.IntType(64), 52)] * WIDTH))
        return builder.select(in_range, builder.fmul(p, builder.bitcast(bits, _DOUBLES)), constant(0.0))

    return doubles(doubles), codegen
