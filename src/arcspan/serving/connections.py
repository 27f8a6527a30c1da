"""Limits on the number of connections and on the time that clients keep the server waiting.

uvicorn sets no limit on the time that a client takes to send a request's headers or to read an
answer, and accepts connections until it runs out of file descriptors. Here headers have a time
limit, answers must be read at a minimum speed, and the number of connections is limited, per client
and in total. Where there are too many, the connection that has kept the server waiting longest is
closed, unanswered ones first, so that a quick client is always served.

HTTP itself is left to uvicorn. A `Connection` stands between asyncio and uvicorn's protocol and
hands on every event; `watch_requests`, around the application, tells it when a request begins, has
arrived and is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arcspan.serving.refusals import Refusal
from arcspan.serving.server_settings import Settings

DRAIN_SECONDS = 10.0
DRAIN_BYTES = 64 << 10  # the least part of an answer that must be read in that time
RESERVE = 96  # file descriptors kept for libraries, listening, and connections just accepted
_STATE_KEY = "arcspan.connection"  # of a connection in the state of its requests' scopes


def connection_limit(settings: Settings) -> int:
    """Return the limit of the settings, or that of the process on open files where it is lower."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return settings.max_connections
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return settings.max_connections
    return max(1, min(settings.max_connections, allowed - RESERVE))


class ConnectionTable:
    """The open connections of a server, and the protocol that uvicorn would use for each."""

    def __init__(self, settings: Settings, http_protocol: Callable[..., asyncio.Protocol]) -> None:
        self.settings = settings
        self.limit = connection_limit(settings)
        self.open: set[Connection] = set()
        self._http_protocol = http_protocol

    def connect(self, *, app_state: dict[str, Any], **options: Any) -> Connection:
        """Return the protocol of a new connection; the arguments are uvicorn's."""
        connection = Connection(self)
        # uvicorn copies this state into the scope of every request.
        state = {**app_state, _STATE_KEY: connection}
        connection.http = self._http_protocol(app_state=state, **options)
        return connection

    def admit(self, connection: Connection) -> bool:
        """Close an older connection where there are too many.

        Return False if every one of them is in use.
        """
        alive = [other for other in self.open if not other.transport.is_closing()]
        # One client's connections make room for each other before they take that of others.
        same_client = [other for other in alive if other.address == connection.address]
        has_room = self._make_room(same_client, self.settings.max_client_connections, connection)
        return has_room and self._make_room(alive, self.limit, connection)

    def _make_room(self, crowd: list[Connection], limit: int, newest: Connection) -> bool:
        if len(crowd) <= limit:
            return True
        idle = [other for other in crowd if other.waits and other is not newest]
        if not idle:
            return False
        # Of two, the one that has never been answered goes first: it may be an attack.
        longest = min(idle, key=lambda other: (other.was_answered, other.waits_since))
        longest.transport.abort()
        return True


