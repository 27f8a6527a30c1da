"""A self-contained page with the pictures of one or more sentences; it loads nothing.

Pointing at a word, a constituent or an arc (or reaching it with the Tab key) dims everything unrelated to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from arcspan.rendering.elements import STYLE, Drawing, Look
from arcspan.rendering.layout import Confidence, Layer, Layout, Picture, arrange, layouts, visible
from arcspan.rendering.svg import DRAWINGS
from arcspan.trees import ConstituencyTree, DependencyTree

TABLET, PHONE = 730.0, 340.0  # the width of a picture on narrow screens


@cache
def _file(name: str) -> str:
    return (resources.files("arcspan.rendering") / "page" / name).read_text(encoding="utf-8")


def to_html(
    pairs: Iterable[tuple[ConstituencyTree | None, DependencyTree | None]],
    *,
    title: str = "arcspan",
    texts: Sequence[str | None] | None = None,
    notes: Sequence[str] | None = None,
    confidence: Sequence[Confidence | None] | None = None,
    layout: Layout = "auto",
    layers: Layer | None = None,
    **look: Any,
) -> str:
    """A stand-alone HTML page with a picture of each pair of trees, in their order.

    `texts` are the headings (otherwise the words), `notes` are written beside them, such as the rank and the
    probability of a tree; `confidence`, `layers` and `look` (heads, colours) are those of `to_svg`. The layout "auto"
    puts a wide, a tall and an indented picture of each pair on the page, which shows the widest that fits.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> page = to_html([(c, DependencyTree([2, 0], ["nsubj", "root"], c.words))], texts=["Logic plays"])
    >>> page.count("<figure"), "http:" in page.replace("http://www.w3.org/2000/svg", "")
    (1, False)
    """
    # The page has the style of all its pictures.
    asked = Look(**look)
    styles = STYLE if asked.colours == "auto" else ""
    drawn = replace(asked, colours="light") if styles else asked
    figures = []
    for position, (c_tree, d_tree) in enumerate(pairs):
        text = texts[position] if texts is not None else None
        tree = c_tree if c_tree is not None else d_tree
        if text is None:
            text = " ".join(tree.words) if tree is not None else ""
        text = visible(" ".join(text.split()), longest=len(text))
        note = notes[position] if notes is not None else ""
        sure = confidence[position] if confidence is not None else None
        name = f"sentence-{position + 1}"
        figures.append(
            f'<figure id="{name}"><figcaption dir="auto"><small>{position + 1}</small>'
            f"{escape(text)}<small class='note'>{escape(note)}</small></figcaption>"
            f"{_pictures(name, arrange(c_tree, d_tree, layers), replace(drawn, confidence=sure), layout)}"
            '<p class="about" aria-live="polite"></p></figure>'
        )
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    )
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            f"<title>{escape(title)}</title>\n<style>{styles}{_file('page.css')}</style>\n</head>\n<body>",
            f"<h1>{escape(title)}</h1>",
            *figures,
            f"<script>{_file('picture.js')}</script>\n</body>\n</html>\n",
        ]
    )


def _pictures(name: str, picture: Picture, look: Look, layout: Layout) -> str:
    """The pictures of a figure, each narrower than the one before, and CSS that shows the first that fits."""
    drawings: list[Drawing] = []
    tried = layouts(layout)
    for kind, room in [*((kind, TABLET) for kind in tried), (tried[-1], PHONE)]:
        drawing = DRAWINGS[kind](picture, replace(look, width=room))
        if not drawings or PHONE < drawings[-1].width > drawing.width:
            drawings.append(drawing)
    rules = "".join(
        f"@container(max-width:{drawing.width - 0.1:.1f}px){{#{name} svg:nth-of-type({place}){{display:none}}"
        f"#{name} svg:nth-of-type({place + 1}){{display:block}}}}"
        for place, drawing in enumerate(drawings[:-1], 1)
    )
    if layout in ("auto", "indented"):  # the last may shrink a little
        narrow = drawings[-1].width
        rules += f"#{name} svg:last-of-type{{width:clamp({0.75 * narrow:.0f}px,100%,{narrow:.0f}px);height:auto}}"
    return f'<style>{rules}</style><div class="picture">\n{"".join(drawing.svg() for drawing in drawings)}</div>'
