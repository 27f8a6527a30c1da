"""The thread that answers all clients does no work that depends on the size or the difficulty of a
request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from arcspan.parser import Parser
from arcspan.serving import app, messages, writers
from arcspan.serving.scheduler import ScheduledSentence
from arcspan.syntax import TreeQuery
from tests.serving.conftest import Running, Start


def runs_in_an_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Recorder:
    """Functions that note whether an event loop waits for them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls: dict[str, list[bool]] = {}
        self._patch = patch

    def watch(self, owner: Any, name: str) -> None:
        function = getattr(owner, name)
        calls = self.calls.setdefault(name, [])

        def watched(*positional: Any, **named: Any) -> Any:
            calls.append(runs_in_an_event_loop())
            return function(*positional, **named)

        self._patch.setattr(owner, name, watched)


@pytest.mark.parametrize(
    "request_",
    [
        {"text": "Logic plays. Ada sees.", "find": "NP", "svg": ["wide"], "confidence": True},
        {"words": [["Ada", "plays"]] * 20, "find": "NP", "syntax": True},
        {"words": ["Ada", "plays"], "find": "VP", "require": [[0, 2]]},
    ],
)
def test_requests_are_read_and_written_in_other_threads(
    server: Running, monkeypatch: pytest.MonkeyPatch, request_: dict[str, Any]
) -> None:
    recorder = Recorder(monkeypatch)
    recorder.watch(app, "_read")
    recorder.watch(messages, "TreeQuery")
    recorder.watch(writers, "TreeQuery")
    recorder.watch(Parser, "split")
    recorder.watch(Parser, "query")
    recorder.watch(app.ParseRoute, "_check_sentences")
    recorder.watch(ScheduledSentence.cost, "_compute")
    recorder.watch(writers.AnswerWriter, "__init__")
    recorder.watch(writers.AnswerWriter, "__call__")
    monkeypatch.setattr(app, "SMALL_ANSWER", 0)
    recorder.watch(writers.AnswerWriter, "join")
    assert server.parse(**request_).status_code == 200
    if "words" in request_:
        assert not recorder.calls.pop("split")
    for name, calls in recorder.calls.items():
        assert calls and not any(calls), name


@pytest.fixture
def slow_query(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """A query that takes until it is released; the events say that it has begun, and release it."""
    begun, release = threading.Semaphore(0), threading.Event()

    def compile_slowly(find: str) -> TreeQuery:
        begun.release()
        assert release.wait(300)
        return TreeQuery(find)

    monkeypatch.setattr(messages, "TreeQuery", compile_slowly)
    yield begun, release
    release.set()


def test_others_are_answered_while_a_query_is_compiled(
    server: Running, slow_query: tuple[Any, Any]
) -> None:
    """Nothing was answered for 1.5 seconds while 199 classes of characters were compiled."""
    begun, release = slow_query
    statuses: list[int] = []
    client = threading.Thread(
        target=lambda: statuses.append(server.parse(text="Ada plays.", find="NP").status_code)
    )
    client.start()
    assert begun.acquire(timeout=300)
    for _ in range(5):
        assert server.client.get("/health").status_code == 200
    assert not statuses
    release.set()
    client.join(300)
    assert statuses == [200]


def test_the_time_limit_includes_the_compilation_of_a_query(
    start: Start, slow_query: tuple[Any, Any]
) -> None:
    answer = start(time_limit=0.2).parse(text="Ada plays.", find="NP")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "out_of_time"
