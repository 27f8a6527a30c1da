"""What a training run reports: losses and speed, in a log and, by a setting, for TensorBoard."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.errors import BundleError, ConfigError
from arcspan.neural.losses import StructureLoss


@dataclass
class _Tally:
    """Sums over updates: of each term of the loss times words, of words, and of time."""

    terms: list[float]
    words: int = 0
    seconds: float = 0.0
    structure: float = 0.0

    def add(self, terms: np.ndarray, words: int, seconds: float, structure: float) -> None:
        self.terms = [
            total + float(term) * words for total, term in zip(self.terms, terms, strict=True)
        ]
        self.words += words
        self.seconds += seconds
        self.structure += structure

    def figures(self, names: Sequence[str]) -> dict[str, float]:
        """Means, the terms of the loss by these names."""
        means = [total / max(1, self.words) for total in self.terms]
        return {
            "loss": sum(means),
            **{f"{name}_loss": value for name, value in zip(names, means, strict=True)},
            "words_per_second": self.words / self.seconds,
            "seconds": self.seconds,
            "structure_share": self.structure / self.seconds,
        }


class Meter:
    """Losses and speed, since the last look and since the epoch began; a resumed epoch goes on from `state`."""

    def __init__(
        self, structure: StructureLoss, names: Sequence[str], state: dict[str, Any] | None = None
    ) -> None:
        """`names` are those of the terms of the loss."""
        self.structure, self.names = structure, names
        self.ticked, self.structure_at_tick = time.perf_counter(), structure.seconds
        state = state or {name: {"terms": [0.0] * len(names)} for name in ("recent", "epoch")}
        self.recent, self.epoch = _Tally(**state["recent"]), _Tally(**state["epoch"])

    @property
    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"recent": asdict(self.recent), "epoch": asdict(self.epoch)}

    @property
    def loss(self) -> float:
        """The mean per word since the last look."""
        return sum(self.recent.terms) / max(1, self.recent.words)

    def add(self, terms: np.ndarray, words: int) -> None:
        """Note the terms of an update's loss, per word, and its words."""
        now, structure = time.perf_counter(), self.structure.seconds
        for tally in (self.recent, self.epoch):
            tally.add(terms, words, now - self.ticked, structure - self.structure_at_tick)
        self.ticked, self.structure_at_tick = now, structure

    def figures(self) -> dict[str, float]:
        """Means since the last look."""
        out = self.recent.figures(self.names)
        self.recent = _Tally([0.0] * len(self.names))
        return out


def log(folder: Path, record: dict[str, Any], *, board: bool = False) -> None:
    """A line in the run's log, and figures for TensorBoard."""
    record = {"time": round(time.time(), 1), **record}
    with open(folder / "log.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    if board:
        writer = _writer(folder)
        for name, value in record.items():
            if isinstance(value, float) and name != "time":
                writer.add_scalar(f"{record['kind']}/{name}", value, record["step"])


def seal(folder: Path) -> dict[str, Any]:
    """The log's length and checksum, for the state that a checkpoint keeps."""
    path = folder / "log.jsonl"
    text = path.read_bytes() if path.exists() else b""
    return {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}


def restore(folder: Path, sealed: dict[str, Any]) -> None:
    """Cut the log to what it was when it was sealed: what was logged later will be logged again."""
    path = folder / "log.jsonl"
    text = path.read_bytes() if path.exists() else b""
    if hashlib.sha256(text[: sealed["bytes"]]).hexdigest() != sealed["sha256"]:
        raise BundleError(f"{path}: damaged (its checksum differs from the one in last.json)")
    if len(text) > sealed["bytes"]:
        os.truncate(path, sealed["bytes"])


@functools.cache
def _writer(folder: Path) -> Any:
    return tensorboard()(str(folder / "tensorboard"))


def tensorboard() -> Any:
    """The class of torch's writer; ConfigError where TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("training.tensorboard needs a package: pip install tensorboard") from None
    return SummaryWriter
