"""Progress bars: on standard error, on a terminal only, and only for work that takes over a second."""

from __future__ import annotations

import sys
from typing import Any

import click

DELAY = 1.0  # seconds


def quiet() -> bool:
    """Whether the command line was called with --quiet."""
    context = click.get_current_context(silent=True)
    return bool(context and (context.find_root().obj or {}).get("quiet"))


def progress(total: int | None = None, *, unit: str = "it", label: str = "") -> Any:
    """A tqdm bar; silent under --quiet, off a terminal, and for the first second."""
    from tqdm import tqdm

    options: dict[str, Any] = {"disable": quiet() or not sys.stderr.isatty(), "file": sys.stderr}
    return tqdm(total=total, unit=f" {unit}", desc=label or None, delay=DELAY, **options)


def complain(message: str) -> None:
    """A line on standard error about something that went wrong, also under --quiet."""
    click.echo(message, err=True)


def note(message: str) -> None:
    """A line for people on standard error, unless --quiet."""
    if not quiet():
        click.echo(message, err=True)
