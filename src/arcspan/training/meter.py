"""Losses and speed of a training run, in a log and, by a setting, for TensorBoard."""

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
class LossTally:
    """Sums over updates: of each term of the loss times words, of words, and of time."""

    terms: list[float]
    words: int = 0
    seconds: float = 0.0
    structure: float = 0.0

    def add(self, terms: np.ndarray, words: int, seconds: float, structure: float) -> None:
        """Add an update: the terms of its loss per word, its words and its times."""
        for index, term in enumerate(terms.tolist()):
            self.terms[index] += term * words
        self.words += words
        self.seconds += seconds
        self.structure += structure

    def figures(self, names: Sequence[str]) -> dict[str, float]:
        """Return means, the terms of the loss by these names."""
        means = [total / max(1, self.words) for total in self.terms]
        figures = {"loss": sum(means)}
        for name, mean in zip(names, means, strict=True):
            figures[f"{name}_loss"] = mean
        figures["words_per_second"] = self.words / self.seconds
        figures["seconds"] = self.seconds
        figures["structure_share"] = self.structure / self.seconds
        return figures


class Meter:
    """Losses and speed, since the last report and since the epoch began.

    A resumed epoch continues from `state`.
    """

    def __init__(
        self, structure: StructureLoss, names: Sequence[str], state: dict[str, Any] | None = None
    ) -> None:
        """Start the clock; `names` are those of the terms of the loss."""
        self.structure = structure
        self.names = names
        self._time = time.perf_counter()
        self._structure_time = structure.seconds
        self.recent = LossTally([0.0] * len(names))
        self.epoch = LossTally([0.0] * len(names))
        if state:
            self.recent = LossTally(**state["recent"])
            self.epoch = LossTally(**state["epoch"])

    @property
    def state(self) -> dict[str, Any]:
        """Return what a checkpoint stores."""
        return {"recent": asdict(self.recent), "epoch": asdict(self.epoch)}

    @property
    def loss(self) -> float:
        """Return the mean per word since the last report."""
        return sum(self.recent.terms) / max(1, self.recent.words)

    def add(self, terms: np.ndarray, words: int) -> None:
        """Add an update: the terms of its loss per word, and its words."""
        now = time.perf_counter()
        structure = self.structure.seconds
        for tally in (self.recent, self.epoch):
            tally.add(terms, words, now - self._time, structure - self._structure_time)
        self._time = now
        self._structure_time = structure

    def figures(self) -> dict[str, float]:
        """Return the means since the last report, and begin the next."""
        figures = self.recent.figures(self.names)
        self.recent = LossTally([0.0] * len(self.names))
        return figures


def log(folder: Path, record: dict[str, Any], *, board: bool = False) -> None:
    """Append a line to the run's log, and send figures to TensorBoard."""
    record = {"time": round(time.time(), 1), **record}
    with open(folder / "log.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    if board:
        writer = _writer(folder)
        for name, figure in record.items():
            if isinstance(figure, float) and name != "time":
                writer.add_scalar(f"{record['kind']}/{name}", figure, record["step"])


def seal(folder: Path) -> dict[str, Any]:
    """Return the log's length and checksum, for the state that a checkpoint stores."""
    content = _content(folder)
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def restore(folder: Path, sealed: dict[str, Any]) -> None:
    """Cut the log to what it was when it was sealed: later updates will be logged again."""
    path = folder / "log.jsonl"
    content = _content(folder)
    if hashlib.sha256(content[: sealed["bytes"]]).hexdigest() != sealed["sha256"]:
        raise BundleError(f"{path}: damaged (its checksum differs from the one in last.json)")
    if len(content) > sealed["bytes"]:
        os.truncate(path, sealed["bytes"])


def _content(folder: Path) -> bytes:
    path = folder / "log.jsonl"
    return path.read_bytes() if path.exists() else b""


@functools.cache
def _writer(folder: Path) -> Any:
    return tensorboard()(str(folder / "tensorboard"))


def tensorboard() -> Any:
    """Return the class of torch's writer; ConfigError if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("training.tensorboard needs a package: pip install tensorboard") from None
    return SummaryWriter
