"""The ASGI application: requests are admitted, read whole, answered by their route, and counted.

Plain ASGI, because a body must be counted while it arrives and not after. A body is read whole
before the route is called, so a slow or broken client holds a connection and a few bytes, nothing
more.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arcspan.errors import ArcspanError
from arcspan.serving.connections import has_body
from arcspan.serving.refusals import Refusal
from arcspan.serving.scheduler import Scheduler

log = logging.getLogger("arcspan.serving")

GUARDED = ("/parse", "/metrics")  # the paths that need the token
CLOSING_SECONDS = 0.2  # for a sentence whose client has left
LINGER_SECONDS = 5.0
LINGER_BYTES = 64 << 20
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class ClientLeft(Exception):
    """The connection is closed: there is nobody to answer."""


@dataclass(frozen=True)
class HttpRequest:
    """A request with its whole body; `receive` returns once the client has left."""

    headers: Mapping[str, str]
    body: bytes
    receive: Receive


Route = Callable[[HttpRequest], Awaitable[Response]]


class Middleware:
    """The application of a server; `routes` has a handler for each path and method."""

    def __init__(self, routes: Mapping[str, Mapping[str, Route]], scheduler: Scheduler) -> None:
        self.routes = routes
        self.scheduler = scheduler
        self.settings = scheduler.settings
        self.metrics = scheduler.metrics
        self.stopping = False
        self.is_local = False  # listens on loopback only
        self._entry: ASGIApp = self._answer
        if self.settings.origins:  # outermost, so that pages from there can read refusals too
            self._entry = CORSMiddleware(
                self._answer,
                allow_origins=self.settings.origins,
                allow_methods=("GET", "POST"),
                allow_headers=("Authorization", "Content-Type"),
                expose_headers=("Retry-After",),
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or follow the server's start and end."""
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await asyncio.to_thread(self.scheduler.close, CLOSING_SECONDS)
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            # A request may name its whole address, as to a proxy (RFC 9112, 3.2.2).
            scope["path"] = re.sub(r"(?i)^https?://[^/]*", "", scope["path"]) or "/"
            # The page's link holds a text, which must not reach the access log.
            scope["query_string"] = b""
            await self._entry(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = time.perf_counter()
        status = 499  # as in nginx: the client closed the connection
        body_stream = _BodyStream(receive)
        headers = Headers(scope=scope)
        try:
            try:
                self._admit(scope["path"], headers)
                body = await self._read(body_stream) if has_body(scope) else b""
            except Refusal as refusal:
                response = refusal.response({"Connection": "close"})
                status = response.status_code
                await _refuse(self._finish(response), scope, body_stream, send)
                return
            response = await self._route(scope, HttpRequest(headers, body, body_stream))
            status = response.status_code
            await self._finish(response)(scope, receive, send)
        except ClientLeft:
            pass  # counted below, with status 499
        finally:
            # Paths that clients invent would make a metric each.
            path = scope["path"] if scope["path"] in self.routes else "other"
            self.metrics.requests.labels(path, str(status)).inc()
            if path == "/parse":
                self.metrics.seconds.observe(time.perf_counter() - start)

    def _admit(self, path: str, headers: Mapping[str, str]) -> None:
        """Refuse what can be refused before the body is read."""
        host = headers.get("host", "")
        if self.is_local and not _names_this_machine(host, self.settings.hosts):
            # The page of another site, whose name leads to this machine, would read the answers.
            raise Refusal("foreign_host", host=host)
        if self.settings.token is not None and path in GUARDED:
            scheme, _, token = headers.get("authorization", "").partition(" ")
            # In constant time, so that a wrong token tells nothing about the right one.
            is_right = hmac.compare_digest(
                token.strip().encode("utf-8"), self.settings.token.encode("utf-8")
            )
            if scheme.lower() != "bearer" or not is_right:
                raise Refusal("unauthorized")
        if "transfer-encoding" in headers and "content-length" in headers:
            # A proxy may read another body than we do, and take the rest for a request (RFC 9112,
            # 6.1).
            raise Refusal(
                "bad_request", reason="Content-Length and Transfer-Encoding contradict each other"
            )
        # Other values are uvicorn's to refuse.
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.settings.max_body:
            raise Refusal("body_too_large", limit=self.settings.max_body)

    async def _read(self, body_stream: _BodyStream) -> bytes:
        """Return the whole body, within the limits of size and time."""
        limit = self.settings.body_time_limit
        self.metrics.reading.inc()
        try:
            return await asyncio.wait_for(body_stream.read(self.settings.max_body), limit)
        except asyncio.TimeoutError:
            raise Refusal("body_too_slow", limit=limit) from None
        finally:
            self.metrics.reading.dec()

    async def _route(self, scope: Scope, request: HttpRequest) -> Response:
        """Return the answer of the path's handler, or a refusal.

        No failure of a handler ends the server.
        """
        try:
            methods = self.routes.get(scope["path"])
            if methods is None:
                raise Refusal("not_found", path=scope["path"])
            # uvicorn leaves the body of such an answer out.
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            if method not in methods:
                allowed = ", ".join(methods)
                return Refusal("method_not_allowed", methods=allowed).response({"Allow": allowed})
            return await methods[method](request)
        except Refusal as refusal:
            return refusal.response()
        except ArcspanError as error:
            return Refusal("bad_request", reason=error).response()
        except (ClientLeft, asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a panic of a library in Rust is not an Exception
            log.exception("%s %s failed", scope["method"], scope["path"])
            return Refusal("internal").response()

    def _finish(self, response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if self.stopping:
            response.headers["Connection"] = "close"
        return response


def _names_this_machine(host: str, allowed: Collection[str]) -> bool:
    """Return whether a Host header, with or without a port, names this machine or an allowed host.

    >>> hosts = "127.0.0.1:8000", "[::1]", "b.org", "a.org"
    >>> [_names_this_machine(host, ["b.org"]) for host in hosts]
    [True, True, True, False]
    """
    name = re.sub(r":\d*$", "", host).strip("[]").lower()
    # Browsers always send a name; programs that send none are no danger.
    return not name or is_loopback(name) or name in map(str.lower, allowed)


def is_loopback(name: str) -> bool:
    """Return whether an address or a name stands for this machine alone."""
    try:
        # An IPv6 address may have its interface behind it.
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


class _BodyStream:
    """The `receive` of a request that knows whether the body is at its end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.has_ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self.has_ended = self.has_ended or not message.get("more_body", False)
        return message

    async def read(self, limit: int) -> bytes:
        """Return the whole body, of at most so many bytes."""
        body = bytearray()
        while not self.has_ended:
            message = await self()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            body += message.get("body", b"")
            if len(body) > limit:
                raise Refusal("body_too_large", limit=limit)
        return bytes(body)

    async def drain(self) -> None:
        """Read what the client is still sending, up to a limit."""
        drained = 0
        while not self.has_ended and drained < LINGER_BYTES:
            message = await self()
            drained += len(message.get("body", b""))


async def _refuse(response: Response, scope: Scope, body_stream: _BodyStream, send: Send) -> None:
    """Send a refusal, and for a while read what the client is still sending.

    A connection that is closed with unread bytes in it is reset, and the client might never see the
    answer.
    """

    async def send_unfinished(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "more_body": True}
        await send(message)

    await response(scope, body_stream, send_unfinished)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(body_stream.drain(), LINGER_SECONDS)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def client_left(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
