"""Eight float32 lanes as a value that compiled code can hold in a register.

LLVM vectorises an innermost loop, and here that is the wrong one: the charts want eight heads side by side and
the loop over splits innermost, with the running maximum in a register. Left to itself the vectoriser also hands
loops of less than 32 steps, which is most of the spans of a sentence, to scalar code. So the kernels say what
they want: `lanes` is a numba type whose values are LLVM vectors, and the functions below are one or two
instructions each, on any processor (LLVM splits or joins registers to fit).

No fast-math flag is needed or used: `maximum` is exactly what the hardware's instruction does, and minus
infinity behaves. Indices are not checked and not wrapped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model

WIDTH = 8
_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
_INTS = ir.VectorType(ir.IntType(32), WIDTH)


class Lanes(types.Type):
    """The numba type of eight float32 side by side."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes(float32 x {WIDTH})")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _FLOATS)


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _FLOATS.as_pointer())


def _splat(builder: Any, value: Any, kind: Any) -> Any:
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(_INTS, [ir.Constant(ir.IntType(32), 0)] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index : index + 8] of a contiguous float32 array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], args[0], args[1]), align=4)

    return lanes(array, types.intp), codegen


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index : index + 8] = value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _address(context, builder, signature.args[0], args[0], args[1]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), codegen


@intrinsic
def splat(typingctx: Any, value: Any) -> Any:
    """The same number in all lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0], _FLOATS)

    return lanes(types.float32), codegen


@intrinsic
def spread(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index] in all lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return _splat(builder, builder.load(builder.gep(data, [args[1]])), _FLOATS)

    return lanes(array, types.intp), codegen


@intrinsic
def add(typingctx: Any, a: Any, b: Any) -> Any:
    """A + b."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return lanes(lanes, lanes), codegen


@intrinsic
def maximum(typingctx: Any, a: Any, b: Any) -> Any:
    """The larger of a and b; b where a is NaN."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return lanes(lanes, lanes), codegen


@intrinsic
def mark_unless_below(typingctx: Any, marks: Any, value: Any, limit: Any) -> Any:
    """1 in the lanes where value is NaN or not below limit, `marks` elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        marks, value, limit = args
        ones = ir.Constant(_FLOATS, [ir.Constant(ir.FloatType(), 1.0)] * WIDTH)
        return builder.select(builder.fcmp_unordered(">=", value, limit), ones, marks)

    return lanes(lanes, lanes, lanes), codegen


@intrinsic
def between(typingctx: Any, first: Any, low: Any, high: Any, inside: Any, outside: Any) -> Any:
    """`inside` in the lanes whose number (first, first + 1, ...) is in [low, high), `outside` elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        int32 = ir.IntType(32)
        first, low, high, inside, outside = args
        numbers = ir.Constant(_INTS, [ir.Constant(int32, lane) for lane in range(WIDTH)])
        start = _splat(builder, builder.trunc(builder.sub(first, low), int32), _INTS)
        size = _splat(builder, builder.trunc(builder.sub(high, low), int32), _INTS)
        return builder.select(builder.icmp_unsigned("<", builder.add(numbers, start), size), inside, outside)

    return lanes(types.intp, types.intp, types.intp, lanes, lanes), codegen


@intrinsic
def largest(typingctx: Any, value: Any) -> Any:
    """The largest of the eight."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        best = builder.extract_element(args[0], ir.Constant(ir.IntType(32), 0))
        for lane in range(1, WIDTH):
            other = builder.extract_element(args[0], ir.Constant(ir.IntType(32), lane))
            best = builder.select(builder.fcmp_ordered(">", other, best), other, best)
        return best

    return types.float32(lanes), codegen


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of array[index]; any index may be asked for."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        int32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, int32, int32, int32])
        function = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), kind)
        builder.call(function, [address, int32(0), int32(3), int32(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


MINUS_INFINITY = np.float32(-np.inf)
