from __future__ import annotations

import threading

import pytest

from arcspan.decoding import crew
from arcspan.decoding.crew import together


def test_every_task_is_done_once_and_by_more_than_one_thread() -> None:
    """Two tasks that wait for each other can only end if two threads have them."""
    meeting = threading.Barrier(2, timeout=30)
    tasks = iter([meeting.wait, meeting.wait])
    done: list[str] = []

    def work() -> None:
        for task in tasks:
            task()
            done.append(threading.current_thread().name)

    together(work, 2)
    assert len(done) == 2 and len(set(done)) == 2


def test_one_thread_is_the_callers_own() -> None:
    seen = []
    together(lambda: seen.append(threading.current_thread()), 1)
    assert seen == [threading.current_thread()]


def test_an_error_of_a_helper_is_raised_in_the_caller() -> None:
    caller, began = threading.current_thread(), threading.Event()

    def work() -> None:
        if threading.current_thread() is caller:
            assert began.wait(30)
        else:
            began.set()
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        together(work, 2)


def test_helpers_may_ask_for_help() -> None:
    """Work inside work: nobody waits for a helper who waits for him."""
    done = []

    together(lambda: together(lambda: done.append(threading.current_thread()), 3), 3)
    assert threading.current_thread() in done


def test_without_new_threads_the_caller_works_alone(monkeypatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(crew, "_crew", crew._Crew())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    seen = []
    together(lambda: seen.append(threading.current_thread()), 4)
    assert seen == [threading.current_thread()]
