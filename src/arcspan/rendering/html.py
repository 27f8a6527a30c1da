"""A page that stands alone: the pictures of one or more sentences, nothing loaded from anywhere.

Pointing at a word, a constituent or an arc (or reaching it with the Tab key) leaves only what belongs to it:
`SCRIPT` and `STYLE` work on any page that holds pictures of `to_svg`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from arcspan.rendering.elements import STYLE as COLOURS
from arcspan.rendering.elements import Drawing
from arcspan.rendering.layout import Confidence, Layout, Picture, arrange, layouts, visible
from arcspan.rendering.svg import DRAWINGS
from arcspan.trees import ConstituencyTree, DependencyTree

TABLET, PHONE = 730.0, 340.0  # the room for a picture on narrow screens
STYLE = """
:root{color-scheme:light dark;--page:#f4f5f7;--text:#1b1f24;--soft:#6a737d;--card:#fff;--rim:#d8dde3}
@media(prefers-color-scheme:dark){:root{--page:#0e1013;--text:#e8eaed;--soft:#9aa4af;--card:#15181c;--rim:#2b3138}}
body{margin:0;padding:1.5rem clamp(.75rem,3vw,3rem);background:var(--page);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif}
h1{font-size:1.2rem;font-weight:600;margin:0 0 1rem}
figure{margin:0 0 1.25rem;background:var(--card);border:1px solid var(--rim);border-radius:10px;\
overflow:hidden}
figcaption{padding:.6rem 1rem;border-bottom:1px solid var(--rim);overflow-wrap:anywhere}
figcaption small{color:var(--soft);margin-inline-end:.6em}
figcaption small.note{margin-inline:.9em 0}
.picture{overflow-x:auto;margin:.5rem;container-type:inline-size}
.picture svg{display:block;margin:0 auto}
.picture svg~svg{display:none}
.about{min-height:1.5em;margin:0;padding:.25rem 1rem .5rem;color:var(--soft);font-size:.875rem}
.arcspan .constituent,.arcspan .word,.arcspan .arc{cursor:default;outline:none}
.arcspan.focus .constituent,.arcspan.focus .word,.arcspan.focus .arc,.arcspan.focus .edges path{opacity:.18}
.arcspan.focus .on,.arcspan.focus .edges path.on{opacity:1}
.arcspan.focus .word.governor text.form{fill:var(--as-head);font-weight:700}
.arcspan .constituent:focus-visible text.label,.arcspan .word:focus-visible text.form,\
.arcspan .arc:focus-visible text{text-decoration:underline}
@media print{body{background:none;padding:0}figure{break-inside:avoid}.about{display:none}}
"""

SCRIPT = """
for (const svg of document.querySelectorAll("svg.arcspan")) {
  const about = svg.closest("figure")?.querySelector(".about");
  const all = selector => [...svg.querySelectorAll(selector)];
  const parts = all(".constituent, .word, .arc");
  const mark = (elements, name = "on") => elements.forEach(element => element.classList.add(name));
  const clear = () => {
    svg.classList.remove("focus");
    all(".on, .governor").forEach(element => element.classList.remove("on", "governor"));
    if (about) about.textContent = "";
  };
  const show = part => {
    clear();
    const data = part.dataset;
    mark([part]);
    if (data.span) {
      const [i, j] = data.span.split(",").map(Number);
      mark(all(".word").filter(word => i < +word.dataset.word && +word.dataset.word <= j));
      mark(all(".constituent, .edges [data-span]").filter(other => {
        const [a, b] = other.dataset.span.split(",").map(Number);
        return i <= a && b <= j && (a > i || b < j);
      }));
      mark(all(".edges [data-word]").filter(edge => i < +edge.dataset.word && +edge.dataset.word <= j));
      const inside = position => i < +position && +position <= j;
      mark(all(".arc").filter(arc => inside(arc.dataset.word) && inside(arc.dataset.head)));
    } else {
      mark(all(`.word[data-word="${data.word}"], .arc[data-word="${data.word}"]`));
      mark(all(`.word[data-word="${data.head}"]`));
      if (part.matches(".word")) {
        const below = all(`.arc[data-head="${data.word}"]`);
        mark(below);
        below.forEach(arc => mark(all(`.word[data-word="${arc.dataset.word}"]`)));
        mark(all(`.constituent[data-head="${data.word}"], .spine[data-head="${data.word}"]`));
      }
    }
    mark(all(`.word[data-word="${data.head}"]`), "governor");
    svg.classList.add("focus");
    if (about) about.textContent = part.querySelector("title")?.textContent ?? "";
  };
  for (const part of parts) {
    part.setAttribute("tabindex", "0");
    part.addEventListener("pointerenter", () => show(part));
    part.addEventListener("focus", () => show(part));
    part.addEventListener("pointerleave", clear);
    part.addEventListener("blur", clear);
  }
}
"""


def to_html(
    pairs: Iterable[tuple[ConstituencyTree | None, DependencyTree | None]],
    *,
    title: str = "arcspan",
    texts: Sequence[str | None] | None = None,
    notes: Sequence[str] | None = None,
    confidence: Sequence[Confidence | None] | None = None,
    layout: Layout = "auto",
) -> str:
    """A stand-alone HTML page with a picture of each pair of trees, in their order.

    `texts` gives the original text of each, its heading (otherwise the words), `notes` what to say beside it, such as
    the rank and the probability of a tree, and `confidence` what `to_svg` takes. The layout "auto" puts a wide, a
    tall and an indented picture of each pair on the page, which shows the widest that fits.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> page = to_html([(c, DependencyTree([2, 0], ["nsubj", "root"], c.words))], texts=["Logic plays"])
    >>> page.count("<figure"), "http:" in page.replace("http://www.w3.org/2000/svg", "")
    (1, False)
    """
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
            f"{_pictures(name, arrange(c_tree, d_tree), sure, layout)}"
            '<p class="about" aria-live="polite"></p></figure>'
        )
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            f"<title>{escape(title)}</title>\n<style>{COLOURS}{STYLE}</style>\n</head>\n<body>",
            f"<h1>{escape(title)}</h1>",
            *figures,
            f"<script>{SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )


def _pictures(name: str, picture: Picture, confidence: Confidence | None, layout: Layout) -> str:
    """The pictures of a figure, each narrower than the one before, and rules that show the first that fits."""
    drawings: list[Drawing] = []
    tried = layouts(layout)
    for kind, room in [*((kind, TABLET) for kind in tried), (tried[-1], PHONE)]:
        drawing = DRAWINGS[kind](picture, confidence, True, room)
        if not drawings or PHONE < drawings[-1].width > drawing.width:
            drawings.append(drawing)
    svgs = [drawing.svg(style=False) for drawing in drawings]
    rules = "".join(
        f"@container(max-width:{drawing.width - 0.1:.1f}px){{#{name} svg:nth-of-type({place}){{display:none}}"
        f"#{name} svg:nth-of-type({place + 1}){{display:block}}}}"
        for place, drawing in enumerate(drawings[:-1], 1)
    )
    if layout in ("auto", "indented"):  # the last may shrink a little
        narrow = drawings[-1].width
        rules += (
            f"#{name} svg:last-of-type{{width:clamp({0.75 * narrow:.0f}px,100%,{narrow:.0f}px);height:auto}}"
        )
    return f'<style>{rules}</style><div class="picture">\n{"".join(svgs)}</div>'
