"""The compiled library: every variant finds the same, and what is missing is explained."""

from __future__ import annotations

import ctypes
import enum
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arcspan.decoding import native

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "src/arcspan/decoding/native"
SOURCES = sorted(NATIVE.glob("*.c"))

RESULTS = """
import numpy as np
from arcspan import decoding
from tests.decoding.batches import random_batch

lines = []
for n, kind, masked in ((1, "normal", 0), (7, "ties", 0.5), (16, "normal", 0.05), (33, "normal", 0), (50, "ties", 0)):
    b = random_batch([n, n // 2 + 1], n, pattern=kind, masked=masked)
    for search in (
        lambda: decoding.cky(b.span, b.lengths),
        lambda: decoding.eisner(b.arc, b.lengths),
        lambda: decoding.eisner_satta(b.span, b.arc, b.lengths),
        lambda: decoding.eisner_satta(b.span, b.arc, b.lengths, b.headed),
        lambda: decoding.kbest(b.span, b.arc, b.lengths, 5, b.headed)[0],
    ):
        try:
            found = search()
        except decoding.batch.ScoreError as error:
            lines.append(str(error))
            continue
        lines.append(repr([part if part is None else [x.tolist() for x in part] for part in found]))
    span, arc, headed = (np.nan_to_num(part, nan=0.0, neginf=-5.0) for part in b[:3])
    sums = decoding.marginals(span, arc, b.lengths, headed)
    lines.append(repr([[round(float(x), 9) for x in part.ravel()[:: 1 + n // 4]] for part in sums[:3]]))
print("\\n".join(lines))
"""


def results(variant: str) -> str:
    environment = {**os.environ, "ARCSPAN_KERNELS": variant}
    done = subprocess.run(
        [sys.executable, "-c", RESULTS], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_variant_that_this_processor_runs_finds_the_same() -> None:
    """Trees and scores to the bit; sums to nine digits, since fused multiply-add rounds
    differently.
    """
    assert native.variants()[-1] == "baseline"
    expected = results("baseline")
    assert "[[" in expected and "forbid" in expected
    for variant in native.variants()[:-1]:
        assert results(variant) == expected


def test_a_variant_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCSPAN_KERNELS", "altivec")
    with pytest.raises(
        ImportError, match=r"ARCSPAN_KERNELS=altivec: this processor runs .*baseline"
    ):
        native.variant.__wrapped__()


def test_a_missing_library_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(native, "LIBRARY", tmp_path / "kernels.so")
    with pytest.raises(ImportError, match="build_ext --inplace"):
        native._library.__wrapped__()


@pytest.mark.parametrize("change", ["status codes", "layout of SumsWork"])
def test_a_library_of_other_sources_is_refused(
    monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    if change == "status codes":
        monkeypatch.setattr(native, "Status", enum.IntEnum("Status", ["DONE", "FORBIDDEN"]))
    else:
        fields = (*native.SumsWork._fields_, ("extra", ctypes.c_int64))
        monkeypatch.setattr(
            native, "SumsWork", type("Other", (ctypes.Structure,), {"_fields_": fields})
        )
    with pytest.raises(ImportError, match=r"compiled from other sources .*build_ext --inplace"):
        native._library.__wrapped__()


def test_every_kernel_declares_its_arguments() -> None:
    for name in native._SIGNATURES:
        assert native.kernel(name).argtypes
    with pytest.raises(ctypes.ArgumentError):
        native.kernel("sums")(1.5)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_every_source_file_compiles_by_itself(source: Path) -> None:
    """As editors and clangd read it; templates are named *_tpl.h."""
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-fsyntax-only"]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_lines_of_c_are_at_most_100_characters() -> None:
    paths = [*SOURCES, *NATIVE.glob("*.h")]
    assert len(paths) > 10
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert max(len(line) for line in lines) <= 100, path.name


def test_without_a_compiler_the_build_says_so(tmp_path: Path) -> None:
    """As on a machine that has none: an empty PATH."""
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT / "src/arcspan/decoding/native", copy / "src/arcspan/decoding/native")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "LICENSE-MODEL.md"):
        shutil.copy(ROOT / name, copy)
    shutil.copy(ROOT / "src/arcspan/_version.py", copy / "src/arcspan")
    environment = {name: value for name, value in os.environ.items() if name != "CC"} | {
        "PATH": str(tmp_path)
    }
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=copy,
    )
    assert done.returncode != 0
    assert "arcspan's search is written in C, and no compiler is found" in done.stderr
