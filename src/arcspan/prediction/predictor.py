"""Sentences, each with its query, to predictions: batches, scores, search, labels, with any scorer.

Every question goes this way, plain or not. Batches are small and of like length, because that is fastest on a
CPU (`benchmarks/throughput.py`), and each is worked on by one thread from words to labels; several threads take
batches in turn. A sentence's result does not depend on what stands beside it: no operation mixes sentences, and
sentences share a batch only where the padding leaves the order of additions in a matrix product as it is
(`ModelInput.kind`).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from string import whitespace

import numpy as np

from arcspan import decoding
from arcspan.decoding import Decoded
from arcspan.decoding.batch import available_threads
from arcspan.errors import ArcspanError, BundleError, check_count
from arcspan.onnx import native
from arcspan.prediction import long_sentences
from arcspan.prediction.batch_scores import BatchScores, ModelInput
from arcspan.prediction.confidence import Calibration, Confidence
from arcspan.prediction.constraints import Head
from arcspan.prediction.ensemble import EnsembleInputs
from arcspan.prediction.guidelines import Guidelines, are_universal
from arcspan.prediction.inputs import Arrays, PieceInputs, WordInputs, columns
from arcspan.prediction.outputs import WORD_OUTPUTS, Inventories, Style
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.query import PLAIN, Query
from arcspan.prediction.scores import Scorer, Scores
from arcspan.prediction.scores import search as search_scores
from arcspan.prediction.sentence_scores import LengthError, SentenceScores

Request = tuple[Sequence[str], Query]
"""A sentence in words, and what is asked about it."""


@dataclass(frozen=True)
class Budget:
    """What predicting may take: `threads` and `memory` as `Parser` explains them.

    cells    positions of a batch that the encoder reads, padding included. 256 was measured to be best on a CPU
             (`benchmarks/throughput.py`): larger batches only cost cache misses and padding
    """

    threads: int | None = None
    memory: int = 2 << 30
    cells: int = 256

    def __post_init__(self) -> None:
        for name in ("threads", "memory", "cells"):
            if name != "threads" or self.threads is not None:
                check_count("memory_limit" if name == "memory" else name, getattr(self, name))


class Predictor:
    """Scorers at work: one model, or the two of SEP. Several threads may use it at once, and forked processes.

    guidelines  whether relations obey those of Universal Dependencies, if that is what they are
    search     "labelled": the best labelled trees; "two-stage": the best trees, which are labelled then
    apart      search spans and arcs each alone, though one model scores both
    decoder    a search of one's own: scores of a batch and the sentences' lengths to `Decoded`
    styles     conventions that can be asked for by name; the first is the default
    """

    def __init__(
        self,
        scorers: Sequence[Scorer],
        inputs: PieceInputs | WordInputs | EnsembleInputs,
        inventories: Inventories,
        budget: Budget | None = None,
        *,
        calibration: Calibration | None = None,
        guidelines: bool = True,
        apart: bool = False,
        decoder: Callable[[Scores, np.ndarray], Decoded] | None = None,
        search: str = "labelled",
        styles: Mapping[str, Style] | None = None,
    ) -> None:
        self.scorers, self.inputs, self.inventories = list(scorers), inputs, inventories
        self.budget = budget or Budget()
        self.threads = self.budget.threads or available_threads()
        self.search: Callable[[Scores, np.ndarray], Decoded] = decoder or partial(
            search_scores, apart=apart
        )
        universal = guidelines and are_universal(inventories.relations)
        self.guidelines = Guidelines(inventories) if universal else None
        self.styles = dict(styles or {})
        self.style = next(iter(self.styles.values()), Style())
        self.calibration = calibration or Calibration()
        self.labelled = search != "two-stage" and decoder is None
        """Whether the search is for labelled trees; a decoder of one's own is asked once, for trees."""
        self.outputs = frozenset().union(*(scorer.outputs for scorer in self.scorers))
        self.joint = not apart and any({"span", "arc"} <= scorer.outputs for scorer in self.scorers)
        self.chart_bytes = partial(
            decoding.memory_needed, arcs=self.joint, headed="headed" in self.outputs
        )
        """What the search of a sentence of n words takes: its scores and its chart; with `sums`, probabilities too."""
        lengths = range(2, long_sentences.BLOCK_COST)
        self.longest = 1 + bisect_right(lengths, self.budget.memory, key=self.chart_bytes)
        """Words of a sentence that the memory limit allows to be parsed in one piece."""
        self._tag_ids = {tag: number for number, tag in enumerate(inventories.tags, 1)}
        self._begin()
        _alive.add(self)

    def _begin(self) -> None:
        self.memory = _Memory(self.budget.memory)
        self._workers: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def reset_after_fork(self) -> None:
        """Begin anew in a forked process, which has none of its parent's threads."""
        self._begin()
        for scorer in self.scorers:
            scorer.reset_after_fork()

    def predict(
        self, sentences: Sequence[Sequence[str]], queries: Sequence[Query] | None = None
    ) -> list[Prediction]:
        """The best prediction for each sentence."""
        given = queries or [PLAIN] * len(sentences)
        found = self.submit(list(zip(sentences, given, strict=True)), eager=False).result()
        return [own[0] for own in found]

    def submit(
        self, requests: Sequence[Request], *, eager: bool = True, here: bool = False
    ) -> Submission:
        """Begin to predict; several submissions may be under way.

        Unless `eager`, a single batch is worked on by the caller's thread, when it asks for the result; with `here`,
        all batches are: the caller may be one of the workers.
        """
        submission = Submission(self, len(requests))
        items = self._prepare(requests, submission.done)
        batches = [(places, [items[place] for place in places]) for places in self._batches(items)]
        if here or (not eager and (len(batches) <= 1 or self.threads == 1)):
            submission.later = batches
        else:
            with self._lock:
                self._workers = self._workers or ThreadPoolExecutor(self.threads, "arcspan")
            try:
                for places, batch in batches:
                    submission.futures.append(
                        (places, self._workers.submit(self._predict_batch, batch))
                    )
            except (
                RuntimeError
            ):  # Python is ending, and its pools take no more: this thread does it
                submission.later = batches[len(submission.futures) :]
        return submission

    @native
    def scores(self, words: Sequence[str], query: Query = PLAIN) -> SentenceScores:
        """All scores of one sentence of at least one word.

        Raises ArcspanError for a sentence that is too long for the exact search, and for constraints that contradict
        each other or that the model has no part for.
        """
        (item,) = self._prepare([(words, query)], {}).values()
        if item.length > self.longest or item.cost > long_sentences.BLOCK_COST:
            raise self.too_long(item.length, self.chart_bytes(item.length))
        return SentenceScores(BatchScores(self, [item]))

    @native
    def _prepare(
        self, requests: Sequence[Request], done: dict[int, list[Prediction]]
    ) -> dict[int, ModelInput]:
        """The sentences that can be parsed, by place; the others are `done` at once."""
        places = []
        for place, (words, query) in enumerate(requests):
            if not words:
                error = "cannot constrain an empty sentence" if query.constrained else None
                done[place] = [self._empty() if error is None else Prediction(error=error)]
            elif empty := [
                number for number, word in enumerate(words, 1) if not word.strip(whitespace)
            ]:
                done[place] = [Prediction(error=f"word {empty[0]} of the sentence is empty")]
            else:
                places.append(place)
        found = {}
        for place, ready in zip(
            places, self.inputs.prepare([requests[p][0] for p in places]), strict=True
        ):
            words, query = requests[place]
            cost = self.inputs.cost(ready)
            style = self.style if query.style is None else self.style_of(query.style)
            # A head that is forbidden or preferred makes the search a second-order one.
            named = *query.forbid, *(one for one, _ in query.prefer)
            order = "headed" not in self.outputs and any(isinstance(one, Head) for one in named)
            windows = max(0, cost - 510)  # several windows: alone in its batch
            kind = columns(len(words) + 1), self.inputs.shape_class(ready), windows, order
            found[place] = ModelInput(words, ready, len(words), cost, query, style, kind)
        return found

    def style_of(self, style: str | Style) -> Style:
        """A style by its name."""
        if isinstance(style, Style):
            return style
        try:
            return self.styles[style]
        except (KeyError, TypeError):
            known = f"it has {', '.join(self.styles)}" if self.styles else "it has only one"
            raise ArcspanError(f"this model has no style {style!r}: {known}") from None

    def _empty(self) -> Prediction:
        nothing = np.zeros(0, dtype=np.int64)
        words = {output.name: nothing for output in WORD_OUTPUTS if output.name in self.outputs}
        nodes = np.zeros((0, 4), dtype=np.int64) if "span" in self.outputs else None
        heads = nothing if "arc" in self.outputs else None
        return Prediction(nodes, heads, heads, words, confidence=Confidence({}, {}, (), (), 1.0))

    def _batches(self, items: dict[int, ModelInput]) -> Iterator[list[int]]:
        """Places of like length together, the most costly first: the encoder's cells and the charts stay in bounds."""
        batch: list[int] = []
        widest = longest = 0
        order = sorted(
            items.items(), key=lambda own: (own[1].kind, own[1].cost, own[1].length), reverse=True
        )
        for place, item in order:
            widest, longest = max(widest, item.cost), max(longest, item.length)
            count = len(batch) + 1
            if batch and (
                item.kind != items[batch[0]].kind
                or widest * count > self.budget.cells
                or self.chart_bytes(longest) * count > self.budget.memory // (2 * self.threads)
            ):
                yield batch
                batch, widest, longest = [], item.cost, item.length
            batch.append(place)
        if batch:
            yield batch

    @native
    def _predict_batch(self, items: Sequence[ModelInput]) -> list[list[Prediction]]:
        """A batch from words to labels. A failure is the failing sentence's alone."""
        try:
            longest = max(item.length for item in items)
            if len(items) == 1 and (
                longest > self.longest or items[0].cost > long_sentences.BLOCK_COST
            ):
                if items[0].query.constrained:
                    raise self.too_long(longest, self.chart_bytes(longest))
                return [[long_sentences.predict_long(self, items[0])]]
            with self.memory.take(self.chart_bytes(longest) * len(items)):
                batch = BatchScores(self, items)
                best = batch.best()
            found = [[one] for one in best]
            for b, item in enumerate(items):
                if b in batch.errors or item.query.k is not None or item.query.confidence:
                    found[b] = self._answer(batch, b, best[b])
            return found
        except Exception as error:
            if len(items) > 1:
                return [found for item in items for found in self._predict_batch([item])]
            if isinstance(error, BundleError):
                raise
            kind = "" if isinstance(error, ArcspanError) else f"{type(error).__name__}: "
            return [[Prediction(error=f"{kind}{error}")]]

    def _answer(self, batch: BatchScores, b: int, best: Prediction) -> list[Prediction]:
        """All that is asked about a sentence, whose best parse is known."""
        if b in batch.errors:
            return [Prediction(error=str(batch.errors[b]))]
        query = batch.items[b].query
        found, scores = [best], SentenceScores(batch, b)
        # Of a sentence that is too long for more, the best parse is better than none.
        with contextlib.suppress(LengthError):
            if query.k is not None:
                found = scores.kbest(query.k)
            if query.confidence:
                found = [replace(one, confidence=scores.confidence(one)) for one in found]
        return found

    def too_long(self, words: int, needed: int) -> LengthError:
        """The error for a sentence of so many words, which would take `needed` bytes."""
        return LengthError(
            f"a sentence of {words} words needs about {needed >> 20} MB for this: "
            f"load the parser with a larger memory_limit (now {self.budget.memory >> 20} MB)"
        )

    def arrays(self, scorer: Scorer, items: Sequence[ModelInput]) -> Arrays:
        """What the scorer reads."""
        arrays = self.inputs.batch([item.ready for item in items])
        if self.inventories.styles:
            arrays["styles"] = np.asarray([item.style for item in items], dtype=np.int64)
        if scorer.reads_tags:
            size = max(item.length for item in items) + 2
            given = np.zeros((len(items), size), dtype=np.int64)
            for b, item in enumerate(items):
                if item.query.tags is not None:
                    given[b, 1 : item.length + 1] = [
                        self._tag_ids.get(tag, 0) for tag in item.query.tags
                    ]
            arrays["gold_tags"] = given
        return arrays


@dataclass
class Submission:
    """Sentences under way, and in the end the predictions for each: one, or the k best."""

    predictor: Predictor
    count: int
    done: dict[int, list[Prediction]] = field(default_factory=dict)
    futures: list[tuple[list[int], Future[list[list[Prediction]]]]] = field(default_factory=list)
    later: list[tuple[list[int], list[ModelInput]]] = field(default_factory=list)

    def result(self) -> list[list[Prediction]]:
        """Wait for all of them."""
        for places, items in self.later:
            self.done.update(zip(places, self.predictor._predict_batch(items), strict=True))
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


def _finish_imports() -> None:
    """Wait for the modules that other threads import: a forked process would wait for their locks forever."""
    waited: set[str] = set()  # this thread's own unfinished imports are named once
    while names := {*filter(_is_being_imported, list(sys.modules))} - waited:
        for name in names:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        waited |= names


def _is_being_imported(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _reset_all_after_fork() -> None:
    for predictor in list(_alive):
        predictor.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_imports, after_in_child=_reset_all_after_fork)
