"""A trained model to a bundle: ONNX graphs and JSON that need no torch to run.

Two graphs a model. `score.onnx` reads the encoder's arrays and gives words' vectors, structure scores and
tags; `label.onnx` reads those vectors and the spans and arcs that the search chose, and labels only them.
Weights are kept in half precision and computed with in single precision, or in 8 bits and multiplied as whole
numbers (`quantize`). Either way a sentence's result depends on nothing but the sentence.
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
from arcspan.prediction.inputs import Arrays, Inputs, PieceInputs
from arcspan.prediction.outputs import OUTPUTS, Inventories
from arcspan.runtime.bundle import FORMAT, write_bundle
from arcspan.training.attention import fuse_attention
from arcspan.training.checkpoint import load_parts
from arcspan.training.config import SEGMENTER, Source
from arcspan.training.dev_scores import Say, say_nothing
from arcspan.training.instances import Intake, read_source, style_names, style_number
from arcspan.training.quantize import constants_of, observe, quantize, readers_of
from arcspan.training.starting import LAYOUTS, read_base

PRECISIONS = ("fp16", "fp32", "int8")
_OBSERVED = 64  # sentences of each training treebank that the scales of int8 are taken from,
_LONGEST = 100  # of at most so many words: they fit into one window, without padding
# Numbers that are written into the configuration where a graph does not have them: shares of layers.
_FEW = 64
_EXAMPLES = (
    ("Logic", "plays", "a", "maximal", "role", "here"),
    ("Neuroscience", "matters", "(", "mostly", ")"),
)


class _Graph(nn.Module):
    """A part of a model that is traced by itself; the names are those of what `forward` takes and gives, in order."""

    def __init__(self, model: Model, input_names: list[str], output_names: list[str]) -> None:
        super().__init__()
        self.model, self.input_names, self.output_names = model, input_names, output_names


class ScoreGraph(_Graph):
    """Encoder arrays (and gold tags, and pairs of fenceposts, where the model takes them) to scores."""

    def __init__(self, model: Model) -> None:
        given = list(model.encoder.input_names)
        given += ["gold_tags"] if model.reads_tags else []
        given += ["styles"] if model.inventories.styles else []
        given += ["pair_i", "pair_j"] if "headed" in model.outputs else []
        wanted = [output.name for output in OUTPUTS if output.of in ("structure", "words")]
        super().__init__(
            model, given, ["hidden", *(name for name in wanted if name in model.outputs)]
        )

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        """The outputs of `output_names`."""
        given = dict(zip(self.input_names, arrays, strict=True))
        hidden = self.model.encode(given)
        styled = self.model.add_styles(hidden, given.get("styles"))
        found = {
            "hidden": hidden,
            **self.model.structure_scores(styled, given.get("pair_i"), given.get("pair_j")),
            **self.model.word_scores(styled),
        }
        return tuple(found[name] for name in self.output_names)


class LabelGraph(_Graph):
    """Words' vectors and chosen spans and arcs to scores of labels and relations."""

    def __init__(self, model: Model) -> None:
        given = ["hidden", *(["styles"] if model.inventories.styles else [])]
        given += ["node_b", "node_i", "node_j"] if "label" in model.outputs else []
        given += ["word_b", "word_m", "word_h"] if "relation" in model.outputs else []
        super().__init__(
            model, given, [name for name in ("label", "relation") if name in model.outputs]
        )

    def forward(self, hidden: Tensor, *places: Tensor) -> tuple[Tensor, ...]:
        """The outputs of `output_names`."""
        styles, places = (
            (places[0], places[1:]) if self.model.inventories.styles else (None, places)
        )
        styled = self.model.add_styles(hidden, styles)
        found = self.model.label_scores(styled, list(places[:3]), list(places[-3:]))
        return tuple(found[name] for name in self.output_names)


