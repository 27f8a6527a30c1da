"""Eight numbers side by side, float32 or float64, as a value that compiled code can hold in registers.

LLVM vectorises an innermost loop, and here that is the wrong one: the charts want eight heads side by side and
the loop over splits innermost, with the running maximum or sum in a register. Left to itself the vectoriser also hands
loops of less than 32 steps, which is most of the spans of a sentence, to scalar code. So the kernels say what
they want: `Lanes` is a numba type whose values are LLVM vectors, and the functions below are one or two
instructions each, on any processor (LLVM splits or joins registers to fit). The searches use float32, the sums
over trees float64, which has their range and their digits; a function takes either, and not both at once.

No fast-math flag is needed or used: `maximum` is exactly what the hardware's instruction does, and minus
infinity behaves. Indices are not checked and not wrapped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, models, register_model

from arcspan.decoding.kernels.exponential import LN2_HIGH, LN2_LOW, LOG2E, TAYLOR

WIDTH = 8
MINUS_INFINITY = np.float32(-np.inf)

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_INTS, _LONGS = ir.VectorType(_INT32, WIDTH), ir.VectorType(_INT64, WIDTH)


class Lanes(types.Type):
    """The numba type of eight numbers of one type side by side."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.bytes = dtype.bitwidth // 8
        self.llvm = ir.VectorType(ir.FloatType() if dtype == types.float32 else ir.DoubleType(), WIDTH)
        super().__init__(name=f"Lanes({dtype} x {WIDTH})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, fe_type.llvm)


def constant(kind: Any, number: Any) -> Any:
    """A number in all lanes of an LLVM vector type."""
    return ir.Constant(kind, [ir.Constant(kind.element, number)] * WIDTH)


def _cell(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


def _splat(builder: Any, value: Any, kind: Any) -> Any:
    nothing = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(one, nothing, constant(_INTS, 0))


def _lanes(builder: Any, value: Any) -> list[Any]:
    return [builder.extract_element(value, ir.Constant(_INT32, lane)) for lane in range(WIDTH)]


def call_llvm(builder: Any, name: str, *args: Any) -> Any:
    """Call LLVM's own function of that name on vectors."""
    kind = args[0].type
    letters = f"v{WIDTH}f{32 if kind.element == ir.FloatType() else 64}"
    signature = ir.FunctionType(kind, [kind] * len(args))
    return builder.call(get_or_insert_function(builder.module, signature, f"llvm.{name}.{letters}"), args)


def greater(builder: Any, a: Any, b: Any) -> Any:
    """The instructions for the greater of a and b, b where one is NaN."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index : index + 8] of a contiguous array."""
    kind = Lanes(array.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = _cell(context, builder, signature.args[0], *args)
        return builder.load(builder.bitcast(cell, kind.llvm.as_pointer()), align=kind.bytes)

    return kind(array, types.intp), codegen


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index : index + 8] = value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = _cell(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(cell, value.llvm.as_pointer()), align=value.bytes)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), codegen


@intrinsic
def splat(typingctx: Any, value: Any) -> Any:
    """The same number in all lanes."""
    kind = Lanes(types.float32 if value == types.float32 else types.float64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0], kind.llvm)

    return kind(kind.dtype), codegen


@intrinsic
def spread(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index] in all lanes."""
    kind = Lanes(array.dtype)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = _cell(context, builder, signature.args[0], *args)
        return _splat(builder, builder.load(cell), kind.llvm)

    return kind(array, types.intp), codegen


def lane_by_lane(emit: Callable[..., Any], doc: str) -> Any:
    """An intrinsic of two vectors of one type, made by `emit(builder, a, b)`."""

    def operation(typingctx: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return emit(builder, *args)

        return a(a, a), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


add = lane_by_lane(lambda builder, a, b: builder.fadd(a, b), "The sum, lane by lane.")
subtract = lane_by_lane(lambda builder, a, b: builder.fsub(a, b), "The difference, lane by lane.")
multiply = lane_by_lane(lambda builder, a, b: builder.fmul(a, b), "The product, lane by lane.")
maximum = lane_by_lane(greater, "The larger of a and b, lane by lane; b where a is NaN.")
minimum = lane_by_lane(_smaller, "The smaller of a and b, lane by lane; b where a is NaN.")


@intrinsic
def multiply_add(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Product of a and b, plus c, in one instruction where the processor has it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return call_llvm(builder, "fmuladd", *args)

    return a(a, a, a), codegen


@intrinsic
def where_above(typingctx: Any, value: Any, floor: Any, chosen: Any, other: Any) -> Any:
    """`chosen` in the lanes where value > floor, `other` elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[2], args[3])

    return value(value, value, value, value), codegen


