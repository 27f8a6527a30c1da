"""Counters that several threads share, outside the GIL: cells of an int64 array, read and written atomically."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


def _cell(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


@intrinsic
def count(typingctx: Any, counters: Any, index: Any) -> Any:
    """counters[index], which is then one more, in one step that no other thread can divide."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = _cell(context, builder, signature.args[0], *args)
        return builder.atomic_rmw("add", cell, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(counters, types.intp), codegen


@intrinsic
def read(typingctx: Any, counters: Any, index: Any) -> Any:
    """counters[index] as it is now, with all that other threads wrote before they counted it up."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = _cell(context, builder, signature.args[0], *args)
        return builder.atomic_rmw("add", cell, ir.Constant(ir.IntType(64), 0), "seq_cst")

    return types.int64(counters, types.intp), codegen
