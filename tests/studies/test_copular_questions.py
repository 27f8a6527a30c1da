"""The script that counts copular questions: its examples."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "studies" / "english" / "copular_questions.py"


def test_its_examples_hold() -> None:
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    failed, tried = doctest.testmod(module)
    assert tried > 3 and not failed