def export(
    checkpoint: str | os.PathLike[str],
    bundle: str | os.PathLike[str],
    *,
    precision: str = "fp16",
    name: str | None = None,
    replace: bool = False,
    say: Say = say_nothing,
) -> Path:
    """Write the best model of a training run as a bundle; with `replace`, in the place of another one when all is done.

    `say` gets lines about what a fine-tuned model has from the one that it started from.
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
    parts = load_parts(run)
    _, inputs, description, state = next(iter(parts.values()))
    run_config, base = state["config"], read_base(run)
    inventories = Inventories.from_json(description["inventories"])
    decoder = run_config["model"].get("decoder", "")
    if ":" in decoder:  # reading a bundle must not import whatever it names
        say(
            f"decoder: {decoder} is not an entry point of an installed package, so the bundle uses the exact search"
        )
        decoder = ""
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        components = []
        for part, (model, _, _, _) in parts.items():
            prefix = "" if part == "both" else f"{part}-"
            components.append(
                _export_model(model, inputs, work, prefix, precision, run_config["data"])
            )
        config = {
            "format": FORMAT,
            "arcspan": __version__,
            "name": name or run_config.get("name") or target.name,
            **({"version": run_config["version"]} if run_config.get("version") else {}),
            "language": run_config["language"],
            "licence": run_config["licence"],
            "system": run_config["model"]["system"],
            "styles": style_names(run_config.get("styles", {}), inventories),
            "components": components,
            "inventories": description["inventories"],
            "inputs": inputs.to_json(),
            "precision": precision,
            "architecture": description["architecture"],
            "training": _training_summary(run_config),
            "scores": {part: values[3]["dev"] for part, values in parts.items()},
            **({"calibration": base["calibration"]} if base.get("calibration") else {}),
            **({"decoder": decoder} if decoder else {}),
            "search": run_config["model"].get("search", "labelled"),
        }
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
    """Say what a bundle has from the model that its run started from, and what it lacks."""
    if base.get("licence"):
        own, other = config["licence"], base["licence"]
        whose = "the base's" if own == other else f"the base's is {other}: does it allow that?"
        say(f"licence: {own}, {whose}")
    if "calibration" in base:
        say("temperatures of probabilities: the base's; fit them anew with --calibrate")
    language = base.get("language", "")
    if not (run / SEGMENTER / "segmenter.json").is_file():
        say(
            f"no segmenter: the base's, if it has one, is for language {language!r}; raw text is split by rules"
        )


def _export_model(
    model: Model, inputs: Inputs, folder: Path, prefix: str, precision: str, data: Mapping[str, Any]
) -> dict[str, Any]:
    """The graphs of one model; `data` names the treebanks that it was trained on."""
    score, label = ScoreGraph(model).eval(), LabelGraph(model).eval()
    given, places = _example(model, inputs)
    arrays = [given[name] for name in score.input_names]
    seen = _observed(model, inputs, data)
    weights = _to_onnx(score, arrays, folder / f"{prefix}score.onnx", precision, seen)
    with torch.no_grad():
        hidden = score(*arrays)[0]
    places |= {"hidden": hidden, "styles": given["styles"]}
    arrays = [places[name] for name in label.input_names]
    seen = _observed_vectors(score, label, _observed(model, inputs, data))
    weights |= _to_onnx(label, arrays, folder / f"{prefix}label.onnx", precision, seen)
    return {
        **_stored(model, weights),
        "part": model.part,
        "score": f"{prefix}score.onnx",
        "label": f"{prefix}label.onnx",
        "outputs": [*score.output_names, *label.output_names],
        "gold_tags": model.reads_tags,
    }


def _observed(model: Model, inputs: Inputs, data: Mapping[str, Any]) -> Iterator[Arrays]:
    """The score graph's arrays of training sentences, one at a time: some of every treebank, in its own style."""
    names = ScoreGraph(model).input_names
    tag_ids = {tag: number for number, tag in enumerate(model.inventories.tags, 1)}
    for source in (Source(**source) for source in data["train"]):
        pairs = (pair for _, pair in read_source(source, data["mismatch"], Intake()))
        for pair in itertools.islice(pairs, 0, 8 * _OBSERVED, 8):
            if not 1 < len(pair.words) <= _LONGEST:
                continue
            tags = [tag_ids.get(tag, 0) for tag in (pair.constituency or pair.dependencies).tags]
            given = inputs.batch(inputs.prepare([pair.words])) | {
                "gold_tags": np.asarray([[0, *tags, 0]], dtype=np.int64),
                "styles": np.asarray(
                    [style_number(source.styles, model.inventories)], dtype=np.int64
                ),
                "pair_i": np.asarray([0, 0], dtype=np.int64),
                "pair_j": np.asarray([1, 2], dtype=np.int64),
            }
            yield {name: given[name] for name in names}


@torch.no_grad()
def _observed_vectors(
    score: ScoreGraph, label: LabelGraph, batches: Iterator[Arrays]
) -> Iterator[Arrays]:
    """The label graph's arrays of these sentences; all their words count, whichever place is asked about."""
    place = np.zeros(1, dtype=np.int64)
    for arrays in batches:
        hidden = score(*map(torch.from_numpy, arrays.values()))[0]
        given = dict.fromkeys(label.input_names, place) | arrays | {"hidden": hidden.numpy()}
        yield {name: given[name] for name in label.input_names}


