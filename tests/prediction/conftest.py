"""Bundles with random weights."""

from __future__ import annotations

import pytest

from tests.runtime import random_bundles
from tests.runtime.random_bundles import Made


@pytest.fixture(scope="session")
def joint2o() -> Made:
    """Second order, word pieces, windows of 40 pieces."""
    return random_bundles.made("joint2o")


@pytest.fixture(scope="session")
def joint1o() -> Made:
    """First order, words and characters, gold tags as input."""
    return random_bundles.made("joint1o")


@pytest.fixture(scope="session")
def sep() -> Made:
    """Two models, whose trees need not fit each other."""
    return random_bundles.made("sep")


@pytest.fixture(params=["joint2o", "joint1o", "sep"])
def made(request: pytest.FixtureRequest) -> Made:
    """Each of them."""
    found: Made = request.getfixturevalue(request.param)
    return found
