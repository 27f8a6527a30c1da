"""What threads share outside the GIL: cells of an int64 array, read and written atomically, and addresses in them."""

from __future__ import annotations

import os
import platform
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
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
def look(typingctx: Any, cells: Any, index: Any) -> Any:
    """cells[index] as it is now, with all that the thread who `put` it had written before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_cell(context, builder, signature.args[0], *args), "acquire", 8)

    return types.int64(cells, types.intp), codegen


@intrinsic
def put(typingctx: Any, cells: Any, index: Any, value: Any) -> Any:
    """cells[index] = value, seen by others after all that this thread wrote before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = _cell(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], cell, "release", 8)
        return context.get_dummy_value()

    return types.void(cells, types.intp, types.int64), codegen


@intrinsic
def swap(typingctx: Any, cells: Any, index: Any, old: Any, new: Any) -> Any:
    """If cells[index] is `old`, make it `new`, in one step that no other thread can divide; whether it was."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = _cell(context, builder, signature.args[0], args[0], args[1])
        both = builder.cmpxchg(cell, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(both, 1)

    return types.boolean(cells, types.intp, types.int64, types.int64), codegen


@intrinsic
def breathe(typingctx: Any) -> Any:
    """A moment's pause in a loop that waits; the processor gives its strength to the core's other thread."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine().lower() in ("x86_64", "amd64"):
            nothing = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, nothing, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def step_aside(typingctx: Any) -> Any:
    """Let another thread have this processor, if one is waiting for it and the system has a call for that."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if os.name == "posix":
            number = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, number, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def floats_at(typingctx: Any, address: Any) -> Any:
    """The float32 numbers at an address, for `numba.carray`."""
    return types.misc.CPointer(types.float32)(types.int64), _to_pointer


@intrinsic
def doubles_at(typingctx: Any, address: Any) -> Any:
    """The float64 numbers at an address, for `numba.carray`."""
    return types.misc.CPointer(types.float64)(types.int64), _to_pointer


@intrinsic
def integers_at(typingctx: Any, address: Any) -> Any:
    """The int64 numbers at an address, for `numba.carray`."""
    return types.misc.CPointer(types.int64)(types.int64), _to_pointer


def _to_pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.inttoptr(args[0], context.get_value_type(signature.return_type))
