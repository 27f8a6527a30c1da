"""The training loop of all four systems.

Everything random in an update is drawn from (seed, update, process), and the order of the batches from
(seed, epoch): a run that is killed and resumed repeats nothing and skips nothing, and on the same CPU ends
with the same weights as one that was never killed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from tqdm import tqdm

from arcspan.errors import ArcspanError, ConfigError
from arcspan.evaluation import evaluate
from arcspan.files import atomic_write
from arcspan.neural.losses import Gold, StructureLoss, losses
from arcspan.neural.model import Model, Prediction
from arcspan.neural.settings import Inventories
from arcspan.runtime.inputs import PieceInputs, WordInputs, dump
from arcspan.training.batches import Example, collate, make_examples, schedule
from arcspan.training.checkpoint import Checkpoint, build, describe_model, load_model, model_texts
from arcspan.training.config import Config
from arcspan.training.encoders import make_inputs, pretrained_architecture
from arcspan.training.instances import Indexer, read_gold, read_training, take_inventories, unseen
from arcspan.training.predict import as_pairs, predict
from arcspan.treebanks import Pair

Say = Callable[[str], None]


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
        _claim(folder, config, resume)
    accelerator.wait_for_everyone()
    data = Data.read(config, say)
    parts = ("constituency", "dependency") if config.model.system == "sep" else ("both",)
    for part in parts:
        own = folder if part == "both" else folder / part
        if part != "both":
            say(f"training the {part} parser of SEP")
        Trainer(config, part, data, own, accelerator, say, bars).run(resume)
    result: dict[str, Any] = {}
    if accelerator.is_main_process:
        result = _final_scores(config, data, folder, say)
        with atomic_write(folder / "result.json") as file:
            file.write(dump(result))
    accelerator.wait_for_everyone()
    accelerator.end_training()
    return result


@dataclass
class Data:
    """Sentences, inventories and inputs, the same for both parts of SEP."""

    examples: list[Example]
    dev: list[Pair]
    inventories: Inventories
    inputs: PieceInputs | WordInputs

    @classmethod
    def read(cls, config: Config, say: Say) -> Data:
        """Read and check everything before the first step, and say what was found."""
        sentences, intake = read_training(config.data)
        say(f"train: {intake.summary()}")
        dev = read_gold(config.data.dev, config.data.mismatch)
        say(f"dev: {len(dev):,} sentences, {sum(len(pair.constituency.words) for pair in dev):,} words")
        inventories = take_inventories(sentences)
        say(
            f"inventories: {len(inventories.labels)} labels, {len(inventories.relations)} relations, "
            f"{len(inventories.tags)} tags, {len(inventories.upos)} universal tags"
        )
        for what, missing in unseen(dev, inventories).items():
            if missing:
                shown = ", ".join(f"{name} ({times})" for name, times in missing.most_common(8))
                say(f"{what} only in dev, which cannot be predicted: {shown}")
        inputs = make_inputs(config.encoder, sentences)
        examples = make_examples(sentences, inputs, Indexer(inventories))
        if isinstance(inputs, PieceInputs):
            pieceless = sum(int((example.prepared[0] == inputs.unknown).sum()) for example in examples)
            if pieceless:
                say(f"{pieceless:,} pieces are unknown to the tokenizer; their words share one vector")
        return cls(examples, dev, inventories, inputs)


class _Step(nn.Module):
    """The model and its losses as one module, so that several processes can share gradients."""

    def __init__(self, model: Model, config: Config) -> None:
        super().__init__()
        self.model = model
        self.structure = StructureLoss(model.settings.system, model.settings.loss)
        self.label_weight = config.training.label_weight
        self.tag_weight = config.training.tag_weight

    def forward(self, inputs: dict[str, Tensor], gold: Gold, gold_tags: Tensor) -> tuple[Tensor, Tensor]:
        """The weighted sum of a batch's losses, and its four terms."""
        structure, label, relation, tag = losses(self.model, self.structure, inputs, gold, gold_tags)
        total = structure + self.label_weight * (label + relation) + self.tag_weight * tag
        return total, torch.stack([term.detach().float() for term in (structure, label, relation, tag)])


