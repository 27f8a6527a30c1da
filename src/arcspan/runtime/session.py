"""The two ONNX graphs of a model, run by onnxruntime.

A graph runs in the thread that calls it, on one core: many threads may call it at once, and that is
how a parser uses several cores. So the arithmetic of a sentence never depends on the number of
threads, and a session has no threads of its own that a fork would lose.
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
from arcspan.onnx import import_onnxruntime, refuse_unsafe_graph
from arcspan.prediction.inputs import Arrays
from arcspan.prediction.outputs import (
    NAMED_OUTPUTS,
    WORD_OUTPUTS,
    Indices,
    Inventories,
    Scores,
)

# Outputs of the score graph that one run computes; second-order scores may take several.
_ONCE = ["hidden", "span", "arc"] + [output.name for output in WORD_OUTPUTS]
# Runs that need more bytes than this give their memory back to the system afterwards.
_LARGE = 64 << 20
# Second-order scores of more bytes are computed in several runs: of long sentences, the network
# would need as much memory as the chart.
_LARGEST_RUN = 1 << 28

# Devices by name, and what onnxruntime calls them; `auto` is the first that is installed.
DEVICES = {
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
    "cpu": "CPUExecutionProvider",
}


def providers(device: str) -> list[str]:
    """Return onnxruntime's providers: for the device, then the processor for what it cannot do."""
    if device == "cpu":
        return [DEVICES["cpu"]]
    if device != "auto" and device not in DEVICES:
        raise ArcspanError(f"device={device!r}: choose auto, {', '.join(DEVICES)}")
    installed = import_onnxruntime().get_available_providers()
    candidates = list(DEVICES.values()) if device == "auto" else [DEVICES[device]]
    available = [name for name in candidates if name in installed]
    if not available:
        warnings.warn(
            f"device={device!r}: this onnxruntime has no {candidates[0]} "
            f"(it has {', '.join(installed)}); using the CPU",
            stacklevel=2,
        )
    return list(dict.fromkeys([*available[:1], DEVICES["cpu"]]))


