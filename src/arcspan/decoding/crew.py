"""A few threads that help the caller with one piece of work, begun within microseconds.

A batch of sentences may take a fifth of a millisecond, less than `concurrent.futures` needs to hand it out and
collect it. So: helpers wait at one queue; the caller puts the work there, does it as well, and when nothing is left
waits for the helpers who have begun, and only for those. Calls from many threads at once therefore never wait for
each other, a forked child starts helpers of its own, and a process that ends leaves them waiting (they are daemons).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue


class _Job:
    """Work for one helper; who takes the claim, helper or caller, decides whether it is begun."""

    __slots__ = ("claim", "done", "error", "work")

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.claim = threading.Lock()
        self.done = threading.Lock()
        self.done.acquire()
        self.error: BaseException | None = None


class _Crew:
    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.size = 0
        self.growing = threading.Lock()

    def grow(self, size: int) -> None:
        with self.growing:
            while self.size < size:
                name = f"arcspan-decode-{self.size + 1}"
                threading.Thread(target=_help, args=(self.jobs,), name=name, daemon=True).start()
                self.size += 1


def _help(jobs: SimpleQueue[_Job]) -> None:
    while True:
        job = jobs.get()
        if job.claim.acquire(blocking=False):
            try:
                job.work()
            except BaseException as error:
                job.error = error
            job.done.release()
        del job


_crew = _Crew()


def _start_anew() -> None:
    global _crew
    _crew = _Crew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def together(work: Callable[[], object], threads: int) -> None:
    """Call `work()` here and in up to threads - 1 helpers; return when everyone who began has ended.

    >>> tasks, done = iter(range(100)), []
    >>> together(lambda: done.extend(tasks), 2)
    >>> sorted(done) == list(range(100))
    True
    """
    if threads == 1:
        work()
        return
    crew, jobs = _crew, [_Job(work) for _ in range(threads - 1)]
    try:
        crew.grow(len(jobs))
    except RuntimeError:
        # No thread can be started: the interpreter is going down, or the system allows no more.
        jobs = jobs[: crew.size]
    for job in jobs:
        crew.jobs.put(job)
    try:
        work()
    finally:
        for job in jobs:
            if not job.claim.acquire(blocking=False):
                job.done.acquire()
    for job in jobs:
        if job.error is not None:
            raise job.error
