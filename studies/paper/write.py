"""From the results to what people read: tables/*.md beside the results, Figure 4, and the page of
the report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from arcspan.evaluation.plots import draw_curves
from arcspan.files import atomic_write
from studies.paper import findings, tables
from studies.paper.results import Results, read_json

TEMPLATE = Path(__file__).parent / "report.md"


def write_report(results: Results) -> list[Path]:
    """Write everything; the paths of what was written."""
    texts_by_table = tables.all_tables(results)
    judged = findings.judge(results)
    texts_by_table["findings"] = findings.table(judged)
    figures = draw_figures(results)
    context = {
        "title": results.plan.title,
        "plan": results.plan,
        "paper": tables.PAPER,
        "tables": texts_by_table,
        "judged": judged,
        "tally": findings.tally(judged),
        "level": findings.LEVEL,
        "same": findings.SAME,
        "figures": {name: f"pictures/{path.name}" for name, path in figures.items()},
        "speed": findings.speed_ratios(results),
        "device": (read_json(results.folder / "speed-parsing.json") or {}).get("device", "CPU"),
        "treebanks": [
            _treebank(results, name) for name in results.plan.treebanks if results.summaries(name)
        ],
        "machines": _machines(results),
        "absent": [row.id for row in results.plan.rows if results.row(row) is None],
    }
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    context["reading"] = _reading(results, environment)
    page = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(context)
    texts = {
        results.folder / "tables" / f"{name}.md": text + "\n"
        for name, text in texts_by_table.items()
        if text
    }
    for old in (results.folder / "tables").glob("*.md"):
        if old not in texts:
            old.unlink()
    texts[results.plan.page] = _tidy(page)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(text)
    return [*texts, *figures.values()]


def draw_figures(results: Results) -> dict[str, Path]:
    """Figure 4 for every treebank that has at least two of its rows: title -> picture, beside the
    page.
    """
    out = {}
    for name, treebank in results.plan.treebanks.items():
        drawn_rows = [rows[0] for row in results.plan.figure if (rows := results.rows(name, row))]
        if len(drawn_rows) > 1:
            path = results.plan.page.parent / "pictures" / f"study-figure4-{name}.svg"
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path, "wb") as file:
                file.write(
                    draw_curves({row.title: results.breakdown(row) for row in drawn_rows}, "svg")
                )
            out[treebank.title] = path
    return out


def _reading(results: Results, environment: jinja2.Environment) -> str:
    """The plan's own words on why, with `mean(treebank, row, figure)` and `gain(treebank, a, b,
    figure)` filled in.

    They are about all of the plan's results, and left out where a row that they speak of has none.
    """

    def mean(treebank: str, row: str, figure: str) -> float:
        summary = results.summary(treebank, row)
        value = summary.mean(figure) if summary else None
        if value is None:
            raise LookupError(f"{treebank}/{row}")
        return value

    def shown(treebank: str, row: str, figure: str) -> str:
        return f"{mean(treebank, row, figure):.1f}"

    def gain(treebank: str, a: str, b: str, figure: str) -> str:
        difference = (
            round(mean(treebank, a, figure) - mean(treebank, b, figure), 1) + 0.0
        )  # and no −0.0
        return f"{difference:+.1f}".replace("-", "−")

    try:
        return environment.from_string(results.plan.reading).render(mean=shown, gain=gain)
    except LookupError:
        return ""


def _treebank(results: Results, name: str) -> dict[str, Any]:
    """What the prose says of a treebank."""
    treebank = results.plan.treebanks[name]
    files = [file for summary in results.summaries(name) for file in summary.files]
    shares = [file["training"]["structure_share"] for file in files if "training" in file]
    return {
        "name": name,
        "title": treebank.title,
        "recipe": treebank.recipe,
        "settings": treebank.settings,
        "converter": treebank.converter if results.summary(name, "converter") else "",
        "systems": [
            summary.title for summary in results.summaries(name) if summary.name in tables.SYSTEMS
        ],
        "seeds": _seeds([len(summary.seeds) for summary in results.summaries(name)]),
        "several": max(len(summary.seeds) for summary in results.summaries(name)) > 1,
        "structure_share": 100 * max(shares) if shares else None,
    }


def _seeds(counts: list[int]) -> str:
    """How many seeds rows have, in words.

    >>> _seeds([1, 1]), _seeds([3, 3]), _seeds([1, 3])
    ('one seed', '3 seeds', '1 to 3 seeds, by row')
    """
    least, most = min(counts), max(counts)
    if least < most:
        return f"{least} to {most} seeds, by row"
    return "one seed" if most == 1 else f"{most} seeds"


def _machines(results: Results) -> list[str]:
    """The machines and versions that the numbers come from, in words."""
    paths = [
        *sorted((results.folder / "rows").glob("*/*.json")),
        *sorted(results.folder.glob("speed-*.json")),
    ]
    machines = [data["machine"] for path in paths if (data := read_json(path)) is not None]
    names = ("Python {python}", "torch {torch}", "arcspan {arcspan}")
    return sorted(
        {", ".join(["{system}", "{cores} cores", *names]).format(**machine) for machine in machines}
    )


def _tidy(text: str) -> str:
    """At most one empty line in a row, and a line end at the end."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip() + "\n"
