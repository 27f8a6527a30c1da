"""PNG and PDF."""

from __future__ import annotations

import builtins
import struct
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from arcspan.errors import ArcspanError, MissingExtraError
from arcspan.rendering import to_pdf, to_png, to_svg
from tests.rendering.examples import LOGIC, LOGIC_ARCS

SVG = to_svg(LOGIC, LOGIC_ARCS)


def test_without_the_renderer_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "vl_convert":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    for draw in (to_png, to_pdf):
        with pytest.raises(MissingExtraError, match=r"\[pictures\]"):
            draw(SVG)


def test_what_cannot_be_drawn_is_our_error() -> None:
    pytest.importorskip("vl_convert", reason="the renderer is not installed (arcspan[pictures])")
    for draw in (to_png, to_pdf):
        with pytest.raises(ArcspanError, match="the picture cannot be drawn"):
            draw("<svg")


def test_a_png_is_as_large_as_the_scale_says() -> None:
    pytest.importorskip("vl_convert", reason="the renderer is not installed (arcspan[pictures])")
    small, large = (struct.unpack(">II", to_png(SVG, scale)[16:24]) for scale in (1.0, 3.0))
    assert large[0] == pytest.approx(3 * small[0], abs=3) and small[0] > 300


def test_the_text_of_a_pdf_is_text(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="the renderer is not installed (arcspan[pictures])")
    pdf = to_pdf(SVG)
    assert pdf.startswith(b"%PDF")
    if which("pdftotext") is None:
        pytest.skip("pdftotext (poppler-utils) is not installed")
    (tmp_path / "trees.pdf").write_bytes(pdf)
    run = subprocess.run(
        ["pdftotext", tmp_path / "trees.pdf", "-"], capture_output=True, text=True, check=True
    )
    assert {*LOGIC.words, "nsubj", "VP"} <= set(run.stdout.split())
