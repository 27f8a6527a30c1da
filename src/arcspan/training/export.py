"""Export of a trained model to a bundle: ONNX graphs and JSON that need no torch to run.

A model has two graphs. `score.onnx` reads the encoder's arrays and returns word vectors, structure
scores and tags; `label.onnx` reads those vectors and the spans and arcs that the search chose, and
labels only them. Weights are stored in half precision and computed with in single precision, or in
8 bits and multiplied as whole numbers (`quantize`). Either way the result for a sentence depends on
nothing but the sentence.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from arcspan._version import __version__
from arcspan.errors import BundleError, ConfigError
from arcspan.neural.encoder import PretrainedEncoder
from arcspan.neural.model import Model
from arcspan.parts import EveryPart
from arcspan.prediction.inputs import Arrays, Inputs, PieceInputs
from arcspan.prediction.outputs import OUTPUTS, Inventories
from arcspan.runtime.bundle import FORMAT, write_bundle
from arcspan.training.attention import fuse_attention
from arcspan.training.checkpoint import load_parts
from arcspan.training.config import SEGMENTER, SPLITS, Source
from arcspan.training.dev_scores import Say, say_nothing
from arcspan.training.instances import Intake, read_source, style_names, style_number
from arcspan.training.quantize import constants_of, is_table, observe, quantize, readers_of
from arcspan.training.starting import LAYOUTS, read_base

PRECISIONS = ("fp16", "fp32", "int8")
# The sentences that int8 takes its scales from: every 8th of each training treebank, up to a
# number,
_OBSERVED = 64
_OBSERVED_STEP = 8
# of so many words at most: they fit into one window, without padding.
_LONGEST = 100
# Weights of so few numbers are written into the configuration if a graph lacks them: layers'
# shares.
_FEW = 64
# Smaller constants stay in single precision.
_LEAST_HALVED = 256
# The graphs are traced with these; every size that may vary differs from every other.
_EXAMPLES = (
    ("Logic", "plays", "a", "maximal", "role", "here"),
    ("Neuroscience", "matters", "(", "mostly", ")"),
)
_EXAMPLE_PARTS = {
    "node_b": [0, 0, 1],
    "node_i": [0, 1, 2],
    "node_j": [3, 4, 5],
    "word_b": [0, 0, 1, 1],
    "word_m": [1, 2, 3, 4],
    "word_h": [2, 0, 1, 1],
}


class _Graph(nn.Module):
    """A part of a model that is traced by itself; `forward` takes and returns these, in order."""

    def __init__(self, model: Model, input_names: list[str], output_names: list[str]) -> None:
        super().__init__()
        self.model = model
        self.input_names = input_names
        self.output_names = output_names


class ScoreGraph(_Graph):
    """Encoder arrays to scores.

    Models that take gold tags, styles and pairs of fenceposts read these, too.
    """

    def __init__(self, model: Model) -> None:
        inputs = list(model.encoder.input_names)
        if model.reads_tags:
            inputs.append("gold_tags")
        if model.inventories.styles:
            inputs.append("styles")
        if "headed" in model.outputs:
            inputs += ["pair_i", "pair_j"]
        outputs = ["hidden"]
        for output in OUTPUTS:
            if output.of in ("structure", "words") and output.name in model.outputs:
                outputs.append(output.name)
        super().__init__(model, inputs, outputs)

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs of `output_names`."""
        inputs = dict(zip(self.input_names, arrays, strict=True))
        hidden = self.model.encode(inputs)
        styled = self.model.add_styles(hidden, inputs.get("styles"))
        pairs = inputs.get("pair_i"), inputs.get("pair_j")
        outputs = {
            "hidden": hidden,
            **self.model.structure_scores(styled, *pairs),
            **self.model.word_scores(styled),
        }
        return tuple(outputs[name] for name in self.output_names)


