"""PNG and PDF of an SVG, for slides and papers: drawn by resvg, through the package
vl-convert-python.

That package needs no system library on any platform, writes both formats, keeps the text of a PDF
as text and draws our pictures as browsers do. cairosvg and weasyprint need cairo or pango, resvg-py
writes no PDF. Scripts outside its own fonts are drawn with the system's.
"""

from __future__ import annotations

from arcspan.errors import ArcspanError, MissingExtraError


def to_png(svg: str, scale: float = 2.0) -> bytes:
    """Return a PNG of a picture of `to_svg`, `scale` times as large (needs the extra `pictures`)."""
    return _draw("svg_to_png", svg, scale=scale)


def to_pdf(svg: str) -> bytes:
    """Return a PDF of a picture of `to_svg`, one page of its size (needs the extra `pictures`)."""
    return _draw("svg_to_pdf", svg)


def _draw(function: str, svg: str, **options: float) -> bytes:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("drawing PNG or PDF", "pictures") from None
    try:
        picture: bytes = getattr(vl_convert, function)(svg, **options)
    except (KeyboardInterrupt, SystemExit):
        raise
    # A panic in Rust is not an Exception.
    except BaseException as error:
        raise ArcspanError(f"the picture cannot be drawn: {error}") from None
    return picture
