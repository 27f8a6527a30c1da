"""The sentences of all clients, parsed in fair turns.

Each of a few threads takes the sentence that is next and others of like length, which share a
batch, parses them, and writes their pieces of the answers. Nothing waits for a batch to be full:
sentences gather while others are parsed. Requests share the parser by the cost of their sentences
(start-time fair queueing, Goyal and others 1996), and one of many sentences has a small part of a
batch, so a request of one sentence does not wait for a thousand sent before it. A search cannot be
interrupted, so slow sentences (very long ones, many trees, pictures or constraints) have threads of
their own.

A request whose client has left, or whose time is over, is dropped before its next sentence.
"""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from arcspan.errors import ArcspanError
from arcspan.lazy import lazy
from arcspan.parser import Parse, Parser, Query, Sentence
from arcspan.serving.metrics import Metrics
from arcspan.serving.refusals import Refusal
from arcspan.serving.server_settings import Settings

log = logging.getLogger("arcspan.serving")
Result = TypeVar("Result")

LARGE = 10_000  # bytes of a request whose text may take long to split
MOST_SEARCHES = 64  # for constraints that contradict each other
SHARE = 0.5  # of a batch, divided among the open requests; each has at least a sentence
SLOW = 250.0  # sentences that cost this or more are parsed one by one, by threads of their own
LENGTHS = (15, 31, 63)  # words: the parser makes a batch of sentences that are between two of them

Write = Callable[[int, list[Parse]], bytes]
"""What writes the parses of one sentence, by its index in the request, as a piece of an answer."""


@dataclass(frozen=True)
class ScheduledSentence:
    """A sentence of a request with its query, and how many pictures are drawn of each parse."""

    sentence: Sentence
    query: Query = Query()
    pictures: int = 0

    @lazy
    def cost(self) -> float:
        """Return about how long it takes, in common words of short sentences."""
        words = self.sentence.words
        n = len(words)
        query = self.query
        # Long words have many pieces.
        encoding = sum(min(max(4, len(word)), 16) for word in words) / 4
        search = 3 * n * (n / 100) ** 2
        # Constraints that contradict each other are named, which takes a search for each, up to a
        # limit.
        constraints = len(query.require) + len(query.forbid) + len(query.prefer)
        searches = min(constraints, MOST_SEARCHES)
        parsing = (encoding + search) * (1 if query.plain else 4) + (1 + search) * searches / 4
        drawing = (n + 20) * (query.k or 1) * self.pictures
        return 1 + parsing + drawing

    @lazy
    def batch_key(self) -> tuple[bool, int]:
        """Return whether it is slow, and its class of length.

        Sentences of one key may share a batch.
        """
        return self.cost >= SLOW, bisect_left(LENGTHS, len(self.sentence.words))


class ScheduledRequest:
    """A request in progress; `future` becomes the pieces of its answer, one for each sentence."""

    def __init__(self, sentences: Sequence[ScheduledSentence], write: Write) -> None:
        self.sentences = sentences
        self.write = write
        self.pieces: list[bytes] = [b""] * len(sentences)
        # Indices of the sentences that had no turn yet, the next one last: equal keys together,
        # quick ones first.
        self.queued = sorted(
            range(len(sentences)), key=lambda index: (sentences[index].batch_key, index)
        )
        self.queued.reverse()
        self.queued_cost = sum(sentence.cost for sentence in sentences)
        self.open_count = len(sentences)  # without a piece
        self.answer_size = 0
        self.start_tag = 0.0  # the cost of all that goes before it in its queue
        self.future: Future[list[bytes]] = Future()

    @property
    def batch_key(self) -> tuple[bool, int]:
        """Return the key of its next sentence."""
        return self.sentences[self.queued[-1]].batch_key

    @property
    def is_over(self) -> bool:
        """Return whether it is answered, or its client has left."""
        return self.future.done()

    def end(self, refusal: Refusal | None = None) -> None:
        """Answer it with the pieces or with a refusal, unless it is over.

        The caller holds the lock of the scheduler.
        """
        # From here on the future cannot be cancelled: if the client leaves now, nobody reads the
        # answer.
        if self.is_over or not self.future.set_running_or_notify_cancel():
            return
        if refusal is None:
            self.future.set_result(self.pieces)
        else:
            self.future.set_exception(refusal)


