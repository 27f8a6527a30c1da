"""`arcspan train`: a parser from a paired treebank."""

from __future__ import annotations

from importlib.util import find_spec

import click

from arcspan.cli.progress import note
from arcspan.errors import MissingExtraError


@click.command(name="train")
@click.argument("config", type=click.Path(dir_okay=False), required=False)
@click.option("--resume", is_flag=True, help="Continue the run in the configuration's output folder.")
@click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="Override a field, e.g. training.epochs=3. Repeatable.",
)
@click.option("--check", is_flag=True, help="Read and check configuration and data, then stop.")
@click.option("--recipes", is_flag=True, help="List the recipes that come with arcspan, then stop.")
@click.option(
    "--fields", is_flag=True, help="Show every field of a configuration with its default, then stop."
)
def command(
    config: str | None, resume: bool, overrides: tuple[str, ...], check: bool, recipes: bool, fields: bool
) -> None:
    """Train a parser as CONFIG says: a TOML file, or the name of an included recipe.

    The run's folder (`output`) gets checkpoints, log.jsonl and result.json. A run that was stopped, or killed,
    goes on with --resume. Several processes: accelerate launch --num_processes 2 -m arcspan train CONFIG.
    """
    if not all(find_spec(name) for name in ("torch", "transformers", "accelerate", "safetensors")):
        raise MissingExtraError("training", "train")
    from arcspan.training import config as configuration

    if fields:
        click.echo(configuration.document(), nl=False)
        return
    if recipes:
        for name, line in configuration.recipes().items():
            click.echo(f"{name:22} {line}")
        return
    if config is None:
        raise click.UsageError(
            "name a configuration: arcspan train CONFIG.toml (arcspan train --fields shows one)"
        )
    settings = configuration.read_config(config, list(overrides))
    from arcspan.training.trainer import Data, train

    quiet = bool((click.get_current_context().find_root().obj or {}).get("quiet"))
    if check:
        Data.read(settings, note)
        return
    train(settings, resume=resume, say=note, bars=False if quiet else None)
