"""Running a model: sentences with their queries to predictions, in batches and threads.

This is the only module of `prediction` with state: threads, memory that is shared among them, and
what a forked process has to make anew. Every query goes this way, plain or not. Batches are small
and of like length, because that is fastest on a CPU (`benchmarks/throughput.py`); one thread does
all for a batch, from words to labels, and several threads take batches in turn. A sentence's result
does not depend on its neighbours: no operation mixes sentences, and sentences share a batch only
where the padding leaves the order of additions in a matrix product as it is
(`EncodedSentence.batch_key`).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from string import whitespace
from typing import NamedTuple

import numpy as np

from arcspan.decoding.batch import available_threads
from arcspan.errors import ArcspanError, BundleError, check_count
from arcspan.onnx import native
from arcspan.prediction import search
from arcspan.prediction.charts import Charts
from arcspan.prediction.confidence import Confidence
from arcspan.prediction.constraints import changes_heads
from arcspan.prediction.long_sentences import BLOCK_COST, predict_long
from arcspan.prediction.model import EncodedSentence, ParserModel
from arcspan.prediction.outputs import WORD_OUTPUTS
from arcspan.prediction.probability import TreeDistribution
from arcspan.prediction.query import PLAIN, Query
from arcspan.prediction.results import Prediction

Question = tuple[Sequence[str], Query]
"""A sentence in words, and its query."""


class LengthError(ArcspanError):
    """A sentence that is too long for its query, though not for plain parsing."""


@dataclass(frozen=True)
class Budget:
    """Resource limits for prediction: `threads` and `memory` as `Parser` explains them.

    cells    positions of a batch that the encoder reads, padding included. 256 was measured to be
             best on a CPU (`benchmarks/throughput.py`): larger batches only cost cache misses and
             padding
    """

    threads: int | None = None
    memory: int = 2 << 30
    cells: int = 256

    def __post_init__(self) -> None:
        if self.threads is not None:
            check_count("threads", self.threads)
        check_count("memory_limit", self.memory)
        check_count("cells", self.cells)


class Request(NamedTuple):
    """A sentence of n words ready for a batch, and its query.

    Requests share a batch if their keys are equal.
    """

    sentence: EncodedSentence
    query: Query
    batch_key: tuple[object, ...]
    n: int


class Predictor:
    """A model with threads and a memory limit. Several threads, and forked processes, may use it at
    once.
    """

    def __init__(self, model: ParserModel, budget: Budget | None = None) -> None:
        self.model = model
        self.budget = budget or Budget()
        self.threads = self.budget.threads or available_threads()
        lengths = range(2, BLOCK_COST)
        self.longest = 1 + bisect_right(lengths, self.budget.memory, key=model.chart_bytes)
        """The number of words of a sentence that the memory limit allows to be parsed in one
        piece.
        """
        self._start()
        _alive.add(self)

    def _start(self) -> None:
        self._memory = _SharedMemory(self.budget.memory)
        self._workers: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def reset_after_fork(self) -> None:
        """Start anew in a forked process, which has none of its parent's threads."""
        self._start()
        for scorer in self.model.scorers:
            scorer.reset_after_fork()

    # ---- queries

    def predict(
        self, sentences: Sequence[Sequence[str]], queries: Sequence[Query] | None = None
    ) -> list[Prediction]:
        """Return the best prediction for each sentence."""
        questions = list(zip(sentences, queries or [PLAIN] * len(sentences), strict=True))
        results = self.submit(questions, eager=False).result()
        return [predictions[0] for predictions in results]

    def submit(
        self, questions: Sequence[Question], *, eager: bool = True, inline: bool = False
    ) -> Submission:
        """Start to predict; several submissions may be under way.

        Unless `eager`, a single batch is predicted by the thread that reads the result. With
        `inline`, all batches are: that thread may be one of the workers.
        """
        submission = Submission(self._predict_batch, len(questions))
        requests = self.encode(questions, submission.finished)
        batches = [
            (numbers, [requests[number] for number in numbers])
            for numbers in self.make_batches(requests)
        ]
        needs_no_worker = not eager and (len(batches) <= 1 or self.threads == 1)
        if inline or needs_no_worker:
            submission.pending = batches
            return submission
        with self._lock:
            self._workers = self._workers or ThreadPoolExecutor(self.threads, "arcspan")
        try:
            for numbers, batch in batches:
                future = self._workers.submit(self._predict_batch, batch)
                submission.running.append((numbers, future))
        except RuntimeError:
            # Python is ending and its pools accept no more work: this thread does it.
            submission.pending = batches[len(submission.running) :]
        return submission

    @native
    def charts(self, words: Sequence[str], query: Query = PLAIN) -> Charts:
        """Return the charts of one sentence of at least one word.

        Raises LengthError for a sentence that is too long for the exact search.
        """
        (request,) = self.encode([(words, query)], {}).values()
        if self._is_too_long(request):
            raise self._length_error(request.n, self.model.chart_bytes(request.n))
        return Charts(self.model, [request.sentence], [query])

    @native
    def distribution(self, words: Sequence[str], query: Query = PLAIN) -> TreeDistribution:
        """Return the distribution over the trees of one sentence of at least one word.

        Raises ArcspanError for constraints that contradict each other or that the model has no
        output for, and LengthError as `charts` does.
        """
        return TreeDistribution(self.charts(words, query))

    def confidence(self, distribution: TreeDistribution, prediction: Prediction) -> Confidence:
        """Return the probabilities of a parse; LengthError where they take too much memory."""
        with self._reserve(distribution.n, sums=True):
            return distribution.confidence(prediction)

    def kbest(self, charts: Charts, b: int, k: int) -> list[Prediction]:
        """Return the k best parses of a sentence; LengthError where they take too much memory."""
        # A model that cannot do this at all is the error to report first.
        search.check_joint(self.model)
        with self._reserve(int(charts.lengths[b]), kbest=True):
            return search.kbest(charts, b, k)

    # ---- batches

    @native
    def encode(
        self, questions: Sequence[Question], finished: dict[int, list[Prediction]]
    ) -> dict[int, Request]:
        """Return requests by the number of their question; those without any work are
        `finished`.
        """
        requests = {}
        for number, (words, query) in enumerate(questions):
            if not words:
                finished[number] = [self._predict_nothing(query)]
                continue
            blank = [m for m, word in enumerate(words, 1) if not word.strip(whitespace)]
            if blank:
                error = f"word {blank[0]} of the sentence is empty"
                finished[number] = [Prediction(error=error)]
                continue
            sentence = self.model.encode(words, query.style, query.tags)
            # A head that is forbidden or preferred makes the search a second-order one.
            is_raised = (
                query.constrained
                and "headed" not in self.model.outputs
                and any(map(changes_heads, query.demands))
            )
            key = (*sentence.batch_key, is_raised)
            requests[number] = Request(sentence, query, key, len(words))
        return requests

    def _predict_nothing(self, query: Query) -> Prediction:
        """Return the prediction for a sentence without words."""
        if query.constrained:
            return Prediction(error="cannot constrain an empty sentence")
        outputs = self.model.outputs
        nothing = np.zeros(0, dtype=np.int64)
        return Prediction(
            nodes=np.zeros((0, 4), dtype=np.int64) if "span" in outputs else None,
            heads=nothing if "arc" in outputs else None,
            relations=nothing if "arc" in outputs else None,
            words={output.name: nothing for output in WORD_OUTPUTS if output.name in outputs},
            confidence=Confidence({}, {}, (), (), 1.0),
            inventories=self.model.inventories,
        )

    def make_batches(self, requests: dict[int, Request]) -> Iterator[list[int]]:
        """Yield the numbers of requests of like length, the most costly first.

        What the encoder reads and what the charts take stay within the budget.
        """
        batch: list[int] = []
        widest = longest = 0
        # Half of the memory: answers to other queries need some, too.
        memory = self.budget.memory // (2 * self.threads)
        in_order = sorted(
            requests.items(),
            key=lambda entry: (entry[1].batch_key, entry[1].sentence.cost, entry[1].n),
            reverse=True,
        )
        for number, request in in_order:
            cost = request.sentence.cost
            widest = max(widest, cost)
            longest = max(longest, request.n)
            count = len(batch) + 1
            if batch and (
                request.batch_key != requests[batch[0]].batch_key
                or widest * count > self.budget.cells
                or self.model.chart_bytes(longest) * count > memory
            ):
                yield batch
                batch = []
                widest = cost
                longest = request.n
            batch.append(number)
        if batch:
            yield batch

    @native
    def _predict_batch(self, requests: Sequence[Request]) -> list[list[Prediction]]:
        """Predict a batch from words to labels; a failure does not affect other sentences."""
        try:
            if len(requests) == 1 and self._is_too_long(requests[0]):
                return [[self._predict_long(requests[0])]]
            longest = max(request.n for request in requests)
            with self._memory.reserve(self.model.chart_bytes(longest) * len(requests)):
                charts = Charts(
                    self.model,
                    [request.sentence for request in requests],
                    [request.query for request in requests],
                )
                results = [[prediction] for prediction in search.best(charts)]
            for b, (_, query, *_) in enumerate(requests):
                if b in charts.errors:
                    results[b] = [Prediction(error=str(charts.errors[b]))]
                elif query.k is not None or query.confidence:
                    results[b] = self._answer(charts, b, query, results[b])
            return results
        except Exception as error:
            if len(requests) > 1:
                # Each alone: only the sentence that fails has the error.
                return [self._predict_batch([request])[0] for request in requests]
            if isinstance(error, BundleError):
                raise
            name = "" if isinstance(error, ArcspanError) else f"{type(error).__name__}: "
            return [[Prediction(error=f"{name}{error}")]]

    def _answer(
        self, charts: Charts, b: int, query: Query, predictions: list[Prediction]
    ) -> list[Prediction]:
        """Return all that the query of a sentence is for; its best parse is known."""
        # Of a sentence that is too long for more, the best parse is better than none.
        with contextlib.suppress(LengthError):
            if query.k is not None:
                predictions = self.kbest(charts, b, query.k)
            if query.confidence:
                distribution = TreeDistribution(charts, b)
                predictions = [
                    replace(prediction, confidence=self.confidence(distribution, prediction))
                    for prediction in predictions
                ]
        return predictions

    # ---- length and memory

    def _is_too_long(self, request: Request) -> bool:
        return request.n > self.longest or request.sentence.cost > BLOCK_COST

    def _predict_long(self, request: Request) -> Prediction:
        if request.query.constrained:
            raise self._length_error(request.n, self.model.chart_bytes(request.n))

        def parse(questions: Sequence[Question]) -> list[Prediction]:
            # By this thread: a worker that waited for others could wait forever.
            results = self.submit(questions, inline=True).result()
            return [predictions[0] for predictions in results]

        return predict_long(self.model, request.sentence, self.longest, parse)

    def _length_error(self, n: int, needed: int) -> LengthError:
        return LengthError(
            f"a sentence of {n} words needs about {needed >> 20} MB for this: "
            f"load the parser with a larger memory_limit (now {self.budget.memory >> 20} MB)"
        )

    def _reserve(
        self, n: int, *, sums: bool = False, kbest: bool = False
    ) -> contextlib.AbstractContextManager[None]:
        """Hold the memory for a chart of n words; LengthError if it is above the limit."""
        needed = self.model.chart_bytes(n, sums=sums, kbest=kbest)
        if needed > self.budget.memory:
            raise self._length_error(n, needed)
        return self._memory.reserve(needed)


