"""The sentences of all clients, parsed in fair turns.

Each of a few threads takes the sentence that is next and others of like length, which share a batch, parses them, and
writes their pieces of the answers. Nothing waits for a batch to be full: sentences gather while others are parsed.
Requests share the parser by the cost of their sentences (start-time fair queueing, Goyal and others 1996), and one of
many sentences has a small part of a batch, so a request of one sentence does not wait for a thousand sent before it.
A search cannot be interrupted, so sentences that take long (very long ones, many trees, pictures or constraints) have
threads of their own.

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

from arcspan.errors import ArcspanError
from arcspan.lazy import lazy
from arcspan.parser import Parse, Parser, Query, Sentence
from arcspan.serving.metrics import Metrics
from arcspan.serving.refusals import Refusal
from arcspan.serving.settings import Settings

log = logging.getLogger("arcspan.serving")

LONG_TEXT = 10_000  # characters
MOST_SEARCHES = 64  # for constraints that contradict each other
SHARE = (
    0.5  # of a batch, divided among the requests without an answer; each has at least a sentence
)
LONG = 250.0  # sentences that cost this or more are parsed one by one, by threads of their own
LENGTHS = (15, 31, 63)  # words: the parser makes a batch of sentences that are between two of them


@dataclass(frozen=True)
class Task:
    """A sentence of a request, what is asked about it, and how many pictures are drawn of each parse."""

    sentence: Sentence
    query: Query = Query()
    pictures: int = 0

    @lazy
    def cost(self) -> float:
        """About how long it takes, in common words of short sentences."""
        words, query = self.sentence.words, self.query
        n = len(words)
        reading = (
            sum(min(max(4, len(word)), 16) for word in words) / 4
        )  # long words have many pieces
        search = 3 * n * (n / 100) ** 2
        # Constraints that contradict each other are named, which takes a search for each, up to a limit.
        searches = min(len(query.require) + len(query.forbid) + len(query.prefer), MOST_SEARCHES)
        parsing = (reading + search) * (1 if query.plain else 4) + (1 + search) * searches / 4
        return 1 + parsing + (n + 20) * (query.k or 1) * self.pictures

    @lazy
    def kind(self) -> tuple[bool, int]:
        """Whether it takes long, and its class of length: tasks of one kind may share a batch."""
        return self.cost >= LONG, bisect_left(LENGTHS, len(self.sentence.words))


class Job:
    """A request on its way; `future` becomes the pieces of its answer, which `write` makes of a sentence's parses."""

    def __init__(self, tasks: Sequence[Task], write: Callable[[list[Parse]], bytes]) -> None:
        self.tasks = tasks
        self.write = write
        self.found: list[bytes] = [b""] * len(tasks)
        # The places that had no turn yet, from the last to the next: like kinds together, quick ones first.
        self.waiting = sorted(
            range(len(tasks)), key=lambda place: (tasks[place].kind, place), reverse=True
        )
        self.cost = sum(task.cost for task in tasks)  # of them
        self.left = len(tasks)
        self.size = 0
        self.tag = 0.0  # the cost of all that goes before it in its queue
        self.future: Future[list[bytes]] = Future()

    @property
    def kind(self) -> tuple[bool, int]:
        """That of its next sentence."""
        return self.tasks[self.waiting[-1]].kind

    @property
    def over(self) -> bool:
        """Whether it is answered, or its client has left."""
        return self.future.done()

    def end(self, refusal: Refusal | None = None) -> None:
        """Answer it with the pieces or with a refusal, unless it is over; under the lock of the scheduler."""
        # From here on the future cannot be cancelled: if the client leaves now, nobody reads the answer.
        if self.over or not self.future.set_running_or_notify_cancel():
            return
        if refusal is None:
            self.future.set_result(self.found)
        else:
            self.future.set_exception(refusal)


Place = tuple[Job, int]  # a job and the position of one of its sentences


class Queue:
    """Jobs with sentences that had no turn yet, under the lock of the scheduler."""

    def __init__(self, lock: threading.RLock, sentences: int, words: float) -> None:
        self.jobs: list[Job] = []
        self.changed = threading.Condition(lock)
        self._most = sentences, words  # of a batch
        self._now = 0.0  # the tag of the job that was last served first

    def push(self, job: Job) -> None:
        """Queue a job."""
        job.tag = max(job.tag, self._now)
        self.jobs.append(job)
        self.changed.notify()

    def take(self, jobs: int) -> list[Place]:
        """The next sentence and others of its kind; of each of so many jobs its share. They leave the queue."""
        self.jobs = sorted((job for job in self.jobs if not job.over), key=lambda job: job.tag)
        batch: list[Place] = []
        if not self.jobs:
            return batch
        (sentences, words), kind = self._most, self.jobs[0].kind
        self._now = self.jobs[0].tag
        total, share = 0.0, SHARE * words / jobs
        for job in self.jobs:
            own = 0.0
            while (
                job.waiting
                and job.kind == kind
                and own < share
                and total < words
                and len(batch) < sentences
            ):
                place = job.waiting.pop()
                cost = job.tasks[place].cost
                batch.append((job, place))
                own, total = own + cost, total + cost
            job.tag += own
            job.cost -= own
        served = {job for job, _ in batch}
        self.jobs = [job for job in self.jobs if job not in served]
        return batch


