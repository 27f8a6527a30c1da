"""What is done, what is left, and how long that may take."""

from __future__ import annotations

import statistics

from arcspan.evaluation.tables import columns
from studies.paper.plan import Row, Treebank
from studies.paper.results import read_json
from studies.paper.steps import Study, epochs_done


def minutes_per_model(study: Study, treebank: Treebank) -> float:
    """Measured in finished rows of the treebank; before there is one, the plan's guess."""
    measured = [
        data["training"]["minutes"] / row.models
        for row in study.plan.rows
        if row.treebank == treebank and row.models and (data := study.results.row(row)) is not None
    ]
    return statistics.fmean(measured) if measured else treebank.minutes


def trained_share(study: Study, row: Row) -> float:
    """How much of the row's training is done, by epochs."""
    if study.is_trained(row) or not study.is_wanted(row):
        return 1.0
    folder = study.folder(row)
    config = read_json(folder / "config.json")
    if config is None or not row.models:
        return 0.0
    share: float = epochs_done(folder) / (config["training"]["epochs"] * row.models)
    return min(1.0, share)


def minutes_left(study: Study, row: Row) -> float:
    """Training that is left, and a minute for parsing and scoring."""
    if study.is_evaluated(row):
        return 0.0
    remaining = (1 - trained_share(study, row)) * row.models
    return remaining * minutes_per_model(study, row.treebank) + 1


def status_text(study: Study) -> str:
    """A line for each row, then the sum."""
    lines = [["row", "train", "predict", "evaluate", "minutes left"]]
    total = 0.0
    for row in study.plan.rows:
        remaining = minutes_left(study, row)
        total += remaining
        share = trained_share(study, row)
        evaluated = study.is_evaluated(row)
        lines.append(
            [
                row.id,
                "-" if not row.models else "done" if share == 1 else f"{share:.0%}",
                "done" if evaluated or study.is_predicted(row) else "",
                "done" if evaluated else "",
                f"{remaining:.0f}" if remaining else "",
            ]
        )
    tests = sum(
        all(study.results.rows(name, row) for row in (a, b))
        and study.results.significance(name, a, b) is None
        for name in study.plan.treebanks
        for a, b in study.plan.comparisons
    )
    speeds = []
    for measurement in ("decoding", "parsing"):
        is_measured = (study.results.folder / f"speed-{measurement}.json").is_file()
        speeds.append(f"{measurement}: {'measured' if is_measured else 'not measured'}")
    done = sum(study.is_evaluated(row) for row in study.plan.rows)
    return "\n".join(
        [
            columns(lines),
            "",
            f"{done} of {len(study.plan.rows)} rows have results; {tests} comparisons to make; speed of "
            + ", ".join(speeds),
            f"left: about {total / 60:.1f} hours" if total else "nothing is left to run",
        ]
    )
