"""Trees as pictures: terminal, SVG, HTML, TikZ, PNG, PDF."""

import warnings
from typing import Any

from arcspan.rendering.elements import Colours
from arcspan.rendering.html import to_html
from arcspan.rendering.images import to_pdf, to_png
from arcspan.rendering.layout import Layer, Layout, Probabilities
from arcspan.rendering.svg import to_svg
from arcspan.rendering.terminal import draw_terminal
from arcspan.rendering.tikz import to_tikz

__all__ = [
    "Colours",
    "Layer",
    "Layout",
    "Probabilities",
    "draw_terminal",
    "to_html",
    "to_pdf",
    "to_png",
    "to_svg",
    "to_tikz",
]


def __getattr__(name: str) -> Any:
    if name != "Confidence":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = (
        "arcspan.rendering.Confidence is called Probabilities now; the old name will go in 0.4"
    )
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return Probabilities