class Scheduler:
    """Threads that have the parser work on what clients sent, in fair turns."""

    def __init__(self, parser: Parser, settings: Settings | None = None) -> None:
        self.parser, self.settings, self.metrics = parser, settings or Settings(), Metrics()
        self._lock = threading.RLock()
        self._short = Queue(self._lock, self.settings.batch_sentences, self.settings.batch_words)
        self._long = Queue(self._lock, 1, LONG)
        self._jobs: set[Job] = set()  # without an answer
        self._closing = False
        threads = parser.predictor.threads
        # A text that is being split keeps its thread though its client has left, so that threads do not pile up.
        self._splitting = ThreadPoolExecutor(threads), ThreadPoolExecutor(1)
        queues = [self._short] * threads + [self._long] * max(1, threads - 1)
        self._threads = [
            threading.Thread(target=self._work, args=(queue,), daemon=True) for queue in queues
        ]
        for thread in self._threads:
            thread.start()

    @property
    def healthy(self) -> bool:
        """Whether all of its threads still run."""
        return all(thread.is_alive() for thread in self._threads)

    @property
    def at_work(self) -> bool:
        """Whether one of its threads still runs."""
        return any(thread.is_alive() for thread in self._threads)

    def split(self, texts: list[str], one_sentence: bool) -> Future[list[list[Sentence]]]:
        """The sentences of each text; long texts wait for each other, short ones for none of them."""
        short, long = self._splitting
        pool = long if sum(map(len, texts)) > LONG_TEXT else short
        return pool.submit(
            lambda: [self.parser.split(text, one_sentence=one_sentence) for text in texts]
        )

    def submit(
        self, tasks: Sequence[Task], write: Callable[[list[Parse]], bytes]
    ) -> Future[list[bytes]]:
        """Queue a request; its future may be cancelled. Where too many wait, the one with the most work is refused."""
        job = Job(tasks, write)
        with self._lock:
            if self._closing:
                raise Refusal("stopping")
            self._jobs.add(job)
            job.future.add_done_callback(lambda _: self._forget(job))
            if len(self._jobs) > self.settings.max_waiting:
                queued = [one for one in self._short.jobs + self._long.jobs if not one.over]
                most = max([job, *queued], key=lambda one: one.cost)
                most.end(Refusal("too_busy", limit=self.settings.max_waiting))
            self.metrics.waiting.set(len(self._jobs))
            if not tasks:
                job.end()
            self._queue(job)
        return job.future

    def _queue(self, job: Job) -> None:
        if job.waiting and not job.over:
            (self._long if job.kind[0] else self._short).push(job)

    def give_up(self) -> None:
        """Refuse all requests that are left: the server is stopping."""
        with self._lock:
            for job in list(self._jobs):
                job.end(Refusal("stopping"))

    def close(self, timeout: float | None = None) -> None:
        """Finish what was taken and end the threads, or wait no longer than `timeout` seconds for that."""
        with self._lock:
            self._closing = True
            self._wake_all()
        for pool in self._splitting:
            pool.shutdown(wait=False, cancel_futures=True)
        end = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))

    def _wake_all(self) -> None:
        for queue in (self._short, self._long):
            queue.changed.notify_all()

    def _forget(self, job: Job) -> None:
        with self._lock:
            self._jobs.discard(job)
            self.metrics.waiting.set(len(self._jobs))
            if self._closing:
                self._wake_all()

    def _work(self, queue: Queue) -> None:
        while batch := self._next_batch(queue):
            begun = time.perf_counter()
            self._parse(batch)
            self.metrics.batch_seconds.observe(time.perf_counter() - begun)
            self.metrics.batch_sentences.observe(len(batch))

    def _next_batch(self, queue: Queue) -> list[Place]:
        """The next sentences in a queue; [] when all is done for good."""
        with self._lock:
            while not (batch := queue.take(len(self._jobs))) and not (
                self._closing and not self._jobs
            ):
                queue.changed.wait()
            for job in dict.fromkeys(job for job, _ in batch):
                self._queue(job)
            return batch

    def _parse(self, batch: list[Place]) -> None:
        tasks = [job.tasks[place] for job, place in batch]
        try:
            answers = self.parser.answer([(task.sentence, task.query) for task in tasks])
            found: list[list[Parse] | None] = list(answers)
        except BaseException:  # a panic of a library in Rust is not an Exception
            # One bad sentence must not spoil the others' answers: each for itself, to find it.
            log.exception(
                "a batch of %d sentences failed; its sentences are parsed one by one", len(batch)
            )
            found = [None] * len(batch)
        for (job, place), parses in zip(batch, found, strict=True):
            if not job.over:
                self._deliver(job, place, parses)

    def _deliver(self, job: Job, place: int, parses: list[Parse] | None) -> None:
        """Put a sentence's piece of the answer in its job, parsed by itself if it is not yet; the last one ends it."""
        task, piece, refusal = job.tasks[place], b"", None
        try:
            if parses is None:
                (parses,) = self.parser.answer([(task.sentence, task.query)])
            if task.query.constrained and parses[0].error is not None:
                raise ArcspanError(parses[0].error)  # the client's constraints cannot be met
            piece = job.write(parses)
        except ArcspanError as error:
            refusal = Refusal("bad_request", reason=error)
        except BaseException:
            log.exception("a sentence of %d words failed", len(task.sentence.words))
            refusal = Refusal("internal")
        with self._lock:
            job.found[place] = piece
            job.left -= 1
            job.size += len(piece)
            if job.size > self.settings.max_answer:
                refusal = Refusal("answer_too_large", limit=self.settings.max_answer)
            if refusal or not job.left:
                job.end(refusal)
