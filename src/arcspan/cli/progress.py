"""Progress bars and notes on standard error; bars on a terminal, for work of over a second."""

from __future__ import annotations

import sys
from typing import Any

import click

DELAY = 1.0  # seconds


def quiet() -> bool:
    """Return whether the command line was called with --quiet."""
    context = click.get_current_context(silent=True)
    return bool(context and (context.find_root().obj or {}).get("quiet"))


def progress(total: int | None = None, *, unit: str = "it", label: str = "") -> Any:
    """Return a tqdm bar; silent under --quiet, off a terminal, and for the first second."""
    from tqdm import tqdm

    disable = quiet() or not sys.stderr.isatty()
    return tqdm(
        total=total,
        unit=f" {unit}",
        desc=label or None,
        delay=DELAY,
        disable=disable,
        file=sys.stderr,
    )


def complain(message: str) -> None:
    """Write a line on standard error about a failure, also under --quiet."""
    click.echo(message, err=True)


def note(message: str) -> None:
    """Write a line for people on standard error, unless --quiet."""
    if not quiet():
        click.echo(message, err=True)
