"""Trees as pictures: terminal, SVG, HTML, TikZ, PNG, PDF."""

from arcspan.rendering.html import to_html
from arcspan.rendering.images import to_pdf, to_png
from arcspan.rendering.layout import Confidence, Layout
from arcspan.rendering.svg import to_svg
from arcspan.rendering.terminal import draw_terminal
from arcspan.rendering.tikz import to_tikz

__all__ = ["Confidence", "Layout", "draw_terminal", "to_html", "to_pdf", "to_png", "to_svg", "to_tikz"]
