"""The sentences of all clients, parsed in fair turns.

A thread gives the parser one turn at a time: while a turn is parsed, sentences gather for the next, and no turn waits
to be full. Requests share the parser by the cost of their sentences (self-clocked fair queueing, Golestani 1994), and
requests of many sentences share a small part of a turn, so a request of one sentence does not wait for a thousand sent
before it. A search cannot be interrupted, so sentences that take long (very long ones, many trees, pictures or
constraints) have threads of their own. The parser decides which sentences share a batch.

All slow work is done here, one sentence at a time: parsing, probabilities, pictures, and the bytes of the answer.
A request whose client has left, or whose time is over, is dropped before its next sentence.
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count

from arcspan.errors import ArcspanError
from arcspan.lazy import lazy
from arcspan.parser import Parse, Parser, Query, Sentence
from arcspan.serving.metrics import Metrics
from arcspan.serving.refusals import Refusal
from arcspan.serving.settings import Settings

log = logging.getLogger("arcspan.serving")

LONG_TEXT = 10_000  # characters
MOST_SEARCHES = 64  # for constraints that contradict each other
SHARE = 0.25  # of a turn, divided among the requests that there are; each has at least a sentence
GATHER = 0.15  # of the time of a turn, to wait for those whom it answered
LONG = 250.0  # sentences that cost this or more have a queue, and threads, of their own


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
        reading = sum(min(max(4, len(word)), 16) for word in words) / 4  # long words have many pieces
        search = 3 * n * (n / 100) ** 2
        # Constraints that contradict each other are named, which takes a search for each, up to a limit.
        searches = min(len(query.require) + len(query.forbid) + len(query.prefer), MOST_SEARCHES)
        parsing = (reading + search) * (1 if query.plain else 4) + (1 + search) * searches / 4
        return 1 + parsing + (n + 20) * (query.k or 1) * self.pictures


class Job:
    """A request on its way; `future` becomes the answer's bytes, one piece per sentence.

    write   makes the piece of the answer from the parses of a sentence
    """

    def __init__(self, tasks: Sequence[Task], write: Callable[[list[Parse]], bytes]) -> None:
        self.tasks = tasks
        self.write = write
        self.found: list[bytes] = [b""] * len(tasks)
        self.next = 0
        self.cost = sum(task.cost for task in tasks)  # of the sentences that had no turn yet
        self.left = len(tasks)
        self.size = 0
        self.tag = 0.0  # its place in a queue
        self.future: Future[list[bytes]] = Future()
        self.lock = threading.RLock()  # for what several threads change: `found`, `left`, `size` and the end

    @property
    def over(self) -> bool:
        """Whether it is answered, or its client has left."""
        return self.future.done()

    def end(self, refusal: Refusal | None = None) -> None:
        """Answer it with the pieces or with a refusal, unless it is over."""
        with self.lock:
            # From here on the future cannot be cancelled: if the client leaves now, nobody reads the answer.
            if self.over or not self.future.set_running_or_notify_cancel():
                return
            if refusal is None:
                self.future.set_result(self.found)
            else:
                self.future.set_exception(refusal)


Place = tuple[Job, int]  # a job and the position of one of its sentences


class Queue:
    """Jobs by the tag of their next sentence, under the lock of the scheduler."""

    def __init__(self) -> None:
        self.jobs: list[tuple[float, int, Job]] = []  # a heap
        self.served = 0  # jobs in its last turn
        self._now = 0.0  # the tag of the sentence that last had its turn
        self._numbers = count()

    def push(self, job: Job) -> None:
        """Queue a job's next sentence."""
        job.tag = max(job.tag, self._now) + job.tasks[job.next].cost
        heapq.heappush(self.jobs, (job.tag, next(self._numbers), job))

    def pop(self) -> Job:
        """The job whose sentence is next."""
        self._now, _, job = heapq.heappop(self.jobs)
        return job


