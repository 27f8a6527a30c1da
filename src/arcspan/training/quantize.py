"""The int8 form of a graph: linear layers multiply whole numbers, large tables are kept in 8 bits.

The input of a linear layer is brought to 0..255 by factors that were fixed when the model was
exported, so the result for a row depends on that row alone: not on its sentence, its batch or
padding. The weights take -64..64, a scale for each column. 255 * 64 * 2 fits in 16 bits, so sums
are exact on every processor, also where they are made of pairs in 16 bits that saturate (AVX2
without VNNI).

Two things keep the error small, both of them measured on sentences of the training treebanks
(`RowStatistics`):

- Channels that are many times larger than others would leave few steps for these. Each channel is
  divided by a factor, and its weights are multiplied by it (SmoothQuant, Xiao et al., 2023).
- Weights are rounded one input after another, and what is lost is made up for by the inputs that
are
  still to be rounded, as far as they vary together (GPTQ, Frantar et al., 2023). What is lost on
  average is added to the bias.

Attention, products of pairs, normalisation and small layers stay in float.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from arcspan.errors import ConfigError
from arcspan.onnx import import_onnxruntime
from arcspan.prediction.inputs import Arrays

TOP = 64  # the largest weight; see above
# The largest entries of tables: compressed, as in a wheel, they are a quarter smaller with the
# first.
TABLE_TOPS = (31, 127)
TABLE_LOSS = 0.005  # share of the signal that rounding to the first may cost half of the channels
STEPS = 255  # of the input of a layer
LEAST_WEIGHTS = 1 << 15  # smaller layers are not worth the conversion
LEAST_TABLE = 1 << 17
_BLOCK = 64  # rows that are rounded before the rows below are changed
_TOGETHER = 1024  # rows that are multiplied at once
# The shares of the range that smoothing may move from the input to the weights.
STRENGTHS = (0.5, 0.6, 0.7, 0.8, 0.9)
_LEAST_RANGE = 1e-6  # of channels that are always zero


class RowStatistics:
    """Range, mean and covariance of the rows [..., K] that a layer reads."""

    def __init__(self) -> None:
        self.rows = 0
        self.low: Any = np.inf
        self.high: Any = -np.inf
        # Sums are of differences from this row, lest large means swallow small variances.
        self._origin: Any = None
        self._sum: Any = 0.0
        self._products: Any = 0.0
        # Products of many rows at once are faster.
        self._pending: list[np.ndarray] = []

    def add(self, values: np.ndarray) -> None:
        """Count more rows."""
        rows = values.reshape(-1, values.shape[-1])
        self.rows += len(rows)
        self.low = np.minimum(self.low, rows.min(0))
        self.high = np.maximum(self.high, rows.max(0))
        self._pending.append(rows)
        if sum(map(len, self._pending)) >= _TOGETHER:
            self._add_up()

    def _add_up(self) -> None:
        if not self._pending:
            return
        rows = np.concatenate(self._pending)
        self._pending = []
        if self._origin is None:
            self._origin = rows.mean(0)
        rows = rows - self._origin
        self._sum = self._sum + rows.sum(0, dtype=np.float64)
        self._products = self._products + (rows.T @ rows).astype(np.float64)

    @property
    def mean(self) -> np.ndarray:
        """Return the mean row, [K]."""
        self._add_up()
        return np.asarray(self._origin + self._sum / self.rows)

    @property
    def covariance(self) -> np.ndarray:
        """Return the covariance of the channels, [K, K]."""
        self._add_up()
        mean = self._sum / self.rows
        return np.asarray(self._products / self.rows - np.outer(mean, mean))


class InputSteps(NamedTuple):
    """The steps in which an input is counted: round(row / factor / size) + zero, in 0..255."""

    factor: np.ndarray
    size: np.float32
    zero: np.uint8


def linear_layers(graph: Any) -> dict[str, list[Any]]:
    """Return the products with large constant matrices, by the name of their input."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    layers: dict[str, list[Any]] = {}
    for node in graph.node:
        weight = constants.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is not None and len(weight.dims) == 2 and np.prod(weight.dims) >= LEAST_WEIGHTS:
            layers.setdefault(node.input[0], []).append(node)
    return layers


def observe(proto: Any, batches: Iterable[Arrays]) -> dict[str, RowStatistics]:
    """Run a graph and count the rows that its linear layers read; batches are without padding."""
    names = list(linear_layers(proto.graph))
    statistics = {name: RowStatistics() for name in names}
    # A copy of the graph returns the inputs of its layers, too.
    watched = type(proto)()
    watched.CopyFrom(proto)
    watched.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    # One thread: sums are the same on every machine.
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    content = watched.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    for arrays in batches if names else ():
        for name, values in zip(names, session.run(names, arrays), strict=True):
            statistics[name].add(values)
    if not all(layer.rows for layer in statistics.values()):
        raise ConfigError(
            "int8: the training treebanks have no sentence that scales could be taken from"
        )
    return statistics