Turn = tuple[ScheduledRequest, int]  # a request and the index of one of its sentences


class RequestQueue:
    """Requests with sentences that had no turn yet, under the lock of the scheduler."""

    def __init__(self, lock: threading.RLock, max_sentences: int, max_cost: float) -> None:
        self.requests: list[ScheduledRequest] = []
        self.changed = threading.Condition(lock)
        self._max_sentences = max_sentences  # of a batch
        self._max_cost = max_cost
        self._now = 0.0  # the tag of the request that was last served first

    def push(self, request: ScheduledRequest) -> None:
        """Queue a request."""
        # A newcomer starts level with the others: it neither waits for their past nor is ahead of
        # them for long.
        request.start_tag = max(request.start_tag, self._now)
        self.requests.append(request)
        self.changed.notify()

    def take(self, open_requests: int) -> list[Turn]:
        """Remove the next sentence and others of its key: of each of so many requests its share."""
        open_in_queue = [request for request in self.requests if not request.is_over]
        self.requests = sorted(open_in_queue, key=attrgetter("start_tag"))
        batch: list[Turn] = []
        if not self.requests:
            return batch
        batch_key = self.requests[0].batch_key
        self._now = self.requests[0].start_tag
        share = SHARE * self._max_cost / open_requests
        batch_cost = 0.0
        for request in self.requests:
            request_cost = 0.0
            while (
                request.queued
                and request.batch_key == batch_key
                and request_cost < share
                and batch_cost < self._max_cost
                and len(batch) < self._max_sentences
            ):
                index = request.queued.pop()
                cost = request.sentences[index].cost
                batch.append((request, index))
                request_cost += cost
                batch_cost += cost
            request.start_tag += request_cost
            request.queued_cost -= request_cost
        served = {request for request, _ in batch}
        self.requests = [request for request in self.requests if request not in served]
        return batch


