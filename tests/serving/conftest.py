"""A parser, and servers on loopback that tests start with the limits they need."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from arcspan.parser import Parser
from arcspan.serving import Settings, bind, create_app
from arcspan.serving.middleware import Middleware
from arcspan.serving.server import Server


@pytest.fixture(scope="session")
def parser(toy_bundle: Path) -> Parser:
    parser = Parser(toy_bundle, threads=2)
    parser.parse(["Logic", "plays"], k=2, confidence=True)  # compiled before a request's time runs
    return parser


class Running:
    """A server in a thread, and a client for it."""

    def __init__(self, app: Middleware) -> None:
        self.app = app
        listener = bind("127.0.0.1", 0)
        self.port: int = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=600)
        started = threading.Event()

        def begin() -> None:
            self.loop = asyncio.get_running_loop()
            started.set()

        self.server = Server(app, started=begin)
        self._thread = threading.Thread(target=self.server.run, args=([listener],), daemon=True)
        self._thread.start()
        assert started.wait(300)

    def parse(self, **request: Any) -> httpx.Response:
        return self.client.post("/parse", json=request)

    @property
    def connections(self) -> list[Any]:
        """What the server holds, after it has looked at what came."""
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result(300)
        return list(self.server.connections.open)

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        lines = self.client.get("/metrics").text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join(300)
        assert not self._thread.is_alive()
        self.client.close()


Start = Callable[..., Running]


@pytest.fixture(scope="module")
def start(parser: Parser) -> Iterator[Start]:
    """Start a server with some limits; it is stopped when the module's tests are done."""
    with contextlib.ExitStack() as running:

        def begin(with_parser: Parser | None = None, **limits: Any) -> Running:
            running_server = Running(create_app(with_parser or parser, Settings(**limits)))
            running.callback(running_server.stop)
            return running_server

        yield begin


@pytest.fixture(scope="module")
def server(start: Start) -> Running:
    """A server with the default limits."""
    return start()


class HeldParser(Parser):
    """A parser that waits before each turn until it is let go, and keeps the turns' sizes."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, threads=1)
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.sizes: list[int] = []
        self.holds_from = 0  # words of a sentence

    def answer(self, questions: Any) -> Any:
        if any(len(sentence.words) >= self.holds_from for sentence, _ in questions):
            self.begun.release()
            assert self.go.acquire(timeout=300)
        self.sizes.append(len(questions))
        return super().answer(questions)

    def let_all_go(self) -> None:
        self.go.release(1_000)


@pytest.fixture
def held(toy_bundle: Path) -> Iterator[HeldParser]:
    parser = HeldParser(toy_bundle)
    yield parser
    parser.let_all_go()
