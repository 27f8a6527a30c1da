"""The training loop of all four systems.

Everything random in an update is drawn from (seed, update, process), and the order of the batches
from (seed, epoch): a run that is killed and resumed repeats nothing and skips nothing, and on the
same CPU ends with the same weights as one that was never killed. With several threads, torch adds
up the gradient of `x[index]` in any order, unless deterministic algorithms are required: on CPUs
they are.
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
from arcspan.training.dev_scores import Say, dev_scores, in_words, predict_gold, say_nothing
from arcspan.training.encoders import pretrained_architecture
from arcspan.training.instances import GoldSentence
from arcspan.training.starting import Start
from arcspan.treebanks import Pair

_FIRST_REPORT = 20  # updates after which the speed of an epoch is reported first,
_LOG_EVERY = 50  # between two records of the log,
_SAY_EVERY = 200  # and between two lines for people, without progress bars
_DEV_CHUNK = 256  # sentences between two steps of the progress bar


@dataclass
class TrainingData:
    """Sentences, inventories and inputs, the same for both parts of SEP.

    config   settled: with the encoder, sizes and styles of the model that training starts from
    digests  by file, of the trees that were read
    trusted_parts  parts outside of installed packages that the user's configuration names
    """

    config: Config
    examples: list[Example]
    dev: list[GoldSentence]
    test: list[GoldSentence]
    inventories: Inventories
    inputs: Inputs
    digests: dict[str, str]
    start: Start | None = None
    trusted_parts: frozenset[str] = frozenset()


# The attributes of a Trainer that a checkpoint stores.
_PROGRESS = ("step", "epoch", "done_in_epoch", "best", "best_epoch", "dev")


class _Step(nn.Module):
    """The model and its losses as one module, so that several processes can share gradients."""

    def __init__(
        self, model: Model, settings: TrainingSettings, trusted_parts: frozenset[str]
    ) -> None:
        super().__init__()
        self.model = model
        system, loss = model.settings.system, model.settings.loss
        if loss in ("crf", "margin"):
            self.structure = StructureLoss(system, loss, model.settings.cost)
        else:
            self.structure = find_part("losses", loss, trusted=trusted_parts)(model.settings)
        group_weights = {"labels": 1.0, "tags": settings.tag_weight, "rows": settings.row_weight}
        self.weights = {"structure": 1.0}
        for output in NAMED_OUTPUTS:
            if output.name in model.scorers:
                self.weights[output.name] = group_weights[output.group]
        self.terms = list(self.weights)

    def forward(self, inputs: dict[str, Tensor], gold: Gold) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of a batch's losses, and its terms."""
        terms = losses(self.model, self.structure, inputs, gold)
        total = sum(self.weights[name] * term for name, term in terms.items())
        assert isinstance(total, Tensor)
        return total, torch.stack([terms[name].detach().float() for name in self.terms])


