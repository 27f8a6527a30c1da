"""What a training run reports: losses and speed, in a log."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.errors import BundleError
from arcspan.neural.losses import StructureLoss


class Meter:
    """Losses and speed, since the last look and since the epoch began; a resumed epoch goes on from `state`.

    Both are sums over updates: of each term of the loss times words, of words, of seconds, and of those that the
    structure's loss took. `names` are those of the terms.
    """

    def __init__(
        self, structure: StructureLoss, names: Sequence[str], state: dict[str, Any] | None = None
    ) -> None:
        self.structure, self.names = structure, names
        self.ticked, self.structure_at_tick = time.perf_counter(), structure.seconds
        state = state or dict.fromkeys(("recent", "epoch"), [0.0] * (len(names) + 3))
        self.recent, self.epoch = np.asarray(state["recent"]), np.asarray(state["epoch"])

    @property
    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"recent": self.recent.tolist(), "epoch": self.epoch.tolist()}

    @property
    def loss(self) -> float:
        """The mean per word since the last look."""
        return self._summary(self.recent)["loss"]

    @property
    def seconds(self) -> float:
        """Since the epoch began."""
        return float(self.epoch[-2])

    def add(self, terms: np.ndarray, words: int) -> None:
        """Note the terms of an update's loss, per word, and its words."""
        now, structure = time.perf_counter(), self.structure.seconds
        more = [*(terms * words), words, now - self.ticked, structure - self.structure_at_tick]
        self.recent, self.epoch = self.recent + more, self.epoch + more
        self.ticked, self.structure_at_tick = now, structure

    def figures(self) -> dict[str, float]:
        """Means since the last look."""
        out = self._summary(self.recent)
        self.recent = np.zeros_like(self.recent)
        return out

    def whole(self) -> dict[str, float]:
        """Means since the epoch began."""
        return self._summary(self.epoch)

    def _summary(self, sums: np.ndarray) -> dict[str, float]:
        *terms, words, seconds, structure = sums.tolist()
        means = {f"{name}_loss": term / max(1, words) for name, term in zip(self.names, terms, strict=True)}
        return {
            "loss": sum(means.values()),
            **means,
            "words_per_second": words / seconds,
            "seconds": seconds,
            "structure_share": structure / seconds,
        }


def log(folder: Path, record: dict[str, Any]) -> None:
    """A line in the run's log."""
    with open(folder / "log.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps({"time": round(time.time(), 1), **record}) + "\n")


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
