"""A trained model to start from: a run, or a bundle, that is trained further on other treebanks.

The names that the model knows keep their numbers and so their rows of weights; names that only the
new treebanks have are added behind. A bundle has its weights in ONNX graphs, under names and in
layouts that its configuration tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from arcspan.errors import BundleError, ConfigError
from arcspan.neural.model import Model
from arcspan.neural.model_settings import EncoderSettings, ModelSettings
from arcspan.prediction.inputs import Inputs, PieceInputs, WordInputs, inputs_from_json
from arcspan.prediction.outputs import LAYERS, NAMED_OUTPUTS, Inventories, Output
from arcspan.runtime.bundle import find_bundle, read_bundle, read_lexicon
from arcspan.segmenting.learnt import SETTINGS
from arcspan.settings import read
from arcspan.training.checkpoint import build, load_parts
from arcspan.training.config import SEGMENTER, SPLITS, Config
from arcspan.training.dev_scores import Say
from arcspan.training.instances import TrainingSentence, style_names, unused_names, without_rare
from arcspan.training.lexicons import merge_lexicons
from arcspan.training.quantize import constants_of

BASE_FILE = "base.json"  # in a run's folder: `Start.inherited`
BASE = "base"  # the style of a model that has only one, once it has learnt another
# The settings of the model that a run may change; the others are those of the model to start from.
_CHANGEABLE = ("start", "loss", "mlp_dropout", "tags", "rows")


@dataclass(frozen=True)
class Start:
    """A trained parser: its models by part (two of SEP), their inputs, and how they were made.

    styles     as a user may name them: by name, those of constituents and of dependencies; the
               first is the default
    inherited  fields of its bundle that a model made from it keeps: language, licence, calibration
    segmenter  the folder of its segmenter, or None
    """

    models: dict[str, Model]
    inputs: Inputs
    encoder: EncoderSettings
    architecture: dict[str, Any] | None
    styles: dict[str, tuple[str, str]]
    inherited: dict[str, Any]
    segmenter: Path | None

    @property
    def any_model(self) -> Model:
        """Return one of the models; those of SEP have settings and inventories in common."""
        return next(iter(self.models.values()))

    @property
    def inventories(self) -> Inventories:
        """Return the names that it can predict."""
        return self.any_model.inventories

    @property
    def default_style(self) -> tuple[str, str]:
        """Return the style that it parses in unless a query names another."""
        return next(iter(self.styles.values()), (BASE, BASE))

    def settle(self, config: Config) -> Config:
        """Return the configuration with this model's encoder, sizes and styles.

        Its language and licence are inherited if the configuration has none. Treebanks without a
        style are of the model's default one. A new style becomes the default.
        """
        data, new = config.data, new_styles(config, self.inventories)
        if self.inventories.styles or new:
            sources: dict[str, Any] = {}
            for split in SPLITS:
                sources[split] = [
                    source.or_style(*self.default_style) for source in getattr(data, split)
                ]
            data = replace(data, **sources)
        learnt_styles = {}
        for source in data.train:
            if set(source.styles) & set(new):
                names = [style for style in (source.style, *source.styles) if style in new]
                learnt_styles[names[0]] = list(source.styles)
        # The first entry of a name counts: the configuration's, then new styles, then the model's.
        styles: dict[str, Any] = {**config.styles}
        model_styles = self.styles or ({BASE: self.default_style} if new else {})
        for name, pair in [*learnt_styles.items(), *model_styles.items()]:
            styles.setdefault(name, list(pair))
        own_settings = {name: getattr(config.model, name) for name in _CHANGEABLE}
        return replace(
            config,
            styles=styles,
            data=data,
            encoder=replace(self.encoder, keep=config.encoder.keep),
            model=replace(self.any_model.settings, **own_settings),
            language=config.language or self.inherited.get("language", ""),
            licence=config.licence or self.inherited.get("licence", ""),
        )

    def describe(self, config: Config, say: Say) -> None:
        """Say what becomes of the model's styles."""
        new = new_styles(config, self.inventories)
        default = " and ".join(dict.fromkeys(self.default_style))
        for style in new:
            say(f"style {style}: new; it starts as a copy of {default} and becomes the default")
        if any("" in source.styles for source in config.data.train) and (
            new or self.inventories.styles
        ):
            say(f"treebanks without a style are learnt in the model's default one, {default}")

    def extended_inputs(self, sentences: Sequence[TrainingSentence]) -> Inputs:
        """Return its inputs for these sentences, too: vocabularies of words grow."""
        old: Any = self.inputs
        if isinstance(old, PieceInputs):
            return old
        # Not `make_inputs`: the path of the encoder was chosen by whoever made the model.
        unique = {id(sentence): sentence.words for sentence in sentences}
        new: Any = WordInputs.count(unique.values(), least=self.encoder.least_count)
        words = list(dict.fromkeys([*old.words, *new.words]))
        return WordInputs(words, list(dict.fromkeys([*old.characters, *new.characters])))

    def copy_weights(self, model: Model) -> list[str]:
        """Copy weights into a model, by the names that their rows stand for.

        Returns the names of weights that this parser does not have.
        """
        old_model = self.models.get(model.part, self.any_model)
        old_weights = old_model.state_dict()
        new = []
        for name, weight in model.state_dict().items():
            if name not in old_weights:
                new.append(name)
                continue
            old_weight = old_weights[name]
            old_rows, rows = _rows(old_model, name, old_weight), _rows(model, name, weight)
            # Rows without names are copied by number, so none may be missing.
            is_cut = old_rows == range(len(old_rows)) and len(old_rows) > len(rows)
            if old_weight.shape[1:] != weight.shape[1:] or is_cut:
                raise ConfigError(
                    f"model.start: {name} is {tuple(old_weight.shape)}, not {tuple(weight.shape)}"
                )
            with torch.no_grad():
                if name.startswith("styles."):
                    # New styles start as copies of the default one.
                    layer = LAYERS.index(name.split(".")[1])
                    default = old_model.inventories.styles.index(self.default_style[layer])
                    weight.copy_(old_weight[default])
                old_numbers = {row: number for number, row in enumerate(old_rows)}
                common = [number for number, row in enumerate(rows) if row in old_numbers]
                sources = [old_numbers[rows[number]] for number in common]
                flat, old_flat = weight.view(len(rows), -1), old_weight.view(len(old_rows), -1)
                flat[common] = old_flat[sources]
        return new


