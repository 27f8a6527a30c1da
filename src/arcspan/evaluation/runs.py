"""Mean and standard deviation of every figure over runs with different random seeds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.evaluation.metrics import METRICS
from arcspan.evaluation.report import Report, check_comparable
from arcspan.evaluation.tables import Printable, blocks, columns, two_decimals


@dataclass(frozen=True, repr=False)
class Runs(Printable):
    """Reports on several runs over the same gold trees.

    >>> from arcspan.evaluation import evaluate
    >>> from arcspan.trees import DependencyTree
    >>> gold = [(None, DependencyTree([2, 0], ["nsubj", "root"]))]
    >>> wrong = [(None, DependencyTree([0, 1], ["nsubj", "root"]))]
    >>> runs = Runs.of(evaluate(gold, run, punctuation="none") for run in (gold, wrong))
    >>> runs.mean()["uas"], round(runs.deviation()["uas"], 2)
    (50.0, 70.71)
    """

    reports: tuple[Report, ...]

    @classmethod
    def of(cls, reports: Iterable[Report]) -> Runs:
        """Gather reports, which must be made in the same way over as many sentences."""
        runs = cls(tuple(reports))
        if not runs.reports:
            raise ArcspanError("no run to take the mean of")
        # A mean over different sentences or options would say nothing.
        check_comparable({f"run {k}": report for k, report in enumerate(runs.reports, 1)})
        return runs

    def _values(self) -> dict[str, list[float]]:
        """Return the values of every figure that all runs have."""
        figures = [report.figures() for report in self.reports]
        values = {}
        for name in figures[0]:
            if all(name in run for run in figures):
                values[name] = [run[name] for run in figures]
        return values

    def mean(self) -> dict[str, float]:
        """Return the mean of every figure."""
        return {name: statistics.fmean(values) for name, values in self._values().items()}

    def deviation(self) -> dict[str, float]:
        """Return the standard deviation of every figure (n - 1 in its denominator)."""
        values = self._values()
        # Of a single run the deviation is not defined.
        if len(self.reports) == 1:
            return dict.fromkeys(values, 0.0)
        return {name: statistics.stdev(per_run) for name, per_run in values.items()}

    def _signatures(self) -> dict[str, str]:
        return {name: self.reports[0].signature(name) for name in self._values()}

    def to_dict(self) -> dict[str, Any]:
        """Return means, deviations, signatures, and the report on each run."""
        return {
            **self.mean(),
            "deviation": self.deviation(),
            "signatures": self._signatures(),
            "runs": [report.to_dict() for report in self.reports],
        }

    def __str__(self) -> str:
        """Return a table of mean, deviation, and each run."""
        mean = self.mean()
        deviation = self.deviation()
        values = self._values()
        run_names = [f"run {k}" for k in range(1, len(self.reports) + 1)]
        parts = [f"{len(self.reports)} runs over {self.reports[0].sentences} sentences"]
        for title, rules, names in blocks(self._signatures()):
            rows = [["", "mean", "std", *run_names]]
            for name in names:
                row = [mean[name], deviation[name], *values[name]]
                rows.append([METRICS[name].title, *map(two_decimals, row)])
            parts.append(f"{title}  [{rules}]\n{columns(rows)}")
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        mean = self.mean()
        deviation = self.deviation()
        figures = []
        for name in ("las", "uas", "f1"):
            if name in mean:
                figures.append(f"{METRICS[name].title} {mean[name]:.2f}±{deviation[name]:.2f}")
        return f"<{len(self.reports)} runs: {', '.join(figures)}>"