class LabelGraph(_Graph):
    """Word vectors and chosen spans and arcs to scores of labels and relations."""

    def __init__(self, model: Model) -> None:
        inputs = ["hidden"]
        if model.inventories.styles:
            inputs.append("styles")
        if "label" in model.outputs:
            inputs += ["node_b", "node_i", "node_j"]
        if "relation" in model.outputs:
            inputs += ["word_b", "word_m", "word_h"]
        outputs = [output.name for output in OUTPUTS if output.of in ("nodes", "arcs")]
        outputs = [name for name in outputs if name in model.outputs]
        super().__init__(model, inputs, outputs)

    # The exporter derives names of dimensions from this parameter's name: it is part of the files.
    def forward(self, hidden: Tensor, *places: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs of `output_names`."""
        styles, indices = None, list(places)
        if self.model.inventories.styles:
            styles = indices.pop(0)
        styled = self.model.add_styles(hidden, styles)
        # A model of one layer has three arrays, which are both the first and the last.
        outputs = self.model.label_scores(styled, indices[:3], indices[-3:])
        return tuple(outputs[name] for name in self.output_names)


def export(
    checkpoint: str | os.PathLike[str],
    bundle: str | os.PathLike[str],
    *,
    precision: str = "fp16",
    name: str | None = None,
    replace: bool = False,
    trust_parts: bool = False,
    say: Say = say_nothing,
) -> Path:
    """Write the best model of a training run as a bundle.

    With `replace`, an existing bundle is replaced when all is done. `say` gets lines about what a
    fine-tuned model inherits from the one that it started from. With `trust_parts`, parts that
    the run names as `package.module:Name` are imported.
    """
    if precision not in PRECISIONS:
        raise ConfigError(f"precision {precision!r}: choose {', '.join(PRECISIONS)}")
    run, target = Path(checkpoint), Path(bundle)
    if not run.is_dir():
        raise BundleError(f"{run}: no such folder: name the folder of a training run")
    if target.exists() and not (target / "config.json").is_file():
        raise BundleError(f"{target}: exists and is not a bundle; choose another place")
    if target.exists() and not replace:
        raise BundleError(
            f"{target}: a bundle is already here; choose another place, or replace it (--replace)"
        )
    parts = load_parts(run, EveryPart() if trust_parts else ())
    _, inputs, description, state = next(iter(parts.values()))
    run_config, base = state["config"], read_base(run)
    model_settings = run_config["model"]
    inventories = Inventories.from_json(description["inventories"])
    decoder = model_settings.get("decoder", "")
    if ":" in decoder:
        # Reading a bundle must not import whatever it names.
        say(
            f"decoder: {decoder} is not an entry point of an installed package, "
            "so the bundle uses the exact search"
        )
        decoder = ""
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        components = []
        for part, saved in parts.items():
            prefix = "" if part == "both" else f"{part}-"
            components.append(
                _export_model(saved.model, inputs, work, prefix, precision, run_config["data"])
            )
        config = {
            "format": FORMAT,
            "arcspan": __version__,
            "name": name or run_config.get("name") or target.name,
            "version": run_config.get("version"),
            "language": run_config["language"],
            "licence": run_config["licence"],
            "system": model_settings["system"],
            "styles": style_names(run_config.get("styles", {}), inventories),
            "components": components,
            "inventories": description["inventories"],
            "inputs": inputs.to_json(),
            "precision": precision,
            "architecture": description["architecture"],
            "training": _training_summary(run_config),
            "scores": {part: saved.state["dev"] for part, saved in parts.items()},
            "calibration": base.get("calibration"),
            "decoder": decoder,
            "search": model_settings.get("search", "labelled"),
        }
        for optional in ("version", "calibration", "decoder"):
            if not config[optional]:
                del config[optional]
        if base:
            _say_inherited(run, base, config, say)
        texts = {"tokenizer.json": inputs.text} if isinstance(inputs, PieceInputs) else {}
        for file in (run / SEGMENTER).glob("segmenter.*"):
            shutil.copy2(file, work)
        write_bundle(work, target, config, texts)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def _say_inherited(run: Path, base: dict[str, Any], config: dict[str, Any], say: Say) -> None:
    """Say what a bundle inherits from the model that its run started from, and what it lacks."""
    licence, base_licence = config["licence"], base.get("licence")
    if base_licence == licence:
        say(f"licence: {licence}, the base's")
    elif base_licence:
        say(f"licence: {licence}, the base's is {base_licence}: does it allow that?")
    if "calibration" in base:
        say("temperatures of probabilities: the base's; fit them anew with --calibrate")
    if not (run / SEGMENTER / "segmenter.json").is_file():
        say(
            "no segmenter: the base's, if it has one, is for language "
            f"{base.get('language', '')!r}; raw text is split by rules"
        )


def _export_model(
    model: Model, inputs: Inputs, folder: Path, prefix: str, precision: str, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the graphs of one model and return its entry in the configuration.

    data   the data settings of the run that trained it
    """
    score, label = ScoreGraph(model).eval(), LabelGraph(model).eval()
    examples = _example(model, inputs)
    score_arrays = [examples[name] for name in score.input_names]
    score_path, label_path = folder / f"{prefix}score.onnx", folder / f"{prefix}label.onnx"
    observed = _observed(model, inputs, data)
    weights = _to_onnx(score, score_arrays, score_path, precision, observed)
    with torch.no_grad():
        examples["hidden"] = score(*score_arrays)[0]
    label_arrays = [examples[name] for name in label.input_names]
    observed = _observed_vectors(score, label, _observed(model, inputs, data))
    weights |= _to_onnx(label, label_arrays, label_path, precision, observed)
    return {
        **_weight_entries(model, weights),
        "part": model.part,
        "score": score_path.name,
        "label": label_path.name,
        "outputs": [*score.output_names, *label.output_names],
        "gold_tags": model.reads_tags,
    }


def _observed(model: Model, inputs: Inputs, data: Mapping[str, Any]) -> Iterator[Arrays]:
    """Yield the score graph's arrays of training sentences, one sentence at a time."""
    names = ScoreGraph(model).input_names
    tag_ids = {tag: number for number, tag in enumerate(model.inventories.tags, 1)}
    for settings in data["train"]:
        source = Source(**settings)
        style = style_number(source.styles, model.inventories)
        pairs = (pair for _, pair in read_source(source, data["mismatch"], Intake()))
        last = _OBSERVED_STEP * _OBSERVED
        for pair in itertools.islice(pairs, 0, last, _OBSERVED_STEP):
            if not 1 < len(pair.words) <= _LONGEST:
                continue
            tags = [tag_ids.get(tag, 0) for tag in (pair.constituency or pair.dependencies).tags]
            arrays = {
                **inputs.batch(inputs.prepare([pair.words])),
                "gold_tags": np.asarray([[0, *tags, 0]], dtype=np.int64),
                "styles": np.asarray([style], dtype=np.int64),
                # Two pairs are enough: headed scores are no input of a linear layer.
                "pair_i": np.asarray([0, 0], dtype=np.int64),
                "pair_j": np.asarray([1, 2], dtype=np.int64),
            }
            yield {name: arrays[name] for name in names}


@torch.no_grad()
def _observed_vectors(
    score: ScoreGraph, label: LabelGraph, batches: Iterator[Arrays]
) -> Iterator[Arrays]:
    """Yield the label graph's arrays of these sentences."""
    # All words of a sentence count, whichever span and arc is labelled.
    index = np.zeros(1, dtype=np.int64)
    for score_arrays in batches:
        hidden = score(*map(torch.from_numpy, score_arrays.values()))[0]
        arrays = {**score_arrays, "hidden": hidden.numpy()}
        yield {name: arrays.get(name, index) for name in label.input_names}


def _example(model: Model, inputs: Inputs) -> dict[str, Tensor]:
    """Return the arrays of two sentences to trace the graphs with."""
    arrays = inputs.batch(inputs.prepare(_EXAMPLES))
    examples = {name: torch.from_numpy(array) for name, array in arrays.items()}
    positions = max(map(len, _EXAMPLES)) + 1
    if model.reads_tags:
        examples["gold_tags"] = torch.zeros(len(_EXAMPLES), positions + 1, dtype=torch.long)
    examples["styles"] = torch.tensor([[0, 0], [0, 0]])
    examples["pair_i"], examples["pair_j"] = torch.triu_indices(positions, positions, 1)
    for name, indices in _EXAMPLE_PARTS.items():
        examples[name] = torch.tensor(indices)
    return examples


def _to_onnx(
    graph: ScoreGraph | LabelGraph,
    arrays: list[Tensor],
    path: Path,
    precision: str,
    observed: Iterator[Arrays],
) -> dict[str, Any]:
    """Trace a graph, write it, and return where its weights are stored.

    observed   arrays that the scales of int8 are taken from
    """
    proto = _trace(graph, arrays)
    weights = _find_weights(graph.model, proto.graph)
    encoder = graph.model.encoder
    if isinstance(encoder, PretrainedEncoder):
        fuse_attention(proto, encoder.pretrained.config.num_attention_heads)
    renamed = {}
    if precision == "int8":
        renamed = quantize(proto, observe(proto, observed))
    elif precision == "fp16":
        _halve(proto)
    # The exporter notes paths of source files.
    del proto.metadata_props[:]
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.save(proto, str(path))
    graph_name = path.stem.rpartition("-")[2]
    entries = {}
    for name, (layout, constant) in weights.items():
        entries[name] = f"{graph_name} {layout} {renamed.get(constant, constant)}"
    return entries


def _trace(graph: ScoreGraph | LabelGraph, arrays: list[Tensor]) -> Any:
    """Return a graph as ONNX, every dimension variable but the size of vectors."""
    shapes: list[Any] = []
    for name, array in zip(graph.input_names, arrays, strict=True):
        # The last dimension of these is always the same.
        dimensions = array.dim() - 1 if name in ("hidden", "styles") else array.dim()
        shapes.append(dict.fromkeys(range(dimensions), torch.export.Dim.DYNAMIC))
    # As the parameters of `forward`: the starred ones are one tuple.
    dynamic_shapes: tuple[Any, ...] = (tuple(shapes),)
    if isinstance(graph, LabelGraph):
        dynamic_shapes = (shapes[0], tuple(shapes[1:]))
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        program = torch.onnx.export(
            graph,
            tuple(arrays),
            dynamo=True,
            input_names=graph.input_names,
            output_names=graph.output_names,
            dynamic_shapes=dynamic_shapes,
        )
    return program.model_proto


def _find_weights(model: Model, graph: Any) -> dict[str, tuple[str, str]]:
    """Return layout and name of each weight in a graph: the exporter may change both."""
    by_size: dict[int, list[tuple[str, np.ndarray]]] = {}
    for name, constant in constants_of(graph).items():
        by_size.setdefault(constant.size, []).append((name, constant))
    weights: dict[str, tuple[str, str]] = {}
    for name, tensor in model.state_dict().items():
        weight = tensor.detach().cpu().numpy()
        for constant_name, constant in by_size.get(weight.size, []):
            for layout, restore in LAYOUTS.items():
                if name not in weights and np.array_equal(restore(constant, weight.shape), weight):
                    weights[name] = layout, constant_name
    return weights


def _weight_entries(model: Model, weights: dict[str, Any]) -> dict[str, Any]:
    """Return the entry by which training from a bundle finds its weights.

    Nothing is returned if a weight cannot be found in the graphs, as those of LSTMs.
    """
    state = model.state_dict()
    for name, weight in state.items():
        if name not in weights and weight.numel() <= _FEW:
            weights[name] = weight.tolist()
    if not weights.keys() >= state.keys():
        return {}
    # Weights under their own name are not listed.
    return {
        "weights": {
            name: entry
            for name, entry in weights.items()
            if not str(entry).endswith(f" same model.{name}")
        }
    }


def _halve(proto: Any) -> None:
    """Store large weights in half precision; the runtime widens them when it loads the graph.

    A table that is only looked up is widened after the look-up, so that it stays small in memory.
    """
    graph = proto.graph
    all_readers = readers_of(graph)
    casts = []
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < _LEAST_HALVED:
            continue
        values = numpy_helper.to_array(tensor)
        if np.abs(values).max(initial=0) > np.finfo(np.float16).max:
            continue
        wide = tensor.name
        narrow = f"{wide}.half"
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), narrow))
        readers = all_readers.get(wide, [])
        if not readers or not is_table(wide, readers):
            casts.append(helper.make_node("Cast", [narrow], [wide], to=TensorProto.FLOAT))
            continue
        for node in readers:
            output = node.output[0]
            node.input[0] = narrow
            node.output[0] = f"{output}.half"
            cast = helper.make_node("Cast", [node.output[0]], [output], to=TensorProto.FLOAT)
            graph.node.insert(list(graph.node).index(node) + 1, cast)
    for cast in reversed(casts):
        graph.node.insert(0, cast)
    del graph.value_info[:]


def _training_summary(config: dict[str, Any]) -> dict[str, Any]:
    """Return what the model was trained on and how, without local folders."""
    data = dict(config["data"])
    root = data.pop("root", "")
    for split in SPLITS:
        for source in data[split]:
            for key in ("brackets", "conll"):
                if source.get(key):
                    inside = os.path.relpath(source[key], root) if root else ".."
                    is_outside = inside.startswith("..")
                    source[key] = Path(source[key]).name if is_outside else inside
            source["rewrite"] = Path(source.get("rewrite", "")).name
    encoder = dict(config["encoder"])
    if os.path.isabs(encoder.get("path", "")):
        encoder["path"] = "/".join(Path(encoder["path"]).parts[-2:])
    model = dict(config["model"])
    if os.path.isabs(model.get("start", "")):
        model["start"] = Path(model["start"]).name
    return {
        "data": data,
        "encoder": encoder,
        "model": model,
        "training": config["training"],
        "seed": config["seed"],
    }
