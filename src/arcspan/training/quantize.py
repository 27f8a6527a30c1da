"""The int8 form of a graph: linear layers multiply whole numbers, large tables are kept in 8 bits.

What a linear layer reads is brought to 0..255 by factors that were fixed when the model was exported, so a row's
result depends on that row alone: not on its sentence, its batch or padding. The weights take -64..64, a scale for
each column. 255 * 64 * 2 fits in 16 bits, so sums are exact on every processor, also where they are made of pairs in
16 bits that saturate (AVX2 without VNNI).

Two things keep the error small, both of them measured on sentences of the training treebanks (`RowStatistics`):

- Channels that are many times larger than others would leave few steps for these. Each channel is divided by a
  factor, and the weights that it meets are multiplied by it (SmoothQuant, Xiao et al., 2023).
- Weights are rounded one input after another, and what is lost is made up for by the inputs that are still to be
  rounded, as far as they vary together (GPTQ, Frantar et al., 2023). What is lost on average goes into the bias.

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
TABLE_TOPS = (
    31,
    127,
)  # of tables: compressed, as in a wheel, they are a quarter smaller with the first
TABLE_LOSS = 0.005  # of the signal, that rounding to the first may cost half of the channels
STEPS = 255  # of what a layer reads
LEAST_WEIGHTS = 1 << 15  # smaller layers are not worth the conversion
LEAST_TABLE = 1 << 17
_BLOCK = 64
_TOGETHER = 1024
# Of smoothing: how much of the range goes from the input to the weights.
STRENGTHS = (0.5, 0.6, 0.7, 0.8, 0.9)


class RowStatistics:
    """What was seen of the rows [..., K] that a layer reads."""

    def __init__(self) -> None:
        self.rows = 0
        self.low: Any = np.inf
        self.high: Any = -np.inf
        # Sums are of differences from this row, lest large means swallow small variances.
        self._near: Any = None
        self._sum: Any = 0.0
        self._products: Any = 0.0
        self._waiting: list[np.ndarray] = []  # products of many rows at once are faster

    def add(self, values: np.ndarray) -> None:
        """Count more rows."""
        rows = values.reshape(-1, values.shape[-1])
        self.rows += len(rows)
        self.low = np.minimum(self.low, rows.min(0))
        self.high = np.maximum(self.high, rows.max(0))
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) >= _TOGETHER:
            self._add_up()

    def _add_up(self) -> None:
        if not self._waiting:
            return
        rows = np.concatenate(self._waiting)
        self._waiting = []
        if self._near is None:
            self._near = rows.mean(0)
        rows = rows - self._near
        self._sum = self._sum + rows.sum(0, dtype=np.float64)
        self._products = self._products + (rows.T @ rows).astype(np.float64)

    @property
    def mean(self) -> np.ndarray:
        """[K]"""
        self._add_up()
        return np.asarray(self._near + self._sum / self.rows)

    @property
    def covariance(self) -> np.ndarray:
        """[K, K]"""
        self._add_up()
        mean = self._sum / self.rows
        return np.asarray(self._products / self.rows - np.outer(mean, mean))


class Steps(NamedTuple):
    """How the rows of an input become whole numbers: round(row / factor / size) + zero, in 0..255."""

    factor: np.ndarray
    size: np.float32
    zero: np.uint8


def linear_layers(graph: Any) -> dict[str, list[Any]]:
    """The products with large constant matrices, by the name of what they read."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    layers: dict[str, list[Any]] = {}
    for node in graph.node:
        weight = constants.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is not None and len(weight.dims) == 2 and np.prod(weight.dims) >= LEAST_WEIGHTS:
            layers.setdefault(node.input[0], []).append(node)
    return layers


def observe(proto: Any, batches: Iterable[Arrays]) -> dict[str, RowStatistics]:
    """Run a graph and look at what its linear layers read; batches are without padding."""
    names = list(linear_layers(proto.graph))
    seen = {name: RowStatistics() for name in names}
    watched = type(proto)()
    watched.CopyFrom(proto)
    watched.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    content = watched.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    for arrays in batches if names else ():
        for name, values in zip(names, session.run(names, arrays), strict=True):
            seen[name].add(values)
    if not all(one.rows for one in seen.values()):
        raise ConfigError(
            "int8: the training treebanks have no sentence that scales could be taken from"
        )
    return seen


