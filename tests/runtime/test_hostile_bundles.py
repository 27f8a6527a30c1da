"""Bundles and names of models from others: nothing runs without an end, nothing goes to the network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from arcspan.errors import BundleError, ConfigError
from arcspan.onnx import refuse_subgraphs
from arcspan.prediction.inputs import Arrays
from arcspan.prediction.outputs import Inventories
from arcspan.runtime import bundle as bundles
from arcspan.runtime.bundle import MODELS, SEGMENTER, checksum, find_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.runtime.schema import check
from arcspan.runtime.session import Session
from arcspan.segmenting import Segmenter


def sign(folder: Path) -> Path:
    """Write the checksums of a bundle anew, as somebody who changes it would."""
    sums = {file.name: checksum(file) for file in folder.iterdir() if file.name != "checksums.json"}
    (folder / "checksums.json").write_text(json.dumps(sums))
    return folder


def loop() -> onnx.NodeProto:
    """A loop of 2^62 rounds that does nothing."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["goes_on"])],
        "body",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, [])],
    )
    return helper.make_node("Loop", ["rounds", ""], [], body=body, name="endless")


def branch() -> onnx.NodeProto:
    """A branch with a loop inside."""
    inner = helper.make_graph([loop()], "inner", [], [])
    return helper.make_node("If", ["condition"], [], then_branch=inner, else_branch=inner)


def scan() -> onnx.NodeProto:
    inner = helper.make_graph([], "inner", [], [])
    return helper.make_node("Scan", ["x"], ["y"], body=inner, num_scan_inputs=1)


@pytest.mark.parametrize("node", [loop, branch, scan])
@pytest.mark.parametrize("name", ["score.onnx", "label.onnx", SEGMENTER[1]])
def test_operators_that_may_never_end_are_refused(
    toy_bundle: Path, tmp_path: Path, name: str, node: Callable[[], onnx.NodeProto]
) -> None:
    """A loop of 2^62 rounds hung."""
    folder = shutil.copytree(toy_bundle, tmp_path / "bundle")
    for file in SEGMENTER:
        shutil.copy2(MODELS / "en" / file, folder / file)
    model = onnx.load(str(folder / name))
    rounds = onnx.numpy_helper.from_array(np.array(2**62), "rounds")
    model.graph.initializer.append(rounds)
    model.graph.node.insert(0, node())
    onnx.save(model, str(folder / name))
    operator = node().op_type
    with pytest.raises(BundleError, match=rf"{name}: its operator {operator} has a graph inside"):
        Segmenter.load(sign(folder)) if name == SEGMENTER[1] else load_predictor(sign(folder))


def test_a_loop_in_a_function_of_the_graph_is_refused() -> None:
    function = helper.make_function("mine", "F", [], [], [loop()], [helper.make_opsetid("", 17)])
    graph = helper.make_graph([helper.make_node("F", [], [], domain="mine")], "g", [], [])
    model = helper.make_model(graph, functions=[function])
    with pytest.raises(BundleError, match="its operator Loop has a graph inside"):
        refuse_subgraphs(model.SerializeToString(), "g.onnx")


def test_no_spelling_of_a_loop_gets_through() -> None:
    """The numbers of fields, and the lengths before them, may be longer than they need."""

    def field(number: int, content: bytes) -> bytes:
        key = number << 3 | 2
        return bytes([key & 0x7F | 0x80, 0x80 | key >> 7, 0, len(content) | 0x80, 0x00]) + content

    node = field(4, b"Loop") + field(5, field(6, field(1, b"")))
    model = b"\x08\x08" + field(7, field(1, node))
    assert onnx.load_from_string(model).graph.node[0].op_type == "Loop"
    with pytest.raises(BundleError, match="its operator Loop"):
        refuse_subgraphs(model, "g.onnx")


@pytest.mark.parametrize("graph", [b"\xff" * 20, b"\x3a\x7f", b"\x3b", b"\x3a\x02\x0a\x05"])
def test_what_is_not_a_graph_is_damaged(graph: bytes) -> None:
    with pytest.raises(BundleError, match=r"g\.onnx: damaged: not an ONNX graph"):
        refuse_subgraphs(graph, "g.onnx")


def test_the_models_inside_the_package_pass() -> None:
    for path in MODELS.glob("*/*.onnx"):
        refuse_subgraphs(path.read_bytes(), path)


@pytest.mark.parametrize(("window", "overlap"), [(3, 1), (3, 128), (512, 256)])
def test_windows_that_would_hardly_move_on_are_refused(window: int, overlap: int) -> None:
    config = json.loads((MODELS / "en" / "config.json").read_text())
    check(config)
    config["inputs"] |= {"window": window, "overlap": overlap}
    most = (window - 2) // 2
    message = rf"inputs\.overlap should be at most {most} for a window of {window}, not {overlap}"
    with pytest.raises(ConfigError, match=message):
        check(config)


@pytest.mark.parametrize("name", ["./a@b", "../a@b", "a/.b@c", ".a/b@c", "a/b@.c", "here/a@b"])
def test_a_path_is_never_a_name_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The network was asked for a model `./a`."""
    fetched: list[tuple[str, str]] = []
    monkeypatch.setattr(bundles, "_fetch", lambda *names: fetched.append(names))
    monkeypatch.chdir(tmp_path)
    # A link that leads nowhere exists, too.
    Path("here").mkdir()
    Path("here/a@b").symlink_to("nowhere")
    assert find_bundle(name) == Path(name)
    assert fetched == []


def test_second_order_scores_of_several_runs_are_those_of_one(toy_bundle: Path) -> None:
    predictor, _ = load_predictor(toy_bundle)
    model = predictor.model
    (session,) = model.scorers
    assert isinstance(session, Session)
    arrays = model.arrays([model.encode(["Logic", "plays", "a", "role", "here", "."])])
    whole = session.score(arrays).headed
    assert whole is not None
    for largest_run in (1, 10_000, 30_000):
        parts = session.score(arrays, largest_run=largest_run).headed
        np.testing.assert_allclose(parts, whole, atol=1e-5)


class PairGraph:
    """A score graph whose second-order scores are the numbers of their pairs; it notes its runs."""

    def __init__(self) -> None:
        self.pairs: list[int] = []

    def run(self, names: list[str], inputs: Arrays, options: object) -> list[np.ndarray]:
        positions = inputs["words"].shape[1] - 1
        i, j = inputs["pair_i"], inputs["pair_j"]
        self.pairs.append(len(i))
        headed = np.broadcast_to((i * positions + j)[None, :, None], (1, len(i), positions))
        return [headed.astype(np.float32) if name == "headed" else np.zeros(1) for name in names]


def test_the_network_needs_little_memory_beside_the_chart_of_a_long_sentence(
    toy_bundle: Path,
) -> None:
    """804 words took 3.2 GB with a limit of 2 GB: a run of 1 GB, and all scores twice."""
    config = json.loads((toy_bundle / "config.json").read_text())
    session = Session(
        toy_bundle, config["components"][0], Inventories.from_json(config["inventories"])
    )
    session.outputs |= {"headed"}
    graph = PairGraph()
    session._graphs = (graph, graph)
    n = 300
    scores = session.score({"words": np.zeros((1, n + 2), np.int64)})
    i, j = np.triu_indices(n + 1, 1)
    assert sum(graph.pairs) == len(i)
    # Vectors of 512 numbers in three steps, and the scores in two.
    assert max(graph.pairs) * 4 * (3 * 512 + 2 * (n + 1)) <= 256 << 20
    assert scores.headed is not None
    assert (scores.headed[0, :, 0] == i * (n + 1) + j).all()
