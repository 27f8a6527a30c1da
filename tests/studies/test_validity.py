"""The study that counts errors of the validator of Universal Dependencies."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import arcspan

pytest.importorskip("udtools")
SCRIPT = Path(__file__).parents[2] / "studies" / "guidelines" / "validity.py"


@pytest.fixture(scope="module")
def validity() -> ModuleType:
    spec = importlib.util.spec_from_file_location("validity", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_parse_is_valid_and_a_broken_one_is_not(validity: ModuleType) -> None:
    (parse,) = arcspan.load()("We sent it over night :)")
    lines = validity.numbered(parse, 1)
    valid = validity.count_errors([lines])
    assert valid["level 2"].total() == valid["level 3"].total() == 0
    broken = lines.replace("\tPRON\t", "\tPUNCT\t", 1)
    assert validity.count_errors([broken])["level 3"]["upos-rel-punct"] == 1
