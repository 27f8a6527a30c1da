"""Reports as text, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arcspan.evaluation.metrics import KINDS, METRICS, Tally


class Printable:
    """What prints as JSON; each class says itself how it prints for people."""

    def to_dict(self) -> dict[str, Any]:
        """The content by name."""
        raise NotImplementedError

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their cells in columns; the cells of the first column start left, the others end right.

    >>> print(columns([["LAS", "95.64"], ["F1", "5.8"]]))
    LAS  95.64
    F1     5.8
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def blocks(signatures: Mapping[str, str]) -> Iterator[tuple[str, str, list[str]]]:
    """Figures by kind: title, how they were made (by the figure that depends on most rules), and their names."""
    for kind, title in KINDS.items():
        names = [name for name in signatures if METRICS[name].kind == kind]
        if names:
            most = max(names, key=lambda name: len(METRICS[name].depends_on))
            yield title, signatures[most].partition("|")[2], names


def report_table(report: Any) -> str:
    """Return every figure of a `Report`, by what it scores, and the signatures.

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
    for title, how, names in blocks({name: report.signature(name) for name in METRICS}):
        if any(name in values for name in names):
            lines = [
                f"  {METRICS[name].title:<{width}}  {shown(values.get(name)):>6}" for name in names
            ]
            parts.append("\n".join([f"{title}  [{how}]", *lines]))
        else:
            parts.append(f"{title}  -")
    return "\n\n".join([*parts, *(f"Note: {text}" for text in report.notes)])


def shown(value: float | None) -> str:
    """A figure with two decimals; "-" where there is none."""
    return "-" if value is None else f"{value:.2f}"


def tally_table(
    title: str, tallies: Mapping[str, Tally], main: Mapping[str, Tally] | None = None
) -> str:
    """Precision and recall of each label or relation, the most frequent first; beside them those without subtypes."""
    heads = ["gold", "predicted", "P", "R", "F1"]
    rows = [[title, *heads] + ["|", "any subtype:", *heads] * (main is not None)]
    for name in {**tallies, **(main or {})}:
        row = [name or '""', *_cells(tallies.get(name))]
        rows.append(row if main is None else [*row, "|", "", *_cells(main.get(name))])
    return columns(rows)


def _cells(tally: Tally | None) -> list[str]:
    if tally is None:
        return ["-"] * 5
    return [
        str(tally.gold),
        str(tally.predicted),
        *map(shown, (tally.precision, tally.recall, tally.f1)),
    ]
