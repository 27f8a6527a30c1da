"""Trees as pictures: terminal, SVG, HTML."""

from arcspan.rendering.html import to_html
from arcspan.rendering.layout import Confidence
from arcspan.rendering.svg import to_svg
from arcspan.rendering.terminal import draw_terminal

__all__ = ["Confidence", "draw_terminal", "to_html", "to_svg"]
