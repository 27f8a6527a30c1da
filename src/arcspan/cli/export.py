"""`arcspan export`: a training checkpoint to a model bundle."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import click

from arcspan.cli.progress import note
from arcspan.errors import MissingExtraError


@click.command(name="export")
@click.argument("checkpoint", type=click.Path())
@click.argument("bundle", type=click.Path())
@click.option(
    "--precision",
    type=click.Choice(["fp16", "fp32", "int8"]),
    default="fp16",
    help="How weights are stored; int8 also computes with them in 8 bits, at scales taken from "
    "the training treebanks.",
)
@click.option("--name", help="Name of the model; default: the bundle's folder.")
@click.option(
    "--calibrate",
    nargs=2,
    multiple=True,
    metavar="BRACKETS CONLL",
    help="Fit the temperatures of probabilities on this held-out treebank. Repeatable.",
)
@click.option(
    "--style",
    help="Style in which the treebanks of --calibrate are parsed; default: the model's own.",
)
@click.option("--replace", is_flag=True, help="Replace an existing bundle.")
@click.option(
    "--trust-parts",
    is_flag=True,
    help="Import parts that the run names as package.module:Name: for runs of your own.",
)
def command(
    checkpoint: str,
    bundle: str,
    calibrate: tuple[tuple[str, str], ...],
    style: str | None,
    **options: Any,
) -> None:
    """Turn the best model of the run in CHECKPOINT into the model bundle BUNDLE.

    The bundle runs with the base install: arcspan parse --model BUNDLE ...
    """
    if style is not None and not calibrate:
        raise click.UsageError("--style is that of the treebanks of --calibrate: give them, too")
    if not all(map(find_spec, ("torch", "onnx", "onnxscript"))):
        raise MissingExtraError("export", "train")
    from arcspan.training.calibration import calibrate as fit
    from arcspan.training.export import export
    from arcspan.treebanks import read_pairs

    # Read first: a bundle that could not be fitted must not be left behind.
    dev = [pair for files in calibrate for pair in read_pairs(*files)]
    export(checkpoint, bundle, say=note, **options)
    if calibrate:
        fitted = fit(bundle, dev, style=style).to_json()
        note("temperatures: " + ", ".join(f"{key} {value:g}" for key, value in fitted.items()))
    note(f"wrote {bundle}")
