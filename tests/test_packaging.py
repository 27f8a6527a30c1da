"""What a wheel holds: every file of the source tree that is not Python must be named in
pyproject.toml.
"""

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
        packaged_path = path.relative_to(ROOT / "src").as_posix()
        if path.is_file() and path.suffix not in (".py", ".pyc", ".c", ".h", ".so", ".dll"):
            assert any(fnmatch(packaged_path, pattern) for pattern in patterns), (
                f"{packaged_path} would not be in the wheel"
            )


def test_importing_arcspan_and_its_command_line_brings_in_nothing_heavy() -> None:
    script = (
        "import sys, arcspan, arcspan.cli, arcspan.trees, arcspan.decoding\n"
        "heavy = {'torch', 'transformers', 'onnxruntime', 'tokenizers', 'scipy', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


OPTIONAL = (
    *("torch", "transformers", "accelerate", "safetensors", "onnx", "onnxscript"),
    *("starlette", "pydantic", "uvicorn", "prometheus_client", "spacy", "ray", "pyarrow"),
    *("matplotlib", "vl_convert", "nltk", "udtools", "pandas"),
)
WITHOUT = {
    "import arcspan.distributions": "train",
    "import arcspan.decoding.batched": "train",
    "from arcspan.training import train": "train",
    "run(['export', 'run', 'bundle'])": "train",
    "from arcspan.serving import create_app": "serve",
    "run(['serve'])": "serve",
    "import arcspan.integrations.spacy": "spacy",
    "import arcspan.integrations.ray": "ray",
    "import arcspan.integrations.parquet": "ray",
    "run(['parse', __file__, '-o', 'x.ptb', '--engine', 'ray'])": "ray",
    "run(['parse', 'Yes.', '-o', 'x.png'])": "pictures",
    "import arcspan.integrations.nltk": "nltk",
    "from arcspan.trees.nltk_tree import to_nltk; to_nltk(None)": "nltk",
    "import arcspan.integrations.pandas": "pandas",
}
SCRIPT = f"""
import contextlib, io, sys
sys.modules.update(dict.fromkeys({OPTIONAL}))  # None: cannot be imported
from arcspan.cli import run
for statement in {list(WITHOUT)}:
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            exec(statement)
        except Exception as error:
            print(type(error).__name__, error, file=said)
    print(said.getvalue().strip().replace("\\n", " "))
"""


def test_what_needs_an_extra_says_how_to_install_it(tmp_path: Path) -> None:
    """Some of these ended in "No module named 'torch'"."""
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    for (statement, extra), message in zip(WITHOUT.items(), done.stdout.splitlines(), strict=True):
        hint = "pip install pandas" if extra == "pandas" else f"[{extra}]'"
        assert "pip install" in message and message.endswith(hint), (statement, message)