class Scheduler:
    """Threads that have the parser work on what clients sent, in fair turns."""

    def __init__(self, parser: Parser, settings: Settings | None = None) -> None:
        self.parser = parser
        self.settings = settings or Settings()
        self.metrics = Metrics()
        # Reentrant: ending a request calls `_forget` in the same thread.
        self._lock = threading.RLock()
        limits = self.settings.batch_sentences, self.settings.batch_words
        self._quick = RequestQueue(self._lock, *limits)
        self._slow = RequestQueue(self._lock, *limits)
        self._open: set[ScheduledRequest] = set()  # without an answer
        self._is_closing = False
        threads = parser.predictor.threads
        # A request that is being read keeps its thread though its client has left, so that threads
        # do not pile up.
        self._small_work = ThreadPoolExecutor(threads)
        self._large_work = ThreadPoolExecutor(1)
        # One thread fewer for slow sentences, so that a processor is left for quick ones.
        queues = [self._quick] * threads + [self._slow] * max(1, threads - 1)
        self._threads = [
            threading.Thread(target=self._run, args=(queue,), daemon=True) for queue in queues
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_healthy(self) -> bool:
        """Return whether all of its threads still run."""
        return all(thread.is_alive() for thread in self._threads)

    @property
    def is_running(self) -> bool:
        """Return whether one of its threads still runs."""
        return any(thread.is_alive() for thread in self._threads)

    def run(self, work: Callable[[], Result], size: int) -> Future[Result]:
        """Run some work on a request in a thread.

        Large requests wait for each other, small ones for none of them.
        """
        pool = self._large_work if size > LARGE else self._small_work
        return pool.submit(work)

    def submit(self, request: ScheduledRequest) -> Future[list[bytes]]:
        """Queue a request.

        Its future may be cancelled. Where too many wait, the one with the most work is refused.
        """
        with self._lock:
            if self._is_closing:
                raise Refusal("stopping")
            self._open.add(request)
            request.future.add_done_callback(lambda _: self._forget(request))
            if len(self._open) > self.settings.max_waiting:
                queued = [*self._quick.requests, *self._slow.requests]
                queued = [other for other in queued if not other.is_over]
                largest = max([request, *queued], key=attrgetter("queued_cost"))
                largest.end(Refusal("too_busy", limit=self.settings.max_waiting))
            self.metrics.waiting.set(len(self._open))
            if not request.sentences:
                request.end()
            self._queue(request)
        return request.future

    def _queue(self, request: ScheduledRequest) -> None:
        if request.queued and not request.is_over:
            is_slow, _ = request.batch_key
            (self._slow if is_slow else self._quick).push(request)

    def refuse_all(self) -> None:
        """Refuse all requests without an answer: the server is stopping."""
        with self._lock:
            for request in list(self._open):
                request.end(Refusal("stopping"))

    def close(self, timeout: float | None = None) -> None:
        """Finish the accepted requests and end the threads, within `timeout` seconds if given."""
        with self._lock:
            self._is_closing = True
            self._wake_all()
        for pool in (self._small_work, self._large_work):
            pool.shutdown(wait=False, cancel_futures=True)
        end = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))

    def _wake_all(self) -> None:
        self._quick.changed.notify_all()
        self._slow.changed.notify_all()

    def _forget(self, request: ScheduledRequest) -> None:
        with self._lock:
            self._open.discard(request)
            self.metrics.waiting.set(len(self._open))
            if self._is_closing:
                self._wake_all()

    def _run(self, queue: RequestQueue) -> None:
        while batch := self._next_batch(queue):
            start = time.perf_counter()
            self._parse(batch)
            self.metrics.batch_seconds.observe(time.perf_counter() - start)
            self.metrics.batch_sentences.observe(len(batch))

    def _next_batch(self, queue: RequestQueue) -> list[Turn]:
        """Wait for the next sentences in a queue.

        Return [] when the scheduler is closed and nothing is left.
        """
        with self._lock:
            while not (batch := queue.take(len(self._open))):
                if self._is_closing and not self._open:
                    break
                queue.changed.wait()
            # Each goes on with its next sentence, perhaps in the other queue.
            for request in dict.fromkeys(request for request, _ in batch):
                self._queue(request)
            return batch

    def _parse(self, batch: list[Turn]) -> None:
        sentences = [request.sentences[index] for request, index in batch]
        parses: Sequence[list[Parse] | None]
        try:
            parses = self._answer(sentences)
        except BaseException:  # a panic of a library in Rust is not an Exception
            # One bad sentence must not spoil the others' answers: each is parsed alone, to find it.
            log.exception(
                "a batch of %d sentences failed; its sentences are parsed one by one", len(batch)
            )
            parses = [None] * len(batch)
        for (request, index), sentence_parses in zip(batch, parses, strict=True):
            if not request.is_over:
                self._deliver(request, index, sentence_parses)

    def _answer(self, sentences: Sequence[ScheduledSentence]) -> list[list[Parse]]:
        return self.parser.answer([(item.sentence, item.query) for item in sentences])

    def _deliver(self, request: ScheduledRequest, index: int, parses: list[Parse] | None) -> None:
        """Store a sentence's piece of the answer; the last one ends the request.

        A sentence without parses is parsed alone, as its batch failed.
        """
        sentence = request.sentences[index]
        refusal = None
        try:
            if parses is None:
                (parses,) = self._answer([sentence])
            if sentence.query.constrained and parses[0].error is not None:
                raise ArcspanError(parses[0].error)  # the client's constraints cannot be met
            piece = request.write(index, parses)
        except ArcspanError as error:
            refusal = Refusal("bad_request", reason=error)
        except BaseException:
            log.exception("a sentence of %d words failed", len(sentence.sentence.words))
            refusal = Refusal("internal")
        # Threads deliver sentences of one request at the same time.
        with self._lock:
            if refusal is None:
                request.pieces[index] = piece
                request.open_count -= 1
                request.answer_size += len(piece)
                if request.answer_size > self.settings.max_answer:
                    refusal = Refusal("answer_too_large", limit=self.settings.max_answer)
            if refusal or not request.open_count:
                request.end(refusal)
