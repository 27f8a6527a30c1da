"""Several runs of one system, with different random seeds: mean and standard deviation of every figure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.evaluation.metrics import METRICS
from arcspan.evaluation.report import Report, check_comparable
from arcspan.evaluation.tables import Printable, blocks, columns


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
        check_comparable({f"run {k}": report for k, report in enumerate(runs.reports, 1)})
        return runs

    def _values(self) -> dict[str, list[float]]:
        found = [report.figures() for report in self.reports]
        shared = [name for name in found[0] if all(name in values for values in found)]
        return {name: [values[name] for values in found] for name in shared}

    def mean(self) -> dict[str, float]:
        """The mean of every figure."""
        return {name: statistics.fmean(values) for name, values in self._values().items()}

    def deviation(self) -> dict[str, float]:
        """The standard deviation of every figure, with n - 1 in its denominator; 0 for a single run."""
        values = self._values()
        return {
            name: statistics.stdev(own) if len(own) > 1 else 0.0 for name, own in values.items()
        }

    def _signatures(self) -> dict[str, str]:
        return {name: self.reports[0].signature(name) for name in self._values()}

    def to_dict(self) -> dict[str, Any]:
        """Means, deviations, signatures, and the report on each run."""
        found = {**self.mean(), "deviation": self.deviation(), "signatures": self._signatures()}
        return {**found, "runs": [report.to_dict() for report in self.reports]}

    def __str__(self) -> str:
        """A table: mean, deviation, and each run."""
        mean, deviation, each = self.mean(), self.deviation(), self._values()
        parts = [f"{len(self.reports)} runs over {self.reports[0].sentences} sentences"]
        for title, how, names in blocks(self._signatures()):
            rows = [["", "mean", "std", *(f"run {k}" for k in range(1, len(self.reports) + 1))]]
            for name in names:
                values = [mean[name], deviation[name], *each[name]]
                rows.append([METRICS[name].title, *(f"{value:.2f}" for value in values)])
            parts.append(f"{title}  [{how}]\n{columns(rows)}")
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        mean, deviation = self.mean(), self.deviation()
        shown = [name for name in ("las", "uas", "f1") if name in mean]
        text = ", ".join(
            f"{METRICS[name].title} {mean[name]:.2f}±{deviation[name]:.2f}" for name in shown
        )
        return f"<{len(self.reports)} runs: {text}>"
