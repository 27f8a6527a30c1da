"""The training loop of all four systems.

Everything random in an update is drawn from (seed, update, process), and the order of the batches from
(seed, epoch): a run that is killed and resumed repeats nothing and skips nothing, and on the same CPU ends
with the same weights as one that was never killed. With several threads, torch adds up the gradient of `x[index]` in
whatever order they come, unless it is asked to be deterministic: on CPUs it is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import broadcast_object_list, gather_object
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.utils import deterministic
from tqdm import tqdm

from arcspan.errors import ArcspanError
from arcspan.neural.losses import Gold, StructureLoss, losses
from arcspan.neural.model import Model
from arcspan.parts import find_part
from arcspan.prediction.inputs import Inputs
from arcspan.prediction.outputs import NAMED_OUTPUTS, Inventories
from arcspan.training import meter
from arcspan.training.average import Average
from arcspan.training.batches import Example, collate, schedule
from arcspan.training.checkpoint import Checkpoint, build, model_texts
from arcspan.training.config import Config, TrainingSettings
from arcspan.training.encoders import pretrained_architecture
from arcspan.training.instances import GoldSentence
from arcspan.training.scoring import Say, dev_scores, in_words, predict_gold, say_nothing
from arcspan.training.starting import Start
from arcspan.treebanks import Pair


@dataclass
class Data:
    """Sentences, inventories and inputs, the same for both parts of SEP.

    config   settled: with the encoder, sizes and styles of the model that training starts from
    digests  by file, of what was read
    """

    config: Config
    examples: list[Example]
    dev: list[GoldSentence]
    test: list[GoldSentence]
    inventories: Inventories
    inputs: Inputs
    digests: dict[str, str]
    start: Start | None = None


# What a checkpoint keeps of a Trainer.
_PROGRESS = ("step", "epoch", "done_in_epoch", "best", "best_epoch", "dev")


class _Step(nn.Module):
    """The model and its losses as one module, so that several processes can share gradients."""

    def __init__(self, model: Model, settings: TrainingSettings) -> None:
        super().__init__()
        self.model = model
        own = model.settings
        if own.loss in ("crf", "margin"):
            self.structure = StructureLoss(own.system, own.loss, own.cost)
        else:
            self.structure = find_part("losses", own.loss)(own)
        group_weights = {
            "labels": settings.label_weight,
            "tags": settings.tag_weight,
            "rows": settings.row_weight,
        }
        self.weights = {"structure": 1.0} | {
            output.name: group_weights[output.group] for output in NAMED_OUTPUTS
        }
        self.terms = [
            "structure",
            *(name for name in model.scorers if name not in ("span", "arc", "headed")),
        ]

    def forward(self, inputs: dict[str, Tensor], gold: Gold) -> tuple[Tensor, Tensor]:
        """The weighted sum of a batch's losses, and its terms."""
        found = losses(self.model, self.structure, inputs, gold)
        total = sum(self.weights[name] * loss for name, loss in found.items())
        assert isinstance(total, Tensor)
        return total, torch.stack([found[name].detach().float() for name in self.terms])


