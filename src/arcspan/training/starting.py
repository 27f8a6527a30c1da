"""A model to start from: a run, or a bundle, whose weights a new run continues to train on other treebanks.

What the model knows keeps its number and so its rows of weights; what only the new treebanks have is added behind.
A bundle has its weights in ONNX graphs, where the exporter has turned the matrices of linear layers round and taken
their names: a matrix is known by the bias that is added to its product, or else by its size and its place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from arcspan.errors import BundleError, ConfigError
from arcspan.neural.model import Model
from arcspan.neural.settings import EncoderSettings, ModelSettings
from arcspan.prediction.inputs import PieceInputs, WordInputs, inputs_from_json
from arcspan.prediction.outputs import NAMED_OUTPUTS, OUTPUTS, Inventories
from arcspan.runtime.bundle import find_bundle, read_bundle
from arcspan.training.checkpoint import build, load_parts
from arcspan.training.config import Config
from arcspan.training.encoders import make_inputs
from arcspan.training.instances import Sentence
from arcspan.training.quantize import widen

OWN = ("start", "loss", "mlp_dropout", "tags", "rows")  # of the model's settings, those that a run may change
_Settings = TypeVar("_Settings", EncoderSettings, ModelSettings)


@dataclasses.dataclass(frozen=True)
class Start:
    """A trained parser: its models by part (two of SEP), what they read, and how they were made."""

    models: dict[str, Model]
    inputs: PieceInputs | WordInputs
    encoder: EncoderSettings
    architecture: dict[str, Any] | None

    @property
    def inventories(self) -> Inventories:
        """What it can predict."""
        return next(iter(self.models.values())).inventories

    def settle(self, config: Config) -> Config:
        """The configuration with this model's encoder and sizes."""
        settings = next(iter(self.models.values())).settings
        own = {name: getattr(config.model, name) for name in OWN}
        return dataclasses.replace(config, encoder=self.encoder, model=dataclasses.replace(settings, **own))

    def read_also(self, sentences: Sequence[Sentence]) -> PieceInputs | WordInputs:
        """What it reads, for these sentences too: a pretrained encoder as it is; vocabularies of words grow."""
        old, new = self.inputs, None
        if isinstance(old, WordInputs):
            new = make_inputs(self.encoder, sentences)
        if not isinstance(old, WordInputs) or not isinstance(new, WordInputs):
            return old
        return WordInputs(
            list(dict.fromkeys([*old.words, *new.words])),
            list(dict.fromkeys([*old.characters, *new.characters])),
        )

    def give(self, model: Model) -> list[str]:
        """Copy weights into a model whose inventories begin with this one's; returns the names of what is new."""
        old = self.models.get(model.part, next(iter(self.models.values())))
        known, labels = old.state_dict(), len(old.inventories.labels)
        new = []
        for name, weight in model.state_dict().items():
            own = known.get(name)
            if own is None:
                new.append(name)
                continue
            if own.shape[1:] != weight.shape[1:] or len(own) > len(weight):
                raise ConfigError(f"model.start: {name} is {tuple(own.shape)}, not {tuple(weight.shape)}")
            with torch.no_grad():
                if name.startswith("scorers.label.") and own.shape != weight.shape and old.intermediate:
                    # Labels of intermediate nodes stand behind the others, which have become more.
                    begin = len(model.inventories.labels)
                    weight[:labels] = own[:labels]
                    weight[begin : begin + len(old.intermediate)] = own[labels:]
                else:
                    (weight[: len(own)] if own.dim() else weight).copy_(own)
        return new


def load_start(name: str) -> Start:
    """The parser of a run or of a bundle; "en" is the English model inside the package."""
    try:
        folder = find_bundle(name)
    except BundleError as error:
        raise ConfigError(f"model.start: {error}") from None
    if not folder.is_dir():
        raise ConfigError(f'model.start = "{name}": no such folder: name a run, a bundle, or "en"')
    if (folder / "checksums.json").is_file():
        return _from_bundle(folder)
    parts = load_parts(folder)
    _, inputs, description, _ = next(iter(parts.values()))
    return Start(
        {part: model for part, (model, _, _, _) in parts.items()},
        inputs,
        EncoderSettings(**description["encoder"]),
        description["architecture"],
    )


def extended(old: Inventories, new: Inventories) -> Inventories:
    """What the old model knows, by its numbers, and behind it what is new.

    Sentences without a style are of the old model's first one, where it has styles.
    """
    names: dict[str, Any] = {}
    for output in NAMED_OUTPUTS:
        both = [*getattr(old, output.names), *getattr(new, output.names)]
        names[output.names] = tuple(dict.fromkeys(both))
    tags = {*old.seen_lemmas, *new.seen_lemmas}
    names["seen_lemmas"] = {
        tag: {**old.seen_lemmas.get(tag, {}), **new.seen_lemmas.get(tag, {})} for tag in tags
    }
    first = old.styles[:1] or ("",)
    own = [(style, place) for place, style in enumerate(old.styles or first)]
    added = [(style or first[0], place) for place, style in enumerate(new.styles or ("",))]
    styles = tuple(dict.fromkeys(style for style, _ in [*own, *added]))
    if styles == ("",):
        return Inventories(**names)
    unused = {}
    for output in NAMED_OUTPUTS:
        used: dict[str, set[Any]] = {style: set() for style in styles}
        for inventories, places in ((old, own), (new, added)):
            for style, place in places:
                used[style] |= _used(inventories, output, place)
        unused[output.name] = tuple(
            tuple(k for k, name in enumerate(names[output.names]) if name not in used[style] and name != ())
            if used[style] - {()}
            else ()
            for style in styles
        )
    return Inventories(**names, styles=styles, unused=unused)


