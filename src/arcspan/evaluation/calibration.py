"""Do probabilities hold what they promise? Of the parts that are given 0.8, 80% should be right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from arcspan.errors import ArcspanError


class Bin(NamedTuple):
    """Parts whose probability lies between low and high: how many, their mean probability, the share that is right."""

    low: float
    high: float
    parts: int
    probability: float
    right: float


def reliability(probabilities: ArrayLike, right: ArrayLike, bins: int = 15) -> list[Bin]:
    """Parts by probability, in bins of equal width; empty bins are left out.

    >>> [(one.parts, one.probability, one.right) for one in reliability([0.9, 0.8, 0.1], [1, 1, 0], bins=2)]
    [(1, 0.1, 0.0), (2, 0.85, 1.0)]
    """
    p, good = _checked(probabilities, right)
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    found = []
    for number in range(bins):
        own = place == number
        if own.any():
            mean, share = round(float(p[own].mean()), 12), float(good[own].mean())
            found.append(Bin(number / bins, (number + 1) / bins, int(own.sum()), mean, share))
    return found


def expected_calibration_error(probabilities: ArrayLike, right: ArrayLike, bins: int = 15) -> float:
    """The mean distance between probability and share of right parts, over the parts (Guo et al. 2017).

    >>> expected_calibration_error([0.75] * 4, [1, 1, 1, 0])
    0.0
    """
    found = reliability(probabilities, right, bins)
    distance = sum(one.parts * abs(one.probability - one.right) for one in found)
    return distance / max(1, sum(one.parts for one in found))


def log_loss(probabilities: ArrayLike, right: ArrayLike) -> float:
    """The mean of -log p of what happened: p where the part is right, 1 - p where it is wrong."""
    p, good = _checked(probabilities, right)
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return float(-np.where(good, np.log(p), np.log1p(-p)).mean()) if len(p) else 0.0


def _checked(probabilities: ArrayLike, right: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    p, good = np.asarray(probabilities, np.float64), np.asarray(right, np.bool_)
    if p.shape != good.shape or p.ndim != 1:
        raise ArcspanError(f"one outcome for each probability: {p.shape} and {good.shape} do not fit")
    if len(p) and not (p.min() >= 0 and p.max() <= 1):
        raise ArcspanError("probabilities lie between 0 and 1")
    return p, good
