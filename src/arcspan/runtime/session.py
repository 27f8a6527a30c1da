"""The two ONNX graphs of a model, run by onnxruntime.

A graph runs in the thread that calls it, on one core: many threads may call it at once, and that is how a
parser uses several cores. So the arithmetic of a sentence never depends on the number of threads, and a
session has no threads of its own that a fork would lose.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arcspan.errors import BundleError

Arrays = dict[str, np.ndarray]

# Runs that need more than this give their memory back to the system afterwards.
_LARGE = 64 << 20


class Scores(NamedTuple):
    """What the score graph says of a batch; what a model does not have is None.

    hidden  float32 [B, n+2, D]: words' vectors, which the label graph reads
    span    float32 [B, n+1, n+1]: span[b, i, j] for the words i+1..j
    arc     float32 [B, n+1, n+1]: arc[b, m, h] for h as the head of m, 0 the root
    headed  float32 [B, n+1, n+1, n+1]: headed[b, i, j, h], i < j only; other cells hold anything
    tag     float32 [B, n+2, tags], and upos likewise: position 0 is the sentence's beginning
    """

    hidden: np.ndarray
    span: np.ndarray | None
    arc: np.ndarray | None
    headed: np.ndarray | None
    tag: np.ndarray | None
    upos: np.ndarray | None


class Session:
    """The graphs of one model of a bundle (`component`, an entry of the bundle's configuration).

    They are loaded at the first use.
    """

    def __init__(self, folder: Path, component: dict[str, Any]) -> None:
        self.folder = folder
        self.part: str = component["part"]
        self.outputs = frozenset(component["outputs"])
        self.reads_tags = bool(component.get("gold_tags"))
        self._files = (folder / component["score"], folder / component["label"])
        self.forget()

    def forget(self) -> None:
        """Load the graphs anew at the next use: for a forked process."""
        self._graphs: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    @property
    def has_headed(self) -> bool:
        """Whether the model has second-order scores."""
        return "headed" in self.outputs

    def load(self) -> tuple[Any, Any]:
        """The score graph and the label graph."""
        if self._graphs is None:
            with self._lock:
                if self._graphs is None:
                    self._graphs = (_load(self._files[0]), _load(self._files[1]))
        return self._graphs

    def score(self, arrays: Arrays, *, headed: bool = True, room: int = 1 << 28) -> Scores:
        """Score a batch; `arrays` come from the bundle's inputs.

        Second-order scores are left out where `headed` is False. They are made in several runs where one
        would take more than `room` bytes.
        """
        graph, _ = self.load()
        names = [name for name in Scores._fields if name in self.outputs and name != "headed"]
        given = dict(arrays)
        if not self.has_headed:
            found: Arrays = dict(zip(names, self._run(graph, names, given), strict=True))
            return Scores(**{name: found.get(name) for name in Scores._fields})  # type: ignore[arg-type]
        sentences, positions = (arrays["index"] if "index" in arrays else arrays["words"]).shape[:2]
        size = positions - 1
        i, j = _pairs(size) if headed else (_NONE, _NONE)
        # What a pair takes while it is scored: its vector in a few steps, its scores in two.
        each = 4 * sentences * (3 * 512 + 2 * size)
        large = len(i) * each > _LARGE
        runs = max(1, min(len(i) // 2, -(-len(i) * each // room)))
        cube = np.empty((sentences, size, size, size), dtype=np.float32) if headed else None
        found = {}
        for begin, end in pairwise(np.linspace(0, len(i), runs + 1).astype(int).tolist()):
            given["pair_i"], given["pair_j"] = _two_or_more(i[begin:end]), _two_or_more(j[begin:end])
            wanted = ["headed"] if begin else [*names, "headed"]
            outputs = dict(zip(wanted, self._run(graph, wanted, given, large), strict=True))
            if cube is not None:
                _scatter(outputs["headed"], i[begin:end], j[begin:end], cube)
            found = found or outputs
        scores = {name: found.get(name) for name in Scores._fields}
        return Scores(**{**scores, "headed": cube})  # type: ignore[arg-type]

    def label(
        self, hidden: np.ndarray, nodes: Sequence[np.ndarray], words: Sequence[np.ndarray]
    ) -> list[Any]:
        """Scores of labels [K, labels] at nodes (b, i, j), of relations [W, relations] at words (b, m, h).

        A list of two; None for what the model does not have.
        """
        _, graph = self.load()
        given: Arrays = {"hidden": hidden}
        names, counts = [], []
        for kind, prefix, places in (("label", "node_", nodes), ("relation", "word_", words)):
            if kind in self.outputs:
                names.append(kind)
                counts.append(len(places[0]))
                letters = "bij" if kind == "label" else "bmh"
                for letter, place in zip(letters, places, strict=True):
                    given[prefix + letter] = np.ascontiguousarray(_two_or_more(place), dtype=np.int64)
        found = dict(zip(names, zip(self._run(graph, names, given), counts, strict=True), strict=True))
        return [found[name][0][: found[name][1]] if name in found else None for name in ("label", "relation")]

    @staticmethod
    def _run(graph: Any, names: list[str], given: Arrays, large: bool = False) -> list[np.ndarray]:
        if not large:
            return graph.run(names, given)
        import onnxruntime

        options = onnxruntime.RunOptions()
        options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        return graph.run(names, given, options)


_NONE = np.zeros(0, dtype=np.int64)


def _two_or_more(places: np.ndarray) -> np.ndarray:
    """One row alone would be multiplied by another routine, with other rounding: double it."""
    return np.resize(places, 2) if len(places) == 1 else places


def _pairs(size: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs i < j of fenceposts, row by row."""
    if size > 128:
        return np.triu_indices(size, 1)
    if size not in _known_pairs:
        _known_pairs[size] = np.triu_indices(size, 1)
    return _known_pairs[size]


_known_pairs: dict[int, tuple[np.ndarray, np.ndarray]] = {}


def _scatter(packed: np.ndarray, i: np.ndarray, j: np.ndarray, cube: np.ndarray) -> None:
    """Put rows [B, pairs, n+1] in their places [B, i, j, :]."""
    begin = 0
    while begin < len(i):
        # A run of pairs with the same i has neighbouring j: one copy.
        row = i[begin]
        end = begin + int(np.searchsorted(i[begin:], row, side="right"))
        cube[:, row, j[begin] : j[end - 1] + 1] = packed[:, begin:end]
        begin = end


def _load(file: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Every batch has its own shape: plans for shapes seen before would only pile up.
    options.enable_mem_pattern = False
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise BundleError(f"{file}: onnxruntime cannot load this graph: {reason}") from None