def _used(inventories: Inventories, output: Any, style: int) -> set[Any]:
    unused = inventories.unused.get(output.name, ())
    without = set(unused[style]) if unused else set()
    return {name for k, name in enumerate(getattr(inventories, output.names)) if k not in without}


def _from_bundle(folder: Path) -> Start:
    config = read_bundle(folder)
    encoder = _settings(EncoderSettings, config["training"]["encoder"])
    if encoder.kind == "lstm":
        raise ConfigError(
            f"model.start: {folder} has an encoder trained from scratch, whose weights cannot be read from a bundle: "
            "name the folder of its training run"
        )
    if not config.get("architecture"):
        raise ConfigError(
            f"model.start: {folder} was exported by arcspan {config.get('arcspan')}, which did not keep the encoder's "
            "architecture: export it anew, or name the folder of its training run"
        )
    tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
    inputs = inputs_from_json(config["inputs"], tokenizer)
    models = {}
    for component in config["components"]:
        description = {
            "part": component["part"],
            "model": dataclasses.asdict(_settings(ModelSettings, config["training"]["model"])),
            "encoder": dataclasses.asdict(encoder),
            "architecture": config["architecture"],
            "inventories": config["inventories"],
        }
        model = build(description, inputs)
        files = [folder / component[name] for name in ("score", "label")]
        model.load_state_dict(_graph_weights(model, files))
        models[model.part] = model.eval()
    return Start(models, inputs, encoder, config["architecture"])


def _settings(kind: type[_Settings], given: dict[str, Any]) -> _Settings:
    """Settings as another version of arcspan wrote them."""
    known = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in given.items() if name in known})


def _graph_weights(model: Model, files: list[Path]) -> dict[str, torch.Tensor]:
    """The weights of a model from its graphs."""
    state = model.state_dict()
    found: dict[str, np.ndarray] = {}
    for file in files:
        graph = onnx.load(str(file)).graph
        widen(graph)
        _read_graph(graph, state, found)
    for name in state:
        if name.endswith("position_ids"):
            found[name] = state[name].numpy()
    missing = [name for name in state if name not in found]
    if missing:
        raise BundleError(f"{files[0].parent}: weights not found in its graphs: {', '.join(missing[:3])} ...")
    return {name: torch.from_numpy(np.array(found[name])).to(state[name].dtype) for name in state}


def _read_graph(graph: Any, state: dict[str, torch.Tensor], found: dict[str, np.ndarray]) -> None:
    """Add the weights of one graph to those that were found."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made_by = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        if node.op_type == "Cast" and node.input[0] in constants:
            constants[node.output[0]] = constants[node.input[0]]
    wide = {
        name: value.astype(np.float32) if value.dtype == np.float16 else value
        for name, value in constants.items()
    }

    def keep(name: str, value: np.ndarray) -> bool:
        if name not in state or name in found or tuple(state[name].shape) != value.shape:
            return False
        found[name] = value
        return True

    for name, value in wide.items():
        keep(_parameter(name), value)
    nameless = []
    for node in graph.node:
        if node.op_type != "MatMul" or node.input[1] not in wide:
            continue
        biases = [
            _parameter(name)
            for user in graph.node
            if user.op_type == "Add" and node.output[0] in user.input
            for name in user.input
            if name in wide
        ]
        turned = wide[node.input[1]].T
        if not any(keep(bias.removesuffix("bias") + "weight", turned) for bias in biases):
            nameless.append(turned)
    # The tensors of biaffine labellers are laid out for one product, before or after a reshape.
    products = [wide[one.name] for one in graph.initializer if _parameter(one.name) not in state]
    for name, weight in state.items():
        if name in found or not _belongs(name, graph):
            continue
        candidates = {2: nameless, 3: products}.get(weight.dim(), [])
        for place, value in enumerate(candidates):
            if weight.dim() == 3 and value.size == weight.numel():
                labels, size, _ = weight.shape
                value = value.reshape(size, labels, size).transpose(1, 0, 2)
            if keep(name, value):
                del candidates[place]
                break
    if "encoder.mix.weights" in state and "encoder.mix.weights" not in found:
        _read_mix(graph, wide, made_by, keep)


def _read_mix(graph: Any, wide: dict[str, np.ndarray], made_by: dict[str, Any], keep: Any) -> None:
    """The shares of the encoder's layers, which the exporter has computed: their logarithms give them again."""
    for node in graph.node:
        if node.op_type == "Mul" and any(_parameter(name) == "encoder.mix.scale" for name in node.input):
            shares: list[np.ndarray] = []
            last = made_by[node.input[0]]
            while last.op_type == "Add":
                shares.insert(0, wide[made_by[last.input[1]].input[1]])
                last = made_by[last.input[0]]
            shares.insert(0, wide[last.input[1]])
            keep("encoder.mix.weights", np.log(np.maximum(np.stack(shares).reshape(-1), 1e-30)))


_SCORERS = {output.name for output in OUTPUTS}
_AFTER = ("label", "relation")  # what the label graph scores


def _belongs(parameter: str, graph: Any) -> bool:
    """Whether a parameter without a name is to be looked for in this graph."""
    labels = any(value.name in _AFTER for value in graph.output)
    return (parameter.split(".")[1] in _AFTER) == labels


def _parameter(name: str) -> str:
    """The model's own name of a graph's weight; version 0.1 had scorers at the top."""
    name = name.removesuffix(".half").removeprefix("model.")
    return f"scorers.{name}" if name.split(".")[0] in _SCORERS else name
