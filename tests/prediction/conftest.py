"""Bundles with random weights."""

from __future__ import annotations

import pytest

from tests.runtime import random_bundles
from tests.runtime.random_bundles import RandomBundle


@pytest.fixture(scope="session")
def joint2o() -> RandomBundle:
    """Second order, word pieces, windows of 40 pieces."""
    return random_bundles.random_bundle("joint2o")


@pytest.fixture(scope="session")
def joint1o() -> RandomBundle:
    """First order, words and characters, gold tags as input."""
    return random_bundles.random_bundle("joint1o")


@pytest.fixture(scope="session")
def sep() -> RandomBundle:
    """Two models, whose trees need not fit each other."""
    return random_bundles.random_bundle("sep")


@pytest.fixture(params=["joint2o", "joint1o", "sep"])
def bundle(request: pytest.FixtureRequest) -> RandomBundle:
    """Each of them."""
    drawn: RandomBundle = request.getfixturevalue(request.param)
    return drawn
