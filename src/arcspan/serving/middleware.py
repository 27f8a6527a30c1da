"""What happens before the application: origins, token and body are checked, and requests are counted.

Plain ASGI, because a body must be counted while it arrives and not after. A request's body is read whole
before the application sees it, so a slow or broken client holds a connection and a few bytes, nothing more.
While the application works, the connection is watched: when the client leaves, the work is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time
from typing import Any

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arcspan.serving import problems
from arcspan.serving.metrics import Metrics
from arcspan.serving.problems import Problem
from arcspan.serving.scheduler import Scheduler
from arcspan.serving.settings import Settings

GUARDED = ("/parse", "/metrics")  # the paths that need the token
LINGER_SECONDS = 5.0
LINGER_BYTES = 64 << 20
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
)


class ClientLeft(Exception):
    """The connection is gone: there is nobody to answer."""


class Middleware:
    """An ASGI application around another one."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        scheduler: Scheduler,
        metrics: Metrics,
        paths: frozenset[str],
    ) -> None:
        self.app = app
        self.settings = settings
        self.scheduler = scheduler
        self.metrics = metrics
        self.paths = paths
        self.stopping = False
        self._entry: ASGIApp = self._answer
        if settings.origins:  # outermost, so that pages from there can read refusals too
            self._entry = CORSMiddleware(
                self._answer,
                allow_origins=settings.origins,
                allow_methods=("GET", "POST"),
                allow_headers=("Authorization", "Content-Type"),
                expose_headers=("Retry-After",),
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["query_string"] = b""  # the page's link holds a text, which is not for the access log
        await self._entry(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(send, self)
        begun = time.perf_counter()
        try:
            await self._serve(scope, _Incoming(receive), answer)
        except ClientLeft:
            answer.status = 499  # as nginx writes it: the client closed the connection
        finally:
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.requests.labels(path, str(answer.status)).inc()
            if path == "/parse":
                self.metrics.seconds.observe(time.perf_counter() - begun)

    async def _serve(self, scope: Scope, receive: _Incoming, answer: _Answer) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._admit(scope, headers)
            body = await self._read(receive, headers)
        except Problem as problem:
            await _refuse(problem, scope, receive, answer)
            return
        await _watched(self.app, scope, body, receive, answer)

    def _admit(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse what can be refused before the body is read."""
        if self.settings.token is not None and scope["path"] in GUARDED:
            kind, _, given = headers.get("authorization", "").partition(" ")
            same = hmac.compare_digest(given.strip().encode("utf-8"), self.settings.token.encode("utf-8"))
            if kind.lower() != "bearer" or not same:
                raise problems.unauthorized()
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.settings.max_body:
            raise problems.body_too_large(self.settings.max_body)

    async def _read(self, receive: Receive, headers: dict[str, str]) -> bytes:
        """The whole body, within the limits of size and time."""
        if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
            return b""
        self.metrics.reading.inc()
        try:
            return await asyncio.wait_for(
                _read(receive, self.settings.max_body), self.settings.body_time_limit
            )
        except asyncio.TimeoutError:
            raise problems.body_too_slow(self.settings.body_time_limit) from None
        finally:
            self.metrics.reading.dec()


class _Incoming:
    """`receive` that knows whether the body is at its end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.ended = self.ended or not message.get("more_body", False)
        return message


class _Answer:
    """`send` with the headers that every answer has; remembers the status."""

    def __init__(self, send: Send, app: Middleware) -> None:
        self._send = send
        self._app = app
        self.status = 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = list(message.get("headers", []))
            given = {name.lower() for name, _ in own}
            own += [pair for pair in HEADERS if pair[0] not in given]
            if self._app.stopping:
                own.append((b"connection", b"close"))
            message = {**message, "headers": own}
        await self._send(message)


async def _read(receive: Receive, limit: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        body += message.get("body", b"")
        if len(body) > limit:
            raise problems.body_too_large(limit)
        if not message.get("more_body", False):
            return bytes(body)


async def _refuse(problem: Problem, scope: Scope, receive: _Incoming, answer: _Answer) -> None:
    """Say why, and take in what the client is still sending, for a while.

    A connection that is closed with unread bytes in it is reset, and the client might never see the answer.
    """
    sent = False

    async def send(message: Message) -> None:
        nonlocal sent
        if message["type"] == "http.response.body":
            message = {**message, "more_body": True}
            sent = True
        await answer(message)

    await problem.response({"Connection": "close"})(scope, receive, send)
    if sent:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(_drain(receive), LINGER_SECONDS)
        await answer({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain(receive: _Incoming) -> None:
    drained = 0
    while not receive.ended and drained < LINGER_BYTES:
        drained += len((await receive()).get("body", b""))


async def _watched(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, answer: _Answer) -> None:
    """Run the application on a body that is all there; cancel it when the client leaves."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            await asyncio.Event().wait()  # `_left` watches the connection
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    work: asyncio.Task[Any] = asyncio.ensure_future(app(scope, replay, answer))
    watch = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientLeft
        work.result()
    finally:
        for task in (work, watch):
            task.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)


async def _left(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
