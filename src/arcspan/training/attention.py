"""Attention as one node: what torch exports as a dozen nodes in each layer, onnxruntime has as one kernel.

Replaced is softmax(c Q' (c K')^T + bias) V', where Q', K' and V' are linear layers' rows cut into heads, by
`MultiHeadAttention`; whatever looks different stays as it is. The guard against rows without any key (NaN) goes: every
row has its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from arcspan.training.quantize import readers_of, replace


def fuse_attention(proto: Any, heads: int) -> None:
    """Change a graph whose attention has so many heads."""
    graph = proto.graph
    makers = {output: node for node in graph.node for output in node.output}
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    shapes = {
        value.name: [size.dim_param or size.dim_value for size in value.type.tensor_type.shape.dim]
        for value in graph.value_info
    }
    readers = readers_of(graph)

    def reader(name: str, kind: str) -> Any:
        """The node of a kind that reads a name; None where there is none."""
        return next((node for node in readers.get(name, []) if node.op_type == kind), None)

    def uncut(name: str) -> tuple[str, float]:
        """The rows [B, n, size] that were cut into heads, and the factor they were multiplied by."""
        factor = 1.0
        node = last = makers.get(name)
        while node is not None and node.op_type in ("Mul", "Transpose", "Reshape"):
            if node.op_type == "Mul":
                value = constants.get(node.input[1], np.zeros(2))
                factor *= float(value) if value.size == 1 else np.nan
            last, name = node, node.input[0]
            node = makers.get(name)
        return name, factor if last is not None and last.op_type == "Reshape" else np.nan

    instead = {}
    for softmax in (node for node in graph.node if node.op_type == "Softmax"):
        total = makers[softmax.input[0]]
        product = makers.get(total.input[0]) if total.op_type == "Add" else None
        guarded = reader(softmax.output[0], "Where")
        mixed = reader(guarded.output[0] if guarded else softmax.output[0], "MatMul")
        turned = reader(mixed.output[0], "Transpose") if mixed else None
        joined = reader(turned.output[0], "Reshape") if turned else None
        if product is None or product.op_type != "MatMul" or joined is None:
            continue
        (query, one), (key, other), (value, rest) = map(uncut, [*product.input, mixed.input[1]])
        bias = total.input[1]
        square = len(shape := shapes.get(bias, [])) == 4 and shape[2] == shape[3]
        if square and np.isfinite(one * other) and rest == 1:
            made = joined.output[0]
            inputs = [query, key, value, "", "", bias]
            settings = {"num_heads": heads, "scale": one * other}
            instead[made] = [
                helper.make_node(
                    "MultiHeadAttention", inputs, [made], domain="com.microsoft", **settings
                )
            ]
    if instead:
        replace(proto, instead)
