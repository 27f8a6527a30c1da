"""Requests of many clients, parsed together by one thread.

Nobody waits for a batch to fill: while a batch is parsed, sentences gather for the next. A batch takes a
sentence from each waiting request in turn, so that a request of one sentence is soon through, whoever sent a
thousand before it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from arcspan.errors import ArcspanError
from arcspan.parser import Parse, Parser
from arcspan.serving import problems
from arcspan.serving.metrics import Metrics

log = logging.getLogger("arcspan.serving")


class Source(NamedTuple):
    """A sentence to parse: its words and, where it is part of a text, where it stands in it."""

    words: tuple[str, ...]
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    glued: bool = False  # no white space follows it


class Wanted(NamedTuple):
    """What is asked of every sentence of a request."""

    k: int = 1
    confidence: bool = False

    @property
    def cost(self) -> int:
        """About how many times the work of the best tree alone."""
        return 1 if self == Wanted() else 4


class Job:
    """A request on its way; `future` becomes the k best parses of each sentence."""

    def __init__(self, sources: Sequence[Source], wanted: Wanted) -> None:
        self.sources = sources
        self.wanted = wanted
        self.found: list[list[Parse] | None] = [None] * len(sources)
        self.next = 0
        self.left = len(sources)
        self.future: Future[list[list[Parse]]] = Future()

    @property
    def over(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.future.done()


Place = tuple[Job, int]  # a job and the position of one of its sentences


class Batcher:
    """One thread that parses what clients sent, in fair batches.

    >>> batcher = Batcher(parser, most=128)  # doctest: +SKIP
    >>> batcher.submit([Source(("Logic", "plays"))], Wanted()).result()  # doctest: +SKIP
    """

    def __init__(
        self,
        parser: Parser,
        *,
        most: int = 128,
        batch_sentences: int = 64,
        batch_words: int = 1_000,
        metrics: Metrics | None = None,
    ) -> None:
        self.parser = parser
        self.most = most
        self.batch_sentences = batch_sentences
        self.batch_words = batch_words
        self.metrics = metrics if metrics is not None else Metrics()
        self._jobs: deque[Job] = deque()  # with sentences that are in no batch yet
        self._taken = 0  # jobs without an answer
        self._closing = False
        self._changed = threading.Condition()
        self._pool = ThreadPoolExecutor(parser.predictor.threads, thread_name_prefix="arcspan-special")
        self._thread = threading.Thread(target=self._work, name="arcspan-batcher", daemon=True)
        self._thread.start()

    @property
    def full(self) -> bool:
        """Whether the next request would be refused."""
        return self._taken >= self.most

    def submit(self, sources: Sequence[Source], wanted: Wanted) -> Future[list[list[Parse]]]:
        """Take a request; its future may be cancelled. Raises `Problem` where there is no place left."""
        job = Job(sources, wanted)
        with self._changed:
            if self._closing:
                raise problems.stopping()
            if self.full:
                raise problems.too_busy(self._taken)
            self._taken += 1
            self.metrics.waiting.set(self._taken)
            if job.left:
                self._jobs.append(job)
                self._changed.notify_all()
        job.future.add_done_callback(self._give_back)
        if not job.left:
            job.future.set_result([])
        return job.future

    def close(self) -> None:
        """Finish what was taken and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self._pool.shutdown()

    def _give_back(self, _: Future[list[list[Parse]]]) -> None:
        with self._changed:
            self._taken -= 1
            self.metrics.waiting.set(self._taken)

    def _work(self) -> None:
        while batch := self._next_batch():
            begun = time.perf_counter()
            self._parse(batch)
            self.metrics.batch_seconds.observe(time.perf_counter() - begun)
            self.metrics.batch_sentences.observe(len(batch))

    def _next_batch(self) -> list[Place]:
        """A sentence of each waiting job in turn, until the batch is full; [] when all is done for good."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._jobs or self._closing)
                batch: list[Place] = []
                words = 0
                while self._jobs and len(batch) < self.batch_sentences and words < self.batch_words:
                    job = self._jobs.popleft()
                    if job.over:
                        continue
                    batch.append((job, job.next))
                    words += len(job.sources[job.next].words) * job.wanted.cost
                    job.next += 1
                    if job.next < len(job.sources):
                        self._jobs.append(job)
                if batch or self._closing:
                    return batch

    def _parse(self, batch: list[Place]) -> None:
        plain = [place for place in batch if place[0].wanted == Wanted()]
        special = [place for place in batch if place[0].wanted != Wanted()]
        try:
            for place, parse in zip(plain, self._parse_plain(plain), strict=True):
                _deliver(place, [parse])
        except Exception:
            # One bad sentence must not spoil the others' answers: each for itself, to find it.
            log.exception("a batch of %d sentences failed; its sentences are parsed one by one", len(plain))
            for place in plain:
                self._attempt(place, partial(self._parse_plain, [place]))
        # Results come back to this thread, the only one that changes jobs.
        working = [(place, self._pool.submit(self._parse_special, place)) for place in special]
        for place, parses in working:
            self._attempt(place, parses.result)

    def _attempt(self, place: Place, parse: Callable[[], list[Parse]]) -> None:
        job, position = place
        try:
            _deliver(place, parse())
        except Exception:
            log.exception("a sentence of %d words failed", len(job.sources[position].words))
            if not job.over and job.future.set_running_or_notify_cancel():
                job.future.set_exception(problems.internal())

    def _parse_plain(self, places: list[Place]) -> list[Parse]:
        sources = [job.sources[position] for job, position in places]
        parses = list(self.parser.pipe([source.words for source in sources], batch_size=max(1, len(sources))))
        return [_located(parse, source) for parse, source in zip(parses, sources, strict=True)]

    def _parse_special(self, place: Place) -> list[Parse]:
        """The k best, or the best with its confidence; only the best of a sentence too long for more."""
        job, position = place
        source, (k, confidence) = job.sources[position], job.wanted
        if job.over:
            return []
        try:
            if k > 1:
                parses = self.parser.parse(source.words, k=k, confidence=confidence)
            else:
                parses = [self.parser.parse(source.words, confidence=confidence)]
        except ArcspanError:
            return self._parse_plain([place])
        return [_located(parse, source) for parse in parses]


def _located(parse: Parse, source: Source) -> Parse:
    if source.text is None or source.offsets is None:
        return parse
    return parse.located(source.text, source.offsets, glued=source.glued)


def _deliver(place: Place, parses: list[Parse]) -> None:
    """Put a sentence's parses in their job; the last one makes the answer."""
    job, position = place
    job.found[position] = parses
    job.left -= 1
    # A future that runs can no longer be cancelled: so a client that leaves now is answered into the void.
    if not job.left and not job.over and job.future.set_running_or_notify_cancel():
        job.future.set_result([found for found in job.found if found is not None])
