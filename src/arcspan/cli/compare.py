"""`arcspan compare`: is system A better than system B?"""

from __future__ import annotations

from typing import Any

import click

from arcspan.cli.scoring import (
    FILES_HELP,
    gold_and_systems,
    make_scoring,
    scoring_options,
    system_names,
)

HELP = f"""Is system A better than system B, or is the difference due to chance?

    \b
    arcspan compare GOLD.ptb GOLD.conllu A.ptb A.conllu B.ptb B.conllu
    arcspan compare GOLD.conllu A.conllu B.conllu
{FILES_HELP}
    Every figure is tested by paired bootstrap and by approximate randomization over sentences; p-values are
    two-sided.
"""


@click.command("compare", help=HELP)
@scoring_options
@click.option(
    "-n", "--name", "names", multiple=True, help="Name of a system, once for A and once for B."
)
@click.option(
    "--samples", type=click.IntRange(1, 10_000_000), default=10_000, help="Random draws per test."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the random draws.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    help="Width of the confidence intervals.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, with the intervals of both systems."
)
def command(files: tuple[str, ...], names: tuple[str, ...], as_json: bool, **how: Any) -> None:
    """Is system A better than system B?"""
    from arcspan.evaluation.report import evaluate_files
    from arcspan.evaluation.significance import compare

    draws = {name: how.pop(name) for name in ("samples", "seed", "confidence")}
    scoring = make_scoring(**how)
    gold, systems = gold_and_systems(files, exactly=2)
    first, second = system_names(names, systems)
    a, b = (evaluate_files(gold, system, scoring) for system in systems)
    result = compare(a, b, names=(first, second), **draws)
    click.echo(result.to_json() if as_json else result)