def _rows(model: Model, name: str, weight: torch.Tensor) -> Sequence[Any]:
    """Return what the rows of a weight stand for: names of an inventory, or numbers."""
    inventories = model.inventories
    rows = weight.shape[0] if weight.dim() else 1
    names: list[Any] = []
    if name == "tag_input.weight":
        names = ["", *inventories.tags]
    for output in NAMED_OUTPUTS:
        # The last layers of the labellers and of the scorers of words.
        last_layers = [f"scorers.{output.name}.{layer}" for layer in ("out.", "1.", "weight")]
        if name.startswith(tuple(last_layers)):
            names = list(getattr(inventories, output.names))
            if output.name == "label":
                names += [f"*{label}" for label in model.intermediate]
    return names if len(names) == rows else range(rows)


def load_start(name: str, trusted_parts: Container[str] = ()) -> Start:
    """Return the parser of a run or of a bundle; "en" is the English model inside the package."""
    try:
        folder = find_bundle(name)
    except BundleError as error:
        raise ConfigError(f"model.start: {error}") from None
    if not folder.is_dir():
        raise ConfigError(f'model.start = "{name}": no such folder: name a run, a bundle, or "en"')
    if (folder / "checksums.json").is_file():
        return _from_bundle(folder, trusted_parts)
    return _from_run(folder, trusted_parts)


def _from_run(folder: Path, trusted_parts: Container[str]) -> Start:
    parts = load_parts(folder, trusted_parts)
    _, inputs, description, state = next(iter(parts.values()))
    config = state["config"]
    inventories = Inventories.from_json(description["inventories"])
    segmenter = folder / SEGMENTER
    return Start(
        {part: saved.model for part, saved in parts.items()},
        inputs,
        read(EncoderSettings, description["encoder"], others=True),
        description["architecture"],
        _by_name(style_names(config.get("styles", {}), inventories), inventories),
        {**read_base(folder), "language": config["language"], "licence": config["licence"]},
        segmenter if (segmenter / SETTINGS).is_file() else None,
    )


def _from_bundle(folder: Path, trusted_parts: Container[str]) -> Start:
    config = read_bundle(folder)
    components = config["components"]
    if not config.get("architecture") or not all("weights" in part for part in components):
        raise ConfigError(
            f"model.start: {folder} does not say which weights its graphs have: export it anew, "
            "or name the folder of its training run (the only way where the encoder was trained "
            "from scratch)"
        )
    if "lexicon" in config:
        lexicon = read_lexicon(folder / config["lexicon"])
        config["inventories"]["seen_lemmas"] = lexicon.seen_lemmas
        tables = {"lemmas": lexicon.lemmas, "endings": lexicon.endings}
        config["inventories"]["lexicon"] = tables
    elif "seen_lemmas" in config:
        text = (folder / config["seen_lemmas"]).read_text(encoding="utf-8")
        config["inventories"]["seen_lemmas"] = json.loads(text)
    # Another version of arcspan may have written fields that this one does not know.
    encoder = read(EncoderSettings, config["training"]["encoder"], others=True)
    settings = read(ModelSettings, config["training"]["model"], others=True)
    # The bundle says itself which decoder it uses: none that is not installed.
    settings = replace(settings, decoder=config.get("decoder", ""))
    tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
    inputs = inputs_from_json(config["inputs"], tokenizer)
    inventories = Inventories.from_json(config["inventories"])
    models = {}
    for component in components:
        part, architecture = component["part"], config["architecture"]
        model = build(
            part,
            settings,
            encoder,
            architecture,
            inventories,
            inputs,
            trusted_parts=trusted_parts,
        )
        model.load_state_dict(_stored_weights(model, folder, component))
        models[model.part] = model.eval()
    return Start(
        models,
        inputs,
        encoder,
        config["architecture"],
        _by_name(config.get("styles", {}), inventories),
        {name: config[name] for name in ("language", "licence", "calibration") if config.get(name)},
        folder if (folder / SETTINGS).is_file() else None,
    )