def _example(model: Model, inputs: Inputs) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Arrays of two sentences to trace the graphs with; every size that may vary differs from every other."""
    arrays = inputs.batch(inputs.prepare(_EXAMPLES))
    given = {name: torch.from_numpy(array) for name, array in arrays.items()}
    positions = max(map(len, _EXAMPLES)) + 1
    if model.reads_tags:
        given["gold_tags"] = torch.zeros(len(_EXAMPLES), positions + 1, dtype=torch.long)
    given["styles"] = torch.tensor([[0, 0], [0, 0]])
    given["pair_i"], given["pair_j"] = torch.triu_indices(positions, positions, 1)
    places = {
        "node_b": [0, 0, 1],
        "node_i": [0, 1, 2],
        "node_j": [3, 4, 5],
        "word_b": [0, 0, 1, 1],
        "word_m": [1, 2, 3, 4],
        "word_h": [2, 0, 1, 1],
    }
    return given, {name: torch.tensor(values) for name, values in places.items()}


def _to_onnx(
    graph: ScoreGraph | LabelGraph,
    arrays: list[Tensor],
    path: Path,
    precision: str,
    seen: Iterator[Arrays],
) -> dict[str, Any]:
    """Trace a graph with every dimension free but the vectors' own size; returns where its weights are stored.

    The scales of int8 are taken from the arrays in `seen`.
    """
    free = torch.export.Dim.DYNAMIC
    shapes: list[dict[int, Any]] = []
    for name, array in zip(graph.input_names, arrays, strict=True):
        dimensions = array.dim() - 1 if name in ("hidden", "styles") else array.dim()
        shapes.append(dict.fromkeys(range(dimensions), free))
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        program = torch.onnx.export(
            graph,
            tuple(arrays),
            dynamo=True,
            input_names=graph.input_names,
            output_names=graph.output_names,
            dynamic_shapes=(tuple(shapes),)
            if isinstance(graph, ScoreGraph)
            else (shapes[0], tuple(shapes[1:])),
        )
    proto = program.model_proto
    found = _find_weights(graph.model, proto.graph)
    if isinstance(graph.model.encoder, PretrainedEncoder):
        fuse_attention(proto, graph.model.encoder.pretrained.config.num_attention_heads)
    renamed = quantize(proto, observe(proto, seen)) if precision == "int8" else {}
    if precision == "fp16":
        _halve(proto)
    del proto.metadata_props[:]
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.save(proto, str(path))
    kind = path.stem.rpartition("-")[2]
    return {
        name: f"{kind} {layout} {renamed.get(own, own)}" for name, (layout, own) in found.items()
    }


def _find_weights(model: Model, graph: Any) -> dict[str, tuple[str, str]]:
    """For each weight of a model that a graph has: its layout there, and its name, which the exporter may change."""
    constants: dict[int, list[tuple[str, np.ndarray]]] = {}
    for name, value in constants_of(graph).items():
        constants.setdefault(value.size, []).append((name, value))
    found = {}
    for name, weight in model.state_dict().items():
        own = weight.detach().cpu().numpy()
        for other, value in constants.get(own.size, []):
            for layout, restore in LAYOUTS.items():
                if name not in found and np.array_equal(restore(value, own.shape), own):
                    found[name] = layout, other
    return found


def _stored(model: Model, weights: dict[str, Any]) -> dict[str, Any]:
    """What training from a bundle needs to find its weights; nothing where one was lost, as those of LSTMs are."""
    for name, weight in model.state_dict().items():
        if name not in weights and weight.numel() <= _FEW:
            weights[name] = weight.tolist()
    if not weights.keys() >= model.state_dict().keys():
        return {}
    moved = {
        name: own for name, own in weights.items() if not str(own).endswith(f" same model.{name}")
    }
    return {"weights": moved}


def _halve(proto: Any) -> None:
    """Keep large weights in half precision; the runtime widens them when it loads the graph.

    A table that is only looked up is widened after the look-up, so that it stays small in memory.
    """
    graph = proto.graph
    users = readers_of(graph)
    casts = []
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < 256:
            continue
        values = numpy_helper.to_array(tensor)
        if np.abs(values).max(initial=0) > np.finfo(np.float16).max:
            continue
        wide, narrow = tensor.name, f"{tensor.name}.half"
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), narrow))
        readers = users.get(wide, [])
        if readers and all(node.op_type == "Gather" and node.input[0] == wide for node in readers):
            for node in readers:
                result = node.output[0]
                node.input[0], node.output[0] = narrow, f"{result}.half"
                place = list(graph.node).index(node)
                cast = helper.make_node("Cast", [f"{result}.half"], [result], to=TensorProto.FLOAT)
                graph.node.insert(place + 1, cast)
        else:
            casts.append(helper.make_node("Cast", [narrow], [wide], to=TensorProto.FLOAT))
    for cast in reversed(casts):
        graph.node.insert(0, cast)
    del graph.value_info[:]


def _training_summary(config: dict[str, Any]) -> dict[str, Any]:
    """What the model was trained on and how, without local folders."""
    data = dict(config["data"])
    root = data.pop("root", "")
    for split in ("train", "dev", "test"):
        for source in data[split]:
            for key in filter(source.get, ("brackets", "conll")):
                inside = os.path.relpath(source[key], root) if root else ".."
                source[key] = Path(source[key]).name if inside.startswith("..") else inside
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
