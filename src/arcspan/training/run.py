"""A training run from its configuration to its result: data, one model or two of SEP, final scores."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import torch

from arcspan.errors import ConfigError
from arcspan.files import atomic_write, dump
from arcspan.prediction.inputs import PieceInputs
from arcspan.prediction.outputs import LAYERS, Inventories
from arcspan.segmenting.learnt import GRAPH, SETTINGS
from arcspan.training import meter
from arcspan.training.batches import make_examples
from arcspan.training.checkpoint import load_parts
from arcspan.training.config import SEGMENTER, Config
from arcspan.training.dev_scores import Say, dev_scores, in_words, predict_gold, say_nothing
from arcspan.training.encoders import make_inputs
from arcspan.training.instances import (
    GoldSentence,
    read_gold,
    read_training,
    style_names,
    take_inventories,
    unseen,
)
from arcspan.training.lexicons import read_word_list, with_lexicon
from arcspan.training.starting import BASE_FILE, extended, load_start
from arcspan.training.trainer import Trainer, TrainingData
from arcspan.treebanks import Pair

if torch.distributed.is_available():
    # Imported by DistributedDataParallel, after a group of processes is made, it keeps the group in
    # defaults of its functions. The group's threads then outlive the training, and one that frees a
    # tensor while Python ends aborts.
    import torch.distributed.nn

# The settings that a resumed run may change: how it computes, steps and stops, never its data or
# model.
CHANGEABLE = (
    "data.test",
    "training.checkpoint_minutes",
    "training.clip",
    "training.encoder_rate",
    "training.patience",
    "training.precision",
    "training.rate",
    "training.style_rate",
)
# What treebanks of one layer lack.
_LACKING = {"constituency": "dependencies", "dependency": "constituents"}


def train(
    config: Config, *, resume: bool = False, say: Say = print, bars: bool | None = None
) -> dict[str, Any]:
    """Train by a configuration and return the results that are also in `result.json`.

    `say` gets lines for people; `bars` switches progress bars (default: on a terminal).
    """
    accelerator = _accelerator(config.training.precision)
    if not accelerator.is_main_process:
        say, bars = say_nothing, False
    if bars is None:
        bars = sys.stderr.isatty()
    folder = Path(config.output)
    if accelerator.is_main_process:
        _check_folder(folder, config, resume, say)
    if resume and (folder / "result.json").is_file():
        say(f"{folder}: this run is finished")
        finished: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return finished
    if config.training.tensorboard:
        meter.tensorboard()
    # Read before there is a folder, so that an error in the data leaves none behind.
    data = read_data(config, say)
    if accelerator.is_main_process:
        _make_folder(folder, config, data)
    accelerator.wait_for_everyone()
    for part in _parts(data):
        part_folder = folder
        if part != "both":
            has_both_layers = data.inventories.labels and data.inventories.relations
            role = f"alone: no training sentence has {_LACKING[part]}"
            if has_both_layers:
                part_folder, role = folder / part, "of SEP"
            say(f"training the {part} parser {role}")
        Trainer(part, data, part_folder, accelerator, say, bars).run(resume)
    result: dict[str, Any] = {}
    if accelerator.is_main_process:
        result = _final_scores(data, folder, say)
        with atomic_write(folder / "result.json") as file:
            file.write(dump(result))
    accelerator.wait_for_everyone()
    accelerator.free_memory()
    accelerator.end_training()
    return result


def _accelerator(precision: str) -> Any:
    from accelerate import Accelerator
    from accelerate.utils import DistributedDataParallelKwargs

    if precision == "auto":
        has_bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
        precision = "bf16" if has_bf16 else "fp32"
    # Not every batch reaches every parameter: one without tags, for example.
    kwargs = [DistributedDataParallelKwargs(find_unused_parameters=True)]
    mixed_precision = "bf16" if precision == "bf16" else "no"
    return Accelerator(mixed_precision=mixed_precision, kwargs_handlers=kwargs)


def _parts(data: TrainingData) -> list[str]:
    """Return the parts to train: "both" layers in one model, or the layers of a model each."""
    inventories = data.inventories
    layers = []
    for layer, names in zip(LAYERS, (inventories.labels, inventories.relations), strict=True):
        # The layers that the training sentences have, or that the model to start from knows.
        if names:
            layers.append(layer)
    if data.config.model.system == "sep" or len(layers) == 1:
        return layers
    return ["both"]


def read_data(config: Config, say: Say) -> TrainingData:
    """Read and check everything before the first update, and say what was read."""
    # Before it is settled: a model to start from may name parts, too, which are not the user's.
    trusted_parts = config.own_parts
    start = load_start(config.model.start, trusted_parts) if config.model.start else None
    if start:
        start.describe(config, say)
        config = start.settle(config)
    sentences, intake = read_training(config.data)
    say(f"train: {intake.summary()}")
    dev = read_gold(config.data.dev, config.data.mismatch, intake)
    # Test sentences are scored at the end; a damaged file is reported now.
    test = read_gold(config.data.test, config.data.mismatch, intake)
    inventories = take_inventories(sentences, free=start is None, least=config.data.least)
    word_list = list(read_word_list(config.data.lexicon)) if config.data.lexicon else []
    inventories = with_lexicon(inventories, sentences, word_list)
    if start:
        only_new = config.data.least > 1
        inventories = extended(
            start.inventories, inventories, start.default_style, only_new=only_new
        )
    style_names(config.styles, inventories)  # raises the error of an unknown style
    _say_unknown_styles(config, inventories, say)
    _check_layers(dev, inventories)
    inputs = start.extended_inputs(sentences) if start else make_inputs(config.encoder, sentences)
    examples = make_examples(sentences, inputs, inventories)
    data = TrainingData(
        config, examples, dev, test, inventories, inputs, intake.digests, start, trusted_parts
    )
    _describe(data, say)
    return data


def _describe(data: TrainingData, say: Say) -> None:
    """Say how much there is to predict and to read, and what cannot be."""
    for name, gold in (("dev", data.dev), ("test", data.test)):
        if gold:
            words = sum(len(sentence.pair.words) for sentence in gold)
            say(f"{name}: {len(gold):,} sentences, {words:,} words")
    names = data.inventories
    say(
        f"inventories: {len(names.labels)} labels, {len(names.relations)} relations, "
        f"{len(names.tags)} tags, {len(names.upos)} universal tags, {len(names.lemmas)} edits of "
        f"lemmas, {len(names.features)} bundles of features, {len(names.styles)} styles"
    )
    for inventory, missing in unseen([sentence.pair for sentence in data.dev], names).items():
        if missing:
            counts = ", ".join(f"{name} ({count})" for name, count in missing.most_common(8))
            say(f"{inventory} only in dev, which cannot be predicted: {counts}")
    if isinstance(data.inputs, PieceInputs):
        unknown = 0
        for example in data.examples:
            unknown += int((example.prepared[0] == data.inputs.unknown).sum())
        if unknown:
            say(f"{unknown:,} pieces are unknown to the tokenizer; their words share one vector")


def _say_unknown_styles(config: Config, inventories: Inventories, say: Say) -> None:
    """Name the styles of dev and test that the model does not learn."""
    for split in ("dev", "test"):
        for index, source in enumerate(getattr(config.data, split)):
            for style in dict.fromkeys(source.styles):
                if style and style not in inventories.styles:
                    styles = ", ".join(inventories.styles) or "none"
                    say(
                        f"data.{split}[{index}]: no training source has the style {style!r} "
                        f"(known: {styles}); the first is taken"
                    )


def _check_layers(dev: Sequence[GoldSentence], inventories: Inventories) -> None:
    """Raise ConfigError if dev has no tree of a learnt layer, and could not choose a model."""
    learns_constituents, learns_arcs = bool(inventories.labels), bool(inventories.relations)
    for (constituency, dependencies), _ in dev:
        if learns_constituents and constituency is not None:
            return
        if learns_arcs and dependencies is not None:
            return
    train_layer, dev_layer = "dependencies", "constituents"
    if learns_constituents:
        train_layer, dev_layer = dev_layer, train_layer
    raise ConfigError(
        f"data.train has only {train_layer}, data.dev only {dev_layer}: dev cannot choose the model"
    )


def predict_pairs(
    folder: Path,
    gold: Sequence[Pair | GoldSentence],
    *,
    apart: bool = False,
    search: str | None = None,
    trusted_parts: Container[str] = (),
) -> list[Pair]:
    """Parse the words of gold pairs with the best model of a run, on the device that would train
    it.

    search         labelled or two-stage; default: the model's own
    trusted_parts  parts `package.module:Name` of the run that may be imported
    """
    from accelerate import PartialState

    parts = list(load_parts(folder, trusted_parts).values())
    models = [saved.model.to(PartialState().device) for saved in parts]
    sentences = [
        sentence if isinstance(sentence, GoldSentence) else GoldSentence(sentence)
        for sentence in gold
    ]
    return predict_gold(
        models,
        parts[0].inputs,
        sentences,
        apart=apart,
        search=search,
        trusted_parts=trusted_parts,
    )


def _final_scores(data: TrainingData, folder: Path, say: Say) -> dict[str, Any]:
    result: dict[str, Any] = {"system": data.config.model.system, "seed": data.config.seed}
    for name, gold in (("dev", data.dev), ("test", data.test)):
        if gold:
            pairs = predict_pairs(folder, gold, trusted_parts=data.trusted_parts)
            result[name] = dev_scores(gold, pairs, data.config)
            say(f"best model on {name}: {in_words(result[name])}")
    return result


def _check_folder(folder: Path, config: Config, resume: bool, say: Say) -> None:
    """Raise ConfigError if the folder has another run, or one that is not to be resumed."""
    if not (folder / "config.json").exists():
        return
    if not resume:
        raise ConfigError(
            f"{folder}: a run is already here: continue it with --resume, or choose another output"
        )
    before = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    changed = _differences(before, config.to_json(), Config().to_json())
    # The results of a finished run belong to the settings that it was trained with.
    is_finished = (folder / "result.json").exists()
    fixed = [name for name in changed if is_finished or name not in CHANGEABLE]
    if fixed:
        raise ConfigError(
            f"{folder}: cannot resume with another configuration; changed: {', '.join(fixed)}"
        )
    if changed:
        say(f"resuming with other settings than before: {', '.join(changed)}")


def _make_folder(folder: Path, config: Config, data: TrainingData) -> None:
    """Write the configuration, digests of the data, and what is inherited from another model."""
    digests = folder / "data.json"
    if digests.is_file():
        tests = {source.name for source in config.data.test}
        before = json.loads(digests.read_text(encoding="utf-8"))
        changed = []
        for name, digest in before.items():
            if name not in tests and data.digests.get(name) != digest:
                changed.append(name)
        if changed:
            raise ConfigError(
                f"{folder}: cannot resume with other data than before; changed: "
                f"{', '.join(changed)}: restore it, or begin another run with another output"
            )
    folder.mkdir(parents=True, exist_ok=True)
    if config.model.system == "sep":
        for layer in LAYERS:
            (folder / layer).mkdir(exist_ok=True)
    texts = {"config.json": dump(config.to_json()), "data.json": dump(data.digests)}
    start = data.start
    if start:
        texts[BASE_FILE] = dump(start.inherited)
        same_language = data.config.language == start.inherited.get("language", "")
        if start.segmenter and same_language and not config.segmenter.train:
            (folder / SEGMENTER).mkdir(exist_ok=True)
            for name in (SETTINGS, GRAPH):
                shutil.copy2(start.segmenter / name, folder / SEGMENTER / name)
    for name, text in texts.items():
        with atomic_write(folder / name) as file:
            file.write(text)


def _differences(
    before: dict[str, Any], after: dict[str, Any], defaults: dict[str, Any], prefix: str = ""
) -> list[str]:
    """Return the names of what differs.

    What an older version did not write has its default; what only that version knows is ignored.
    """
    names = []
    for name in sorted({*before, *after}):
        # Tables of names that users choose have no defaults.
        if defaults and name not in defaults:
            continue
        old, new = before.get(name, defaults.get(name)), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            names += _differences(old, new, defaults.get(name, {}), f"{prefix}{name}.")
        elif old != new and f"{prefix}{name}" not in ("output", "data.root"):
            names.append(f"{prefix}{name}")
    return names