class Trainer:
    """One model, from its first update (or where it was left) to its last."""

    def __init__(
        self, part: str, data: Data, folder: Path, accelerator: Any, say: Say, bars: bool
    ) -> None:
        config = data.config
        self.config, self.settings, self.data = config, config.training, data
        self.folder, self.accelerator, self.say, self.bars = folder, accelerator, say, bars
        self.checkpoint = Checkpoint(folder)
        self.examples = [
            example
            for example in data.examples
            if part == "both"
            or (example.chains if part == "constituency" else example.sentence.heads) is not None
        ]
        words = bool(self.settings.batch_words)
        self.costs = [len(one.sentence.words) if words else one.cost for one in self.examples]
        self.step = 0  # updates done
        self.epoch = 0
        self.done_in_epoch = 0
        self.best = -1.0
        self.best_epoch = 0
        self.dev: dict[str, float] = {}
        self.speed: meter.Meter | None = None  # of an epoch under way
        torch.manual_seed(config.seed)
        start = data.start
        encoder, architecture, path = config.encoder, start.architecture if start else None, None
        if encoder.kind == "pretrained" and not start:
            architecture, path = pretrained_architecture(encoder), encoder.path
        self.model = build(
            part,
            config.model,
            encoder,
            architecture,
            data.inventories,
            data.inputs,
            weights_from=path,
        )
        if start:
            new = start.give(self.model)
            say(f"starting from {config.model.start}" + (f"; new: {', '.join(new)}" if new else ""))
        self.optimizer = self._make_optimizer()
        self.average: Average | None = None  # once the weights are on their device

    def _make_optimizer(self) -> torch.optim.AdamW:
        rates = {
            "encoder.pretrained.": self.settings.encoder_rate,
            "encoder.mix.": self.settings.encoder_rate,
            "styles.": self.settings.style_rate or self.settings.rate,
            "": self.settings.rate,
        }
        by_rate: dict[float, list[nn.Parameter]] = {}
        for name, parameter in self.model.named_parameters():
            rate = next(rate for prefix, rate in rates.items() if name.startswith(prefix))
            by_rate.setdefault(rate, []).append(parameter)
        groups = [{"params": own, "lr": rate, "initial": rate} for rate, own in by_rate.items()]
        return torch.optim.AdamW(
            groups,
            betas=(self.settings.beta1, self.settings.beta2),
            eps=self.settings.epsilon,
            weight_decay=self.settings.weight_decay,
            fused=True,
        )

    # ---- the loop

    def run(self, resume: bool) -> None:
        """Train to the end; with `resume`, from the last checkpoint if there is one."""
        with repeatable(self.accelerator.device):
            self._run(resume)

    def _run(self, resume: bool) -> None:
        resume = resume and (self.folder / "last.json").exists()
        step = _Step(self.model, self.settings)
        self.accelerator.free_memory()
        self.step_module, self.optimizer = self.accelerator.prepare(step, self.optimizer)
        self.structure, self.terms = step.structure, step.terms
        if self.settings.average:
            self.average = Average(self.model, self.settings.average)
        if resume:
            self._load()
        counts = [len(self._updates(epoch)) for epoch in range(self.settings.epochs)]
        self.total = sum(counts)
        if self.step == 0:
            parameters = sum(parameter.numel() for parameter in self.model.parameters())
            self.say(
                f"{self.total:,} updates in {self.settings.epochs} epochs; {parameters:,} parameters; "
                f"device: {self.accelerator.device}"
            )
            if self.data.start:
                self._evaluate()
        self._saved_at = time.monotonic()
        while self.epoch < self.settings.epochs:
            patience = self.settings.patience
            if patience and self.epoch - self.best_epoch >= patience:
                self.say(f"no better dev score for {patience} epochs: stopping")
                break
            self._one_epoch()
            self.epoch += 1
            self.done_in_epoch = 0
            self._evaluate()
            self._save()

    def _one_epoch(self) -> None:
        updates = self._updates(self.epoch)
        begun = self.done_in_epoch
        self.step_module.train()
        speed = self.speed = self.speed or meter.Meter(self.structure, self.terms)
        label = f"epoch {self.epoch + 1}/{self.settings.epochs}"
        with self._bar(len(updates), label, "updates", begun) as bar:
            for update in updates[begun:]:
                speed.add(*self._update(update))
                self.step += 1
                self.done_in_epoch += 1
                shown = {
                    name: f"{self.dev[name]:.2f}" for name in ("las", "f1") if name in self.dev
                }
                bar.set_postfix({"loss": f"{speed.loss:.3f}"} | shown, refresh=False)
                bar.update()
                if self.done_in_epoch == 20 or self.done_in_epoch % 50 == 0:
                    self._report(speed, label, len(updates))
                if time.monotonic() - self._saved_at > self.settings.checkpoint_minutes * 60:
                    self._save()
        if begun < len(updates) or speed.epoch.words:
            figures = speed.epoch.figures(self.terms)
            self._log({"kind": "epoch", "step": self.step, "epoch": self.epoch + 1, **figures})
        self.speed = None

    def _report(self, speed: meter.Meter, label: str, updates: int) -> None:
        """Log the figures since the last report, and now and then say them."""
        figures, done = speed.figures(), self.done_in_epoch
        record = {"kind": "train", "step": self.step, "epoch": self.epoch + 1, "rate": self._rate()}
        self._log(record | figures)
        if done == 20 or (not self.bars and done % 200 == 0):
            left = speed.epoch.seconds / done * (updates - done)
            self.say(
                f"{label}: {done:,}/{updates:,} updates, "
                f"loss {figures['loss']:.3f}, {figures['words_per_second']:.0f} words/s, "
                f"structure {figures['structure_share']:.1%} of the time, "
                f"{left / 60:.1f} min left in this epoch"
            )

    def _bar(self, total: int, label: str, unit: str, done: int = 0) -> Any:
        """A progress bar; `rate_noinv_fmt` stays "0.50 updates/s" where an update takes two seconds."""
        form = (
            "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_noinv_fmt}{postfix}]"
        )
        return tqdm(
            total=total,
            initial=done,
            desc=label,
            unit=f" {unit}",
            bar_format=form,
            disable=not self.bars,
        )

    def _update(self, batches: list[list[int]]) -> tuple[np.ndarray, int]:
        """One update over this process's share of the batches; the loss is divided by the words of all."""
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        torch.manual_seed((self.config.seed * 1_000_003 + self.step) * 64 + process)
        words = sum(
            len(self.examples[place].sentence.words) for batch in batches for place in batch
        )
        for group, rate in zip(self.optimizer.param_groups, self._rates(), strict=True):
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        terms = np.zeros(len(self.terms))
        mine = batches[process::processes]
        for place, batch in enumerate(mine):
            inputs, gold = collate([self.examples[example] for example in batch], self.data.inputs)
            device = self.accelerator.device
            inputs = {name: value.to(device) for name, value in inputs.items()}
            last = place == len(mine) - 1
            waiting = (
                contextlib.nullcontext() if last else self.accelerator.no_sync(self.step_module)
            )
            with waiting, self.accelerator.autocast():
                loss, parts = self.step_module(inputs, gold)
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
        if self.average:
            self.average.update(self.step)
        return terms * processes, words

    def _updates(self, epoch: int) -> list[list[list[int]]]:
        """The epoch's updates, each a list of batches, a whole number for every process."""
        processes, settings = self.accelerator.num_processes, self.settings
        budget = (settings.batch_words or settings.batch_pieces) // processes
        padded = not settings.batch_words
        batches = schedule(self.costs, max(1, budget), self.config.seed, epoch, padded=padded)
        size = settings.accumulate * processes
        groups = [batches[place : place + size] for place in range(0, len(batches), size)]
        short = -len(groups[-1]) % processes
        groups[-1] = groups[-1] + [batches[place % len(batches)] for place in range(short)]
        return groups

    def _rates(self) -> list[float]:
        warm = self.settings.warmup * self.total
        falling = (self.total - self.step) / max(1.0, self.total - warm)
        share = self.step / warm if self.step < warm else falling
        return [group["initial"] * share for group in self.optimizer.param_groups]

    def _rate(self) -> float:
        groups = self.optimizer.param_groups
        return float(
            next(group["lr"] for group in groups if group["initial"] == self.settings.rate)
        )

    # ---- dev scores

    def _evaluate(self) -> None:
        """Score dev, spread over the processes, and keep the model if it is the best so far."""
        with self.average.applied() if self.average else contextlib.nullcontext():
            pairs = self._predict_dev()
            if self.accelerator.is_main_process:
                say = say_nothing if self.dev else self.say  # what is odd is said once
                self.dev = dev_scores(self.data.dev, pairs, self.config, say)
                self._log({"kind": "dev", "step": self.step, "epoch": self.epoch, **self.dev})
                when = f"epoch {self.epoch}" if self.epoch else "before the first update"
                self.say(f"{when}: dev {in_words(self.dev)}")
            (chosen,) = broadcast_object_list([self.dev.get("chosen", 0.0)])
            if chosen > self.best:
                self.best, self.best_epoch = chosen, self.epoch
                if self.accelerator.is_main_process:
                    tensors = {"model": self.model.state_dict()}
                    texts = model_texts(self.model, self.config.encoder, self.data.inputs)
                    state = {"step": self.step, "epoch": self.epoch, "dev": self.dev}
                    state["config"] = self.config.to_json()
                    self.checkpoint.write("best", f"models/{self.step:06d}", tensors, texts, state)

    def _predict_dev(self) -> list[Pair]:
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        places = list(range(process, len(self.data.dev), processes))
        places.sort(key=lambda place: len(self.data.dev[place].pair.words), reverse=True)
        found: list[tuple[int, Pair]] = []
        with self._bar(len(places), "dev", "sentences") as bar:
            for start in range(0, len(places), 256):
                some = places[start : start + 256]
                gold = [self.data.dev[place] for place in some]
                found += zip(some, predict_gold([self.model], self.data.inputs, gold), strict=True)
                bar.update(len(some))
        return [pair for _, pair in sorted(gather_object(found), key=lambda item: item[0])]

    # ---- state on disk

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        if not self.accelerator.is_main_process:
            return
        tensors = {"model": self.model.state_dict()}
        tensors["optimizer"] = _optimizer_tensors(self.model, self.optimizer)
        if self.average:
            tensors["average"] = self.average.weights
        state = {name: getattr(self, name) for name in _PROGRESS}
        state |= {"speed": self.speed and self.speed.state, "log": meter.seal(self.folder)}
        self.checkpoint.write("last", f"steps/{self.step:06d}", tensors, {}, state)

    def _load(self) -> None:
        folder, state = self.checkpoint.open("last")
        self.model.load_state_dict(load_file(folder / "model.safetensors"))
        _load_optimizer(self.model, self.optimizer, load_file(folder / "optimizer.safetensors"))
        if self.average:
            for name, value in load_file(folder / "average.safetensors").items():
                self.average.weights[name].copy_(value)
        for name in _PROGRESS:
            setattr(self, name, state[name])
        if state.get("speed"):
            self.speed = meter.Meter(self.structure, self.terms, state["speed"])
        if state.get("log") and self.accelerator.is_main_process:
            meter.restore(self.folder, state["log"])
        self.say(f"resumed after update {self.step:,}, epoch {self.epoch + 1}")

    def _log(self, record: dict[str, Any]) -> None:
        if self.accelerator.is_main_process:
            meter.log(self.folder, record, board=self.settings.tensorboard)


@contextlib.contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """On a CPU, the same sums in the same order whenever they are computed."""
    before = torch.are_deterministic_algorithms_enabled(), deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(before[0] or device.type == "cpu")
    # Every new tensor would be filled before it is written, for 7% of the time: none is read unwritten here.
    deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        deterministic.fill_uninitialized_memory = before[1]


def _optimizer_tensors(model: Model, optimizer: Any) -> dict[str, Tensor]:
    names = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}/{key}": torch.as_tensor(value, dtype=torch.float32)
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
    }


def _load_optimizer(
    model: Model, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    parameters = dict(model.named_parameters())
    for name, value in tensors.items():
        parameter, _, key = name.rpartition("/")
        own = parameters[parameter]
        optimizer.state[own][key] = value.to(own.device, copy=True)
