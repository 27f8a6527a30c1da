"""Fixtures that several rooms share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

TREEBANKS = Path(os.environ.get("ARCSPAN_TREEBANKS", Path(__file__).resolve().parents[2] / "shared" / "treebanks"))


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of the shared treebanks; tests that need it are skipped where it is not."""
    if not TREEBANKS.is_dir():
        pytest.skip(f"the shared treebanks are not at {TREEBANKS} (set ARCSPAN_TREEBANKS)")
    return TREEBANKS
