"""A training run from its configuration to its result: data, one model or the two of SEP, final scores."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from arcspan.errors import ConfigError
from arcspan.files import atomic_write, dump
from arcspan.prediction.inputs import PieceInputs
from arcspan.prediction.outputs import LAYERS, Inventories
from arcspan.training.batches import make_examples
from arcspan.training.checkpoint import load_parts
from arcspan.training.config import Config, Source
from arcspan.training.encoders import make_inputs
from arcspan.training.instances import read_gold, read_training, style_names, take_inventories, unseen
from arcspan.training.scoring import GoldSentence, dev_scores, in_words, predict_gold, rule_notes
from arcspan.training.starting import extended, load_start
from arcspan.training.trainer import Data, Say, Trainer
from arcspan.treebanks import Pair


def train(
    config: Config, *, resume: bool = False, say: Say = print, bars: bool | None = None
) -> dict[str, Any]:
    """Train what the configuration asks for and return the results that are also in `result.json`.

    `say` gets lines for people; `bars` switches progress bars (default: on a terminal).
    """
    from accelerate import Accelerator
    from accelerate.utils import DistributedDataParallelKwargs

    kwargs = [DistributedDataParallelKwargs(find_unused_parameters=True)]
    accelerator = Accelerator(mixed_precision=_precision(config.training.precision), kwargs_handlers=kwargs)
    if not accelerator.is_main_process:
        say, bars = _nothing, False
    bars = sys.stderr.isatty() if bars is None else bars
    folder = Path(config.output)
    if accelerator.is_main_process:
        _refuse_another_run(folder, config, resume, say)
    data = read_data(config, say)  # before there is a folder: what is wrong in it leaves none behind
    if accelerator.is_main_process:
        _make_folder(folder, config)
    accelerator.wait_for_everyone()
    config = data.start.settle(config) if data.start else config
    layers = parts_of(data)
    for part in layers if config.model.system == "sep" or len(layers) == 1 else ("both",):
        own = folder if part == "both" or len(layers) == 1 else folder / part
        if part != "both":
            whose = "of SEP" if len(layers) == 2 else f"alone: no training sentence has {_OTHER[part]}"
            say(f"training the {part} parser {whose}")
        Trainer(config, part, data, own, accelerator, say, bars).run(resume)
    result: dict[str, Any] = {}
    if accelerator.is_main_process:
        result = _final_scores(config, data, folder, say)
        with atomic_write(folder / "result.json") as file:
            file.write(dump(result))
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return result


_OTHER = {"constituency": "dependencies", "dependency": "constituents"}


def parts_of(data: Data) -> tuple[str, ...]:
    """Which layers the training sentences have, or the model to start from knows."""
    has = {"constituency": bool(data.inventories.labels), "dependency": bool(data.inventories.relations)}
    return tuple(layer for layer in LAYERS if has[layer])


def read_data(config: Config, say: Say) -> Data:
    """Read and check everything before the first step, and say what was found."""
    start = load_start(config.model.start) if config.model.start else None
    sentences, intake = read_training(config.data)
    say(f"train: {intake.summary()}")
    dev = read_styled(config.data.dev, config.data.mismatch)
    say(f"dev: {len(dev):,} sentences, {sum(len(one.pair.words) for one in dev):,} words")
    for note in rule_notes(dev, config):
        say(f"dev: {note}")
    if config.data.test:  # scored at the end, which is no time to find a damaged file
        test = read_styled(config.data.test, config.data.mismatch)
        say(f"test: {len(test):,} sentences, {sum(len(one.pair.words) for one in test):,} words")
    inventories = take_inventories(sentences)
    if start:
        inventories = extended(start.inventories, inventories)
    style_names(config.styles, inventories)
    for note in _unknown_styles(config, inventories):
        say(note)
    _check_layers(dev, inventories)
    say(
        f"inventories: {len(inventories.labels)} labels, {len(inventories.relations)} relations, "
        f"{len(inventories.tags)} tags, {len(inventories.upos)} universal tags, {len(inventories.lemmas)} edits of "
        f"lemmas, {len(inventories.features)} bundles of features, {len(inventories.styles)} styles"
    )
    for what, missing in unseen([one.pair for one in dev], inventories).items():
        if missing:
            shown = ", ".join(f"{name} ({times})" for name, times in missing.most_common(8))
            say(f"{what} only in dev, which cannot be predicted: {shown}")
    inputs = start.read_also(sentences) if start else make_inputs(config.encoder, sentences)
    examples = make_examples(sentences, inputs, inventories)
    if isinstance(inputs, PieceInputs):
        pieceless = sum(int((example.prepared[0] == inputs.unknown).sum()) for example in examples)
        if pieceless:
            say(f"{pieceless:,} pieces are unknown to the tokenizer; their words share one vector")
    return Data(examples, dev, inventories, inputs, start)


def _unknown_styles(config: Config, inventories: Inventories) -> Iterator[str]:
    """Lines about the styles of dev and test that the model does not learn."""
    for name in ("dev", "test"):
        for place, source in enumerate(getattr(config.data, name)):
            for style in dict.fromkeys(source.styles):
                if style and style not in inventories.styles:
                    known = ", ".join(inventories.styles) or "none"
                    yield (
                        f"data.{name}[{place}]: no training source has the style {style!r} (known: {known}); "
                        "the first is taken"
                    )


def _check_layers(dev: Sequence[GoldSentence], inventories: Inventories) -> None:
    """ConfigError where dev has no tree of a kind that is learnt, and could not choose a model."""
    learnt = (bool(inventories.labels), bool(inventories.relations))
    if not any(has and tree is not None for one in dev for has, tree in zip(learnt, one.pair, strict=True)):
        which = (
            "constituents, data.dev only dependencies"
            if learnt[0]
            else "dependencies, data.dev only constituents"
        )
        raise ConfigError(f"data.train has only {which}: dev cannot choose the model")


def read_styled(sources: Sequence[Source], mismatch: str) -> list[GoldSentence]:
    """Gold pairs to score against, each in the style of its source."""
    return [GoldSentence(pair, source.styles) for source in sources for pair in read_gold([source], mismatch)]


def predict_pairs(folder: Path, gold: Sequence[Pair | GoldSentence], *, apart: bool = False) -> list[Pair]:
    """Parse the words of gold pairs with the best model of a run, on the device where it would be trained."""
    from accelerate import PartialState

    parts = load_parts(folder)
    models = [model.to(PartialState().device) for model, _, _, _ in parts.values()]
    inputs = next(iter(parts.values()))[1]
    known = [one if isinstance(one, GoldSentence) else GoldSentence(one) for one in gold]
    return predict_gold(models, inputs, known, apart=apart)


def _final_scores(config: Config, data: Data, folder: Path, say: Say) -> dict[str, Any]:
    result: dict[str, Any] = {"system": config.model.system, "seed": config.seed}
    result["dev"] = dev_scores(data.dev, predict_pairs(folder, data.dev), config)
    say(f"best model on dev: {in_words(result['dev'])}")
    if config.data.test:
        test = read_styled(config.data.test, config.data.mismatch)
        result["test"] = dev_scores(test, predict_pairs(folder, test), config)
        say(f"best model on test: {in_words(result['test'])}")
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


def _make_folder(folder: Path, config: Config) -> None:
    """The folder of a run, with its configuration beside the results."""
    folder.mkdir(parents=True, exist_ok=True)
    if config.model.system == "sep":
        for part in ("constituency", "dependency"):
            (folder / part).mkdir(exist_ok=True)
    with atomic_write(folder / "config.json") as file:
        file.write(dump(config.to_json()))


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


def _precision(choice: str) -> str:
    if choice == "auto":
        return "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "no"
    return "bf16" if choice == "bf16" else "no"


def _nothing(_: str) -> None:
    """What processes other than the first say."""
