"""A model to start from: a run, or a bundle, whose weights a new run continues to train on other treebanks.

What the model knows keeps its number and so its rows of weights; what only the new treebanks have is added behind.
A bundle has its weights in ONNX graphs, under names and in layouts that its configuration tells.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from arcspan.errors import BundleError, ConfigError
from arcspan.neural.model import Model
from arcspan.neural.model_settings import EncoderSettings, ModelSettings
from arcspan.prediction.inputs import Inputs, PieceInputs, WordInputs, inputs_from_json
from arcspan.prediction.outputs import LAYERS, NAMED_OUTPUTS, Inventories
from arcspan.runtime.bundle import find_bundle, read_bundle
from arcspan.segmenting.learnt import SETTINGS
from arcspan.settings import read
from arcspan.training.checkpoint import build, load_parts
from arcspan.training.config import SEGMENTER, Config
from arcspan.training.encoders import make_inputs
from arcspan.training.instances import Sentence, style_names, unused_names, without_rare
from arcspan.training.quantize import constants_of
from arcspan.training.scoring import Say

KEPT = ("language", "licence", "calibration")
BASE_FILE = "base.json"  # in a run's folder: what it keeps of the model that it started from
OWN = (
    "start",
    "loss",
    "mlp_dropout",
    "tags",
    "rows",
)  # of the model's settings, those that a run may change
BASE = "base"  # the style of a model that has only one, once it has learnt another


@dataclasses.dataclass(frozen=True)
class Start:
    """A trained parser: its models by part (two of SEP), what they read, and how they were made.

    styles    as it can be asked for them: by name, those of constituents and of dependencies; the first is the default
    kept      fields of its bundle that a model made from it keeps: language, licence, calibration
    segmenter the folder of its segmenter, or None
    """

    models: dict[str, Model]
    inputs: Inputs
    encoder: EncoderSettings
    architecture: dict[str, Any] | None
    styles: dict[str, tuple[str, str]]
    kept: dict[str, Any]
    segmenter: Path | None

    @property
    def inventories(self) -> Inventories:
        """What it can predict."""
        return next(iter(self.models.values())).inventories

    @property
    def default(self) -> tuple[str, str]:
        """The style that it parses in when none is asked for."""
        return next(iter(self.styles.values()), (BASE, BASE))

    def settle(self, config: Config) -> Config:
        """The configuration with this model's encoder and sizes, its styles, and its licence if there is no other.

        Treebanks without a style are of the model's default one. A new style becomes the default.
        """
        settings = next(iter(self.models.values())).settings
        own = {name: getattr(config.model, name) for name in OWN}
        data, new = config.data, new_styles(config, self.inventories)
        if self.inventories.styles or new:
            splits = ("train", "dev", "test")
            changed: dict[str, Any] = {
                split: [source.or_style(*self.default) for source in getattr(data, split)]
                for split in splits
            }
            data = dataclasses.replace(data, **changed)
        styles: dict[str, Any] = {}
        first = {
            next(style for style in (source.style, *source.styles) if style in new): source.styles
            for source in data.train
            if set(source.styles) & set(new)
        }
        for table in (config.styles, first, self.styles or ({BASE: self.default} if new else {})):
            for name, pair in table.items():
                styles.setdefault(name, pair if isinstance(pair, str) else list(pair))
        return dataclasses.replace(
            config,
            styles=styles,
            data=data,
            encoder=dataclasses.replace(self.encoder, keep=config.encoder.keep),
            model=dataclasses.replace(settings, **own),
            language=config.language or self.kept.get("language", ""),
            licence=config.licence or self.kept.get("licence", ""),
        )

    def describe(self, config: Config, say: Say) -> None:
        """Say what becomes of the model's styles."""
        new, default = (
            new_styles(config, self.inventories),
            " and ".join(dict.fromkeys(self.default)),
        )
        for style in new:
            say(f"style {style}: new; it starts as a copy of {default} and becomes the default")
        if any("" in source.styles for source in config.data.train) and (
            new or self.inventories.styles
        ):
            say(f"treebanks without a style are learnt in the model's default one, {default}")

    def read_also(self, sentences: Sequence[Sentence]) -> Inputs:
        """What it reads, for these sentences too: a pretrained encoder as it is; vocabularies of words grow."""
        old: Any = self.inputs
        if isinstance(old, PieceInputs):
            return old
        new: Any = make_inputs(self.encoder, sentences)
        both = ((old.words, new.words), (old.characters, new.characters))
        return WordInputs(*(list(dict.fromkeys([*mine, *others])) for mine, others in both))

    def give(self, model: Model) -> list[str]:
        """Copy weights into a model, by the names that their rows stand for; returns the names of what is new."""
        old = self.models.get(model.part, next(iter(self.models.values())))
        known = old.state_dict()
        new = []
        for name, weight in model.state_dict().items():
            own = known.get(name)
            if own is None:
                new.append(name)
                continue
            before, after = _rows(old, name, own), _rows(model, name, weight)
            cut = before == range(len(before)) and len(before) > len(after)
            if own.shape[1:] != weight.shape[1:] or cut:
                raise ConfigError(
                    f"model.start: {name} is {tuple(own.shape)}, not {tuple(weight.shape)}"
                )
            with torch.no_grad():
                if name.startswith("styles."):
                    layer = LAYERS.index(name.split(".")[1])
                    weight.copy_(own[old.inventories.styles.index(self.default[layer])])
                places = {row: place for place, row in enumerate(before)}
                kept = [place for place, row in enumerate(after) if row in places]
                taken = [places[after[place]] for place in kept]
                weight.view(len(after), -1)[kept] = own.view(len(before), -1)[taken]
        return new


