"""Trees as pictures: terminal, SVG, HTML, TikZ, PNG, PDF."""

from arcspan.rendering.elements import Colours
from arcspan.rendering.html import to_html
from arcspan.rendering.images import to_pdf, to_png
from arcspan.rendering.layout import Confidence, Layer, Layout
from arcspan.rendering.svg import to_svg
from arcspan.rendering.terminal import draw_terminal
from arcspan.rendering.tikz import to_tikz

__all__ = [
    "Colours",
    "Confidence",
    "Layer",
    "Layout",
    "draw_terminal",
    "to_html",
    "to_pdf",
    "to_png",
    "to_svg",
    "to_tikz",
]
