"""Several runs: mean and standard deviation."""

from __future__ import annotations

import json

import pytest

from arcspan.errors import ArcspanError
from arcspan.evaluation import Runs, evaluate
from tests.evaluation.samples import DOGS, GOLD, PREDICTED


def test_mean_and_deviation_are_those_of_a_sample() -> None:
    runs = Runs.of([evaluate(GOLD, GOLD), evaluate(GOLD, PREDICTED), evaluate(GOLD, GOLD)])
    values = [100, 100 * 4 / 6, 100]
    mean = sum(values) / 3
    assert runs.mean()["las"] == pytest.approx(mean)
    assert runs.deviation()["las"] == pytest.approx(
        (sum((v - mean) ** 2 for v in values) / 2) ** 0.5
    )


def test_one_run_has_no_deviation() -> None:
    assert set(Runs.of([evaluate(GOLD, PREDICTED)]).deviation().values()) == {0.0}


def test_the_table_and_json_show_each_run() -> None:
    runs = Runs.of([evaluate(GOLD, GOLD), evaluate(GOLD, PREDICTED)])
    assert ["LAS", "83.33", "23.57", "100.00", "66.67"] in [
        line.split() for line in str(runs).splitlines()
    ]
    assert "[rules:COLLINS|" in str(runs)
    read = json.loads(runs.to_json())
    assert (read["las"], len(read["runs"])) == (pytest.approx(250 / 3), 2)
    assert read["signatures"]["las"].startswith("las|punctuation:upos")
    assert repr(runs).startswith("<2 runs: LAS 83.33±23.57, UAS")


def test_runs_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(ArcspanError, match="run 1 has 2 sentences, run 2 has 1"):
        Runs.of([evaluate(GOLD, GOLD), evaluate([DOGS], [DOGS])])
    with pytest.raises(ArcspanError, match=r"punctuation:upos.*, run 2 has .*punctuation:none"):
        Runs.of([evaluate(GOLD, GOLD), evaluate(GOLD, GOLD, punctuation="none")])
    with pytest.raises(ArcspanError, match="no run"):
        Runs.of([])