class Session:
    """The graphs of one model of a bundle (`component`, an entry of the bundle's configuration).

    `load` reads them, and anew in a forked process. `providers` are those of onnxruntime to run
    them by.
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
        self.outputs = frozenset(component["outputs"])
        self._sizes = {
            output.name: len(inventories.names(output.name))
            for output in NAMED_OUTPUTS
            if output.name in self.outputs
        }
        self.reads_tags = bool(component.get("gold_tags"))
        self._files = (folder / component["score"], folder / component["label"])
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Load the graphs anew at the next use: a forked process cannot use its parent's."""
        self._graphs: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    def load(self) -> tuple[Any, Any]:
        """Return the score graph and the label graph."""
        if self._graphs is None:
            with self._lock:
                # Another thread may have loaded them while this one waited.
                if self._graphs is None:
                    score_file, label_file = self._files
                    graphs = (
                        _load(score_file, self.providers, self._verify),
                        _load(label_file, self.providers, self._verify),
                    )
                    of_parts = self.outputs & {"label", "relation"}
                    self._check_graph(score_file, graphs[0], self.outputs - of_parts)
                    self._check_graph(label_file, graphs[1], of_parts)
                    self._graphs = graphs
        return self._graphs

    def _check_graph(self, file: Path, graph: Any, outputs: frozenset[str]) -> None:
        """Refuse a graph that does not fit the inventories: cut or put together from several
        bundles.
        """
        shapes = {output.name: output.shape for output in graph.get_outputs()}
        for name in sorted(outputs):
            if name not in shapes:
                raise BundleError(
                    f"{file}: the graph does not make {name!r}, which config.json names"
                )
            columns = shapes[name][-1] if shapes[name] else None
            size = self._sizes.get(name)
            # The size of an axis may be a name instead of a number.
            if isinstance(columns, int) and size is not None and columns != size:
                raise BundleError(
                    f"{file}: the graph scores {columns} of {name!r}, the inventories have {size}"
                )

    def score(
        self, arrays: Arrays, *, headed: bool = True, largest_run: int = _LARGEST_RUN
    ) -> Scores:
        """Score a batch; second-order scores in several runs where one would take more bytes than
        `largest_run`.
        """
        graph, _ = self._graphs or self.load()
        sentences, positions = (arrays["index"] if "index" in arrays else arrays["words"]).shape[:2]
        has_headed = "headed" in self.outputs
        size = positions - 1
        # All pairs of fenceposts, row by row.
        i, j = np.triu_indices(size if has_headed and headed else 0, 1)
        # Bytes for a pair while it is scored: its vector in a few steps, its scores in two.
        pair_bytes = 4 * sentences * (3 * 512 + 2 * size)
        runs = max(1, min(len(i) // 2, -(-len(i) * pair_bytes // largest_run)))
        options = None
        if len(i) * pair_bytes > _LARGE:
            options = import_onnxruntime().RunOptions()
            options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        scores: Arrays = {}
        headed_scores: np.ndarray | None = None
        for start, stop in pairwise(np.linspace(0, len(i), runs + 1).astype(int).tolist()):
            # Later runs compute second-order scores only.
            names = [name for name in _ONCE if name in self.outputs and start == 0]
            inputs = dict(arrays)
            if has_headed:
                names.append("headed")
                inputs["pair_i"] = _at_least_two(i[start:stop])
                inputs["pair_j"] = _at_least_two(j[start:stop])
            results = dict(zip(names, graph.run(names, inputs, options), strict=True))
            if has_headed:
                of_run = results.pop("headed")[:, : stop - start]
                if runs > 1:
                    # Each run goes to its rows at once: joining them in the end would hold all
                    # scores twice.
                    if headed_scores is None:
                        shape = (sentences, len(i), of_run.shape[2])
                        headed_scores = np.empty(shape, of_run.dtype)
                    headed_scores[:, start:stop] = of_run
                elif headed:
                    headed_scores = of_run
            scores = scores or results
        hidden = {"hidden": scores.pop("hidden")}
        if "styles" in arrays:
            hidden["styles"] = arrays["styles"]
        span = scores.pop("span", None)
        arc = scores.pop("arc", None)
        return Scores(hidden, span, arc, headed_scores, scores)

    def label(
        self, hidden: Arrays, nodes: Indices, words: Indices
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return scores of labels and of relations, as `Scorer.label` does."""
        _, graph = self._graphs or self.load()
        count = len(hidden["hidden"])
        sentences = np.concatenate([nodes[0], words[0]])
        used = np.flatnonzero(np.bincount(sentences, minlength=count))
        inputs = dict(hidden)
        if 0 < len(used) < count:
            # Only the vectors of sentences that have nodes or words to label.
            row = np.zeros(count, np.int64)
            row[used] = np.arange(len(used))
            inputs = {name: array[used] for name, array in hidden.items()}
            nodes = (row[nodes[0]], *nodes[1:])
            words = (row[words[0]], *words[1:])
        counts = {}
        for output, prefix, axes, indices in (
            ("label", "node_", "bij", nodes),
            ("relation", "word_", "bmh", words),
        ):
            if output in self.outputs:
                counts[output] = len(indices[0])
                for axis, index in zip(axes, indices, strict=True):
                    inputs[prefix + axis] = np.ascontiguousarray(_at_least_two(index), np.int64)
        rows = dict(zip(counts, graph.run(list(counts), inputs), strict=True))
        scores = {output: rows[output][:size] for output, size in counts.items()}
        return scores.get("label"), scores.get("relation")


def _at_least_two(indices: np.ndarray) -> np.ndarray:
    """Double a single index: one row is multiplied by another routine, with other rounding."""
    return np.resize(indices, 2) if len(indices) == 1 else indices


def _load(file: Path, providers: list[str], verify: bool) -> Any:
    onnxruntime = import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Only what is fatal: warnings of the graph optimizer say nothing to users.
    options.log_severity_level = 4
    # Every batch has its own shape: plans for shapes seen before would only pile up.
    options.enable_mem_pattern = False
    if verify:
        refuse_unsafe_graph(file.read_bytes(), file)
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=providers)
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise BundleError(f"{file}: onnxruntime cannot load this graph: {reason}") from None
