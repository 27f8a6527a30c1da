"""The int8 form: close to single precision, exact sums, and results that depend on nobody else's
rows.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from arcspan.errors import ConfigError
from arcspan.prediction.inputs import Arrays
from arcspan.prediction.model import ParserModel
from arcspan.prediction.runner import Budget, Predictor
from arcspan.runtime.bundle import read_bundle, write_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.training import quantize as int8
from arcspan.training import read_config, train
from arcspan.training.export import export
from arcspan.training.starting import load_start
from tests.prediction.test_runner import same
from tests.runtime.random_bundles import BUNDLES, sentences
from tests.toy import toy_pairs
from tests.training.test_pretrained import small_bert
from tests.training.test_training import configure

SIZE = 192


def small_graph() -> Any:
    """ids -> table -> a layer with a bias, read by a layer without one; a channel is forty times
    the others.
    """
    draw = np.random.default_rng(1)
    table = draw.normal(size=(800, SIZE)).astype(np.float32)
    table[:, 7] *= 40
    constants = {
        "table": table,
        "first": draw.normal(scale=SIZE**-0.5, size=(SIZE, SIZE)).astype(np.float32),
        "bias": draw.normal(size=SIZE).astype(np.float32),
        "second": draw.normal(scale=SIZE**-0.5, size=(SIZE, SIZE)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("MatMul", ["rows", "first"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["linear"]),
        helper.make_node("Relu", ["linear"], ["active"]),
        helper.make_node("MatMul", ["active", "second"], ["out"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["b", "n"])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["b", "n", SIZE])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def batches(count: int = 40, seed: int = 2) -> list[Arrays]:
    draw = np.random.default_rng(seed)
    return [{"ids": draw.integers(0, 800, (1, 12))} for _ in range(count)]


def run(proto: Any, ids: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (out,) = session.run(["out"], {"ids": ids})
    return out


@pytest.fixture(scope="module")
def both() -> tuple[Any, Any]:
    """A graph and its int8 form."""
    wide, narrow = small_graph(), small_graph()
    int8.quantize(narrow, int8.observe(wide, batches()))
    return wide, narrow


def lost(found: np.ndarray, wanted: np.ndarray) -> float:
    """The share of the signal that is noise."""
    return float(((found - wanted) ** 2).sum() / (wanted**2).sum())


def test_results_are_close_to_those_of_single_precision(both: tuple[Any, Any]) -> None:
    wide, narrow = both
    ids = batches(1, seed=9)[0]["ids"]
    assert 0 < lost(run(narrow, ids), run(wide, ids)) < 2e-3


def test_weights_and_large_tables_take_a_quarter_of_the_room(both: tuple[Any, Any]) -> None:
    wide, narrow = both
    kinds = {tensor.name: tensor.data_type for tensor in narrow.graph.initializer}
    assert kinds["linear.weight"] == kinds["out.weight"] == kinds["table.rows"] == TensorProto.INT8
    assert narrow.ByteSize() < 0.28 * wide.ByteSize()
    onnx.checker.check_model(narrow)


def test_tables_have_fewer_steps_unless_a_channel_dwarfs_the_others(both: tuple[Any, Any]) -> None:
    plain = small_graph()
    (table,) = (tensor for tensor in plain.graph.initializer if tensor.name == "table")
    values = numpy_helper.to_array(table).copy()
    values[:, 7] /= 40
    table.CopyFrom(numpy_helper.from_array(values, "table"))
    int8.quantize(plain, int8.observe(plain, batches()))
    for graph, top in ((plain.graph, 31), (both[1].graph, 127)):
        rows = next(tensor for tensor in graph.initializer if tensor.name == "table.rows")
        assert np.abs(numpy_helper.to_array(rows)).max() == top


def test_no_pair_of_products_leaves_16_bits(both: tuple[Any, Any]) -> None:
    """Processors without VNNI add two products of 8 bits in 16 bits, and saturate."""
    weights = [
        numpy_helper.to_array(tensor).astype(int)
        for tensor in both[1].graph.initializer
        if tensor.name.endswith(".weight")
    ]
    assert len(weights) == 2
    for weight in weights:
        pairs = 255 * (np.abs(weight[::2]) + np.abs(weight[1::2]))
        assert np.abs(weight).max() == int8.TOP
        assert pairs.max() < 2**15


def test_a_row_depends_on_no_other(both: tuple[Any, Any]) -> None:
    ids = np.random.default_rng(3).integers(0, 800, (7, 90))
    together = run(both[1], ids)
    for b, row in enumerate(ids):
        for n in (1, 2, 33, 90):
            assert np.array_equal(run(both[1], row[None, :n])[0], together[b, :n])


def test_weights_come_back_by_the_names_that_quantize_tells(both: tuple[Any, Any]) -> None:
    wide, narrow = int8.constants_of(both[0].graph), small_graph()
    renamed = int8.quantize(narrow, int8.observe(both[0], batches()))
    assert renamed == {"first": "linear.weight", "bias": "bias", "second": "out.weight"}
    found = int8.constants_of(narrow.graph)
    for name in ("table", "first", "second"):
        # Rounding keeps the layer's results, at some cost to single weights.
        assert lost(found[renamed.get(name, name)], wide[name]) < 0.02


def test_rounding_together_loses_less_where_inputs_vary_together() -> None:
    draw = np.random.default_rng(4)
    inputs = draw.normal(size=(500, 8)) @ draw.normal(size=(8, 96)) + 0.1 * draw.normal(
        size=(500, 96)
    )
    weight = draw.normal(scale=3, size=(96, 40))
    together = int8.round_together(weight, np.cov(inputs.T))
    assert np.array_equal(together, np.rint(together))
    assert np.abs(together).max() <= int8.TOP
    error = lost(inputs @ together, inputs @ weight)
    assert error < 0.3 * lost(inputs @ np.rint(weight), inputs @ weight)


def test_what_is_seen_of_rows_is_their_range_mean_and_covariance() -> None:
    draw = np.random.default_rng(6)
    rows = (draw.normal(size=(3, 50, 5)) @ draw.normal(size=(5, 5)) + 1000).astype(np.float32)
    seen = int8.RowStatistics()
    for some in rows:
        seen.add(some[None])
    every = rows.reshape(-1, 5).astype(np.float64)
    assert np.array_equal(seen.low, rows.min((0, 1))) and np.array_equal(
        seen.high, rows.max((0, 1))
    )
    np.testing.assert_allclose(seen.mean, every.mean(0), rtol=1e-6)
    np.testing.assert_allclose(seen.covariance, np.cov(every.T, bias=True), rtol=1e-3, atol=1e-3)


def test_without_a_sentence_there_are_no_scales() -> None:
    with pytest.raises(ConfigError, match="no sentence"):
        int8.observe(small_graph(), [])


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small layers and tables count as large."""
    monkeypatch.setattr(int8, "LEAST_WEIGHTS", 64)
    monkeypatch.setattr(int8, "LEAST_TABLE", 64)


