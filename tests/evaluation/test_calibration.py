"""Calibration error and log loss, by hand."""

from __future__ import annotations

import math

import pytest

from arcspan.errors import ArcspanError
from arcspan.evaluation.calibration import expected_calibration_error, log_loss, reliability


def test_bins_hold_what_falls_between_their_borders() -> None:
    found = reliability([0.0, 0.1, 0.5, 1.0, 0.99], [False, True, True, True, False], bins=2)
    assert [(one.low, one.high, one.parts) for one in found] == [(0, 0.5, 2), (0.5, 1, 3)]
    assert found[0].right == 0.5
    assert found[1].probability == pytest.approx(0.83)


def test_the_error_weighs_bins_by_their_parts() -> None:
    # Three parts at 0.9, two of them right; one at 0.1, right.
    error = expected_calibration_error([0.9, 0.9, 0.9, 0.1], [1, 1, 0, 1], bins=10)
    assert error == pytest.approx((3 * abs(0.9 - 2 / 3) + 0.9) / 4)
    assert expected_calibration_error([], []) == 0


def test_the_log_loss_stays_finite() -> None:
    assert log_loss([0.25, 0.75], [False, True]) == pytest.approx(-math.log(0.75))
    assert math.isfinite(log_loss([1.0, 0.0], [False, True]))


@pytest.mark.parametrize(("p", "right"), [([0.5], [1, 0]), ([1.5], [1]), ([[0.5]], [[1]])])
def test_what_are_no_probabilities_is_refused(p: list[float], right: list[int]) -> None:
    with pytest.raises(ArcspanError):
        log_loss(p, right)
