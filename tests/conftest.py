"""Fixtures that several rooms share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Several workers share the cores: threads of one that wait for each other would stall them all.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest

# The same cases in every run; new ones are what scripts/fuzz looks for. A busy machine is not a
# failure.
hypothesis.settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("repeatable")

TREEBANKS = Path(
    os.environ.get(
        "ARCSPAN_TREEBANKS", Path(__file__).resolve().parents[2] / "shared" / "treebanks"
    )
)


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Files survive a kill without being synchronized, and tests do not cut the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which fails for what is not open, as it does
        yield


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of the shared treebanks; tests that need it are skipped where it is not."""
    if not TREEBANKS.is_dir():
        pytest.skip(f"the shared treebanks are not at {TREEBANKS} (set ARCSPAN_TREEBANKS)")
    return TREEBANKS


@pytest.fixture(scope="session")
def toy_bundle() -> Path:
    """A small model bundle that parses the sentences of tests/toy.py without a mistake."""
    return Path(__file__).parent / "bundles" / "toy"
