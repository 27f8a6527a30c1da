"""The study of the paper's experiments: train, predict, evaluate, compare, measure, write the
report.

    python studies/paper/study.py run --runs RUNS --treebanks TREEBANKS     # all of it; stop and
                                                                            start at will
    python studies/paper/study.py status                                    # what is done, what is
                                                                            left
    python studies/paper/study.py report                                    # tables, figure and
                                                                            page, from the results

Every step skips what is complete. Training goes on from its last checkpoint.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from arcspan.errors import ArcspanError  # noqa: E402
from studies.paper.plan import Plan  # noqa: E402
from studies.paper.status import status_text  # noqa: E402
from studies.paper.steps import Study  # noqa: E402
from studies.paper.write import write_report  # noqa: E402


def options(command: Any) -> Any:
    """What every command takes."""
    for option in (
        click.option(
            "--treebanks",
            envvar="ARCSPAN_TREEBANKS",
            help="Folder of the treebanks (ARCSPAN_TREEBANKS).",
        ),
        click.option(
            "--runs",
            type=click.Path(path_type=Path),
            default=HERE.parents[1] / "runs" / "paper",
            help="Folder of models and trees.",
        ),
        click.option(
            "--plan",
            type=click.Path(exists=True, path_type=Path),
            default=HERE / "plan.toml",
            help="Plan file.",
        ),
    ):
        command = option(command)
    return command


some_rows = click.option(
    "--only",
    multiple=True,
    metavar="PREFIX",
    help="Rows whose name TREEBANK/ROW-SEED starts so. Repeatable.",
)


def make(plan: Path, runs: Path, treebanks: str | None) -> Study:
    """The study that the options ask for."""
    if treebanks:
        os.environ["ARCSPAN_TREEBANKS"] = str(Path(treebanks).absolute())
    return Study(Plan.read(plan), runs, say=lambda line: click.echo(line, err=True))


def do(study: Study, steps: tuple[str, ...], only: tuple[str, ...]) -> list[str]:
    """Model by model, and for each all rows that are made from it, so that what is trained is soon
    scored.

    A row that fails does not keep the others from being run; what went wrong is returned.
    """
    failures = []
    for model in study.plan.rows:
        for row in study.plan.rows:
            if model.kind == "train" and row.trained == model and row.id.startswith(only or ("",)):
                try:
                    for step in steps:
                        getattr(study, step)(row)
                except ArcspanError as error:
                    failures.append(f"{row.id}: {error}")
                    study.say(f"failed: {failures[-1]}")
    return failures


def complain(failures: list[str]) -> None:
    """Exit with what went wrong, if something did."""
    if failures:
        sys.exit("\n".join(["some rows failed:", *failures]))


@click.group(help=__doc__)
def main() -> None:
    """The study."""


@main.command()
@options
@some_rows
def run(plan: Path, runs: Path, treebanks: str | None, only: tuple[str, ...]) -> None:
    """Everything, in the plan's order."""
    study = make(plan, runs, treebanks)
    failures = do(study, ("train", "predict", "evaluate"), only)
    finish(study)
    study.measure_speed()
    write_report(study.results)
    click.echo(status_text(study))
    complain(failures)


def finish(study: Study) -> None:
    """What is computed from rows."""
    study.describe_treebanks()
    study.compare()


def _step(name: str, text: str) -> None:
    @main.command(name, help=text)
    @options
    @some_rows
    def command(plan: Path, runs: Path, treebanks: str | None, only: tuple[str, ...]) -> None:
        complain(do(make(plan, runs, treebanks), (name,), only))


_step("train", "Train the models, each from its last checkpoint.")
_step("predict", "Parse the test sets with the models that are complete.")
_step("evaluate", "Score the trees that are there.")


@main.command()
@options
def significance(plan: Path, runs: Path, treebanks: str | None) -> None:
    """Tests between the rows that the plan pairs up, and sizes of treebanks."""
    finish(make(plan, runs, treebanks))


@main.command()
@options
def speed(plan: Path, runs: Path, treebanks: str | None) -> None:
    """Table 7; best on an idle machine."""
    make(plan, runs, treebanks).measure_speed()


@main.command()
@options
def report(plan: Path, runs: Path, treebanks: str | None) -> None:
    """Tables, Figure 4 and the page, from the results alone."""
    for path in write_report(make(plan, runs, treebanks).results):
        click.echo(path)


@main.command()
@options
def status(plan: Path, runs: Path, treebanks: str | None) -> None:
    """What is done and what is left, with a guess at the time."""
    click.echo(status_text(make(plan, runs, treebanks)))


if __name__ == "__main__":
    try:
        main()
    except ArcspanError as error:
        sys.exit(f"error: {error}")