class Trainer:
    """One model, from its first update (or where it was left) to its last."""

    def __init__(
        self, config: Config, part: str, data: Data, folder: Path, accelerator: Any, say: Say, bars: bool
    ) -> None:
        self.config, self.settings, self.part, self.data = config, config.training, part, data
        self.folder, self.accelerator, self.say, self.bars = folder, accelerator, say, bars
        self.checkpoint = Checkpoint(folder)
        self.costs = [example.cost for example in data.examples]
        self.step = 0  # updates done
        self.epoch = 0
        self.done_in_epoch = 0
        self.best = -1.0
        self.best_epoch = 0
        self.dev: dict[str, float] = {}
        torch.manual_seed(config.seed)
        description: dict[str, Any] = {
            "part": part,
            "model": config.model.__dict__,
            "encoder": config.encoder.__dict__,
            "architecture": pretrained_architecture(config.encoder),
            "inventories": data.inventories.to_json(),
        }
        pretrained = config.encoder.path if config.encoder.kind == "pretrained" else None
        self.model = build(description, data.inputs, weights_from=pretrained)
        self.optimizer = self._make_optimizer()
        self.average: dict[str, Tensor] | None = None
        if self.settings.average:
            self.average = {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def _make_optimizer(self) -> torch.optim.AdamW:
        slow = [p for name, p in self.model.named_parameters() if name.startswith("encoder.pretrained.")]
        quick = [p for name, p in self.model.named_parameters() if not name.startswith("encoder.pretrained.")]
        groups = [
            {"params": slow, "lr": self.settings.encoder_rate, "initial": self.settings.encoder_rate},
            {"params": quick, "lr": self.settings.rate, "initial": self.settings.rate},
        ]
        return torch.optim.AdamW(
            [group for group in groups if group["params"]],
            betas=(self.settings.beta1, self.settings.beta2),
            eps=self.settings.epsilon,
            weight_decay=self.settings.weight_decay,
            fused=True,
        )

    # ---- the loop

    def run(self, resume: bool) -> None:
        """Train to the end; with `resume`, from the last checkpoint if there is one."""
        if resume and self.checkpoint.pointer("last"):
            self._load()
        step = _Step(self.model, self.config)
        self.accelerator.free_memory()
        self.step_module, self.optimizer = self.accelerator.prepare(step, self.optimizer)
        self.structure = step.structure
        counts = [len(self._updates(epoch)) for epoch in range(self.settings.epochs)]
        self.total = sum(counts)
        if self.step == 0:
            self.say(
                f"{self.total:,} updates in {self.settings.epochs} epochs; {_parameters(self.model):,} parameters"
            )
        self._saved_at = time.monotonic()
        while self.epoch < self.settings.epochs:
            if self._patience_is_out():
                self.say(f"no better dev score for {self.settings.patience} epochs: stopping")
                break
            self._one_epoch()
            self.epoch += 1
            self.done_in_epoch = 0
            self._evaluate()
            self._save()

    def _one_epoch(self) -> None:
        updates = self._updates(self.epoch)
        todo = updates[self.done_in_epoch :]
        self.step_module.train()
        meter = _Meter(self.structure)
        label = f"epoch {self.epoch + 1}/{self.settings.epochs}"
        with tqdm(
            total=len(updates), initial=self.done_in_epoch, desc=label, disable=not self.bars, unit=" updates"
        ) as bar:
            for count, update in enumerate(todo, 1):
                terms, words = self._update(update)
                meter.add(terms, words)
                self.step += 1
                self.done_in_epoch += 1
                bar.update()
                if count == 20 or (count % 50 == 0):
                    figures = meter.figures()
                    shown = {
                        "loss": f"{figures['loss']:.3f}",
                        "words/s": f"{figures['words_per_second']:.0f}",
                        **self._dev_shown(),
                    }
                    bar.set_postfix(shown)
                    self._log(
                        {
                            "kind": "train",
                            "step": self.step,
                            "epoch": self.epoch + 1,
                            "rate": self._rate(),
                            **figures,
                        }
                    )
                    if count == 20 or (not self.bars and count % 200 == 0):
                        left = meter.seconds / count * (len(todo) - count)
                        self.say(
                            f"{label}: {self.done_in_epoch:,}/{len(updates):,} updates, "
                            f"loss {figures['loss']:.3f}, {figures['words_per_second']:.0f} words/s, "
                            f"structure {figures['structure_share']:.1%} of the time, "
                            f"{left / 60:.1f} min left in this epoch"
                        )
                if time.monotonic() - self._saved_at > self.settings.checkpoint_minutes * 60:
                    self._save()
        if todo:
            self._log({"kind": "epoch", "step": self.step, "epoch": self.epoch + 1, **meter.whole()})

    def _update(self, batches: list[list[int]]) -> tuple[np.ndarray, int]:
        """One update over this process's share of the batches; the loss is divided by the words of all."""
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        torch.manual_seed((self.config.seed * 1_000_003 + self.step) * 64 + process)
        words = sum(len(self.data.examples[place].sentence.words) for batch in batches for place in batch)
        for group, rate in zip(self.optimizer.param_groups, self._rates(), strict=True):
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        terms = np.zeros(4)
        mine = batches[process::processes]
        for place, batch in enumerate(mine):
            inputs, gold, gold_tags = collate(
                [self.data.examples[example] for example in batch], self.data.inputs
            )
            device = self.accelerator.device
            inputs = {name: value.to(device) for name, value in inputs.items()}
            last = place == len(mine) - 1
            with _maybe_no_sync(self.accelerator, self.step_module, not last), self.accelerator.autocast():
                loss, parts = self.step_module(inputs, gold, gold_tags.to(device))
                # Processes average their gradients: times their number makes it the sum.
                self.accelerator.backward(loss * (processes / words))
            terms += parts.cpu().numpy() / words
        norm = self.accelerator.clip_grad_norm_(self.step_module.parameters(), self.settings.clip)
        if norm is not None and not bool(torch.isfinite(norm)):
            raise ArcspanError(
                f"the gradient is {float(norm)} at update {self.step + 1}: lower training.rate or "
                "training.encoder_rate, then continue with --resume"
            )
        self.optimizer.step()
        self._update_average()
        return terms * processes if processes > 1 else terms, words

    @torch.no_grad()
    def _update_average(self) -> None:
        if self.average is None:
            return
        decay = min(self.settings.average, (1 + self.step) / (10 + self.step))
        current = self.model.state_dict()
        mine = [value for value in self.average.values() if value.is_floating_point()]
        theirs = [current[name] for name, value in self.average.items() if value.is_floating_point()]
        torch._foreach_lerp_(mine, theirs, 1 - decay)

    def _updates(self, epoch: int) -> list[list[list[int]]]:
        """The epoch's updates, each a list of batches, a whole number for every process."""
        batches = schedule(self.costs, self.settings.batch_pieces, self.config.seed, epoch)
        size = self.settings.accumulate * self.accelerator.num_processes
        groups = [batches[place : place + size] for place in range(0, len(batches), size)]
        short = -len(groups[-1]) % self.accelerator.num_processes
        groups[-1] = groups[-1] + [batches[place % len(batches)] for place in range(short)]
        return groups

    def _rates(self) -> list[float]:
        warm = self.settings.warmup * self.total
        share = (
            self.step / warm if self.step < warm else (self.total - self.step) / max(1.0, self.total - warm)
        )
        return [group["initial"] * share for group in self.optimizer.param_groups]

    def _rate(self) -> float:
        return float(self.optimizer.param_groups[-1]["lr"])

    def _patience_is_out(self) -> bool:
        return bool(self.settings.patience) and self.epoch - self.best_epoch >= self.settings.patience

    # ---- dev scores

    def _evaluate(self) -> None:
        """Score dev, spread over the processes, and keep the model if it is the best so far."""
        with _weights(self.model, self.average):
            pairs = self._predict_dev()
            if self.accelerator.is_main_process:
                self.dev = dev_scores(self.data.dev, pairs, self.config, self.part)
                self._log({"kind": "dev", "step": self.step, "epoch": self.epoch, **self.dev})
                self.say(f"epoch {self.epoch}: dev {_in_words(self.dev)}")
            chosen = self._broadcast(self.dev.get("chosen", 0.0))
            if chosen > self.best:
                self.best, self.best_epoch = chosen, self.epoch
                if self.accelerator.is_main_process:
                    description = describe_model(self.model, self.config.encoder, self.data.inputs)
                    self.checkpoint.write(
                        "best",
                        f"models/{self.step:06d}",
                        {"model": self.model.state_dict()},
                        model_texts(description, self.data.inputs),
                        {
                            "step": self.step,
                            "epoch": self.epoch,
                            "dev": self.dev,
                            "config": self.config.to_json(),
                        },
                    )

    def _predict_dev(self) -> list[Pair]:
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        places = list(range(process, len(self.data.dev), processes))
        words = [self.data.dev[place].dependencies.words for place in places]
        tags = [self.data.dev[place].constituency.tags for place in places]
        found = list(zip(places, predict(self.model, self.data.inputs, words, tags=tags), strict=True))
        if processes > 1:
            from accelerate.utils import gather_object

            found = gather_object(found)
        everything: list[Prediction] = [
            prediction for _, prediction in sorted(found, key=lambda item: item[0])
        ]
        if not self.accelerator.is_main_process:
            return []
        sentences = [pair.dependencies.words for pair in self.data.dev]
        return as_pairs(
            sentences,
            self.data.inventories,
            everything if self.part != "dependency" else None,
            everything if self.part != "constituency" else None,
        )

    def _broadcast(self, value: float) -> float:
        if self.accelerator.num_processes == 1:
            return value
        from accelerate.utils import broadcast_object_list

        return float(broadcast_object_list([value])[0])

    def _dev_shown(self) -> dict[str, str]:
        return {name: f"{self.dev[name]:.2f}" for name in ("las", "f1") if name in self.dev}

    # ---- state on disk

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        if not self.accelerator.is_main_process:
            return
        tensors = {
            "model": self.model.state_dict(),
            "optimizer": _optimizer_tensors(self.model, self.optimizer),
        }
        if self.average is not None:
            tensors["average"] = self.average
        state = {
            "step": self.step,
            "epoch": self.epoch,
            "done_in_epoch": self.done_in_epoch,
            "best": self.best,
            "best_epoch": self.best_epoch,
            "dev": self.dev,
        }
        self.checkpoint.write("last", f"steps/{self.step:06d}", tensors, {}, state)

    def _load(self) -> None:
        folder, state = self.checkpoint.open("last")
        self.model.load_state_dict(load_file(folder / "model.safetensors"))
        _load_optimizer(self.model, self.optimizer, load_file(folder / "optimizer.safetensors"))
        if self.average is not None:
            self.average = load_file(folder / "average.safetensors")
        for name in ("step", "epoch", "done_in_epoch", "best", "best_epoch", "dev"):
            setattr(self, name, state[name])
        self.say(f"resumed after update {self.step:,}, epoch {self.epoch + 1}")

    def _log(self, record: dict[str, Any]) -> None:
        """A line in the run's log, and in TensorBoard where it is installed."""
        if not self.accelerator.is_main_process:
            return
        record = {"time": round(time.time(), 1), **record}
        with open(self.folder / "log.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        board = _board(self.folder)
        if board is not None:
            for name, value in record.items():
                if isinstance(value, float) and name != "time":
                    board.add_scalar(f"{record['kind']}/{name}", value, self.step)


class _Meter:
    """Losses and speed, since the last look and since the epoch began."""

    def __init__(self, structure: StructureLoss) -> None:
        self.structure = structure
        self.started = self.looked = time.perf_counter()
        self.structure_at_start = self.structure_at_look = structure.seconds
        self.terms: list[np.ndarray] = []
        self.words: list[int] = []
        self.new = 0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def add(self, terms: np.ndarray, words: int) -> None:
        self.terms.append(terms)
        self.words.append(words)
        self.new += 1

    def figures(self) -> dict[str, float]:
        now = time.perf_counter()
        out = self._summary(
            slice(-self.new, None), now - self.looked, self.structure.seconds - self.structure_at_look
        )
        self.looked, self.structure_at_look, self.new = now, self.structure.seconds, 0
        return out

    def whole(self) -> dict[str, float]:
        return self._summary(slice(None), self.seconds, self.structure.seconds - self.structure_at_start)

    def _summary(self, which: slice, seconds: float, structure: float) -> dict[str, float]:
        terms, words = np.asarray(self.terms[which]), np.asarray(self.words[which])
        mean = (terms * words[:, None]).sum(0) / words.sum()
        names = ("structure_loss", "label_loss", "relation_loss", "tag_loss")
        return {
            "loss": float(mean.sum()),
            **{name: float(value) for name, value in zip(names, mean, strict=True)},
            "words_per_second": float(words.sum() / seconds),
            "seconds": seconds,
            "structure_share": structure / seconds,
        }


class _weights:
    """For a while, the model has other weights."""

    def __init__(self, model: Model, other: dict[str, Tensor] | None) -> None:
        self.model, self.other = model, other

    def __enter__(self) -> None:
        if self.other is not None:
            self.own = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
            self.model.load_state_dict(self.other)

    def __exit__(self, *_: object) -> None:
        if self.other is not None:
            self.model.load_state_dict(self.own)


def dev_scores(
    gold: Sequence[Pair], predicted: Sequence[Pair], config: Config, part: str = "both"
) -> dict[str, float]:
    """The figures that training shows, and `chosen`: LAS + F1, or the one that a SEP model has."""
    report = evaluate(
        gold,
        predicted,
        punctuation=cast(Any, config.training.punctuation),
        subtypes=config.training.subtypes,
        tags="gold",
    )
    scores: dict[str, float] = {}
    if part != "dependency":
        scores |= {
            "f1": report.f1,
            "precision": report.precision,
            "recall": report.recall,
            "lcm_con": report.lcm_con,
        }
    if part != "constituency":
        scores |= {"las": report.las, "uas": report.uas, "lcm_dep": report.lcm_dep}
    if part == "both":
        scores |= {"lcm_both": report.lcm_both, "compatible": report.compatible}
    if config.model.tags:
        scores["tags"] = report.tag_accuracy
    scores["chosen"] = scores.get("las", 0.0) + scores.get("f1", 0.0)
    return scores


def load_parts(
    folder: Path,
) -> dict[str, tuple[Model, PieceInputs | WordInputs, dict[str, Any], dict[str, Any]]]:
    """The best model of a run, or both of a SEP run: part -> (model, inputs, description, state)."""
    out = {}
    for part, own in (
        ("both", folder),
        ("constituency", folder / "constituency"),
        ("dependency", folder / "dependency"),
    ):
        if (own / "best.json").exists():
            place, state = Checkpoint(own).open("best")
            out[part] = (*load_model(place), state)
    if not out:
        Checkpoint(folder).open("best")
    if "both" not in out and len(out) == 1:
        raise ConfigError(f"{folder}: only one half of the SEP parser is trained; continue with --resume")
    return out


def predict_pairs(folder: Path, gold: Sequence[Pair], *, apart: bool = False) -> list[Pair]:
    """Parse the words of gold pairs with the best model of a run."""
    parts = load_parts(folder)
    sentences = [pair.dependencies.words for pair in gold]
    tags = [pair.constituency.tags for pair in gold]
    found = {
        part: predict(model, inputs, sentences, tags=tags, apart=apart)
        for part, (model, inputs, _, _) in parts.items()
    }
    inventories = next(iter(parts.values()))[0].inventories
    both = found.get("both")
    return as_pairs(sentences, inventories, both or found["constituency"], both or found["dependency"])


def _final_scores(config: Config, data: Data, folder: Path, say: Say) -> dict[str, Any]:
    result: dict[str, Any] = {"system": config.model.system, "seed": config.seed}
    result["dev"] = dev_scores(data.dev, predict_pairs(folder, data.dev), config)
    say(f"best model on dev: {_in_words(result['dev'])}")
    if config.data.test:
        test = read_gold(config.data.test, config.data.mismatch)
        result["test"] = dev_scores(test, predict_pairs(folder, test), config)
        say(f"best model on test: {_in_words(result['test'])}")
    return result


def _claim(folder: Path, config: Config, resume: bool) -> None:
    """Refuse to train over another run; keep the configuration beside the results."""
    started = (folder / "config.json").exists()
    if started and not resume:
        raise ConfigError(
            f"{folder}: a run is already here: continue it with --resume, or choose another output"
        )
    folder.mkdir(parents=True, exist_ok=True)
    if started:
        before = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        changed = _differences(before, config.to_json())
        if changed:
            raise ConfigError(
                f"{folder}: cannot resume with another configuration; changed: {', '.join(changed)}"
            )
    if config.model.system == "sep":
        for part in ("constituency", "dependency"):
            (folder / part).mkdir(exist_ok=True)
    if not started:
        with atomic_write(folder / "config.json") as file:
            file.write(dump(config.to_json()))


def _differences(before: dict[str, Any], after: dict[str, Any], prefix: str = "") -> list[str]:
    out = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            out += _differences(old, new, f"{prefix}{name}.")
        elif old != new and f"{prefix}{name}" not in ("output", "data.root", "training.checkpoint_minutes"):
            out.append(f"{prefix}{name}")
    return out


def _optimizer_tensors(model: Model, optimizer: Any) -> dict[str, Tensor]:
    names = {parameter: name for name, parameter in model.named_parameters()}
    out = {}
    for parameter, state in _states(optimizer).items():
        for key, value in state.items():
            out[f"{names[parameter]}/{key}"] = torch.as_tensor(value, dtype=torch.float32)
    return out


def _load_optimizer(model: Model, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters = dict(model.named_parameters())
    for name, value in tensors.items():
        parameter, _, key = name.rpartition("/")
        optimizer.state[parameters[parameter]][key] = value.clone()


def _states(optimizer: Any) -> dict[Any, dict[str, Any]]:
    inner = getattr(optimizer, "optimizer", optimizer)
    return dict(inner.state)


def _in_words(scores: dict[str, float]) -> str:
    names = {
        "las": "LAS",
        "uas": "UAS",
        "f1": "F1",
        "lcm_con": "LCM con",
        "lcm_dep": "LCM dep",
        "lcm_both": "LCM both",
        "tags": "tags",
    }
    return ", ".join(f"{text} {scores[name]:.2f}" for name, text in names.items() if name in scores)


def _parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _precision(choice: str) -> str:
    if choice == "auto":
        return "bf16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "no"
    return "bf16" if choice == "bf16" else "no"


def _maybe_no_sync(accelerator: Any, module: nn.Module, skip: bool) -> Any:
    import contextlib

    return accelerator.no_sync(module) if skip and accelerator.num_processes > 1 else contextlib.nullcontext()


_boards: dict[Path, Any] = {}


def _board(folder: Path) -> Any:
    """A TensorBoard writer, or None where TensorBoard is not installed or ARCSPAN_TENSORBOARD=0."""
    if folder not in _boards:
        _boards[folder] = None
        if os.environ.get("ARCSPAN_TENSORBOARD", "1") != "0":
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                return None
            _boards[folder] = SummaryWriter(str(folder / "tensorboard"))
    return _boards[folder]


def _nothing(_: str) -> None:
    """What processes other than the first say."""
