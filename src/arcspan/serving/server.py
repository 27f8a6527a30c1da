"""uvicorn, with a shutdown that loses no request and ends in time.

On shutdown uvicorn closes idle connections at once, even if their next request is already on the wire. Here the
server first stops listening, answers requests that still arrive on open connections for a moment, with
`Connection: close`, and only then closes them. Requests in progress have the grace period of the settings except for
its last second, and are then answered 503.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType

import uvicorn

from arcspan.errors import ArcspanError
from arcspan.serving.connections import Connection, most_connections
from arcspan.serving.middleware import Middleware

LINGER_SECONDS = 1.0  # for requests that are on the wire at the signal
ENDING_SECONDS = (
    1.0  # the end of the grace period: unfinished requests are refused, and threads end
)
SENDING_SECONDS = 0.2  # of them, for sending refusals
BACKLOG = 512
ACCEPTED_AT_ONCE = 16  # before older connections can make room


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
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
    """Serve until SIGTERM or SIGINT, then finish the requests in progress; a second SIGINT ends at once."""
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
        settings = app.settings
        config = uvicorn.Config(
            app,
            http=partial(Connection, settings=settings, most=most_connections(settings)),
            loop="asyncio",
            ws="none",
            lifespan="on",
            log_level="info" if access_log else "error",
            access_log=access_log,
            server_header=False,
            backlog=ACCEPTED_AT_ONCE,
            timeout_keep_alive=settings.idle_time_limit,
        )
        super().__init__(config)
        self._app = app
        self._when_started = started
        self._asked_to_stop = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(BACKLOG)  # asyncio takes one number for both
        if self._when_started is not None:
            self._when_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the shutdown."""
        # uvicorn would raise the signal again at the end; here a requested shutdown is a success.
        if self._asked_to_stop and sig == signal.SIGINT:
            self.force_exit = True
        if not self._asked_to_stop:  # however busy the machine is, the grace period is the end
            end = threading.Timer(self._app.settings.grace, os._exit, (0,))
            end.daemon = True
            end.start()
        self.should_exit = self._asked_to_stop = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer requests that still arrive for a moment, finish the others in time."""
        self._app.stopping = True
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        loop, working = (
            asyncio.get_running_loop(),
            max(0.0, self._app.settings.grace - ENDING_SECONDS),
        )
        loop.call_later(working, self._give_up)
        begun = loop.time()
        while self.server_state.connections and not self.force_exit:
            if loop.time() - begun > min(LINGER_SECONDS, working):
                break
            await asyncio.sleep(0.02)
        self.config.timeout_graceful_shutdown = working - (loop.time() - begun) + SENDING_SECONDS
        await super().shutdown(sockets)

    def _give_up(self) -> None:
        """The grace period is over: refuse the requests that are left."""
        self._app.scheduler.give_up()
        for connection in list(self.server_state.connections):
            if connection.waits:
                connection.transport.abort()