@intrinsic
def mark_unless_below(typingctx: Any, marks: Any, value: Any, limit: Any) -> Any:
    """1 in the lanes where value is NaN or not below limit, `marks` elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        high = builder.fcmp_unordered(">=", args[1], args[2])
        return builder.select(high, constant(marks.llvm, 1.0), args[0])

    return marks(marks, marks, marks), codegen


@intrinsic
def between(typingctx: Any, first: Any, low: Any, high: Any, inside: Any, outside: Any) -> Any:
    """`inside` in the lanes whose number (first, first + 1, ...) is in [low, high), `outside` elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first, low, high, inside, outside = args
        numbers = ir.Constant(_INTS, [ir.Constant(_INT32, lane) for lane in range(WIDTH)])
        start = _splat(builder, builder.trunc(builder.sub(first, low), _INT32), _INTS)
        size = _splat(builder, builder.trunc(builder.sub(high, low), _INT32), _INTS)
        return builder.select(builder.icmp_unsigned("<", builder.add(numbers, start), size), inside, outside)

    return inside(types.intp, types.intp, types.intp, inside, inside), codegen


def _of_all(combine: Callable[..., Any], doc: str) -> Any:
    """An intrinsic that makes one number of eight: of pairs, of pairs of pairs, and so on."""

    def operation(typingctx: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            numbers = _lanes(builder, args[0])
            while len(numbers) > 1:
                numbers = [combine(builder, a, b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
            return numbers[0]

        return value.dtype(value), codegen

    operation.__doc__ = doc
    return intrinsic(operation)


total = _of_all(lambda builder, a, b: builder.fadd(a, b), "The sum of the eight.")
smallest = _of_all(_smaller, "The smallest of the eight.")
largest = _of_all(greater, "The largest of the eight.")


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of array[index]; any index may be asked for."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = _cell(context, builder, signature.args[0], *args)
        address = builder.bitcast(cell, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, _INT32, _INT32, _INT32])
        function = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), kind)
        builder.call(function, [address, _INT32(0), _INT32(3), _INT32(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@intrinsic
def exponential(typingctx: Any, value: Any) -> Any:
    """The exponential of every float64 lane, for values up to zero: to 13 digits, and zero below -708."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (x,) = args
        number = lambda value: constant(x.type, value)  # noqa: E731
        in_range = builder.fcmp_ordered(">=", x, number(-708.0))
        x = builder.select(in_range, x, number(-708.0))
        k = call_llvm(builder, "floor", call_llvm(builder, "fmuladd", x, number(LOG2E), number(0.5)))
        r = call_llvm(builder, "fmuladd", k, number(-LN2_HIGH), x)
        r = call_llvm(builder, "fmuladd", k, number(-LN2_LOW), r)
        p = number(TAYLOR[2])
        for coefficient in TAYLOR[3:]:
            p = call_llvm(builder, "fmuladd", p, r, number(coefficient))
        bits = builder.sext(builder.fptosi(k, _INTS), _LONGS)
        bits = builder.shl(builder.add(bits, constant(_LONGS, 1023)), constant(_LONGS, 52))
        return builder.select(in_range, builder.fmul(p, builder.bitcast(bits, x.type)), number(0.0))

    return value(value), codegen
