"""Options that several commands have, declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

MODEL = click.option(
    "-m",
    "--model",
    metavar="NAME|PATH",
    help="A model: its name (en and en-fast are inside the package), or a bundle's folder.  "
    "[default: en]",
)
THREADS = click.option(
    "--threads", type=click.IntRange(1), help="Number of threads. Default: one per processor."
)
STYLE = click.option(
    "--style",
    metavar="NAME",
    help="Treebank conventions to follow, for a model trained on several.",
)
OUTPUT = click.option(
    "-o", "--output", default="-", help="Write to this file instead of standard output."
)


def safe_cells_option(tables: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that keeps spreadsheets from computing cells; `tables` are its formats."""
    return click.option(
        "--safe-cells",
        is_flag=True,
        help="Write an apostrophe before cells that begin with = + - or @, which spreadsheets "
        f"would take for formulas ({tables}).",
    )
