"""The results folder: small JSON files, from which every table and sentence of the report is made.

rows/TREEBANK/ROW-SEED.json      figures, signatures, curves and provenance of one row and seed
counts/TREEBANK/ROW-SEED.npz     what was counted in each sentence, for significance tests
significance/TREEBANK-A-B.json   tests of A against B over their seeds and sentences (`seeds`)
treebanks/NAME.json              sizes
speed-decoding.json, speed-parsing.json
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arcspan import __version__
from arcspan.evaluation import COLLINS, Breakdown, Report, Tally
from arcspan.evaluation.breakdown import CURVES
from arcspan.files import atomic_write
from studies.paper.plan import Plan, Row, is_same


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file, or None where there is no file."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return data


def write_json(path: Path, data: dict[str, Any]) -> None:
    """One line for each entry of the first and second level: readable, and small."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = []
    for name, value in data.items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(
                f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()
            )
            parts.append(f" {json.dumps(name)}: {{\n{inner}\n }}")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    with atomic_write(path) as file:
        file.write("{\n" + ",\n".join(parts) + "\n}\n")


def checksum(path: Path) -> str:
    """SHA-256 of a file, shortened."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def machine() -> dict[str, Any]:
    """Where and with what a number was made."""
    import torch

    return {
        "arcspan": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }


def describe(breakdown: Breakdown) -> dict[str, Any]:
    """A breakdown as JSON: figures, signatures, totals, curves; a tally is [gold, predicted, found,
    right].
    """
    report = breakdown.report
    return {
        "figures": report.figures(),
        "signatures": report.signatures(),
        "totals": dict(report.totals),
        "scoring": {
            "punctuation": report.punctuation,
            "subtypes": report.subtypes,
            "tags": report.tags,
        },
        "relations": {name: list(tally) for name, tally in report.relations.items()},
        "labels": {name: list(tally) for name, tally in report.labels.items()},
        **{
            curve: {bin_name: list(tally) for bin_name, tally in breakdown.curves[curve].items()}
            for curve in CURVES
        },
    }


def report_of(counts: Mapping[str, np.ndarray], scoring: dict[str, Any]) -> Report:
    """A report from the counts of each sentence, as significance tests read it."""
    return Report(counts=counts, rules=COLLINS, **scoring)


def _with_sentences(counts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Counts with those that older results lack: there every sentence has the kinds of trees that
    any has.
    """
    con = any(counts[name].any() for name in ("valid", "error", "skipped"))
    dep = bool(counts["arcs"].any())
    kinds = {
        "con_sentences": con,
        "dep_sentences": dep,
        "both_sentences": con and dep,
        "predicted_pairs": con and dep,
    }
    return {**{name: counts["sentences"] * is_there for name, is_there in kinds.items()}, **counts}


@dataclass(frozen=True)
class Summary:
    """One line of a table: the results of a row's seeds."""

    name: str
    title: str
    files: list[dict[str, Any]]

    @property
    def seeds(self) -> list[int]:
        """The seeds that were run."""
        return [file["seed"] for file in self.files]

    def values(self, metric: str) -> list[float]:
        """A figure, seed by seed."""
        return [file["figures"][metric] for file in self.files if metric in file["figures"]]

    def mean(self, metric: str) -> float | None:
        """The mean over the seeds; None where the row has no such figure."""
        values = self.values(metric)
        return statistics.fmean(values) if values else None

    def shown(self, metric: str) -> str:
        """The mean, with the standard deviation where there are several seeds."""
        values = self.values(metric)
        if not values:
            return "–"
        digits = f"{statistics.fmean(values):.2f}"
        return f"{digits} ± {statistics.stdev(values):.2f}" if len(values) > 1 else digits


class Results:
    """Reads and writes the results folder of a plan. Results of an older plan are as good as none."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.folder = plan, plan.results

    def row_path(self, row: Row) -> Path:
        """Where a row's figures are."""
        return self.folder / "rows" / f"{row.id}.json"

    def counts_path(self, row: Row) -> Path:
        """Where a row's counts a sentence are."""
        return self.folder / "counts" / f"{row.id}.npz"

    def row(self, row: Row) -> dict[str, Any] | None:
        """A row's figures, if they were made as the plan now says."""
        data = read_json(self.row_path(row))
        if data is None or not is_same(data["settings"], self.plan.settings(row)):
            return None
        return data if self.counts_path(row).is_file() else None

    def save_row(self, row: Row, breakdown: Breakdown, provenance: dict[str, Any]) -> None:
        """Write a row's counts, then its figures, whose presence says that both are there."""
        path = self.counts_path(row)
        path.parent.mkdir(parents=True, exist_ok=True)
        counts = np.stack(list(breakdown.report.counts.values()), axis=1)
        with atomic_write(path, "wb") as file:
            np.savez_compressed(
                file, counts=counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
            )
        head = {
            "treebank": row.treebank.name,
            "row": row.name,
            "seed": row.seed,
            "kind": row.kind,
            "train_command": self.plan.command(row),
            "settings": self.plan.settings(row),
        }
        write_json(self.row_path(row), {**head, **provenance, **describe(breakdown)})

    def counts(self, row: Row) -> dict[str, np.ndarray]:
        """What was counted in each sentence: arrays [sentences] by the names of the row's totals."""
        data = self.row(row)
        assert data is not None
        with np.load(self.counts_path(row), allow_pickle=False) as file:
            return _with_sentences(
                dict(zip(data["totals"], file["counts"].T.astype(np.int64), strict=True))
            )

    def rows(self, treebank: str, name: str) -> list[Row]:
        """The plan's rows of this name that have results."""
        return [
            row
            for row in self.plan.rows
            if row.treebank.name == treebank and row.name == name and self.row(row) is not None
        ]

    def summary(self, treebank: str, name: str) -> Summary | None:
        """The seeds of a row together; None where none was run."""
        rows = self.rows(treebank, name)
        files = [data for row in rows if (data := self.row(row)) is not None]
        return Summary(name, rows[0].title, files) if files else None

    def summaries(self, treebank: str) -> list[Summary]:
        """All rows of a treebank that have results, in the plan's order."""
        names = dict.fromkeys(row.name for row in self.plan.rows if row.treebank.name == treebank)
        return [summary for name in names if (summary := self.summary(treebank, name)) is not None]

    def significance_path(self, treebank: str, a: str, b: str) -> Path:
        """Where the tests of a against b are."""
        return self.folder / "significance" / f"{treebank}-{a}-{b}.json"

    def significance_inputs(self, rows: list[Row]) -> dict[str, Any]:
        """What the tests depend on."""
        return {
            "samples": self.plan.samples,
            **{row.id: checksum(self.counts_path(row)) for row in rows},
        }

    def significance(self, treebank: str, a: str, b: str) -> dict[str, Any] | None:
        """The tests of a against b, if they were made from the present results."""
        data = read_json(self.significance_path(treebank, a, b))
        rows = [self.rows(treebank, name) for name in (a, b)]
        if (
            data is None
            or not all(rows)
            or data["inputs"] != self.significance_inputs([*rows[0], *rows[1]])
        ):
            return None
        return data

    def breakdown(self, row: Row) -> Breakdown:
        """The curves of a row, ready to be drawn."""
        data = self.row(row)
        assert data is not None
        curves = {
            curve: {bin_name: Tally(*tally) for bin_name, tally in data[curve].items()}
            for curve in CURVES
        }
        report = report_of(self.counts(row), data["scoring"])
        return Breakdown(report, curves)
