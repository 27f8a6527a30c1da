"""Options that several commands have, declared once."""

from __future__ import annotations

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