def quantize(proto: Any, statistics: Mapping[str, RowStatistics]) -> dict[str, str]:
    """Change a graph of single precision to its int8 form.

    Returns the new names of weights by their old ones.

    statistics   as `observe` returns them
    """
    graph = proto.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    readers = readers_of(graph)
    renamed: dict[str, str] = {}
    replacements: dict[str, list[Any]] = {}
    for source, nodes in linear_layers(graph).items():
        steps = _steps(statistics[source], [constants[node.input[1]] for node in nodes])
        factor, size, zero = f"{source}.factor", f"{source}.size", f"{source}.zero"
        smooth, whole_numbers = f"{source}.smooth", f"{source}.whole"
        _add_constant(graph, factor, 1 / steps.factor)
        _add_constant(graph, size, steps.size)
        _add_constant(graph, zero, steps.zero)
        # All products of an input share these, which stand before the first of them.
        preparation = [
            helper.make_node("Mul", [source, factor], [smooth]),
            helper.make_node("QuantizeLinear", [smooth, size, zero], [whole_numbers]),
        ]
        for node in nodes:
            last, old_bias = _bias(node, readers, constants)
            output = last.output[0]
            weight, scale, bias = f"{output}.weight", f"{output}.scale", f"{output}.bias"
            if len(readers.get(old_bias, [])) == 1:
                bias = old_bias
            rounded = _rounded(
                statistics[source],
                steps,
                constants[node.input[1]],
                constants.get(old_bias, np.zeros(1, dtype=np.float32)),
            )
            for name, values in zip((weight, scale, bias), rounded, strict=True):
                _add_constant(graph, name, values)
            product = helper.make_node(
                "MatMulIntegerToFloat",
                [whole_numbers, weight, size, scale, zero, "", bias],
                [output],
                domain="com.microsoft",
            )
            # The addition of the bias goes; if there is none, the product itself is replaced.
            replacements[output] = []
            replacements[node.output[0]] = [*preparation, product]
            preparation = []
            renamed[node.input[1]] = weight
            if old_bias:
                renamed[old_bias] = bias
    replace(proto, {**replacements, **_narrow_tables(graph, constants, readers)})
    return renamed


def constants_of(graph: Any) -> dict[str, np.ndarray]:
    """Return the constants of a graph in single precision, however they are stored."""
    constants = {}
    for tensor in graph.initializer:
        value = numpy_helper.to_array(tensor)
        if value.dtype == np.float16:
            value = value.astype(np.float32)
        constants[tensor.name.removesuffix(".half")] = value
    for node in graph.node:
        if node.op_type == "MatMulIntegerToFloat":
            source, weight, _, scale = node.input[:4]
            factor = constants[f"{source.removesuffix('.whole')}.factor"]
            constants[weight] = constants[weight] * constants[scale] * factor[:, None]
    for name in list(constants):
        if name.endswith(".rows"):
            table = name.removesuffix(".rows")
            constants[table] = constants[name] * constants[f"{table}.row_scales"]
    return constants


def _add_constant(graph: Any, name: str, value: Any) -> None:
    graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))


def _bias(
    node: Any, readers: Mapping[str, list[Any]], constants: Mapping[str, np.ndarray]
) -> tuple[Any, str]:
    """Return the addition of a constant vector to a product, and the vector's name.

    The product itself and "" if something else reads it.
    """
    columns = constants[node.input[1]].shape[1:]
    product_readers = readers.get(node.output[0], [])
    if len(product_readers) == 1 and product_readers[0].op_type == "Add":
        for name in product_readers[0].input:
            if name in constants and constants[name].shape == columns:
                return product_readers[0], name
    return node, ""


def _steps(statistics: RowStatistics, weights: list[np.ndarray]) -> InputSteps:
    """Return the steps of the strength of smoothing with the least error of the products.

    The error is that of plain rounding, before losses are made up for.
    """
    reach = np.maximum(np.maximum(-statistics.low, statistics.high), _LEAST_RANGE)
    weight_reach = np.max([np.abs(weight).max(1) for weight in weights], axis=0)
    weight_reach = np.maximum(weight_reach, _LEAST_RANGE)
    covariance = statistics.covariance.astype(np.float32)
    least_error = np.inf
    for strength in STRENGTHS:
        factor = reach**strength / weight_reach ** (1 - strength)
        factor /= np.exp(np.log(factor).mean())
        low = min(0.0, (statistics.low / factor).min())
        high = max(0.0, (statistics.high / factor).max())
        size = max((high - low) / STEPS, 1e-9)
        error = 0.0
        for weight in weights:
            smooth = weight * factor[:, None]
            scale = _scale(smooth)
            lost = (np.rint(smooth / scale) * scale - smooth) / factor[:, None]
            error += float((lost * (covariance @ lost)).sum() + size**2 / 12 * (smooth**2).sum())
        if error < least_error:
            least_error = error
            zero = np.uint8(round(-low / size))
            best = InputSteps(factor.astype(np.float32), np.float32(size), zero)
    return best


