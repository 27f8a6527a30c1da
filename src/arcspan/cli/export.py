"""`arcspan export`: a training checkpoint to a model bundle."""

from __future__ import annotations

from importlib.util import find_spec

import click

from arcspan.cli.progress import note
from arcspan.errors import MissingExtraError


@click.command(name="export")
@click.argument("checkpoint", type=click.Path())
@click.argument("bundle", type=click.Path())
@click.option(
    "--precision",
    type=click.Choice(["fp16", "fp32"]),
    default="fp16",
    show_default=True,
    help="How weights are kept.",
)
@click.option("--name", help="Name of the model; default: the bundle's folder.")
def command(checkpoint: str, bundle: str, precision: str, name: str | None) -> None:
    """Turn the best model of the run in CHECKPOINT into the model bundle BUNDLE.

    The bundle runs with the base install: arcspan parse --model BUNDLE ...
    """
    if not all(find_spec(needed) for needed in ("torch", "onnx", "onnxscript")):
        raise MissingExtraError("export", "train")
    from arcspan.training.export import export

    export(checkpoint, bundle, precision=precision, name=name)
    note(f"wrote {bundle}")
