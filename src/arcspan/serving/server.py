"""uvicorn, with a shutdown that loses no request and ends in time.

On shutdown uvicorn closes idle connections at once, even if their next request is already on the
wire. Here the server first stops listening, answers requests that still arrive on open connections
for a moment, with `Connection: close`, and only then closes them. Requests in progress have the
grace period of the settings except for its last second, and are then answered 503.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from arcspan.errors import ArcspanError
from arcspan.serving.connections import ConnectionTable, watch_requests
from arcspan.serving.middleware import Middleware, is_loopback

LINGER_SECONDS = 1.0  # for requests that are on the wire at the signal
ENDING_SECONDS = 1.0  # the end of the grace period: open requests are refused, and threads end
SENDING_SECONDS = 0.2  # of them, for sending refusals
BACKLOG = 512
ACCEPTED_AT_ONCE = 16  # before older connections can make room


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 takes a free one."""
    try:
        # The first address of a name: a socket listens on one.
        family, socket_type, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, socket_type, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, UnicodeError) as error:  # names of hosts are encoded
        reason = getattr(error, "strerror", None) or error
        raise ArcspanError(f"cannot listen on {host} port {port}: {reason}") from None
    return listener


def serve(
    app: Middleware,
    listener: socket.socket,
    *,
    access_log: bool = False,
    started: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests in progress.

    A second SIGINT ends at once.
    """
    Server(app, access_log=access_log, started=started).run(sockets=[listener])


class Server(uvicorn.Server):
    """uvicorn's server for a `Middleware`; `should_exit = True` stops it as a signal does."""

    def __init__(
        self,
        app: Middleware,
        *,
        access_log: bool = False,
        started: Callable[[], None] | None = None,
    ) -> None:
        config = uvicorn.Config(
            watch_requests(app),
            http="h11",
            loop="asyncio",
            ws="none",
            lifespan="on",
            log_level="info" if access_log else "error",
            access_log=access_log,
            server_header=False,
            backlog=ACCEPTED_AT_ONCE,
            timeout_keep_alive=app.settings.idle_time_limit,
        )
        config.load()
        # The setting `http` takes a protocol, too: ours, which needs the one that uvicorn has just
        # looked up.
        self.connections = ConnectionTable(app.settings, config.http_protocol_class)
        config.http_protocol_class = self.connections.connect
        super().__init__(config)
        self._app = app
        self._on_start = started
        self._is_stopping = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        addresses = [listener.getsockname()[0] for listener in sockets or []]
        self._app.is_local = all(map(is_loopback, addresses))
        # asyncio takes one number for the queue of the kernel and for how many it accepts in a row.
        for listener in sockets or []:
            listener.listen(BACKLOG)
        if self._on_start is not None:
            self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the shutdown."""
        # uvicorn would raise the signal again at the end; here a requested shutdown is a success.
        self.should_exit = True
        if not self._is_stopping:
            self._is_stopping = True
            # However busy the machine is, the grace period is the end.
            end = threading.Timer(self._app.settings.grace, os._exit, (0,))
            end.daemon = True
            end.start()
        elif sig == signal.SIGINT:
            self.force_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer requests that still arrive, and finish the others in time."""
        self._app.stopping = True
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        loop = asyncio.get_running_loop()
        start = loop.time()
        work_seconds = max(0.0, self._app.settings.grace - ENDING_SECONDS)
        # Whatever happens in between, requests are refused in time for their answers to be sent.
        loop.call_later(work_seconds, self._refuse_open_requests)
        while self.connections.open and not self.force_exit:
            if loop.time() - start > min(LINGER_SECONDS, work_seconds):
                break
            await asyncio.sleep(0.02)
        left_seconds = work_seconds - (loop.time() - start)
        self.config.timeout_graceful_shutdown = left_seconds + SENDING_SECONDS
        await super().shutdown(sockets)

    def _refuse_open_requests(self) -> None:
        self._app.scheduler.refuse_all()
        for connection in list(self.connections.open):
            if connection.waits:
                connection.transport.abort()