class Connection(asyncio.Protocol):
    """A connection: uvicorn's protocol with limits on the client's time."""

    http: asyncio.Protocol
    transport: asyncio.Transport

    def __init__(self, table: ConnectionTable) -> None:
        self._table = table
        self._loop = asyncio.get_running_loop()
        self._head_timer: asyncio.TimerHandle | None = None  # runs while headers are awaited
        self._drain_timer: asyncio.TimerHandle | None = None  # runs while an answer is being read
        self._head_has_begun = False
        self._in_request = False
        self._has_arrived = False  # the whole request
        self._is_write_paused = False
        self.app_responds = False  # the next status line is the application's
        self.was_answered = False
        self.waits_since = self._loop.time()  # when the client's last turn began

    @property
    def address(self) -> str:
        """Return the client's address."""
        peer = self.transport.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    @property
    def waits(self) -> bool:
        """Return whether it is the client's turn: to send a head or a body, or to read."""
        return not self._has_arrived or self._is_write_paused

    def connection_made(self, transport: Any) -> None:
        """Close another connection where there are too many, and wait for headers."""
        self.transport = transport
        # In the table before the limits are checked, which count this connection, too.
        self._table.open.add(self)
        self.http.connection_made(_HttpTransport(self))  # type: ignore[arg-type]
        if self._table.admit(self):
            self._await_head()
        else:
            self.refuse(Refusal("too_many_connections"))

    def data_received(self, data: bytes) -> None:
        """Read bytes; the time limit of headers runs however slowly they arrive."""
        # Within a request these are bytes of its body, which has a time limit of its own.
        if not self._in_request:
            self._head_has_begun = True
            self._await_head()
        self.http.data_received(data)

    def eof_received(self) -> bool | None:
        """Hand on the end of what the client sends."""
        return self.http.eof_received()

    def pause_writing(self) -> None:
        """Note that the client reads more slowly than the server writes."""
        self._is_write_paused = True
        self.waits_since = self._loop.time()
        self.http.pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        """Go on writing."""
        self._is_write_paused = False
        self.http.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._table.open.discard(self)
        for timer in (self._head_timer, self._drain_timer):
            if timer is not None:
                timer.cancel()
        self.http.connection_lost(exc)

    def request_began(self) -> None:
        """Note that the headers of a request have arrived."""
        self._in_request = True
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def request_arrived(self) -> None:
        """Note that the whole request has arrived: it is the server's turn."""
        self._has_arrived = True

    def request_ended(self) -> None:
        """Note that a request is answered: it is the client's turn again."""
        self._in_request = False
        self._has_arrived = False
        self._head_has_begun = False
        self.was_answered = True
        self.waits_since = self._loop.time()
        self._watch_reading()

    def refuse(self, refusal: Refusal) -> None:
        """Answer without a request, and close."""
        answer = refusal.response({"Connection": "close"})
        head = [b"HTTP/1.1 %d \r\n" % answer.status_code]
        head += [b"%s: %s\r\n" % header for header in answer.raw_headers]
        # Not through uvicorn, for which there is no request to answer.
        self.transport.write(b"".join(head) + b"\r\n" + bytes(answer.body))
        self.transport.close()
        self._watch_reading()

    def _await_head(self) -> None:
        if self._head_timer is None and not self.transport.is_closing():
            limit = self._table.settings.header_time_limit
            self._head_timer = self._loop.call_later(limit, self._head_too_slow, limit)

    def _head_too_slow(self, limit: float) -> None:
        if self.transport.is_closing():
            return
        # A client that has sent nothing expects no answer; browsers open connections in advance.
        if self._head_has_begun:
            self.refuse(Refusal("head_too_slow", limit=limit))
        else:
            self.transport.close()

    def _watch_reading(self) -> None:
        if self._drain_timer is not None:
            self._drain_timer.cancel()
            self._drain_timer = None
        # What the kernel has taken counts as read: its buffers are small.
        unread = self.transport.get_write_buffer_size()
        if unread:
            self._drain_timer = self._loop.call_later(DRAIN_SECONDS, self._check_reading, unread)

    def _check_reading(self, unread_before: int) -> None:
        if self.transport.get_write_buffer_size() > max(0, unread_before - DRAIN_BYTES):
            self.transport.abort()
        else:
            self._watch_reading()


class _HttpTransport:
    """The transport that uvicorn writes to; its refusal in plain text becomes one of ours."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection.transport, name)

    def write(self, data: bytes) -> None:
        connection = self._connection
        # After a refusal nothing more is sent, or the client would read it as part of that answer.
        if connection.transport.is_closing():
            return
        # The application's own 400 comes after its `http.response.start`.
        if data.startswith(b"HTTP/1.1 400 ") and not connection.app_responds:
            connection.refuse(Refusal("bad_request", reason="this is not a valid HTTP request"))
            return
        connection.app_responds = False
        connection.transport.write(data)


def has_body(scope: Scope) -> bool:
    """Return whether a body belongs to a request, by its headers."""
    headers = dict(scope["headers"])
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def watch_requests(app: ASGIApp) -> ASGIApp:
    """Return the application, telling each connection of a `ConnectionTable` about its requests."""

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        # There is none in other ASGI servers, nor in the lifespan's scope.
        connection: Connection | None = scope.get("state", {}).get(_STATE_KEY)
        if scope["type"] != "http" or connection is None:
            await app(scope, receive, send)
            return

        async def watched_receive() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                connection.request_arrived()
            return message

        async def watched_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                connection.app_responds = True
            await send(message)

        connection.request_began()
        # Nobody calls `receive` for a body that is not there.
        if not has_body(scope):
            connection.request_arrived()
        try:
            await app(scope, watched_receive, watched_send)
        finally:
            connection.request_ended()

    return watched