class Trainer:
    """One model, from its first update (or from its last checkpoint) to its last."""

    def __init__(
        self, part: str, data: TrainingData, folder: Path, accelerator: Any, say: Say, bars: bool
    ) -> None:
        self.data = data
        self.config = data.config
        self.settings = data.config.training
        self.folder = folder
        self.accelerator = accelerator
        self.say = say
        self.bars = bars
        self.checkpoint = Checkpoint(folder)
        self.examples = [example for example in data.examples if _has_part(example, part)]
        self.costs = [example.cost for example in self.examples]
        if self.settings.batch_words:
            self.costs = [len(example.sentence.words) for example in self.examples]
        self.step = 0  # finished updates
        self.epoch = 0  # finished epochs
        self.done_in_epoch = 0
        self.best = -1.0
        self.best_epoch = 0
        self.dev: dict[str, float] = {}
        self.speed: meter.Meter | None = None  # of the current epoch
        self.model = self._make_model(part)
        self.optimizer = self._make_optimizer()
        self.average: Average | None = None  # made once the weights are on their device

    def _make_model(self, part: str) -> Model:
        encoder, start = self.config.encoder, self.data.start
        architecture = weights_from = None
        if start:
            architecture = start.architecture
        elif encoder.kind == "pretrained":
            architecture = pretrained_architecture(encoder)
            weights_from = encoder.path
        torch.manual_seed(self.config.seed)
        model = build(
            part,
            self.config.model,
            encoder,
            architecture,
            self.data.inventories,
            self.data.inputs,
            weights_from=weights_from,
            trusted_parts=self.data.trusted_parts,
        )
        if start:
            new = start.copy_weights(model)
            line = f"starting from {self.config.model.start}"
            self.say(f"{line}; new: {', '.join(new)}" if new else line)
        return model

    def _make_optimizer(self) -> torch.optim.AdamW:
        settings = self.settings
        # The first prefix that fits counts.
        rates = {
            "encoder.pretrained.": settings.encoder_rate,
            "encoder.mix.": settings.encoder_rate,
            "styles.": settings.style_rate or settings.rate,
            "": settings.rate,
        }
        by_rate: dict[float, list[nn.Parameter]] = {}
        for name, parameter in self.model.named_parameters():
            rate = next(rate for prefix, rate in rates.items() if name.startswith(prefix))
            by_rate.setdefault(rate, []).append(parameter)
        groups = []
        for rate, parameters in by_rate.items():
            groups.append({"params": parameters, "lr": rate, "initial": rate})
        return torch.optim.AdamW(
            groups,
            betas=(settings.beta1, settings.beta2),
            eps=settings.epsilon,
            weight_decay=settings.weight_decay,
            fused=True,
        )

    # ---- the loop

    def run(self, resume: bool) -> None:
        """Train to the end; with `resume`, from the last checkpoint if there is one."""
        with repeatable(self.accelerator.device):
            self._run(resume)

    def _run(self, resume: bool) -> None:
        step = _Step(self.model, self.settings, self.data.trusted_parts)
        self.accelerator.free_memory()
        self.step_module, self.optimizer = self.accelerator.prepare(step, self.optimizer)
        self.structure = step.structure
        self.terms = step.terms
        if self.settings.average:
            self.average = Average(self.model, self.settings.average)
        if resume and (self.folder / "last.json").exists():
            self._load()
        self.total = sum(len(self._updates(epoch)) for epoch in range(self.settings.epochs))
        if self.step == 0:
            parameters = sum(parameter.numel() for parameter in self.model.parameters())
            self.say(
                f"{self.total:,} updates in {self.settings.epochs} epochs; "
                f"{parameters:,} parameters; device: {self.accelerator.device}"
            )
            if self.data.start:
                # The model to start from may stay the best.
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
        first = self.done_in_epoch
        self.step_module.train()
        speed = self.speed = self.speed or meter.Meter(self.structure, self.terms)
        label = f"epoch {self.epoch + 1}/{self.settings.epochs}"
        with self._bar(len(updates), label, "updates", first) as bar:
            for update in updates[first:]:
                speed.add(*self._update(update))
                self.step += 1
                self.done_in_epoch += 1
                postfix = {"loss": f"{speed.loss:.3f}"}
                for name in ("las", "f1"):
                    if name in self.dev:
                        postfix[name] = f"{self.dev[name]:.2f}"
                bar.set_postfix(postfix, refresh=False)
                bar.update()
                done = self.done_in_epoch
                if done == _FIRST_REPORT or done % _LOG_EVERY == 0:
                    self._report(speed, label, len(updates))
                if time.monotonic() - self._saved_at > self.settings.checkpoint_minutes * 60:
                    self._save()
        # An epoch that was resumed after its last update may have nothing to report.
        if first < len(updates) or speed.epoch.words:
            figures = speed.epoch.figures(self.terms)
            self._log({"kind": "epoch", "step": self.step, "epoch": self.epoch + 1, **figures})
        self.speed = None

    def _report(self, speed: meter.Meter, label: str, updates: int) -> None:
        """Log the figures since the last report, and now and then say them."""
        figures = speed.figures()
        done = self.done_in_epoch
        record = {"kind": "train", "step": self.step, "epoch": self.epoch + 1, "rate": self._rate()}
        self._log(record | figures)
        if done == _FIRST_REPORT or (not self.bars and done % _SAY_EVERY == 0):
            seconds = speed.epoch.seconds / done * (updates - done)
            self.say(
                f"{label}: {done:,}/{updates:,} updates, "
                f"loss {figures['loss']:.3f}, {figures['words_per_second']:.0f} words/s, "
                f"structure {figures['structure_share']:.1%} of the time, "
                f"{seconds / 60:.1f} min left in this epoch"
            )

    def _bar(self, total: int, label: str, unit: str, done: int = 0) -> Any:
        """Return a progress bar."""
        # `rate_noinv_fmt` stays "0.50 updates/s" where an update takes two seconds.
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
        """Make one update by this process's share of the batches.

        Returns the terms of the loss per word of all processes, and these words.
        """
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        # Dropout depends on the update and the process alone, so that resumed runs repeat it.
        torch.manual_seed((self.config.seed * 1_000_003 + self.step) * 64 + process)
        words = sum(
            len(self.examples[index].sentence.words) for batch in batches for index in batch
        )
        for group, rate in zip(self.optimizer.param_groups, self._rates(), strict=True):
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        terms = np.zeros(len(self.terms))
        batches = batches[process::processes]
        device = self.accelerator.device
        for number, batch in enumerate(batches, 1):
            inputs, gold = collate([self.examples[index] for index in batch], self.data.inputs)
            inputs = {name: tensor.to(device) for name, tensor in inputs.items()}
            # Gradients are exchanged once, with those of the last batch.
            synchronization = contextlib.nullcontext()
            if number < len(batches):
                synchronization = self.accelerator.no_sync(self.step_module)
            with synchronization, self.accelerator.autocast():
                loss, batch_terms = self.step_module(inputs, gold)
                # Processes average their gradients: times their number makes it the sum.
                self.accelerator.backward(loss * (processes / words))
            terms += batch_terms.cpu().numpy() / words
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
        """Return the epoch's updates: batches each, a whole number for every process."""
        processes, settings = self.accelerator.num_processes, self.settings
        budget = max(1, (settings.batch_words or settings.batch_pieces) // processes)
        padded = not settings.batch_words
        batches = schedule(self.costs, budget, self.config.seed, epoch, padded=padded)
        size = settings.accumulate * processes
        updates = [batches[start : start + size] for start in range(0, len(batches), size)]
        # Processes that are left over in the last update repeat the first batches.
        for index in range(-len(updates[-1]) % processes):
            updates[-1].append(batches[index % len(batches)])
        return updates

    def _rates(self) -> list[float]:
        warm = self.settings.warmup * self.total
        if self.step < warm:
            share = self.step / warm
        else:
            share = (self.total - self.step) / max(1.0, self.total - warm)
        return [group["initial"] * share for group in self.optimizer.param_groups]

    def _rate(self) -> float:
        for group in self.optimizer.param_groups:
            if group["initial"] == self.settings.rate:
                return float(group["lr"])
        raise AssertionError("every model has parameters outside the encoder")

    # ---- dev scores

    def _evaluate(self) -> None:
        """Score dev, spread over the processes, and save the model if it is the best so far."""
        with self.average.applied() if self.average else contextlib.nullcontext():
            pairs = self._predict_dev()
            if self.accelerator.is_main_process:
                # Notes on the rules of scoring are said once.
                say = say_nothing if self.dev else self.say
                self.dev = dev_scores(self.data.dev, pairs, self.config, say)
                self._log({"kind": "dev", "step": self.step, "epoch": self.epoch, **self.dev})
                when = f"epoch {self.epoch}" if self.epoch else "before the first update"
                self.say(f"{when}: dev {in_words(self.dev)}")
            # All processes have to agree on the best epoch, to stop together.
            (score,) = broadcast_object_list([self.dev.get("chosen", 0.0)])
            if score > self.best:
                self.best = score
                self.best_epoch = self.epoch
                if self.accelerator.is_main_process:
                    tensors = {"model": self.model.state_dict()}
                    texts = model_texts(self.model, self.config.encoder, self.data.inputs)
                    state = {"step": self.step, "epoch": self.epoch, "dev": self.dev}
                    state["config"] = self.config.to_json()
                    self.checkpoint.write("best", f"models/{self.step:06d}", tensors, texts, state)

    def _predict_dev(self) -> list[Pair]:
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        dev = self.data.dev
        indices = list(range(process, len(dev), processes))
        # Like lengths together; the longest first, so that memory fails early if it does.
        indices.sort(key=lambda index: len(dev[index].pair.words), reverse=True)
        pairs: list[tuple[int, Pair]] = []
        with self._bar(len(indices), "dev", "sentences") as bar:
            for start in range(0, len(indices), _DEV_CHUNK):
                chunk = indices[start : start + _DEV_CHUNK]
                gold = [dev[index] for index in chunk]
                predicted = predict_gold(
                    [self.model], self.data.inputs, gold, trusted_parts=self.data.trusted_parts
                )
                pairs += zip(chunk, predicted, strict=True)
                bar.update(len(chunk))
        in_order = sorted(gather_object(pairs), key=lambda numbered: numbered[0])
        return [pair for _, pair in in_order]

    # ---- state on disk

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        if not self.accelerator.is_main_process:
            return
        tensors = {
            "model": self.model.state_dict(),
            "optimizer": _optimizer_tensors(self.model, self.optimizer),
        }
        if self.average:
            tensors["average"] = self.average.weights
        state = {name: getattr(self, name) for name in _PROGRESS}
        state["speed"] = self.speed and self.speed.state
        state["log"] = meter.seal(self.folder)
        self.checkpoint.write("last", f"steps/{self.step:06d}", tensors, {}, state)

    def _load(self) -> None:
        folder, state = self.checkpoint.open("last")
        self.model.load_state_dict(load_file(folder / "model.safetensors"))
        _load_optimizer(self.model, self.optimizer, load_file(folder / "optimizer.safetensors"))
        if self.average:
            for name, weight in load_file(folder / "average.safetensors").items():
                self.average.weights[name].copy_(weight)
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


def _has_part(example: Example, part: str) -> bool:
    """Return True if a sentence teaches a part anything."""
    if part == "constituency":
        return example.chains is not None
    if part == "dependency":
        return example.sentence.heads is not None
    return True


@contextlib.contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """Sum in the same order whenever something is computed, on a CPU."""
    was_deterministic = torch.are_deterministic_algorithms_enabled()
    was_filling = deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(was_deterministic or device.type == "cpu")
    # Every new tensor would be filled before it is written, for 7% of the time: none is read
    # unwritten here.
    deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was_deterministic)
        deterministic.fill_uninitialized_memory = was_filling


def _optimizer_tensors(model: Model, optimizer: Any) -> dict[str, Tensor]:
    names = {parameter: name for name, parameter in model.named_parameters()}
    tensors = {}
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            tensors[f"{names[parameter]}/{key}"] = torch.as_tensor(value, dtype=torch.float32)
    return tensors


def _load_optimizer(
    model: Model, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    parameters = dict(model.named_parameters())
    for name, tensor in tensors.items():
        parameter_name, _, key = name.rpartition("/")
        parameter = parameters[parameter_name]
        optimizer.state[parameter][key] = tensor.to(parameter.device, copy=True)