def quantize(proto: Any, seen: Mapping[str, RowStatistics]) -> dict[str, str]:
    """Change a graph of single precision to its int8 form; `seen` is what `observe` found.

    Returns the new names of weights by their old ones.
    """
    graph = proto.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    readers = readers_of(graph)
    renamed: dict[str, str] = {}
    instead: dict[str, list[Any]] = {}  # by the name of a node's first output
    for source, nodes in linear_layers(graph).items():
        weights = [constants[node.input[1]] for node in nodes]
        steps = _steps(seen[source], weights)
        parts = ("factor", "smooth", "size", "zero", "whole")
        factor, smooth, size, zero, whole = (f"{source}.{part}" for part in parts)
        values = {
            factor: 1 / steps.factor,
            size: np.asarray(steps.size),
            zero: np.asarray(steps.zero),
        }
        _add_constants(graph, values)
        new = [
            helper.make_node("Mul", [source, factor], [smooth]),
            helper.make_node("QuantizeLinear", [smooth, size, zero], [whole]),
        ]
        for node, weight in zip(nodes, weights, strict=True):
            last, bias = _bias(node, readers, constants)
            result = last.output[0]
            made = _rounded(
                seen[source], steps, weight, constants.get(bias, np.zeros(1, dtype=np.float32))
            )
            own = bias if len(readers.get(bias, [])) == 1 else f"{result}.bias"
            names = f"{result}.weight", f"{result}.scale", own
            _add_constants(graph, dict(zip(names, made, strict=True)))
            inputs = [whole, names[0], size, names[1], zero, "", names[2]]
            product = helper.make_node(
                "MatMulIntegerToFloat", inputs, [result], domain="com.microsoft"
            )
            instead[result] = []
            instead[node.output[0]] = [*new, product]
            new = []
            renamed |= {node.input[1]: names[0], **({bias: own} if bias else {})}
    replace(proto, {**instead, **_narrow_tables(graph, constants, readers)})
    return renamed


def constants_of(graph: Any) -> dict[str, np.ndarray]:
    """The constants of a graph in single precision, whatever they are stored in; int8 weights without their scales."""
    found = {
        tensor.name.removesuffix(".half"): numpy_helper.to_array(tensor)
        for tensor in graph.initializer
    }
    for name, value in found.items():
        if value.dtype == np.float16:
            found[name] = value.astype(np.float32)
    for node in graph.node:
        if node.op_type == "MatMulIntegerToFloat":
            factor = found[f"{node.input[0].removesuffix('.whole')}.factor"]
            found[node.input[1]] = found[node.input[1]] * found[node.input[3]] * factor[:, None]
    for name in [name for name in found if name.endswith(".rows")]:
        table = name.removesuffix(".rows")
        found[table] = found[name] * found[f"{table}.row_scales"]
    return found


def _add_constants(graph: Any, values: Mapping[str, np.ndarray]) -> None:
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in values.items())


def _bias(
    node: Any, readers: Mapping[str, list[Any]], constants: Mapping[str, np.ndarray]
) -> tuple[Any, str]:
    """Where only the addition of a constant vector reads a product: that addition, and the vector's name."""
    columns = constants[node.input[1]].shape[1:]
    users = readers.get(node.output[0], [])
    if len(users) == 1 and users[0].op_type == "Add":
        for name in users[0].input:
            if name in constants and constants[name].shape == columns:
                return users[0], name
    return node, ""


def _steps(seen: RowStatistics, weights: list[np.ndarray]) -> Steps:
    """The strength of smoothing that makes the error of the products smallest, without regard to later mending."""
    reach = np.maximum(np.maximum(-seen.low, seen.high), 1e-6)
    meets = np.maximum(np.max([np.abs(weight).max(1) for weight in weights], axis=0), 1e-6)
    covariance = seen.covariance.astype(np.float32)
    found = []
    for strength in STRENGTHS:
        factor = reach**strength / meets ** (1 - strength)
        factor /= np.exp(np.log(factor).mean())
        low, high = min(0.0, (seen.low / factor).min()), max(0.0, (seen.high / factor).max())
        size = max((high - low) / STEPS, 1e-9)
        error = 0.0
        for weight in weights:
            smooth = weight * factor[:, None]
            scale = _scale(smooth)
            lost = (np.rint(smooth / scale) * scale - smooth) / factor[:, None]
            error += float((lost * (covariance @ lost)).sum() + size**2 / 12 * (smooth**2).sum())
        steps = Steps(factor.astype(np.float32), np.float32(size), np.uint8(round(-low / size)))
        found.append((error, steps))
    return min(found, key=lambda one: one[0])[1]


