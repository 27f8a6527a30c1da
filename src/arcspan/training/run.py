"""A training run from its configuration to its result: data, one model or the two of SEP, final scores."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
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
from arcspan.training.encoders import make_inputs
from arcspan.training.instances import (
    GoldSentence,
    read_gold,
    read_training,
    style_names,
    take_inventories,
    unseen,
)
from arcspan.training.scoring import Say, dev_scores, in_words, predict_gold, say_nothing
from arcspan.training.starting import BASE_FILE, extended, load_start
from arcspan.training.trainer import Data, Trainer
from arcspan.treebanks import Pair

if torch.distributed.is_available():
    # Imported by DistributedDataParallel, after a group of processes is made, it keeps the group in defaults of its
    # functions. The group's threads then outlive the training, and one that frees a tensor while Python ends aborts.
    import torch.distributed.nn


def train(
    config: Config, *, resume: bool = False, say: Say = print, bars: bool | None = None
) -> dict[str, Any]:
    """Train what the configuration asks for and return the results that are also in `result.json`.

    `say` gets lines for people; `bars` switches progress bars (default: on a terminal).
    """
    from accelerate import Accelerator
    from accelerate.utils import DistributedDataParallelKwargs

    kwargs = [DistributedDataParallelKwargs(find_unused_parameters=True)]
    choice = config.training.precision
    can = choice == "auto" and torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    precision = "bf16" if can or choice == "bf16" else "no"
    accelerator = Accelerator(mixed_precision=precision, kwargs_handlers=kwargs)
    if not accelerator.is_main_process:
        say, bars = say_nothing, False
    bars = sys.stderr.isatty() if bars is None else bars
    folder = Path(config.output)
    if accelerator.is_main_process:
        _refuse_another_run(folder, config, resume, say)
    if resume and (folder / "result.json").is_file():
        say(f"{folder}: this run is finished")
        finished: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return finished
    if config.training.tensorboard:
        meter.tensorboard()
    data = read_data(
        config, say
    )  # before there is a folder: what is wrong in it leaves none behind
    if accelerator.is_main_process:
        _make_folder(folder, config, data)
    accelerator.wait_for_everyone()
    config, known = data.config, data.inventories
    # Those that the training sentences have, or the model to start from knows.
    layers = [
        layer for layer, names in zip(LAYERS, (known.labels, known.relations), strict=True) if names
    ]
    for part in layers if config.model.system == "sep" or len(layers) == 1 else ("both",):
        own = folder if part == "both" or len(layers) == 1 else folder / part
        if part != "both":
            whose = (
                "of SEP" if len(layers) == 2 else f"alone: no training sentence has {_OTHER[part]}"
            )
            say(f"training the {part} parser {whose}")
        Trainer(part, data, own, accelerator, say, bars).run(resume)
    result: dict[str, Any] = {}
    if accelerator.is_main_process:
        result = _final_scores(data, folder, say)
        with atomic_write(folder / "result.json") as file:
            file.write(dump(result))
    accelerator.wait_for_everyone()
    accelerator.free_memory()
    accelerator.end_training()
    return result


_OTHER = {"constituency": "dependencies", "dependency": "constituents"}


def read_data(config: Config, say: Say) -> Data:
    """Read and check everything before the first step, and say what was found."""
    start = load_start(config.model.start) if config.model.start else None
    if start:
        start.describe(config, say)
        config = start.settle(config)
    sentences, intake = read_training(config.data)
    say(f"train: {intake.summary()}")
    # Test sentences are scored at the end; a damaged file is found now.
    dev = read_gold(config.data.dev, config.data.mismatch, intake)
    test = read_gold(config.data.test, config.data.mismatch, intake)
    inventories = take_inventories(sentences, free=start is None, least=config.data.least)
    if start:
        only_new = config.data.least > 1
        inventories = extended(start.inventories, inventories, start.default, only_new=only_new)
    style_names(config.styles, inventories)
    _say_unknown_styles(config, inventories, say)
    _check_layers(dev, inventories)
    inputs = start.read_also(sentences) if start else make_inputs(config.encoder, sentences)
    examples = make_examples(sentences, inputs, inventories)
    data = Data(config, examples, dev, test, inventories, inputs, intake.digests, start)
    _describe(data, say)
    return data


def _describe(data: Data, say: Say) -> None:
    """Say what can be predicted and read, and what cannot."""
    known = data.inventories
    for name, gold in (("dev", data.dev), ("test", data.test)):
        if gold:
            say(
                f"{name}: {len(gold):,} sentences, {sum(len(one.pair.words) for one in gold):,} words"
            )
    say(
        f"inventories: {len(known.labels)} labels, {len(known.relations)} relations, {len(known.tags)} tags, "
        f"{len(known.upos)} universal tags, {len(known.lemmas)} edits of lemmas, {len(known.features)} bundles of "
        f"features, {len(known.styles)} styles"
    )
    for what, missing in unseen([one.pair for one in data.dev], known).items():
        if missing:
            shown = ", ".join(f"{name} ({times})" for name, times in missing.most_common(8))
            say(f"{what} only in dev, which cannot be predicted: {shown}")
    if isinstance(data.inputs, PieceInputs):
        unknown = sum(int((one.prepared[0] == data.inputs.unknown).sum()) for one in data.examples)
        if unknown:
            say(f"{unknown:,} pieces are unknown to the tokenizer; their words share one vector")


def _say_unknown_styles(config: Config, inventories: Inventories, say: Say) -> None:
    """Name the styles of dev and test that the model does not learn."""
    for name in ("dev", "test"):
        for place, source in enumerate(getattr(config.data, name)):
            for style in dict.fromkeys(source.styles):
                if style and style not in inventories.styles:
                    known = ", ".join(inventories.styles) or "none"
                    say(
                        f"data.{name}[{place}]: no training source has the style {style!r} (known: {known}); "
                        "the first is taken"
                    )


def _check_layers(dev: Sequence[GoldSentence], inventories: Inventories) -> None:
    """ConfigError where dev has no tree of a kind that is learnt, and could not choose a model."""
    learnt = (bool(inventories.labels), bool(inventories.relations))
    if not any(
        has and tree is not None for one in dev for has, tree in zip(learnt, one.pair, strict=True)
    ):
        own, other = (
            ("constituents", "dependencies") if learnt[0] else ("dependencies", "constituents")
        )
        raise ConfigError(
            f"data.train has only {own}, data.dev only {other}: dev cannot choose the model"
        )


def predict_pairs(
    folder: Path,
    gold: Sequence[Pair | GoldSentence],
    *,
    apart: bool = False,
    search: str | None = None,
) -> list[Pair]:
    """Parse the words of gold pairs with the best model of a run, on the device where it would be trained.

    search: labelled or two-stage, where it is not to be the model's own
    """
    from accelerate import PartialState

    parts = load_parts(folder)
    models = [model.to(PartialState().device) for model, _, _, _ in parts.values()]
    inputs = next(iter(parts.values()))[1]
    known = [one if isinstance(one, GoldSentence) else GoldSentence(one) for one in gold]
    return predict_gold(models, inputs, known, apart=apart, search=search)


def _final_scores(data: Data, folder: Path, say: Say) -> dict[str, Any]:
    result: dict[str, Any] = {"system": data.config.model.system, "seed": data.config.seed}
    for name, gold in (("dev", data.dev), ("test", data.test)):
        if gold:
            result[name] = dev_scores(gold, predict_pairs(folder, gold), data.config)
            say(f"best model on {name}: {in_words(result[name])}")
    return result


# What a resumed run may change: how it computes, steps and stops, never what it learns from or what it is.
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


def _refuse_another_run(folder: Path, config: Config, resume: bool, say: Say) -> None:
    """ConfigError for a folder that has another run, or one that is not to be resumed."""
    started = (folder / "config.json").exists()
    if started and not resume:
        raise ConfigError(
            f"{folder}: a run is already here: continue it with --resume, or choose another output"
        )
    if started:
        before = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        changed = _differences(before, config.to_json(), Config().to_json())
        done = (folder / "result.json").exists()  # by the settings that it was trained with
        fixed = [name for name in changed if done or name not in CHANGEABLE]
        if fixed:
            raise ConfigError(
                f"{folder}: cannot resume with another configuration; changed: {', '.join(fixed)}"
            )
        if changed:
            say(f"resuming with other settings than before: {', '.join(changed)}")


def _make_folder(folder: Path, config: Config, data: Data) -> None:
    """The folder of a run: its configuration, digests of its data, and what it keeps of the model it starts from."""
    known = folder / "data.json"
    if known.is_file():
        before = json.loads(known.read_text(encoding="utf-8"))
        tests = {source.name for source in config.data.test}
        changed = [
            name
            for name, own in before.items()
            if name not in tests and data.digests.get(name) != own
        ]
        if changed:
            raise ConfigError(
                f"{folder}: cannot resume with other data than before; changed: {', '.join(changed)}: "
                "restore it, or begin another run with another output"
            )
    folder.mkdir(parents=True, exist_ok=True)
    if config.model.system == "sep":
        for part in ("constituency", "dependency"):
            (folder / part).mkdir(exist_ok=True)
    texts = {"config.json": dump(config.to_json()), "data.json": dump(data.digests)}
    if data.start:
        texts[BASE_FILE] = dump(data.start.kept)
        fits = (
            data.config.language == data.start.kept.get("language", "")
            and not config.segmenter.train
        )
        if data.start.segmenter and fits:
            (folder / SEGMENTER).mkdir(exist_ok=True)
            for name in (SETTINGS, GRAPH):
                shutil.copy2(data.start.segmenter / name, folder / SEGMENTER / name)
    for name, text in texts.items():
        with atomic_write(folder / name) as file:
            file.write(text)


def _differences(
    before: dict[str, Any], after: dict[str, Any], defaults: dict[str, Any], prefix: str = ""
) -> list[str]:
    """The names of what differs; what an older version did not write has its default."""
    out = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, defaults.get(name)), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            out += _differences(old, new, defaults.get(name, {}), f"{prefix}{name}.")
        elif old != new and f"{prefix}{name}" not in ("output", "data.root"):
            out.append(f"{prefix}{name}")
    return out
