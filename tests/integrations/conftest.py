"""The toy model, which every integration parses with."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.parser import Parser

BUNDLE = Path(__file__).resolve().parents[1] / "bundles" / "toy"


@pytest.fixture(scope="session")
def bundle() -> Path:
    """The folder of a small model that knows a toy grammar."""
    return BUNDLE


@pytest.fixture(scope="session")
def parser(bundle: Path) -> Parser:
    return Parser(bundle, threads=1)
