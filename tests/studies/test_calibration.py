"""Calibration error by hand."""

from __future__ import annotations

import numpy as np
import pytest

from studies.calibration.run import expected_calibration_error, reliability


def test_bins_hold_what_falls_between_their_borders() -> None:
    right = np.asarray([False, True, True, True, False])
    bins = reliability(np.asarray([0.0, 0.1, 0.5, 1.0, 0.99]), right, bins=2)
    assert [(bin_.low, bin_.high, bin_.parts) for bin_ in bins] == [(0, 0.5, 2), (0.5, 1, 3)]
    assert bins[0].right == 0.5
    assert bins[1].probability == pytest.approx(0.83)


def test_the_error_weighs_bins_by_their_parts() -> None:
    # Three parts at 0.9, two of them right; one at 0.1, right.
    bins = reliability(np.asarray([0.9, 0.9, 0.9, 0.1]), np.asarray([1, 1, 0, 1]), bins=10)
    assert expected_calibration_error(bins) == pytest.approx((3 * abs(0.9 - 2 / 3) + 0.9) / 4)
    assert expected_calibration_error([]) == 0
