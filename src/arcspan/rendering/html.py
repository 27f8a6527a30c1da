"""A self-contained page with the pictures of one or more sentences; it loads nothing.

Pointing at a word, a constituent or an arc (or reaching it with the Tab key) dims everything
unrelated to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from arcspan.rendering.elements import STYLE, Drawing, Look
from arcspan.rendering.layout import (
    Layer,
    Layout,
    Picture,
    Probabilities,
    arrange,
    layouts,
    visible,
)
from arcspan.rendering.svg import DRAWINGS
from arcspan.trees import ConstituencyTree, DependencyTree

# The width of a picture on narrow screens.
TABLET = 730.0
PHONE = 340.0


@cache
def _file(name: str) -> str:
    return (resources.files("arcspan.rendering") / "page" / name).read_text(encoding="utf-8")


def to_html(
    pairs: Iterable[tuple[ConstituencyTree | None, DependencyTree | None]],
    *,
    title: str = "arcspan",
    texts: Sequence[str | None] | None = None,
    notes: Sequence[str] | None = None,
    confidence: Sequence[Probabilities | None] | None = None,
    layout: Layout = "auto",
    layers: Layer | None = None,
    **look: Any,
) -> str:
    """Return a stand-alone HTML page with a picture of each pair of trees, in their order.

    `texts` are the headings (otherwise the words), `notes` are written beside them, such as the
    rank and the probability of a tree; `confidence`, `layers` and `look` (heads, colours) are those
    of `to_svg`. The layout "auto" puts a wide, a tall and an indented picture of each pair on the
    page, which shows the widest that fits.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> page = to_html([(c, DependencyTree([2, 0], ["nsubj", "root"], c.words))], texts=["Logic plays"])
    >>> page.count("<figure"), "http:" in page.replace("http://www.w3.org/2000/svg", "")
    (1, False)
    """
    page_look = Look(**look)
    styles = ""
    if page_look.colours == "auto":
        # The page has the style of all its pictures.
        styles = STYLE
        page_look = replace(page_look, colours="light")
    figures = []
    for index, (c_tree, d_tree) in enumerate(pairs):
        text = texts[index] if texts is not None else None
        tree = c_tree if c_tree is not None else d_tree
        if text is None:
            text = " ".join(tree.words) if tree is not None else ""
        text = visible(" ".join(text.split()), longest=len(text))
        note = notes[index] if notes is not None else ""
        probabilities = confidence[index] if confidence is not None else None
        picture = arrange(c_tree, d_tree, layers)
        name = f"sentence-{index + 1}"
        pictures = _pictures(name, picture, replace(page_look, confidence=probabilities), layout)
        figures.append(
            f'<figure id="{name}"><figcaption dir="auto"><small>{index + 1}</small>'
            f"{escape(text)}<small class='note'>{escape(note)}</small></figcaption>"
            f'{pictures}<p class="about" aria-live="polite"></p></figure>\n'
        )
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>{styles}{_file('page.css')}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{''.join(figures)}"
        f"<script>{_file('picture.js')}</script>\n</body>\n</html>\n"
    )


def _pictures(name: str, picture: Picture, look: Look, layout: Layout) -> str:
    """Return the pictures of a figure, each narrower than the one before, and CSS that shows the
    first that fits.
    """
    names = layouts(layout)
    sizes = [(drawing_name, TABLET) for drawing_name in names] + [(names[-1], PHONE)]
    drawings: list[Drawing] = []
    for drawing_name, width in sizes:
        drawing = DRAWINGS[drawing_name](picture, replace(look, width=width))
        if not drawings or PHONE < drawings[-1].width > drawing.width:
            drawings.append(drawing)
    rules = ""
    for number, drawing in enumerate(drawings[:-1], 1):
        rules += (
            f"@container(max-width:{drawing.width - 0.1:.1f}px)"
            f"{{#{name} svg:nth-of-type({number}){{display:none}}"
            f"#{name} svg:nth-of-type({number + 1}){{display:block}}}}"
        )
    # The last may shrink a little.
    if layout in ("auto", "indented"):
        narrow = drawings[-1].width
        width_rule = f"clamp({0.75 * narrow:.0f}px,100%,{narrow:.0f}px)"
        rules += f"#{name} svg:last-of-type{{width:{width_rule};height:auto}}"
    svgs = "".join(drawing.svg() for drawing in drawings)
    return f'<style>{rules}</style><div class="picture">\n{svgs}</div>'
