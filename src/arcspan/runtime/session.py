"""The two ONNX graphs of a model, run by onnxruntime.

A graph runs in the thread that calls it, on one core: many threads may call it at once, and that is how a
parser uses several cores. So the arithmetic of a sentence never depends on the number of threads, and a
session has no threads of its own that a fork would lose.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.errors import ArcspanError, BundleError
from arcspan.onnx import import_onnxruntime, refuse_external_weights
from arcspan.prediction.inputs import Arrays
from arcspan.prediction.outputs import (
    NAMED_OUTPUTS,
    WORD_OUTPUTS,
    Indices,
    Inventories,
    Scores,
)

_ONCE = ("hidden", "span", "arc", *(output.name for output in WORD_OUTPUTS))

# Runs that need more than this give their memory back to the system afterwards.
_LARGE = 64 << 20


# Devices by name, and what onnxruntime calls them; `auto` is the first that is installed.
DEVICES = {
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
    "cpu": "CPUExecutionProvider",
}


def providers(device: str) -> list[str]:
    """What onnxruntime is asked to compute with: the device, then the processor for what it cannot do."""
    if device == "cpu":
        return [DEVICES["cpu"]]
    if device != "auto" and device not in DEVICES:
        raise ArcspanError(f"device={device!r}: choose auto, {', '.join(DEVICES)}")
    onnxruntime = import_onnxruntime()
    installed = onnxruntime.get_available_providers()
    wanted = [DEVICES[device]] if device != "auto" else list(DEVICES.values())
    found = [name for name in wanted if name in installed][:1]
    if not found:
        warnings.warn(
            f"device={device!r}: this onnxruntime has no {wanted[0]} (it has {', '.join(installed)}); using the CPU",
            stacklevel=2,
        )
    return list(dict.fromkeys([*found, DEVICES["cpu"]]))


class Session:
    """The graphs of one model of a bundle (`component`, an entry of the bundle's configuration).

    They are loaded by `load`, and anew in a forked process, by the providers of onnxruntime that are named.
    """

    def __init__(
        self,
        folder: Path,
        component: dict[str, Any],
        inventories: Inventories,
        providers: Sequence[str] = ("CPUExecutionProvider",),
        *,
        verify: bool = True,
    ) -> None:
        self.providers = list(providers)
        self._verify = verify
        self._sizes = {
            output.name: len(getattr(inventories, output.names))
            for output in NAMED_OUTPUTS
            if output.name in component["outputs"]
        }
        self.outputs = frozenset(component["outputs"])
        self.reads_tags = bool(component.get("gold_tags"))
        self._files = (folder / component["score"], folder / component["label"])
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Load the graphs anew at the next use: for a forked process."""
        self._graphs: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    def load(self) -> tuple[Any, Any]:
        """The score graph and the label graph."""
        if self._graphs is None:
            with self._lock:
                if self._graphs is None:
                    self._graphs = tuple(
                        _load(file, self.providers, self._verify) for file in self._files
                    )
                    self._check_graphs(*self._graphs)
        return self._graphs

    def _check_graphs(self, *graphs: Any) -> None:
        """Refuse graphs that do not fit the inventories: cut or put together from several bundles."""
        placed = self.outputs & {"label", "relation"}
        for file, graph, names in zip(
            self._files, graphs, (self.outputs - placed, placed), strict=True
        ):
            made = {output.name: output.shape for output in graph.get_outputs()}
            for name in sorted(names):
                if name not in made:
                    raise BundleError(
                        f"{file}: the graph does not make {name!r}, which config.json names"
                    )
                found, size = made[name][-1] if made[name] else None, self._sizes.get(name)
                if isinstance(found, int) and size is not None and found != size:
                    raise BundleError(
                        f"{file}: the graph scores {found} of {name!r}, the inventories have {size}"
                    )

    def score(self, arrays: Arrays, *, headed: bool = True, room: int = 1 << 30) -> Scores:
        """Score a batch; second-order scores in several runs where one would take more than `room` bytes."""
        graph, _ = self._graphs or self.load()
        names = [name for name in _ONCE if name in self.outputs]
        sentences, positions = (arrays["index"] if "index" in arrays else arrays["words"]).shape[:2]
        size = positions - 1
        second = "headed" in self.outputs
        i, j = np.triu_indices(
            size if second and headed else 0, 1
        )  # all pairs of fenceposts, row by row
        # What a pair takes while it is scored: its vector in a few steps, its scores in two.
        each = 4 * sentences * (3 * 512 + 2 * size)
        runs = max(1, min(len(i) // 2, -(-len(i) * each // room)))
        options = None
        if len(i) * each > _LARGE:
            options = import_onnxruntime().RunOptions()
            options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        found: Arrays = {}
        rows = []
        for begin, end in pairwise(np.linspace(0, len(i), runs + 1).astype(int).tolist()):
            given, wanted = dict(arrays), [] if begin else [*names]
            if second:
                given |= {
                    "pair_i": _two_or_more(i[begin:end]),
                    "pair_j": _two_or_more(j[begin:end]),
                }
                wanted.append("headed")
            outputs = dict(zip(wanted, graph.run(wanted, given, options), strict=True))
            if second:
                rows.append(outputs.pop("headed")[:, : end - begin])
            found = found or outputs
        structure = {name: found.pop(name, None) for name in ("span", "arc")}
        if second and headed:
            structure["headed"] = rows[0] if len(rows) == 1 else np.concatenate(rows, 1)
        hidden = {name: array for name, array in arrays.items() if name == "styles"}
        return Scores({"hidden": found.pop("hidden"), **hidden}, **structure, words=found)

    def label(
        self, hidden: Arrays, nodes: Indices, words: Indices
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Scores of labels and of relations: see `Scorer.label`."""
        _, graph = self._graphs or self.load()
        given, count = dict(hidden), len(hidden["hidden"])
        used = np.flatnonzero(np.bincount(np.concatenate([nodes[0], words[0]]), minlength=count))
        if 0 < len(used) < count:  # the vectors of those sentences alone that are asked about
            row = np.zeros(count, np.int64)
            row[used] = np.arange(len(used))
            given = {name: part[used] for name, part in hidden.items()}
            nodes, words = (row[nodes[0]], *nodes[1:]), (row[words[0]], *words[1:])
        counts = {}
        for kind, prefix, places in (("label", "node_", nodes), ("relation", "word_", words)):
            if kind in self.outputs:
                counts[kind] = len(places[0])
                letters = "bij" if kind == "label" else "bmh"
                for letter, place in zip(letters, places, strict=True):
                    given[prefix + letter] = np.ascontiguousarray(
                        _two_or_more(place), dtype=np.int64
                    )
        made = zip(counts, graph.run(list(counts), given), strict=True)
        found = {name: rows[: counts[name]] for name, rows in made}
        return found.get("label"), found.get("relation")


def _two_or_more(places: np.ndarray) -> np.ndarray:
    """One row alone would be multiplied by another routine, with other rounding: double it."""
    return np.resize(places, 2) if len(places) == 1 else places


def _load(file: Path, providers: list[str], verify: bool) -> Any:
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Every batch has its own shape: plans for shapes seen before would only pile up.
    options.enable_mem_pattern = False
    if verify:
        refuse_external_weights(file.read_bytes(), file)
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=providers)
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise BundleError(f"{file}: onnxruntime cannot load this graph: {reason}") from None
