"""Attention as one graph node: onnxruntime has a kernel for what torch exports as a dozen nodes.

softmax(c Q' (c K')^T + bias) V', where Q', K' and V' are rows of linear layers cut into heads, is
replaced by `MultiHeadAttention`; whatever looks different stays as it is. The guard against rows
without any key (NaN) is dropped: every row attends at least to itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from arcspan.training.quantize import readers_of, replace


class _Graph:
    """A graph whose nodes are found by what they write and what they read."""

    def __init__(self, graph: Any) -> None:
        self.nodes = graph.node
        self.writers = {output: node for node in graph.node for output in node.output}
        self.readers = readers_of(graph)
        self.constants = {
            tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer
        }
        self.shapes = {
            value.name: [size.dim_param or size.dim_value for size in _dimensions(value)]
            for value in graph.value_info
        }

    def reader(self, node: Any, operation: str) -> Any:
        """Return the node with an operation that reads a node's output; None without one."""
        for reader in self.readers.get(node.output[0], []) if node is not None else ():
            if reader.op_type == operation:
                return reader
        return None

    def before_heads(self, name: str) -> tuple[str, float]:
        """Return the rows [B, n, size] that were cut into heads, and the factor applied since.

        The factor is NaN where the operations before the name are others than expected.
        """
        factor = 1.0
        first_operation = ""
        node = self.writers.get(name)
        while node is not None and node.op_type in ("Mul", "Transpose", "Reshape"):
            if node.op_type == "Mul":
                constant = self.constants.get(node.input[1])
                if constant is not None and constant.size == 1:
                    factor *= float(constant)
                else:
                    factor = np.nan
            first_operation = node.op_type
            name = node.input[0]
            node = self.writers.get(name)
        return name, factor if first_operation == "Reshape" else np.nan


def _dimensions(value: Any) -> Any:
    """Return the sizes of a value, numbers or names."""
    return value.type.tensor_type.shape.dim


def fuse_attention(proto: Any, heads: int) -> None:
    """Replace the attention of a graph, which has this number of heads."""
    graph = _Graph(proto.graph)
    replacements = {}
    for softmax in graph.nodes:
        if softmax.op_type != "Softmax":
            continue
        biased = graph.writers[softmax.input[0]]
        product = graph.writers.get(biased.input[0]) if biased.op_type == "Add" else None
        attention = graph.reader(softmax, "Where") or softmax
        mixed = graph.reader(attention, "MatMul")
        joined = graph.reader(graph.reader(mixed, "Transpose"), "Reshape")
        if product is None or product.op_type != "MatMul" or joined is None:
            continue
        query, query_factor = graph.before_heads(product.input[0])
        key, key_factor = graph.before_heads(product.input[1])
        value, value_factor = graph.before_heads(mixed.input[1])
        bias = biased.input[1]
        shape = graph.shapes.get(bias, [])
        # The bias has to be one for each pair of positions: [B, heads or 1, n, n].
        is_square = len(shape) == 4 and shape[2] == shape[3]
        if is_square and np.isfinite(query_factor * key_factor) and value_factor == 1:
            output = joined.output[0]
            node = helper.make_node(
                "MultiHeadAttention",
                [query, key, value, "", "", bias],
                [output],
                domain="com.microsoft",
                num_heads=heads,
                scale=query_factor * key_factor,
            )
            replacements[output] = [node]
    if replacements:
        replace(proto, replacements)
