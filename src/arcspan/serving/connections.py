"""Limits on the number of connections and on the time that clients keep the server waiting.

uvicorn sets no limit on the time that a client takes to send a request's headers or to read an answer, and accepts
connections until it runs out of file descriptors. Here headers have a time limit, answers must be read at a minimum
speed, and the number of connections is limited, per client and in total. Where there are too many, the connection
that has kept the server waiting longest is closed, unanswered ones first, so that a quick client is always served.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from arcspan.serving.refusals import Refusal
from arcspan.serving.settings import Settings

DRAIN_SECONDS = 10.0
DRAIN_BYTES = 64 << 10  # the least part of an answer that must be read in that time
RESERVE = 96  # file descriptors kept for libraries, listening, and connections just accepted


def most_connections(settings: Settings) -> int:
    """The limit of the settings, or that of the process on open files where it is lower."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return settings.max_connections
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return settings.max_connections
    return max(1, min(settings.max_connections, allowed - RESERVE))


class Connection(H11Protocol):
    """uvicorn's protocol with limits."""

    def __init__(self, *, settings: Settings, most: int, **given: Any) -> None:
        super().__init__(**given)
        self._settings = settings
        self._most = most
        self._head: asyncio.TimerHandle | None = None  # runs while headers are awaited
        self._reading: asyncio.TimerHandle | None = None  # runs while the client reads an answer
        self.answered = False
        self.since = 0.0  # when the client's last turn began

    @property
    def address(self) -> str:
        """The client's address."""
        return self.client[0] if self.client else ""

    @property
    def waits(self) -> bool:
        """Whether it is the client's turn: to send a head or a body, or to read."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) or self.flow.write_paused

    def connection_made(self, transport: Any) -> None:
        """Close another connection where there are too many, and wait for headers."""
        super().connection_made(transport)
        self.since = self.loop.time()
        there = [one for one in self.connections if not one.transport.is_closing()]
        own = [one for one in there if one.address == self.address]
        for crowd, most in ((own, self._settings.max_client_connections), (there, self._most)):
            if len(crowd) > most and not self._make_room(crowd):
                return
        self._await_head()

    def _make_room(self, crowd: list[Connection]) -> bool:
        """Close the connection that has waited longest; False where there is none but this one."""
        spare = [one for one in crowd if one.waits and one is not self]
        if not spare:
            self.refuse(Refusal("too_many_connections"))
            return False
        min(spare, key=lambda one: (one.answered, one.since)).transport.abort()
        return True

    def data_received(self, data: bytes) -> None:
        """Read bytes; the time limit of headers runs however slowly they arrive."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._stop_timer("_head")

    def _await_head(self) -> None:
        if self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(self._settings.header_time_limit, self._head_too_slow)

    def _head_too_slow(self) -> None:
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            begun, _ = self.conn.trailing_data
            if begun:
                self.refuse(Refusal("head_too_slow", limit=self._settings.header_time_limit))
            else:
                self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP, in the format of all refusals."""
        self.refuse(Refusal("bad_request", reason=msg))

    def refuse(self, refusal: Refusal) -> None:
        """Answer without a request, and close."""
        answer = refusal.response({"Connection": "close"})
        head = [b"HTTP/1.1 %d \r\n" % answer.status_code]
        head += [b"%s: %s\r\n" % pair for pair in answer.raw_headers]
        self.transport.write(b"".join(head) + b"\r\n" + bytes(answer.body))
        self.transport.close()
        self._watch_reading()

    def on_response_complete(self) -> None:
        """It is the client's turn again."""
        self.answered = True
        self.since = self.loop.time()
        super().on_response_complete()
        self._watch_reading()

    def pause_writing(self) -> None:
        """The client reads more slowly than the server writes."""
        super().pause_writing()
        self.since = self.loop.time()
        self._watch_reading()

    def _watch_reading(self) -> None:
        self._stop_timer("_reading")
        left = self.transport.get_write_buffer_size()
        if left:
            self._reading = self.loop.call_later(DRAIN_SECONDS, self._check_reading, left)

    def _check_reading(self, before: int) -> None:
        if self.transport.get_write_buffer_size() > max(0, before - DRAIN_BYTES):
            self.transport.abort()
        else:
            self._watch_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_timer("_head")
        self._stop_timer("_reading")
        super().connection_lost(exc)

    def _stop_timer(self, name: str) -> None:
        timer = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)
