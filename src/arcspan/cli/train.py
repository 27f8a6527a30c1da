"""`arcspan train`: a parser from a paired treebank."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from arcspan.cli.progress import note, quiet
from arcspan.errors import ArcspanError, MissingExtraError


@click.command(name="train")
@click.argument("config", type=click.Path(dir_okay=False), required=False)
@click.option(
    "--resume", is_flag=True, help="Continue the run in the configuration's output folder."
)
@click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Override a field, e.g. training.epochs=3. Repeatable.",
)
@click.option(
    "--segmenter",
    is_flag=True,
    help="Train only the segmenter of raw text, from the configuration's [segmenter].",
)
@click.option("--check", is_flag=True, help="Read and check configuration and data, then stop.")
@click.option("--recipes", is_flag=True, help="List the recipes that come with arcspan, then stop.")
@click.option(
    "--fields",
    is_flag=True,
    help="Show every field of a configuration with its default, then stop.",
)
def command(
    config: str | None,
    resume: bool,
    overrides: tuple[str, ...],
    segmenter: bool,
    check: bool,
    recipes: bool,
    fields: bool,
) -> None:
    """Train a parser as CONFIG describes: a TOML file, or the name of an included recipe.

    The run's folder (`output`) gets checkpoints, log.jsonl and result.json. A run that was stopped
    or killed continues with --resume. Several processes: accelerate launch --num_processes 2 -m
    arcspan train CONFIG.
    """
    from arcspan.training import config as configuration

    included = configuration.recipes()
    if fields or recipes:
        lines = "".join(f"{name:22} {line}\n" for name, line in included.items())
        click.echo(configuration.document() if fields else lines, nl=False)
        return
    if config is None:
        raise click.UsageError(
            "give a configuration: arcspan train CONFIG.toml (arcspan train --fields shows one)"
        )
    if not Path(config).exists() and config not in included:
        raise ArcspanError(
            f"{config}: neither a file nor one of the recipes: {', '.join(included)}"
        )
    settings = configuration.read_config(config, list(overrides), segmenter_only=segmenter)
    needed = ("torch", "transformers", "accelerate", "safetensors", "onnx", "onnxscript")
    if not all(map(find_spec, needed)):
        raise MissingExtraError("training", "train")
    from arcspan.training.run import read_data, train
    from arcspan.training.segmenter import run_segmenter

    if not segmenter and check:
        read_data(settings, note)
    elif not segmenter:
        train(settings, resume=resume, say=note, bars=False if quiet() else None)
    if settings.segmenter.train:
        run_segmenter(settings, note, resume=resume, check=check)