def _scale(weight: np.ndarray) -> np.ndarray:
    """Of each column; 1 for a column of zeros."""
    largest = np.abs(weight).max(0)
    return np.where(largest > 0, largest, TOP) / TOP


def _rounded(
    seen: RowStatistics, steps: Steps, weight: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A layer's weights as whole numbers, the scales of their columns, and the bias with what is lost on average."""
    smooth = weight.astype(np.float64) * steps.factor[:, None]
    scale = _scale(smooth)
    # Rounding the input adds noise of this variance to each channel, whatever the others do.
    noise = np.eye(len(smooth)) * float(steps.size) ** 2 / 12
    whole = round_together(
        smooth / scale, seen.covariance / np.outer(steps.factor, steps.factor) + noise
    )
    lost = (seen.mean / steps.factor) @ (smooth - whole * scale)
    return whole.astype(np.int8), scale.astype(np.float32), (bias + lost).astype(np.float32)


def round_together(weight: np.ndarray, varies: np.ndarray) -> np.ndarray:
    """Whole numbers within TOP for weights [K, N] of inputs with this covariance [K, K], rounded row by row.

    What rounding a row changes is made up for in the rows below it, by the regression of its input on theirs.
    """
    weight = weight.copy()
    whole = np.zeros_like(weight)
    small = np.eye(len(weight)) * 1e-6 * np.trace(varies) / len(weight)
    upper = np.linalg.cholesky(np.linalg.inv(varies + small)).T
    for begin in range(
        0, len(weight), _BLOCK
    ):  # the rows below a block hear of it once, which is faster
        end = min(begin + _BLOCK, len(weight))
        lost = np.zeros_like(weight[begin:end])
        for row in range(begin, end):
            whole[row] = np.clip(np.rint(weight[row]), -TOP, TOP)
            lost[row - begin] = (weight[row] - whole[row]) / upper[row, row]
            weight[row + 1 : end] -= np.outer(upper[row, row + 1 : end], lost[row - begin])
        weight[end:] -= upper[begin:end, end:].T @ lost
    return whole


def _narrow_tables(
    graph: Any, constants: Mapping[str, np.ndarray], readers: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    """Large tables that are only looked up in 8 bits, a scale for each row; widened after the look-up."""
    instead = {}
    for name, nodes in readers.items():
        table = constants.get(name)
        if table is None or table.ndim != 2 or table.size < LEAST_TABLE:
            continue
        if not all(node.op_type == "Gather" and node.input[0] == name for node in nodes):
            continue
        largest = np.abs(table).max(1, keepdims=True)
        for top in TABLE_TOPS:
            scale = (np.where(largest > 0, largest, top) / top).astype(np.float32)
            whole = np.rint(table / scale).astype(np.int8)
            lost = ((whole * scale - table) ** 2).sum(0) / np.maximum((table**2).sum(0), 1e-12)
            if np.median(lost) <= TABLE_LOSS:
                break
        _add_constants(graph, {f"{name}.rows": whole, f"{name}.row_scales": scale})
        for node in nodes:
            place, result = node.input[1], node.output[0]
            row, row_scale, row_wide = f"{result}.row", f"{result}.row_scale", f"{result}.row_wide"
            instead[result] = [
                helper.make_node("Gather", [f"{name}.rows", place], [row]),
                helper.make_node("Gather", [f"{name}.row_scales", place], [row_scale]),
                helper.make_node("Cast", [row], [row_wide], to=TensorProto.FLOAT),
                helper.make_node("Mul", [row_wide, row_scale], [result]),
            ]
    return instead


def readers_of(graph: Any) -> dict[str, list[Any]]:
    """The nodes of a graph by the names of what they read."""
    readers: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in dict.fromkeys(node.input):
            readers.setdefault(name, []).append(node)
    return readers


def replace(proto: Any, instead: Mapping[str, list[Any]]) -> None:
    """Put other nodes in the place of some, named by their first output, and drop what nothing reads.

    Of constants of one name, the last one counts.
    """
    graph = proto.graph
    nodes = [new for node in graph.node for new in instead.get(node.output[0], [node])]
    used, kept = {output.name for output in graph.output}, []
    for node in reversed(nodes):
        if used.intersection(node.output):
            used.update(node.input)
            kept.append(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))
    constants = list(
        {tensor.name: tensor for tensor in graph.initializer if tensor.name in used}.values()
    )
    del graph.initializer[:]
    graph.initializer.extend(constants)
    del graph.value_info[:]
    if all(opset.domain != "com.microsoft" for opset in proto.opset_import):
        proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
