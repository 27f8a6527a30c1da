"""Reports as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arcspan.evaluation.report import Report, Tally

KINDS = {
    "attachment": "Dependencies",
    "brackets": "Constituents (as EVALB)",
    "complete": "Whole sentences",
    "tags": "Tags",
}


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Rows with their cells in columns; the first `left` columns start left, the others end right.

    >>> print(columns([["LAS", "95.64"], ["F1", "5.8"]]))
    LAS  95.64
    F1     5.8
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def report_table(report: Report) -> str:
    """Every figure of a report, by what it scores, and the signatures."""
    from arcspan.evaluation.report import METRICS

    values = report.figures()
    totals = report.totals
    blocks = [f"{report.sentences} sentences"]
    if totals["error"] or totals["skipped"]:
        blocks[0] += (
            f", of which EVALB leaves out {totals['error']} (words differ after deletion) and "
            f"{totals['skipped']} (nothing predicted)"
        )
    width = max((len(METRICS[name].title) for name in values), default=0)
    for kind, title in KINDS.items():
        names = [name for name in values if METRICS[name].kind == kind]
        if names:
            lines = [f"  {METRICS[name].title:<{width}}  {values[name]:6.2f}" for name in names]
            blocks.append("\n".join([f"{title}  [{longest_signature(report, names)}]", *lines]))
    blocks += [f"Note: {text}" for text in report.notes]
    return "\n\n".join(blocks)


def longest_signature(report: Report, names: Sequence[str]) -> str:
    """How a block of figures was made; the figure that depends on most says it for all."""
    return max((report.signature(name).partition("|")[2] for name in names), key=len)


def tally_table(title: str, tallies: Mapping[str, Tally], limit: int | None = None) -> str:
    """Precision and recall of each label or relation, the most frequent first."""
    rows = [[title, "gold", "predicted", "P", "R", "F1"]]
    for name, tally in list(tallies.items())[:limit]:
        scores = [f"{value:.2f}" for value in (tally.precision, tally.recall, tally.f1)]
        rows.append([name or '""', str(tally.gold), str(tally.predicted), *scores])
    return columns(rows)
