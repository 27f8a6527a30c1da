"""Compiled code on disk: used again as long as nothing that it was made from has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import arcspan


def test_kept_code_is_used_again_until_a_file_that_it_is_made_from_changes(tmp_path) -> None:
    """An update of the package may change a part of a kernel and leave the kernel's own file as it was."""
    package = tmp_path / "arcspan"
    shutil.copytree(
        Path(arcspan.__file__).parent, package, ignore=shutil.ignore_patterns("models", "__pycache__")
    )
    code = """
import sys
import numpy as np
from arcspan import decoding
from arcspan.decoding.kernels.cky import search
print(decoding.cky(np.ones((1, 4, 4)), [3]).scores[0], sum(search.stats.cache_misses.values()))
print("numba.np.linalg" in sys.modules)  # one of the many modules that only compiling needs
"""
    kept = str(tmp_path / "kept")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": kept, "PYTHONSAFEPATH": "1"}

    def run() -> str:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        return " ".join(done.stdout.split()) or done.stderr

    assert run() == "5.0 1 True"
    assert run() == "5.0 0 False"
    with open(package / "decoding" / "kernels" / "vectors.py", "a") as file:
        file.write("\n# changed\n")
    assert run() == "5.0 1 True"
