"""The tables as Markdown, each "" where none of its rows was run; the paper's figures stand beside
ours.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from arcspan.evaluation import METRICS
from studies.paper.plan import SYSTEM_TITLES
from studies.paper.results import Results, Summary, read_json

PAPER: dict[str, Any] = json.loads(
    (Path(__file__).parent / "paper.json").read_text(encoding="utf-8")
)
SYSTEMS = ("sep", "mtl", "joint1o", "joint2o")
SPLITS = ("train", "dev", "test")
PIPELINES = ("pipeline", "converter", "joint2o", "converter-gold-tags", "joint2o-gold-tags")
ALL_FIGURES = ("uas", "las", "precision", "recall", "f1")
SEARCHES = {
    "naive": "O(n⁵) search of Zhou and Zhao (HPSG in the paper)",
    "cky + eisner": "CKY + Eisner",
    "eisner_satta": "Eisner-Satta",
    "naive 2nd order": "O(n⁵) search, second order",
    "eisner_satta 2nd order": "Eisner-Satta, second order",
    "batched cky + eisner": "CKY + Eisner, batched (torch)",
    "batched eisner_satta": "Eisner-Satta, batched (torch)",
    "batched eisner_satta 2nd order": "Eisner-Satta, second order, batched (torch)",
}


def all_tables(results: Results) -> dict[str, str]:
    """Every table by its name."""
    return {
        "treebanks": treebanks(results),
        "table2": with_paper(results, "table2", SYSTEMS, ("las", "f1"), average=results.plan.same),
        "languages": by_language(results, ("las", "f1")),
        "table3": with_previous(results, "table3", ALL_FIGURES),
        "table4": with_previous(results, "table4", ALL_FIGURES),
        "table5": with_previous(results, "table5", ("las", "f1")),
        "table6": with_paper(results, "table6", PIPELINES, ("uas", "las")),
        "table7": table7(results),
        "table8": with_paper(results, "table8", SYSTEMS, ("lcm_con", "lcm_dep", "lcm_both")),
        "gold_tags": with_paper(
            results, "table4", ("joint2o", "joint2o-gold-tags"), ("uas", "las", "f1")
        ),
        "loss": variants(results, "joint2o-crf", "joint2o"),
        "incompatible": variants(results, "joint2o-separate", "joint2o"),
        "hidden": variants(results, "joint2o-hidden", "joint2o"),
        "labelled": variants(results, "joint2o-labelled", "joint2o"),
        "intermediate": variants(results, "joint2o-parent", "joint2o"),
        "size": variants(results, "sep-large", "joint2o-large"),
        "apart": variants(results, "mtl-apart", "mtl"),
        "significance": significance(results),
        "everything": everything(results),
        "signatures": signatures(results),
        "provenance": provenance(results),
    }


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left_columns: int = 2) -> str:
    """A Markdown table, "" without rows; the first `left` columns start left.

    >>> print(markdown(["", "LAS"], [["SEP", "95.55"]], left_columns=1))
    |  | LAS |
    |---|--:|
    | SEP | 95.55 |
    """
    if not rows:
        return ""
    rule = (
        "|"
        + "|".join("---" if column < left_columns else "--:" for column in range(len(header)))
        + "|"
    )
    return "\n".join([_line(header), rule, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _complete(results: Results, names: Sequence[str]) -> Iterator[tuple[str, list[Summary]]]:
    """Treebanks with at least two of these rows, or for the four systems, with one."""
    for treebank in results.plan.treebanks:
        summaries = [
            summary for name in names if (summary := results.summary(treebank, name)) is not None
        ]
        if len(summaries) > (names != SYSTEMS):
            yield treebank, summaries


def with_paper(
    results: Results,
    table: str,
    names: Sequence[str],
    metrics: Sequence[str],
    *,
    average: bool = False,
) -> str:
    """Rows by treebank: our figures, then the paper's for its treebank of that language; the
    average of all.
    """
    titles = [METRICS[metric].title for metric in metrics]
    rows = []
    complete = list(_complete(results, names))
    for treebank, summaries in complete:
        column = results.plan.treebanks[treebank].paper
        for summary in summaries:
            theirs = PAPER[table].get(column, {}).get(summary.name, {})
            shown = [f"{theirs[metric]:.2f}" if metric in theirs else "–" for metric in metrics]
            rows.append(
                [
                    results.plan.treebanks[treebank].title,
                    _name(summary),
                    *map(summary.shown, metrics),
                    f"{PAPER['treebanks'][column]} {column}" if theirs else "–",
                    *shown,
                ]
            )
    if (
        average
        and len(complete) > 1
        and all(len(summaries) == len(names) for _, summaries in complete)
    ):
        columns = [results.plan.treebanks[treebank].paper for treebank, _ in complete]
        for row, name in enumerate(names):
            ours = [
                [summaries[row].mean(metric) for _, summaries in complete] for metric in metrics
            ]
            theirs = [
                [PAPER[table].get(column, {}).get(name, {}).get(metric) for column in columns]
                for metric in metrics
            ]
            title = complete[0][1][row].title
            rows.append(
                ["average", title, *map(_average, ours), "average of these", *map(_average, theirs)]
            )
    return markdown(["treebank", "system", *titles, "in the paper", *titles], rows)


def by_language(results: Results, metrics: Sequence[str]) -> str:
    """The four systems by language, those with much to train on first, and the average of all."""
    by_treebank = {
        name: summaries
        for name, summaries in _complete(results, SYSTEMS)
        if results.plan.treebanks[name].resource and len(summaries) == len(SYSTEMS)
    }
    order = sorted(
        by_treebank, key=lambda name: results.plan.treebanks[name].resource, reverse=True
    )
    if len(order) < 2:
        return ""
    titles = [
        f"{results.plan.treebanks[name].title}, {results.plan.treebanks[name].resource}"
        for name in order
    ]
    rows = []
    for metric in metrics:
        for row, system in enumerate(SYSTEMS):
            values = [by_treebank[name][row].mean(metric) for name in order]
            shown = [_average([value]) for value in values]
            rows.append([METRICS[metric].title, SYSTEM_TITLES[system], *shown, _average(values)])
    return markdown(["", "system", *titles, "average"], rows)


def _average(values: Sequence[float | None]) -> str:
    """The mean of values that are all there.

    >>> _average([1, 2]), _average([1, None])
    ('1.50', '–')
    """
    present = [value for value in values if value is not None]
    return f"{statistics.fmean(present):.2f}" if len(present) == len(values) else "–"


def with_previous(results: Results, table: str, metrics: Sequence[str]) -> str:
    """A table in which the paper stands beside earlier parsers, for a plan with the paper's own
    treebanks.

    Our row follows the paper's of the same name. Several languages have their average at the end.
    """
    treebanks = {
        treebank.paper: name
        for name, treebank in results.plan.treebanks.items()
        if results.plan.same
    }
    columns = [column for column in PAPER[table] if column in treebanks]
    header = [f"{column} {METRICS[metric].title}" for column in columns for metric in metrics]
    header += [f"average {METRICS[metric].title}" for metric in metrics] if len(columns) > 1 else []
    rows, ours = [], False

    def add(title: str, figures: Sequence[Sequence[float | None]]) -> None:
        """A row from figures [column][metric]."""
        shown = [_average([value]) for column_values in figures for value in column_values]
        shown += (
            [_average(column_values) for column_values in zip(*figures, strict=True)]
            if len(columns) > 1
            else []
        )
        rows.append([title, *shown])

    for name in dict.fromkeys(name for column in columns for name in PAPER[table][column]):
        summaries = [results.summary(treebanks[column], name) for column in columns]
        title = next((summary.title for summary in summaries if summary is not None), name)
        theirs = [
            [PAPER[table][column].get(name, {}).get(metric) for metric in metrics]
            for column in columns
        ]
        add(f"{title}, in the paper" if any(summaries) else SYSTEM_TITLES.get(name, name), theirs)
        if any(summaries):
            add(
                f"{title}, here",
                [[summary and summary.mean(metric) for metric in metrics] for summary in summaries],
            )
            ours = True
    return markdown(["system", *header], rows, left_columns=1) if ours else ""


def variants(results: Results, *names: str) -> str:
    """Rows to be looked at together, on the treebanks that have all of them."""
    metrics = ("uas", "las", "f1", "lcm_both", "compatible")
    rows = [
        [results.plan.treebanks[treebank].title, _name(summary), *map(summary.shown, metrics)]
        for treebank, summaries in _complete(results, names)
        for summary in summaries
    ]
    return markdown(["treebank", "system", *(METRICS[metric].title for metric in metrics)], rows)


def _name(summary: Summary) -> str:
    return (
        summary.title
        if len(summary.seeds) == 1
        else f"{summary.title} ({len(summary.seeds)} seeds)"
    )


def treebanks(results: Results) -> str:
    """Table 1: sentences of each split and how many percent of them are compatible; what was
    trained on.
    """
    rows = []
    for name, treebank in results.plan.treebanks.items():
        data = read_json(results.folder / "treebanks" / f"{name}.json")
        if data is None or not results.summaries(name):
            continue
        train = data["train"]
        theirs = PAPER["table1"].get(treebank.paper)
        rows.append(
            [
                treebank.title,
                *(
                    f"{data[split]['sentences']:,} ({data[split]['compatible']:.1f})"
                    for split in SPLITS
                ),
                f"{PAPER['treebanks'][treebank.paper]} {treebank.paper}" if theirs else "–",
                *(
                    f"{theirs[split][0]} ({theirs[split][1]:.1f})" if theirs else "–"
                    for split in SPLITS
                ),
                f"{train['used']:,}",
                f"{train['words']:,}",
                f"{train['labels']} / {train['relations']}",
            ]
        )
    more = ["trained on", "train words", "labels / relations"]
    return markdown(["treebank", *SPLITS, "in the paper", *SPLITS, *more], rows, left_columns=1)


def significance(results: Results) -> str:
    """Every comparison that was made: seeds of both rows, difference, 95% interval, p-value."""
    metrics = ("las", "f1", "lcm_both")
    rows = []
    for treebank in results.plan.treebanks:
        for a, b in results.plan.comparisons:
            data = results.significance(treebank, a, b)
            if data is not None:
                titles = [
                    summary.title for name in (a, b) if (summary := results.summary(treebank, name))
                ]
                cells = [difference(data["figures"][metric]) for metric in metrics]
                seeds = " / ".join(str(len(row_seeds)) for row_seeds in data["seeds"])
                rows.append(
                    [results.plan.treebanks[treebank].title, " − ".join(titles), seeds, *cells]
                )
    return markdown(
        ["treebank", "difference", "seeds", *(METRICS[metric].title for metric in metrics)], rows
    )


def difference(comparison: dict[str, Any]) -> str:
    """A difference as text.

    >>> difference({"difference": 0.5, "interval": [-0.1, 1.1], "p": 0.2})
    '+0.50 [−0.10, +1.10], p = 0.2'
    """
    low, high = comparison["interval"]
    p = comparison["p"]
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return f"{comparison['difference']:+.2f} [{low:+.2f}, {high:+.2f}], {shown}".replace("-", "−")


def table7(results: Results) -> str:
    """Sentences a second: the search alone, from words to trees, and in the paper."""
    decoding, parsing = (
        (read_json(results.folder / f"speed-{measurement}.json") or {}).get(
            "sentences_per_second", {}
        )
        for measurement in ("decoding", "parsing")
    )
    rows = []
    for name, title in SEARCHES.items():
        ours = [rates.get(name) for rates in (decoding, parsing)]
        if any(ours):
            rows.append([title, *map(_rate, ours), _rate(PAPER["table7"].get(name))])
    return markdown(
        ["search", "search alone", "from words to trees", "paper, from words to trees"],
        rows,
        left_columns=1,
    )


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def everything(results: Results) -> str:
    """All rows, the main figures of each."""
    metrics = [
        "uas",
        "las",
        "precision",
        "recall",
        "f1",
        "lcm_con",
        "lcm_dep",
        "lcm_both",
        "compatible",
        "tag_accuracy",
    ]
    rows = [
        [treebank.title, _name(summary), *map(summary.shown, metrics)]
        for name, treebank in results.plan.treebanks.items()
        for summary in results.summaries(name)
    ]
    titles = [METRICS[metric].title.replace(", all words", "") for metric in metrics]
    return markdown(["treebank", "system", *titles], rows)


def signatures(results: Results) -> str:
    """How the figures of each treebank were made, as a list."""
    lines = []
    for name, treebank in results.plan.treebanks.items():
        for metric in ("las", "f1", "lcm_both"):
            texts = {
                file["signatures"][metric]
                for summary in results.summaries(name)
                for file in summary.files
            }
            lines += [f"- {treebank.title}: `{text}`" for text in sorted(texts)]
    return "\n".join(lines)


def provenance(results: Results) -> str:
    """Each row's file of results, how long it was trained, and the command for its model."""
    rows = []
    for row in results.plan.rows:
        file = results.row(row)
        if file is not None:
            training = file.get("training")
            minutes = f"{training['minutes']:.0f}" if training else "–"
            rows.append([f"`rows/{row.id}.json`", f"`{results.plan.command(row)}`", minutes])
    return markdown(["file in the results", "command that trains the model", "minutes"], rows)