def read_base(run: Path) -> dict[str, Any]:
    """Return what a run inherits from the model that it started from."""
    file = run / BASE_FILE
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def new_styles(config: Config, inventories: Inventories) -> list[str]:
    """Return the styles of training sources that a model does not know."""
    old_styles = {"", *(inventories.styles or (BASE,))}
    styles = dict.fromkeys(style for source in config.data.train for style in source.styles)
    return [style for style in styles if style not in old_styles]


def _by_name(styles: dict[str, Any], inventories: Inventories) -> dict[str, tuple[str, str]]:
    names = inventories.styles
    return {name: (names[c_style], names[d_style]) for name, (c_style, d_style) in styles.items()}


def extended(
    old: Inventories,
    new: Inventories,
    default: tuple[str, str] = (BASE, BASE),
    *,
    only_new: bool = False,
) -> Inventories:
    """Return the names of the old model, by its numbers, and behind them the new ones.

    A new style may use the names of the old default style, too: a small treebank does not have
    everything. With `only_new`, names that only the old model has are left out.
    """
    names: dict[str, Any] = {}
    for output in NAMED_OUTPUTS:
        old_names, new_names = getattr(old, output.names), getattr(new, output.names)
        if only_new:
            learnt = set(new_names)
            old_names = [name for name in old_names if name in learnt]
        names[output.names] = tuple(dict.fromkeys([*old_names, *new_names]))
    lemmas = {}
    for tag in {*old.seen_lemmas, *new.seen_lemmas}:
        lemmas[tag] = {**old.seen_lemmas.get(tag, {}), **new.seen_lemmas.get(tag, {})}
    names["seen_lemmas"] = without_rare(lemmas, names["lemmas"]) if only_new else lemmas
    names["lexicon"] = merge_lexicons(old.lexicon, new.lexicon)
    if not old.styles and not new.styles:
        return Inventories(**names)
    old_styles = old.styles or (BASE,)
    styles = tuple(dict.fromkeys([*old_styles, *new.styles]))
    unused = {}
    for output in NAMED_OUTPUTS:
        used = {style: _used(old, output, number) for number, style in enumerate(old_styles)}
        default_used = used[default[LAYERS.index(output.layer)]]
        for number, style in enumerate(new.styles):
            used[style] = used.get(style, default_used) | _used(new, output, number)
        output_names = names[output.names]
        unused[output.name] = tuple(unused_names(output_names, used[style]) for style in styles)
    return Inventories(**names, styles=styles, unused=unused)


def _used(inventories: Inventories, output: Output, style: int) -> set[Any]:
    unused = inventories.unused.get(output.name, ())
    unused_numbers = set(unused[style]) if unused else set()
    names = getattr(inventories, output.names)
    return {name for number, name in enumerate(names) if number not in unused_numbers}


def _stored_weights(
    model: Model, folder: Path, component: dict[str, Any]
) -> dict[str, torch.Tensor]:
    """Return the weights of a model: in a graph, by name and layout, or numbers in the
    configuration.
    """
    graphs = {}
    for graph in ("score", "label"):
        graphs[graph] = constants_of(
            onnx.load(str(folder / component[graph]), load_external_data=False).graph
        )
    weights = {}
    for name, weight in model.state_dict().items():
        # A weight that the configuration does not list is in one of the graphs under its own name.
        graph = next((key for key in graphs if f"model.{name}" in graphs[key]), "")
        entry = component["weights"].get(name, f"{graph} same model.{name}")
        try:
            if isinstance(entry, str):
                graph, layout, stored_name = entry.split(" ", 2)
                stored = LAYOUTS[layout](graphs[graph][stored_name], tuple(weight.shape))
            else:
                stored = np.asarray(entry)
            # Copied: arrays of a graph cannot be written to.
            array = np.array(stored).reshape(weight.shape)
            weights[name] = torch.from_numpy(array).to(weight.dtype)
        except (KeyError, TypeError, ValueError, IndexError):
            raise BundleError(
                f"{folder}: the weights of {name} are not where its configuration says"
            ) from None
    return weights


def _from_product(stored: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return [labels, size, size] from [size, labels * size], which is laid out for one product."""
    if len(shape) != 3:
        return stored
    labels, size_in, size_out = shape
    return stored.reshape(size_in, labels, size_out).transpose(1, 0, 2)


# How to restore a weight of a certain shape from a graph: as it is, or laid out for its products.
LAYOUTS: dict[str, Callable[[np.ndarray, tuple[int, ...]], np.ndarray]] = {
    "same": lambda stored, shape: stored,
    "turned": lambda stored, shape: stored.T,
    "product": _from_product,
}