def _scale(weight: np.ndarray) -> np.ndarray:
    """Return the scale of each column; 1 / TOP for a column of zeros."""
    largest = np.abs(weight).max(0)
    return np.where(largest > 0, largest, TOP) / TOP


def _rounded(
    statistics: RowStatistics, steps: InputSteps, weight: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a layer's weights as whole numbers, the scales of their columns, and the bias.

    The bias includes what rounding loses on average.
    """
    smooth = weight.astype(np.float64) * steps.factor[:, None]
    scale = _scale(smooth)
    # Rounding the input adds noise of this variance to each channel, independent of the others.
    noise = np.eye(len(smooth)) * float(steps.size) ** 2 / 12
    covariance = statistics.covariance / np.outer(steps.factor, steps.factor) + noise
    integers = round_together(smooth / scale, covariance)
    lost = (statistics.mean / steps.factor) @ (smooth - integers * scale)
    return integers.astype(np.int8), scale.astype(np.float32), (bias + lost).astype(np.float32)


def round_together(weight: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return whole numbers within TOP for weights [K, N], rounded row by row.

    What rounding a row changes is made up for in the rows below it, by the regression of its input
    on theirs.

    covariance   of the inputs, [K, K]
    """
    weight = weight.copy()
    integers = np.zeros_like(weight)
    # Channels that hardly vary would make the matrix singular.
    damping = np.eye(len(weight)) * 1e-6 * np.trace(covariance) / len(weight)
    upper = np.linalg.cholesky(np.linalg.inv(covariance + damping)).T
    for start in range(0, len(weight), _BLOCK):
        end = min(start + _BLOCK, len(weight))
        lost = np.zeros_like(weight[start:end])
        for row in range(start, end):
            integers[row] = np.clip(np.rint(weight[row]), -TOP, TOP)
            lost[row - start] = (weight[row] - integers[row]) / upper[row, row]
            weight[row + 1 : end] -= np.outer(upper[row, row + 1 : end], lost[row - start])
        # The rows below a block are changed once for all its rows, which is faster.
        weight[end:] -= upper[start:end, end:].T @ lost
    return integers


def _narrow_tables(
    graph: Any, constants: Mapping[str, np.ndarray], readers: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    """Store large tables that are only looked up in 8 bits, a scale for each row.

    Returns the nodes that look up and widen.
    """
    replacements = {}
    for name, nodes in readers.items():
        table = constants.get(name)
        if table is None or table.ndim != 2 or table.size < LEAST_TABLE:
            continue
        if not is_table(name, nodes):
            continue
        largest = np.abs(table).max(1, keepdims=True)
        for top in TABLE_TOPS:
            scale = (np.where(largest > 0, largest, top) / top).astype(np.float32)
            integers = np.rint(table / scale).astype(np.int8)
            lost = ((integers * scale - table) ** 2).sum(0) / np.maximum((table**2).sum(0), 1e-12)
            if np.median(lost) <= TABLE_LOSS:
                break
        rows, scales = f"{name}.rows", f"{name}.row_scales"
        _add_constant(graph, rows, integers)
        _add_constant(graph, scales, scale)
        for node in nodes:
            index, output = node.input[1], node.output[0]
            row, row_scale, row_wide = f"{output}.row", f"{output}.row_scale", f"{output}.row_wide"
            replacements[output] = [
                helper.make_node("Gather", [rows, index], [row]),
                helper.make_node("Gather", [scales, index], [row_scale]),
                helper.make_node("Cast", [row], [row_wide], to=TensorProto.FLOAT),
                helper.make_node("Mul", [row_wide, row_scale], [output]),
            ]
    return replacements


def readers_of(graph: Any) -> dict[str, list[Any]]:
    """Return the nodes of a graph by the names of their inputs."""
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in dict.fromkeys(node.input):
            readers.setdefault(name, []).append(node)
    return readers


def is_table(name: str, readers: Iterable[Any]) -> bool:
    """Return True if its readers only look rows of a constant up."""
    return all(node.op_type == "Gather" and node.input[0] == name for node in readers)


def replace(proto: Any, replacements: Mapping[str, list[Any]]) -> None:
    """Replace nodes, named by their first output, and drop those that nothing reads.

    Of constants of one name, the last one counts.
    """
    graph = proto.graph
    nodes = []
    for node in graph.node:
        nodes += replacements.get(node.output[0], [node])
    used_names = {output.name for output in graph.output}
    used_nodes = []
    for node in reversed(nodes):
        if used_names.intersection(node.output):
            used_names.update(node.input)
            used_nodes.append(node)
    del graph.node[:]
    graph.node.extend(reversed(used_nodes))
    constants = {tensor.name: tensor for tensor in graph.initializer if tensor.name in used_names}
    # A list first: the tensors belong to what is deleted.
    tensors = list(constants.values())
    del graph.initializer[:]
    graph.initializer.extend(tensors)
    # Types and shapes of removed values would be wrong.
    del graph.value_info[:]
    if all(opset.domain != "com.microsoft" for opset in proto.opset_import):
        proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
