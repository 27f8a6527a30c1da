"""`arcspan serve`: the HTTP API and the web page."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

import click

from arcspan.cli.options import MODEL, THREADS
from arcspan.cli.progress import note
from arcspan.errors import ArcspanError
from arcspan.serving.server_settings import Settings, limits
from arcspan.treebanks.streams import read_text

WARM_UP = ["Logic", "plays", "a", "maximal", "role", "here", "."]


def _limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each limit of `Settings`, in their order, to a command."""
    for limit in reversed(limits()):
        name = f"--{limit.name.replace('_', '-')}"
        command = click.option(name, default=limit.default, help=limit.metadata["doc"])(command)
    return command


@click.command("serve")
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option(
    "--port",
    default=8000,
    type=click.IntRange(0, 65535),
    help="The port to listen on; 0 takes a free one.",
)
@MODEL
@THREADS
@click.option(
    "--token-file",
    metavar="FILE",
    help="Ask clients for the token in this file; the environment's ARCSPAN_TOKEN does the same.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="A site whose pages may use the API (CORS), such as https://example.org; may be repeated.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A name that a proxy on this machine passes on in the header Host; may be repeated.",
)
@_limit_options
@click.option("--access-log", is_flag=True, help="Write a line for each request; never its text.")
def command(
    host: str,
    port: int,
    model: str | None,
    threads: int | None,
    token_file: str | None,
    origins: tuple[str, ...],
    hosts: tuple[str, ...],
    access_log: bool,
    **limits: float,
) -> None:
    """Serve the HTTP API and the web page.

    Listens on this machine only unless --host says otherwise. SIGTERM and Ctrl-C stop it after it
    has answered the requests it has accepted.
    """
    from arcspan.parser import load
    from arcspan.serving import bind, create_app, serve
    from arcspan.serving.middleware import is_loopback

    settings = Settings(
        token=_token(token_file),
        origins=origins,
        hosts=hosts,
        **limits,  # type: ignore[arg-type]
    )
    listener = bind(host, port)
    parser = load(model, threads=threads)
    # So that the first client does not wait for what is made once.
    parser.parse(WARM_UP)
    with contextlib.suppress(ArcspanError):  # a model without k best parses
        parser.parse(WARM_UP, k=2, confidence=True)
    address, number = listener.getsockname()[:2]
    url = f"http://[{host}]:{number}" if ":" in host else f"http://{host}:{number}"
    if settings.token is None and not is_loopback(address):
        note("anybody who reaches this address may use the server: --token-file asks for a token")
    greeting = f"serving {parser.config.get('name') or parser.path} at {url} (Ctrl-C stops)"
    app = create_app(parser, settings)
    serve(app, listener, access_log=access_log, started=lambda: note(greeting))
    if app.scheduler.is_running:
        # A search cannot be interrupted, and nobody waits for its result.
        os._exit(0)


def _token(path: str | None) -> str | None:
    """Return the token that clients must send, from a file or the environment; None for none."""
    if path is None:
        return os.environ.get("ARCSPAN_TOKEN") or None
    token = "".join(read_text(path)).strip()
    if not token:
        raise ArcspanError(f"{path}: no token in this file")
    return token
