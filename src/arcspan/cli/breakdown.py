"""`arcspan breakdown`: scores by length, width and label, as pictures and as numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arcspan.cli.progress import note
from arcspan.cli.score_options import (
    FILES_HELP,
    gold_and_systems,
    make_scoring,
    scoring_options,
    system_names,
)

HELP = f"""Scores by length, width and label, for any number of systems.

    \b
    arcspan breakdown GOLD.ptb GOLD.conllu A.ptb A.conllu [B.ptb B.conllu ...] -o FOLDER
{FILES_HELP}
    Writes curves.csv and curves.png (F1 by sentence length and constituent width, LAS by sentence
    length and dependency length), and which labels and relations are confused: labels.csv,
    relations.csv.
"""


@click.command("breakdown", help=HELP)
@scoring_options
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False),
    default="breakdown",
    help="Folder to write to, created if it does not exist.",
)
@click.option(
    "-n", "--name", "names", multiple=True, help="Name of a system, once for each, in order."
)
@click.option("--format", type=click.Choice(["png", "svg", "pdf"]), default="png")
@click.option("--no-plots", is_flag=True, help="Write the numbers only; needs no matplotlib.")
def command(
    files: tuple[str, ...],
    output: str,
    names: tuple[str, ...],
    format: str,
    no_plots: bool,
    **scoring_rules: Any,
) -> None:
    """Write scores by length, width and label."""
    from arcspan.evaluation.breakdown import breakdown_files, csv_tables
    from arcspan.files import atomic_write, refuse_to_overwrite

    scoring = make_scoring(**scoring_rules)
    gold, predictions = gold_and_systems(files)
    systems = {}
    for name, files_of_system in zip(system_names(names, predictions), predictions, strict=True):
        systems[name] = breakdown_files(gold, files_of_system, scoring)
    contents = {name: text.encode(errors="replace") for name, text in csv_tables(systems).items()}
    if not no_plots:
        from arcspan.evaluation.plots import draw_curves

        contents[f"curves.{format}"] = draw_curves(systems, format)
    folder = Path(output)
    # Nothing is written if any of the files is an input.
    for name in contents:
        refuse_to_overwrite(folder / name, *files, scoring_rules["prm"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        with atomic_write(folder / name, "wb") as file:
            file.write(content)
        note(str(folder / name))