def _rows(model: Model, name: str, weight: torch.Tensor) -> Sequence[Any]:
    """What the rows of a weight stand for: names of an inventory, or numbers."""
    known, rows = model.inventories, weight.shape[0] if weight.dim() else 1
    names: list[Any] = ["", *known.tags] if name == "tag_input.weight" else []
    for output in NAMED_OUTPUTS:
        if name.startswith(
            tuple(f"scorers.{output.name}.{last}" for last in ("out.", "1.", "weight"))
        ):
            names = list(getattr(known, output.names))
            names += [f"*{label}" for label in model.intermediate] if output.name == "label" else []
    return names if len(names) == rows else range(rows)


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
    _, inputs, description, state = next(iter(parts.values()))
    known = Inventories.from_json(description["inventories"])
    return Start(
        {part: model for part, (model, _, _, _) in parts.items()},
        inputs,
        read(EncoderSettings, description["encoder"], others=True),
        description["architecture"],
        _by_name(style_names(state["config"].get("styles", {}), known), known),
        read_base(folder) | {name: state["config"][name] for name in ("language", "licence")},
        folder / SEGMENTER if (folder / SEGMENTER / SETTINGS).is_file() else None,
    )


def read_base(run: Path) -> dict[str, Any]:
    """What a run keeps of the model that it started from."""
    file = run / BASE_FILE
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def new_styles(config: Config, known: Inventories) -> list[str]:
    """The styles of training sources that a model does not know."""
    styles = dict.fromkeys(style for source in config.data.train for style in source.styles)
    return [style for style in styles if style and style not in (known.styles or (BASE,))]


def _by_name(numbers: dict[str, Any], known: Inventories) -> dict[str, tuple[str, str]]:
    return {
        name: (known.styles[one], known.styles[other]) for name, (one, other) in numbers.items()
    }