@pytest.mark.usefixtures("everything")
def test_neighbours_order_padding_and_threads_change_nothing(tmp_path: Path) -> None:
    source = BUNDLES / "joint2o"
    config = read_bundle(source)
    predictor = load_predictor(source, Budget(threads=1))[0]
    work = tmp_path / "work"
    work.mkdir()
    for file in source.glob("*.onnx"):
        shutil.copy2(file, work)
    path = work / config["components"][0]["score"]
    proto = onnx.load(str(path))
    pair = {"pair_i": np.asarray([0, 0]), "pair_j": np.asarray([1, 2])}
    short = [words for words in sentences(60, longest=8, seed=3) if len(words) > 1]
    ready = predictor.model.inputs.prepare(
        [words for words in short if "unbelievable" not in words]
    )
    int8.quantize(
        proto,
        int8.observe(proto, ({**predictor.model.inputs.batch([one]), **pair} for one in ready)),
    )
    assert sum(node.op_type == "MatMulIntegerToFloat" for node in proto.graph.node) > 12
    onnx.save(proto, str(path))
    write_bundle(
        work,
        tmp_path / "int8",
        config,
        {"tokenizer.json": (source / "tokenizer.json").read_text("utf-8")},
    )

    words = sentences(300, longest=40, seed=5)  # one word in eighteen has eight pieces
    narrow = load_predictor(tmp_path / "int8", Budget(threads=1))[0]
    together = narrow.predict(words)
    alone = [narrow.predict([one])[0] for one in words]
    backwards = narrow.predict(words[::-1])[::-1]
    wide_batches = load_predictor(tmp_path / "int8", Budget(threads=1, cells=4000))[0].predict(
        words
    )
    threaded = load_predictor(tmp_path / "int8", Budget(threads=3))[0].predict(words)
    for others in (alone, backwards, wide_batches, threaded):
        assert all(same(one, other) for one, other in zip(together, others, strict=True))


@pytest.mark.usefixtures("everything")
def test_a_run_is_exported_and_its_weights_can_be_read_again(tmp_path: Path) -> None:
    path = configure(
        tmp_path,
        toy_pairs(12),
        encoder__kind="pretrained",
        encoder__path=str(small_bert(tmp_path / "bert")),
        encoder__layers=2,
        model__labeller="mlp",
        training__epochs=3,
        training__batch_pieces=30,
    )
    train(read_config(path), say=lambda line: None, bars=False)
    bundle = export(tmp_path / "run", tmp_path / "bundle", precision="int8")
    assert read_bundle(bundle)["precision"] == "int8"
    run, own = load_start(str(tmp_path / "run")), load_start(str(bundle))
    expected, found = run.models["both"].state_dict(), own.models["both"].state_dict()
    assert expected.keys() == found.keys()
    for name, weight in expected.items():
        if name.endswith(".weight") and weight.dim() == 2:
            assert float((found[name] - weight).norm() / weight.norm()) < 0.2, name
    words = [pair.words for pair in toy_pairs(12)]
    in_eight_bits = load_predictor(bundle, Budget(threads=1))[0]
    # Labels that were hardly learnt would add their own noise.
    in_eight_bits.model = replace(in_eight_bits.model, two_stage=True)
    model = ParserModel(list(run.models.values()), run.inputs, run.inventories, two_stage=True)
    in_torch = Predictor(model, Budget(threads=1))
    found_scores = [one.score for one in in_eight_bits.predict(words)]
    wanted = [one.score for one in in_torch.predict(words)]
    assert found_scores == pytest.approx(wanted, rel=0.2, abs=1)  # sums of few, small numbers
