"""uvicorn, with a stop that loses nothing.

uvicorn closes connections that are idle at the moment it is told to stop, also those whose next request is
already on the wire. Here the server first stops listening, answers whatever still arrives on open
connections for a moment, with `Connection: close`, and only then closes them.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from arcspan.errors import ArcspanError
from arcspan.serving.gate import Gate

GRACE_SECONDS = 1.0
BACKLOG = 512


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 takes a free one.

    >>> bind("127.0.0.1", 0).getsockname()[0]
    '127.0.0.1'
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise ArcspanError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None
    return listener


def serve(
    gate: Gate,
    listener: socket.socket,
    *,
    access_log: bool = False,
    started: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish what was taken; a second SIGINT ends at once."""
    Server(gate, access_log=access_log, started=started).run(sockets=[listener])


class Server(uvicorn.Server):
    """uvicorn's server for a `Gate`; `should_exit = True` stops it as a signal does."""

    def __init__(
        self, gate: Gate, *, access_log: bool = False, started: Callable[[], None] | None = None
    ) -> None:
        config = uvicorn.Config(
            gate,
            http="h11",
            ws="none",
            lifespan="on",
            log_level="info" if access_log else "warning",
            access_log=access_log,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=int(gate.settings.time_limit + gate.settings.body_time_limit) + 5,
        )
        super().__init__(config)
        self._gate = gate
        self._when_started = started
        self._asked_to_stop = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self._when_started is not None:
            self._when_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note that a signal asks for the end."""
        # uvicorn raises the signal once more when all is done; a stop that was asked for is a success here.
        if self._asked_to_stop and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = self._asked_to_stop = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer what arrives on open connections for a moment, finish the rest."""
        self._gate.stopping = True
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        loop = asyncio.get_running_loop()
        end = loop.time() + GRACE_SECONDS
        while self.server_state.connections and loop.time() < end and not self.force_exit:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)
