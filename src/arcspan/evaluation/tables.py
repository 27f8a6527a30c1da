"""Layout of reports as text and JSON; the figures are made in `metrics` and `report`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arcspan.evaluation.metrics import KINDS, METRICS, Tally


class Printable:
    """Base class of reports that print as JSON; their `str` is for people."""

    def to_dict(self) -> dict[str, Any]:
        """Return the content by name."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Align the cells of rows in columns: the first column to the left, the others to the right.

    >>> print(columns([["LAS", "95.64"], ["F1", "5.8"]]))
    LAS  95.64
    F1     5.8
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        # Titles start at the left, numbers end at the right.
        cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def blocks(signatures: Mapping[str, str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield title, rules and names of the figures of each kind."""
    for kind, title in KINDS.items():
        names = [name for name in signatures if METRICS[name].kind == kind]
        if names:
            # The figure that depends on most rules has the signature of all.
            fullest = max(names, key=lambda name: len(METRICS[name].depends_on))
            _, _, rules = signatures[fullest].partition("|")
            yield title, rules, names


def report_table(report: Any) -> str:
    """Return every figure of a `Report` by kind, with the signatures.

    The type is not imported: `arcspan.evaluation.report` imports this module.
    """
    values = report.figures()
    totals = report.totals
    parts = [f"{report.sentences} sentences"]
    if totals["error"] or totals["skipped"]:
        parts[0] += (
            f", of which EVALB leaves out {totals['error']} (words differ after deletion) and "
            f"{totals['skipped']} (nothing predicted)"
        )
    width = max(len(metric.title) for metric in METRICS.values())
    for title, rules, names in blocks({name: report.signature(name) for name in METRICS}):
        if not any(name in values for name in names):
            parts.append(f"{title}  -")
            continue
        lines = [f"{title}  [{rules}]"]
        for name in names:
            lines.append(f"  {METRICS[name].title:<{width}}  {two_decimals(values.get(name)):>6}")
        parts.append("\n".join(lines))
    parts += [f"Note: {text}" for text in report.notes]
    return "\n\n".join(parts)


def two_decimals(value: float | None) -> str:
    """Return a figure with two decimals, "-" for None."""
    return "-" if value is None else f"{value:.2f}"


def tally_table(
    title: str, tallies: Mapping[str, Tally], main: Mapping[str, Tally] | None = None
) -> str:
    """Return precision and recall of each label or relation; `main` are those without subtypes."""
    heads = ["gold", "predicted", "P", "R", "F1"]
    rows = [[title, *heads]]
    if main is not None:
        rows[0] += ["|", "any subtype:", *heads]
    for name in {**tallies, **(main or {})}:
        row = [name or '""', *_cells(tallies.get(name))]
        if main is not None:
            row += ["|", "", *_cells(main.get(name))]
        rows.append(row)
    return columns(rows)


def _cells(tally: Tally | None) -> list[str]:
    if tally is None:
        return ["-"] * 5
    shares = (tally.precision, tally.recall, tally.f1)
    return [str(tally.gold), str(tally.predicted), *map(two_decimals, shares)]
