"""How threads share the sentences of a batch without the GIL: each takes the next of a list, by an atomic counter."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


@intrinsic
def take_turn(typingctx: Any, taken: Any) -> Any:
    """taken[0], which is then one more, in one step that no other thread can divide."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        cell = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", cell, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(taken), codegen
