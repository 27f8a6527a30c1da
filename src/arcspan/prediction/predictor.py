"""Words to predictions: batches, scores, search, labels, with any scorer.

Batches are small and of like length, because that is fastest on a CPU (`benchmarks/throughput.py`), and each
is worked on by one thread from words to labels; several threads take batches in turn. A sentence's result
does not depend on what stands beside it: no operation mixes sentences, and sentences share a batch only
where the padding leaves the order of additions in a matrix product as it is (`_shape_class`).
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from string import whitespace
from typing import Any

import numpy as np

from arcspan import decoding
from arcspan.decoding import Decoded
from arcspan.decoding.batch import available_threads
from arcspan.errors import ArcspanError, BundleError
from arcspan.prediction import long_sentences
from arcspan.prediction.confidence import Calibration
from arcspan.prediction.guidelines import Guidelines, are_universal
from arcspan.prediction.inputs import Arrays, PieceInputs, WordInputs
from arcspan.prediction.label_rules import Labelling
from arcspan.prediction.outputs import WORD_OUTPUTS, Inventories, Style
from arcspan.prediction.prediction import Prediction, label, merge
from arcspan.prediction.scores import Scorer, Scores, search

Tags = Sequence[Sequence[str] | None] | None


@dataclass(frozen=True)
class Budget:
    """What predicting may take.

    threads  how many batches are worked on at once; None for one per processor. Results do not depend on it
    memory   bytes that charts and their scores may take, all threads together; a sentence that needs more is
             parsed in pieces
    cells    positions of a batch that the encoder reads, padding included. 256 was measured to be best on a CPU
             (`benchmarks/throughput.py`): larger batches only cost cache misses and padding
    """

    threads: int | None = None
    memory: int = 2 << 30
    cells: int = 256

    def __post_init__(self) -> None:
        for name in ("threads", "memory", "cells"):
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 1) and not (name == "threads" and value is None):
                shown = "memory_limit" if name == "memory" else name
                raise ArcspanError(f"{shown} must be a whole number, at least 1, not {value!r}")


@dataclass(frozen=True)
class Item:
    """A sentence ready for the encoder, its length in words, and what it costs to encode."""

    words: Sequence[str]
    ready: Any
    length: int
    cost: int
    tags: Sequence[str] | None = None
    style: Style = Style()


class Predictor:
    """Scorers at work: one model, or the two of SEP. Several threads may use it at once, and forked processes.

    decode     "best": the best trees; "mbr": those with the greatest expected number of right spans and arcs
    labelling  rules by which labels and relations are chosen together; None: each for itself
    guidelines  whether relations obey those of Universal Dependencies, if that is what they are
    apart      search spans and arcs each alone, though one model scores both
    styles     conventions that can be asked for by name; the first is the default
    """

    def __init__(
        self,
        scorers: Sequence[Scorer],
        inputs: PieceInputs | WordInputs,
        inventories: Inventories,
        budget: Budget | None = None,
        *,
        decode: str = "best",
        calibration: Calibration | None = None,
        labelling: Labelling | None = None,
        guidelines: bool = True,
        apart: bool = False,
        styles: Mapping[str, Style] | None = None,
    ) -> None:
        if decode not in ("best", "mbr"):
            raise ArcspanError(f"decode={decode!r}: choose best (the best tree) or mbr (minimum Bayes risk)")
        self.scorers, self.inputs, self.inventories = list(scorers), inputs, inventories
        self.budget = budget or Budget()
        self.threads = self.budget.threads or available_threads()
        self.decode, self.apart, self.labelling = decode, apart, labelling
        self.guidelines = (
            Guidelines(inventories) if guidelines and are_universal(inventories.relations) else None
        )
        self.styles = dict(styles or {})
        self.style = next(iter(self.styles.values()), Style())
        self.calibration = calibration or Calibration()
        self.outputs = frozenset().union(*(scorer.outputs for scorer in self.scorers))
        self.joint = not apart and any({"span", "arc"} <= scorer.outputs for scorer in self.scorers)
        self._tag_ids = {tag: number for number, tag in enumerate(inventories.tags, 1)}
        self.forget()
        _alive.add(self)

    def forget(self) -> None:
        """Begin anew in a forked process, which has none of its parent's threads."""
        self.memory = _Memory(self.budget.memory)
        self._workers: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        for scorer in self.scorers:
            scorer.forget()

    def predict(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Tags = None,
        styles: Sequence[Style | None] | None = None,
    ) -> list[Prediction]:
        """Predictions in the order of the sentences; `tags` are read by models that were trained to."""
        return self.submit(sentences, tags, styles, eager=False).result()

    def submit(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Tags = None,
        styles: Sequence[Style | None] | None = None,
        *,
        eager: bool = True,
    ) -> Pending:
        """Begin to predict; several such calls may be under way. Unless `eager`, a single batch is worked
        on by the caller's thread, when it asks for the result.
        """
        pending = Pending(self, len(sentences))
        items = self._prepare(sentences, tags, styles, pending)
        batches = list(self._batches(items))
        if not eager and (len(batches) <= 1 or self.threads == 1):
            pending.later = [(places, [items[place] for place in places]) for places in batches]
            return pending
        pool = self._pool()
        for places in batches:
            batch = [items[place] for place in places]
            pending.futures.append((places, pool.submit(self._predict_batch, batch)))
        return pending

    def predict_here(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Tags = None,
        styles: Sequence[Style | None] | None = None,
    ) -> list[Prediction]:
        """`predict` in the caller's thread alone, which may be one of the workers."""
        pending = Pending(self, len(sentences))
        items = self._prepare(sentences, tags, styles, pending)
        pending.later = [(places, [items[place] for place in places]) for places in self._batches(items)]
        return pending.result()

    def _prepare(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Tags,
        styles: Sequence[Style | None] | None,
        pending: Pending,
    ) -> dict[int, Item]:
        """The sentences that can be parsed, by place; the others are settled at once."""
        places = []
        for place, words in enumerate(sentences):
            if not words:
                pending.done[place] = self._empty()
            elif number := empty_word(words):
                pending.done[place] = Prediction(error=f"word {number} of the sentence is empty")
            else:
                places.append(place)
        ready = self.inputs.prepare([sentences[place] for place in places])
        return {
            place: Item(
                sentences[place],
                one,
                len(sentences[place]),
                self.inputs.cost(one),
                tags[place] if tags else None,
                (styles[place] if styles else None) or self.style,
            )
            for place, one in zip(places, ready, strict=True)
        }

    def _empty(self) -> Prediction:
        nothing = np.zeros(0, dtype=np.int64)
        words = {output.name: nothing for output in WORD_OUTPUTS if output.name in self.outputs}
        nodes = np.zeros((0, 4), dtype=np.int64) if "span" in self.outputs else None
        heads = nothing if "arc" in self.outputs else None
        return Prediction(nodes, heads, heads, words)

    def _batches(self, items: dict[int, Item]) -> Iterator[list[int]]:
        """Places of like length together, the most costly first: the encoder's cells and the charts stay in bounds."""
        kinds = {place: self._shape_class(item) for place, item in items.items()}
        order = sorted(
            items, key=lambda place: (kinds[place], items[place].cost, items[place].length), reverse=True
        )
        batch: list[int] = []
        widest = longest = 0
        for place in order:
            item = items[place]
            widest, longest = max(widest, item.cost), max(longest, item.length)
            count = len(batch) + 1
            if batch and (
                kinds[place] != kinds[batch[0]]
                or widest * count > self.budget.cells
                or self.chart_bytes(longest) * count > self.budget.memory // (2 * self.threads)
            ):
                yield batch
                batch, widest, longest = [], item.cost, item.length
            batch.append(place)
        if batch:
            yield batch

    def _shape_class(self, item: Item) -> tuple[int, ...]:
        """Sentences of one class may share a batch.

        The products that score spans and arcs have n+1 columns, and those of attention one for each piece;
        onnxruntime cuts a sum into parts by the number of columns: up to 16, 32, 64, or more. Within a class
        all sums are cut alike.
        """
        windows = max(0, item.cost - 510)  # several windows: alone in its batch
        return _columns(item.length + 1), _columns(item.cost), self.inputs.summands(item.ready), windows

    def chart_bytes(self, n: int, *, sums: bool = False) -> int:
        """What the search of a sentence of n words takes: its scores and its chart; with `sums`, probabilities too."""
        return decoding.memory_needed(
            n, arcs=self.joint, headed="headed" in self.outputs, sums=sums or self.decode == "mbr"
        )

    def _predict_batch(self, items: Sequence[Item]) -> list[Prediction]:
        """A batch from words to labels. A failure is the failing sentence's alone."""
        try:
            if len(items) == 1 and self.is_too_long(items[0]):
                return [long_sentences.predict_long(self, items[0])]
            longest = max(item.length for item in items)
            with self.memory.take(self.chart_bytes(longest) * len(items)):
                parts = [self._predict_part(scorer, items) for scorer in self.scorers]
        except Exception as error:
            if len(items) > 1:
                return [found for item in items for found in self._predict_batch([item])]
            if isinstance(error, BundleError):
                raise
            return [Prediction(error=f"{type(error).__name__}: {error}")]
        return [merge(all_said) for all_said in zip(*parts, strict=True)]

    def is_too_long(self, item: Item) -> bool:
        """Whether a sentence must be parsed in pieces."""
        return item.length > 1 and (
            self.chart_bytes(item.length) > self.budget.memory or item.cost > long_sentences.BLOCK_COST
        )

    def longest_piece(self) -> int:
        """How many words an exactly parsed piece of a very long sentence may have."""
        n = long_sentences.PIECE
        while n > 1 and self.chart_bytes(n) > self.budget.memory:
            n -= 1
        return n

    def _predict_part(self, scorer: Scorer, items: Sequence[Item]) -> list[Prediction]:
        lengths = np.asarray([item.length for item in items], dtype=np.int64)
        scores = scorer.score(self.arrays(scorer, items))
        decoded = self.search(scores, lengths)
        styles = [item.style for item in items]
        choice = self.labelling, self.guidelines
        return label(scorer, scores, decoded, lengths, self.inventories, styles, *choice)

    def arrays(self, scorer: Scorer, items: Sequence[Item]) -> Arrays:
        """What the scorer reads."""
        arrays = self.inputs.batch([item.ready for item in items])
        if self.inventories.styles:
            arrays["styles"] = np.asarray([item.style for item in items], dtype=np.int64)
        if scorer.reads_tags:
            size = max(item.length for item in items) + 2
            given = np.zeros((len(items), size), dtype=np.int64)
            for b, item in enumerate(items):
                if item.tags is not None:
                    given[b, 1 : item.length + 1] = [self._tag_ids.get(tag, 0) for tag in item.tags]
            arrays["gold_tags"] = given
        return arrays

    def search(self, scores: Scores, lengths: np.ndarray) -> Decoded:
        """The structures that this predictor prefers."""
        temperature = self.calibration.structure_temperature if self.decode == "mbr" else None
        return search(scores, lengths, apart=self.apart, temperature=temperature)

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self.threads, thread_name_prefix="arcspan")
            return self._workers