class Scheduler:
    """Threads that have the parser work on what clients sent, in fair turns.

    >>> scheduler = Scheduler(parser)  # doctest: +SKIP
    >>> tasks = [Task(sentence) for sentence in parser.split("Logic plays.")]  # doctest: +SKIP
    >>> scheduler.submit(tasks, lambda parses: parses[0].conllu().encode()).result()  # doctest: +SKIP
    """

    def __init__(self, parser: Parser, settings: Settings | None = None) -> None:
        self.parser, self.settings, self.metrics = parser, settings or Settings(), Metrics()
        self._short, self._long = Queue(), Queue()  # jobs with sentences that had no turn yet
        self._jobs: set[Job] = set()  # without an answer
        self._closing = False
        self._changed = threading.Condition()
        # The parser has threads of its own for a turn of many sentences.
        queues = [self._short, *[self._long] * max(1, parser.predictor.threads - 1)]
        # A text that is being split keeps its thread though its client has left, so that threads do not pile up.
        self._splitting = ThreadPoolExecutor(parser.predictor.threads), ThreadPoolExecutor(1)
        self._threads = [threading.Thread(target=self._work, args=(queue,), daemon=True) for queue in queues]
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
        return pool.submit(lambda: [self.parser.split(text, one_sentence=one_sentence) for text in texts])

    def submit(self, tasks: Sequence[Task], write: Callable[[list[Parse]], bytes]) -> Future[list[bytes]]:
        """Queue a request; its future may be cancelled. Where too many wait, the one with the most work is refused."""
        job = Job(tasks, write)
        refused: Job | None = None
        with self._changed:
            if self._closing:
                raise Refusal("stopping")
            if len(self._jobs) >= self.settings.max_waiting:
                refused = max([job, *self._queued()], key=lambda other: other.cost)
            if refused is not job:
                self._jobs.add(job)
                self.metrics.waiting.set(len(self._jobs))
                self._queue_next(job)
        job.future.add_done_callback(lambda _: self._forget(job))
        if refused is not None:
            refused.end(Refusal("too_busy", limit=self.settings.max_waiting))
        if not tasks:
            job.end()
        return job.future

    def _queued(self) -> list[Job]:
        return [job for queue in (self._short, self._long) for _, _, job in queue.jobs if not job.over]

    def give_up(self) -> None:
        """Refuse all requests that are left: the server is stopping."""
        with self._changed:
            jobs = list(self._jobs)
        for job in jobs:
            job.end(Refusal("stopping"))

    def close(self, timeout: float | None = None) -> None:
        """Finish what was taken and end the threads, or wait no longer than `timeout` seconds for that."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for pool in self._splitting:
            pool.shutdown(wait=False, cancel_futures=True)
        end = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))

    def _forget(self, job: Job) -> None:
        with self._changed:
            self._jobs.discard(job)
            self.metrics.waiting.set(len(self._jobs))
            self._changed.notify_all()

    def _queue_next(self, job: Job) -> None:
        """Queue a job's next sentence, where there is one."""
        if job.next < len(job.tasks):
            (self._short if job.tasks[job.next].cost < LONG else self._long).push(job)
            self._changed.notify_all()

    def _work(self, queue: Queue) -> None:
        while turn := self._next_turn(queue):
            begun = time.perf_counter()
            self._parse(turn)
            seconds = time.perf_counter() - begun
            self.metrics.batch_seconds.observe(seconds)
            self.metrics.batch_sentences.observe(len(turn))
            if queue is self._short:
                self._gather(len({job for job, _ in turn if job.over}), GATHER * seconds)

    def _gather(self, answered: int, seconds: float) -> None:
        """Give clients that were just answered a moment to send their next request: larger turns cost less."""
        if answered > 1:
            with self._changed:
                self._changed.wait_for(lambda: len(self._short.jobs) >= answered or self._closing, seconds)

    def _next_turn(self, queue: Queue) -> list[Place]:
        """The next sentences in a queue, until the turn is full; [] when all is done for good."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: queue.jobs or (self._closing and not self._jobs))
                turn = self._fill(queue, self.settings.batch_sentences if queue is self._short else 1)
                if turn or (self._closing and not self._jobs):
                    return turn

    def _fill(self, queue: Queue, most: int) -> list[Place]:
        """A turn: of one job no more than its share, so that others do not wait for a thousand sentences."""
        turn: list[Place] = []
        shares: defaultdict[Job, float] = defaultdict(float)
        served: list[Job] = []
        # Clients that were answered a moment ago may be about to send more.
        share = SHARE * self.settings.batch_words / max(1, queue.served, len(queue.jobs))
        while queue.jobs and len(turn) < most and sum(shares.values()) < self.settings.batch_words:
            job = queue.pop()
            if job.over:
                continue
            cost = job.tasks[job.next].cost
            turn.append((job, job.next))
            shares[job] += cost
            job.cost -= cost
            job.next += 1
            if shares[job] < share:
                self._queue_next(job)
            else:
                served.append(job)
        for job in served:
            self._queue_next(job)
        queue.served = len(shares)
        return turn

    def _parse(self, turn: list[Place]) -> None:
        tasks = [job.tasks[position] for job, position in turn]
        try:
            # One more than there are: a single batch, such as a sentence that takes long, is then parsed by this thread
            # and not by those of the parser, for which others would wait.
            items = [(task.sentence, task.query) for task in tasks]
            found: list[list[Parse] | None] = list(self.parser.stream(items, len(tasks) + 1))
        except BaseException:  # a panic of a library in Rust is not an Exception
            # One bad sentence must not spoil the others' answers: each for itself, to find it.
            log.exception("a turn of %d sentences failed; its sentences are parsed one by one", len(turn))
            found = [None] * len(turn)
        for (job, position), parses in zip(turn, found, strict=True):
            if not job.over:
                self._deliver(job, position, parses)

    def _deliver(self, job: Job, position: int, parses: list[Parse] | None) -> None:
        """Put a sentence's piece of the answer in its job, parsed by itself if it is not yet; the last one ends it."""
        task = job.tasks[position]
        try:
            if parses is None:
                (parses,) = self.parser.stream([(task.sentence, task.query)])
            if task.query.constrained and parses[0].error is not None:
                raise ArcspanError(parses[0].error)  # the client's constraints cannot be met
            piece = job.write(parses)
        except ArcspanError as error:
            return job.end(Refusal("bad_request", reason=error))
        except BaseException:
            log.exception("a sentence of %d words failed", len(task.sentence.words))
            return job.end(Refusal("internal"))
        with job.lock:
            job.found[position] = piece
            job.left -= 1
            job.size += len(piece)
        if job.size > self.settings.max_answer:
            job.end(Refusal("answer_too_large", limit=self.settings.max_answer))
        elif not job.left:
            job.end()
