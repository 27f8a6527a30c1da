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

    def work(mine: bool) -> bool:
        for task in tasks:
            task()
            done.append(threading.current_thread().name)
        return False

    together(work, 2)
    assert len(done) == 2 and len(set(done)) == 2


def test_one_thread_is_the_callers_own() -> None:
    seen = []
    together(lambda mine: seen.append((mine, threading.current_thread())) or False, 1)
    assert seen == [(True, threading.current_thread())]


def test_an_error_of_a_helper_is_raised_in_the_caller() -> None:
    began = threading.Event()

    def work(mine: bool) -> bool:
        if mine:
            assert began.wait(30)
            return False
        began.set()
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        together(work, 2)


def test_helpers_are_not_waited_for_when_the_work_knows_that_all_is_done() -> None:
    began, release = threading.Event(), threading.Event()

    def work(mine: bool) -> bool:
        if mine:
            return began.wait(30)
        began.set()
        return release.wait(30)

    together(work, 2)
    assert not release.is_set()
    release.set()


def test_helpers_may_ask_for_help() -> None:
    """Work inside work: nobody waits for a helper who waits for him."""
    done = []

    def inner(mine: bool) -> bool:
        done.append(mine)
        return False

    def outer(mine: bool) -> bool:
        together(inner, 3)
        return False

    together(outer, 3)
    assert done.count(True) >= 1


def test_without_new_threads_the_caller_works_alone(monkeypatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(crew, "_crew", crew._Crew())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    seen = []
    together(lambda mine: seen.append(mine) or False, 4)
    assert seen == [True]
