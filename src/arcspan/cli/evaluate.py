"""`arcspan evaluate`: score predicted trees against gold trees."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from arcspan.cli.progress import note
from arcspan.cli.score_options import FILES_HELP, gold_and_systems, make_scoring, scoring_options
from arcspan.errors import ArcspanError

HELP = f"""Score predicted trees against gold trees.

    \b
    arcspan evaluate GOLD.ptb GOLD.conllu PRED.ptb PRED.conllu
    arcspan evaluate GOLD.ptb PRED.ptb
    arcspan evaluate GOLD.conllu PRED.conllu
    arcspan evaluate --raw GOLD.conllu PRED.conllu
{FILES_HELP}
    Further predictions after the first are further runs of the same system: their mean and standard
    deviation are shown.

    With --raw, the words and sentences of the prediction may differ from the gold ones, as they do
    when a system starts from raw text: the scores are those of the CoNLL 2018 shared task.
"""


@click.command("evaluate", help=HELP)
@scoring_options
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: every figure, signature and count."
)
@click.option(
    "--labels", is_flag=True, help="Also precision and recall of every label and relation."
)
@click.option(
    "--evalb",
    is_flag=True,
    help="Print the summary that EVALB prints for the bracket files, nothing else.",
)
@click.option(
    "--raw",
    is_flag=True,
    help="Align the words of two CoNLL-U files with the same text and score tokens, sentences, "
    "words, tags, lemmas "
    "and dependencies as CoNLL 2018 did.",
)
def command(
    files: tuple[str, ...],
    as_json: bool,
    labels: bool,
    evalb: bool,
    raw: bool,
    **scoring_rules: Any,
) -> None:
    """Score predicted trees against gold trees."""
    # The help is `HELP`, which contains a text of several commands.
    if raw:
        _evaluate_raw(files, as_json)
        return
    from arcspan.evaluation.evalb import evaluate_brackets
    from arcspan.evaluation.report import evaluate_files
    from arcspan.evaluation.runs import Runs
    from arcspan.evaluation.tables import tally_table

    scoring = make_scoring(**scoring_rules)
    gold, systems = gold_and_systems(files)
    if evalb:
        if as_json or labels:
            raise ArcspanError("--evalb prints EVALB's summary only; leave out --json and --labels")
        for system in systems:
            if gold.brackets is None or system.brackets is None:
                raise ArcspanError("--evalb needs bracket files")
            summary = evaluate_brackets(gold.brackets, system.brackets, scoring.rules)
            click.echo(summary)
            if summary.gives_up_at:
                line = f"{system.brackets}:{summary.gives_up_at}"
                note(f"{line}: here the C program gives up (MAX_ERROR)")
        return
    reports = [evaluate_files(gold, system, scoring) for system in systems]
    result = reports[0] if len(reports) == 1 else Runs.of(reports)
    if as_json:
        click.echo(result.to_json())
        return
    click.echo(result)
    if not labels:
        return
    for report in reports:
        if report.labels:
            click.echo("\n" + tally_table("label", report.labels))
        if report.relations:
            click.echo("\n" + tally_table("relation", report.relations, report.main_relations))


def _evaluate_raw(files: tuple[str, ...], as_json: bool) -> None:
    """Score a prediction whose words and sentences may differ from the gold ones."""
    from arcspan.evaluation.raw_text import evaluate_raw
    from arcspan.treebanks.tree_files import kind_of

    context = click.get_current_context()
    for option in context.command.params:
        name = option.name or ""
        # A default is no contradiction.
        is_set = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_set and name not in ("files", "raw", "as_json"):
            raise ArcspanError(f"--raw has rules of its own; leave out {option.opts[0]}")
    if len(files) != 2 or any(kind_of(path) != "conll" for path in files):
        raise ArcspanError("--raw takes two CoNLL-U files, the gold one and the predicted one")
    report = evaluate_raw(*files)
    click.echo(report.to_json() if as_json else report)