def extended(
    old: Inventories,
    new: Inventories,
    default: tuple[str, str] = (BASE, BASE),
    *,
    only_new: bool = False,
) -> Inventories:
    """What the old model knows, by its numbers, and behind it what is new; `only_new`: without what only it knows.

    A new style may use what the old default one uses, too: a small treebank does not have everything.
    """
    names: dict[str, Any] = {}
    for output in NAMED_OUTPUTS:
        before, mine = getattr(old, output.names), getattr(new, output.names)
        kept = set(mine if only_new else before)
        names[output.names] = tuple(dict.fromkeys([*(one for one in before if one in kept), *mine]))
    tags = {*old.seen_lemmas, *new.seen_lemmas}
    seen = {tag: {**old.seen_lemmas.get(tag, {}), **new.seen_lemmas.get(tag, {})} for tag in tags}
    names["seen_lemmas"] = without_rare(seen, names["lemmas"]) if only_new else seen
    if not old.styles and not new.styles:
        return Inventories(**names)
    first = old.styles or (BASE,)
    styles = tuple(dict.fromkeys([*first, *new.styles]))
    unused = {}
    for output in NAMED_OUTPUTS:
        used = {style: _used(old, output, place) for place, style in enumerate(first)}
        layer = used[default[LAYERS.index(output.layer)]]
        for place, style in enumerate(new.styles):
            used[style] = used.get(style, layer) | _used(new, output, place)
        unused[output.name] = tuple(
            unused_names(names[output.names], used[style]) for style in styles
        )
    return Inventories(**names, styles=styles, unused=unused)


def _used(inventories: Inventories, output: Any, style: int) -> set[Any]:
    unused = inventories.unused.get(output.name, ())
    without = set(unused[style]) if unused else set()
    return {name for k, name in enumerate(getattr(inventories, output.names)) if k not in without}


def _from_bundle(folder: Path) -> Start:
    config = read_bundle(folder)
    if not config.get("architecture") or not all("weights" in one for one in config["components"]):
        raise ConfigError(
            f"model.start: {folder} does not say which weights its graphs have: export it anew, or name the folder of "
            "its training run (the only way where the encoder was trained from scratch)"
        )
    if "seen_lemmas" in config:
        text = (folder / config["seen_lemmas"]).read_text(encoding="utf-8")
        config["inventories"]["seen_lemmas"] = json.loads(text)
    # Another version of arcspan may have written fields that this one does not know.
    encoder = read(EncoderSettings, config["training"]["encoder"], others=True)
    inputs = inputs_from_json(
        config["inputs"], (folder / "tokenizer.json").read_text(encoding="utf-8")
    )
    settings = read(ModelSettings, config["training"]["model"], others=True)
    known = Inventories.from_json(config["inventories"])
    models = {}
    for component in config["components"]:
        model = build(component["part"], settings, encoder, config["architecture"], known, inputs)
        model.load_state_dict(_stored_weights(model, folder, component))
        models[model.part] = model.eval()
    kept = {name: config[name] for name in KEPT if config.get(name)}
    styles = _by_name(config.get("styles", {}), known)
    segmenter = folder if (folder / SETTINGS).is_file() else None
    return Start(models, inputs, encoder, config["architecture"], styles, kept, segmenter)


def _stored_weights(
    model: Model, folder: Path, component: dict[str, Any]
) -> dict[str, torch.Tensor]:
    """The weights of a model: in a graph, by name and layout, or a few numbers in the configuration."""
    graphs = {
        kind: constants_of(onnx.load(str(folder / component[kind])).graph)
        for kind in ("score", "label")
    }
    found = {}
    for name, own in model.state_dict().items():
        same = next(
            (graph for graph, constants in graphs.items() if f"model.{name}" in constants), ""
        )
        place = component["weights"].get(name, f"{same} same model.{name}")
        try:
            if isinstance(place, str):
                graph, layout, stored = place.split(" ", 2)
                value = LAYOUTS[layout](graphs[graph][stored], tuple(own.shape))
            else:
                value = np.asarray(place)
            found[name] = torch.from_numpy(np.array(value).reshape(own.shape)).to(own.dtype)
        except (KeyError, TypeError, ValueError, IndexError):
            what = f"the weights of {name} are not where its configuration says"
            raise BundleError(f"{folder}: {what}") from None
    return found


def _product(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """[labels, size, size] from [size, labels * size], which is laid out for one product."""
    return (
        value.reshape(shape[1], shape[0], shape[2]).transpose(1, 0, 2) if len(shape) == 3 else value
    )


# How a graph has a weight of a certain shape: as it is, or laid out for its products.
LAYOUTS: dict[str, Callable[[np.ndarray, tuple[int, ...]], np.ndarray]] = {
    "same": lambda value, shape: value,
    "turned": lambda value, shape: value.T,
    "product": _product,
}
