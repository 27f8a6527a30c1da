"""Options that several commands have, declared once."""

from __future__ import annotations

import click

MODEL = click.option(
    "-m",
    "--model",
    metavar="NAME|PATH",
    help="A model: its name, or a bundle's folder. Default: en, inside the package.",
)
THREADS = click.option(
    "--threads", type=click.IntRange(1), help="Number of threads. Default: one per processor."
)
STYLE = click.option(
    "--style", metavar="NAME", help="Treebank conventions to follow, for a model trained on several."
)
