"""The table of figures and the counts that it names."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np

from arcspan.evaluation import METRICS, evaluate
from arcspan.evaluation.metrics import KINDS
from tests.evaluation.samples import GOLD, PREDICTED


def test_every_figure_is_made_of_counts_or_of_other_figures() -> None:
    counted = evaluate(GOLD, PREDICTED).counts
    for name, metric in METRICS.items():
        assert metric.kind in KINDS
        for source in (metric.numerator, metric.denominator):
            assert source in counted or source in METRICS, (
                f"{name} is made of {source}, which nobody counts"
            )


def test_figures_of_arrays_are_those_of_their_entries() -> None:
    reports = [evaluate(GOLD, GOLD), evaluate(GOLD, PREDICTED)]
    stacked = {
        name: np.array([report.totals[name] for report in reports]) for name in reports[0].counts
    }
    for name, metric in METRICS.items():
        if reports[0].figure(metric) is None:
            continue  # the samples have no lemmas
        assert metric.value(stacked).tolist() == [getattr(report, name) for report in reports]


def test_a_figure_whose_counts_an_older_report_lacks_is_none() -> None:
    report = evaluate(GOLD, PREDICTED)
    counts = {name: values for name, values in report.counts.items() if name != "right_main_arcs"}
    older = dataclasses.replace(report, counts=counts)
    assert (older.las, older.las_main) == (report.las, None)


def test_figures_of_nothing_are_zero() -> None:
    assert all(metric.value(Counter[str]()) == 0 for metric in METRICS.values())
