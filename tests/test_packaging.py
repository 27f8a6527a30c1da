"""What a wheel holds: every file of the source tree that is not Python must be named in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def data_patterns() -> list[str]:
    """The patterns of [tool.setuptools.package-data], relative to src."""
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    tables = data["tool"]["setuptools"]["package-data"]
    return [
        f"{package.replace('.', '/')}/{pattern}"
        for package, patterns in tables.items()
        for pattern in patterns
    ]


def test_every_data_file_is_packaged() -> None:
    patterns = data_patterns()
    for path in (ROOT / "src" / "arcspan").rglob("*"):
        place = path.relative_to(ROOT / "src").as_posix()
        if path.is_file() and path.suffix not in (".py", ".pyc", ".c", ".h", ".so", ".dll"):
            assert any(fnmatch(place, pattern) for pattern in patterns), f"{place} would not be in the wheel"


def test_importing_arcspan_and_its_command_line_brings_in_nothing_heavy() -> None:
    script = (
        "import sys, arcspan, arcspan.cli, arcspan.trees, arcspan.decoding\n"
        "heavy = {'torch', 'transformers', 'onnxruntime', 'tokenizers', 'scipy', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