def empty_word(words: Sequence[str]) -> int:
    """The number of the first word that is empty or ASCII's white space, which no file can hold; 0 for none.

    >>> empty_word(["a", " ", ""]), empty_word(["a b", "\u00a0"])
    (2, 0)
    """
    return next((number for number, word in enumerate(words, 1) if not word.strip(whitespace)), 0)


def _columns(count: int) -> int:
    return next((size for size in (16, 32, 64) if count <= size), 128)


class Pending:
    """Predictions under way."""

    def __init__(self, predictor: Predictor, count: int) -> None:
        self.count = count
        self.done: dict[int, Prediction] = {}
        self.futures: list[tuple[list[int], Future[list[Prediction]]]] = []
        self.later: list[tuple[list[int], list[Item]]] = []
        self._predictor = predictor

    def result(self) -> list[Prediction]:
        """Wait for all of them."""
        for places, items in self.later:
            self.done.update(zip(places, self._predictor._predict_batch(items), strict=True))
        for places, future in self.futures:
            self.done.update(zip(places, future.result(), strict=True))
        self.later, self.futures = [], []
        return [self.done[place] for place in range(self.count)]

    def cancel(self) -> None:
        """Give up what has not begun."""
        for _, future in self.futures:
            future.cancel()


class _Memory:
    """Memory that batches share: who finds too little left waits until others have given theirs back."""

    def __init__(self, limit: int) -> None:
        self._left = self._limit = limit
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def take(self, wanted: int) -> Iterator[None]:
        """Hold that many bytes, or all there are, while the block runs."""
        wanted = min(wanted, self._limit)
        with self._changed:
            self._changed.wait_for(lambda: self._left >= wanted)
            self._left -= wanted
        try:
            yield
        finally:
            with self._changed:
                self._left += wanted
                self._changed.notify_all()


_alive: weakref.WeakSet[Predictor] = weakref.WeakSet()


def _begin_anew() -> None:
    for predictor in list(_alive):
        predictor.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
