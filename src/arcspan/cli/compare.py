"""`arcspan compare`: test whether system A is better than system B."""

from __future__ import annotations

from typing import Any

import click

from arcspan.cli.score_options import (
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
    Every figure is tested by paired bootstrap and by approximate randomization over sentences;
    p-values are two-sided.
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
def command(
    files: tuple[str, ...],
    names: tuple[str, ...],
    samples: int,
    seed: int,
    confidence: float,
    as_json: bool,
    **scoring_rules: Any,
) -> None:
    """Test whether system A is better than system B."""
    from arcspan.evaluation.report import evaluate_files
    from arcspan.evaluation.significance import compare

    scoring = make_scoring(**scoring_rules)
    gold, systems = gold_and_systems(files, exactly=2)
    name_a, name_b = system_names(names, systems)
    a, b = (evaluate_files(gold, system, scoring) for system in systems)
    comparison = compare(
        a, b, names=(name_a, name_b), samples=samples, seed=seed, confidence=confidence
    )
    click.echo(comparison.to_json() if as_json else comparison)