@dataclass
class Submission:
    """Questions under way, and in the end the predictions for each: one, or the k best.

    finished  predictions by the number of their question
    running   batches in other threads, and pending  those that the caller's thread has to do; with
              the numbers of their questions
    """

    predict_batch: Callable[[Sequence[Request]], list[list[Prediction]]]
    count: int
    finished: dict[int, list[Prediction]] = field(default_factory=dict)
    running: list[tuple[list[int], Future[list[list[Prediction]]]]] = field(default_factory=list)
    pending: list[tuple[list[int], list[Request]]] = field(default_factory=list)

    def result(self) -> list[list[Prediction]]:
        """Wait for all of them."""
        for numbers, batch in self.pending:
            self.finished.update(zip(numbers, self.predict_batch(batch), strict=True))
        for numbers, future in self.running:
            self.finished.update(zip(numbers, future.result(), strict=True))
        self.pending = []
        self.running = []
        return [self.finished[number] for number in range(self.count)]

    def cancel(self) -> None:
        """Give up batches that have not begun."""
        for _, future in self.running:
            future.cancel()


class _SharedMemory:
    """Memory that batches share: one that needs more than is free waits until others end."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free = limit
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def reserve(self, size: int) -> Iterator[None]:
        """Hold that many bytes, or all there are, while the block runs."""
        size = min(size, self._limit)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= size)
            self._free -= size
        try:
            yield
        finally:
            with self._changed:
                self._free += size
                self._changed.notify_all()


_alive: weakref.WeakSet[Predictor] = weakref.WeakSet()


def _finish_imports() -> None:
    """Wait for the modules that other threads import: a forked process would wait for their locks
    forever.
    """
    # This thread's own unfinished imports stay unfinished: each is waited for once.
    waited_for: set[str] = set()
    while names := {*filter(_is_being_imported, list(sys.modules))} - waited_for:
        for name in names:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        waited_for |= names


def _is_being_imported(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _reset_all_after_fork() -> None:
    for predictor in list(_alive):
        predictor.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_imports, after_in_child=_reset_all_after_fork)
