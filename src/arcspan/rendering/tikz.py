r"""Trees for LaTeX: the constituency tree with the package forest, the arcs with tikz-dependency.

Text is escaped, so that every sentence compiles. Scripts other than Latin need lualatex or xelatex
and a font for them (`\setmainfont`). A right-to-left script is drawn from left to right.
"""

from __future__ import annotations

from arcspan.rendering.layout import Layer, Picture, arrange
from arcspan.trees import ConstituencyTree, DependencyTree

DOCUMENT = r"""\documentclass[border=6pt,varwidth=\maxdimen]{standalone}
\usepackage{iftex}
\ifPDFTeX\usepackage[T1]{fontenc}\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}\else\usepackage{fontspec}\fi
\usepackage{forest}
\usepackage{tikz-dependency}
\begin{document}
%s\end{document}
"""
_ESCAPES = {character: f"\\{character}" for character in "$%#_{}"}
_ESCAPES |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
# & separates columns in tikz-dependency, however it is escaped.
_ESCAPES["&"] = r"\symbol{38}"
_TRANSLATION = str.maketrans(_ESCAPES)


def to_tikz(
    c_tree: ConstituencyTree | None,
    d_tree: DependencyTree | None,
    *,
    layers: Layer | None = None,
    document: bool = True,
) -> str:
    r"""Return both trees (or one, where the other is None) as a LaTeX document.

    Without `document` it is a part of one, which needs `\usepackage{forest}` and
    `\usepackage{tikz-dependency}`. Thick lines lead to the heads, and `layers` draws one of the two
    trees, as in `to_svg`.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> d = DependencyTree([2, 0], ["nsubj", "root"], c.words)
    >>> print(to_tikz(c, d, document=False))
    \begin{forest}
    for tree={s sep=3mm, inner sep=2pt}, where n children=0{tier=word}{}
    [{S}
      [{NP}
        [{NN}, edge={very thick} [{Logic}, edge={very thick}]]]
      [{VP}, edge={very thick}
        [{VBZ}, edge={very thick} [{plays}, edge={very thick}]]]]
    \end{forest}
    <BLANKLINE>
    \begin{dependency}
    \begin{deptext}[column sep=1em]
    {Logic} \& {plays} \\
    {NN} \& {VBZ} \\
    \end{deptext}
    \depedge{2}{1}{nsubj}
    \deproot[edge unit distance=3ex]{2}{root}
    \end{dependency}
    <BLANKLINE>
    """
    picture = arrange(c_tree, d_tree, layers)
    parts = []
    if picture.constituents:
        parts.append(_forest(picture))
    if picture.arcs:
        parts.append(_arcs(picture))
    tikz = "\n".join(parts)
    return DOCUMENT % tikz if document else tikz


def _forest(picture: Picture) -> str:
    """Return each constituent on a line of its own, a word on the line of its tag."""
    # The first word and the text of children, by parent; the last are outermost. Children come
    # before their parents.
    children: list[list[tuple[int, str]]] = [[] for _ in range(len(picture.constituents) + 1)]
    edges = sorted(picture.edges(), key=lambda edge: (not edge.word, -edge.constituent))
    for parent, index, word, spine in edges:
        thick = ", edge={very thick}" if spine else ""
        if word:
            node = f"[{_braced(picture.words[word - 1])}{thick}]"
            if tag := picture.tags[word - 1]:
                node = f"[{_braced(tag)}{thick} {node}]"
            children[parent].append((word, node))
        else:
            constituent = picture.constituents[index]
            node = _node(_braced(constituent.label) + thick, children[index])
            children[parent].append((constituent.i + 1, node))
    top = children[-1]
    return (
        "\\begin{forest}\nfor tree={s sep=3mm, inner sep=2pt}, where n children=0{tier=word}{}\n"
        f"{top[0][1] if len(top) == 1 else _node('{}', top)}\n\\end{{forest}}\n"
    )


def _node(label: str, children: list[tuple[int, str]]) -> str:
    below = "\n".join(text for _, text in sorted(children))
    return f"[{label}\n{below}".replace("\n", "\n  ") + "]"


def _arcs(picture: Picture) -> str:
    lines = ["\\begin{dependency}", "\\begin{deptext}[column sep=1em]"]
    for row in (picture.words, picture.tags):
        if row is picture.words or any(row):
            lines.append(" \\& ".join(map(_braced, row)) + " \\\\")
    lines.append("\\end{deptext}")
    for m, head, relation, _ in picture.arcs:
        if head:
            lines.append(f"\\depedge{{{head}}}{{{m}}}{_braced(relation)}")
            continue
        # The root's arc is higher than the arcs over it.
        height = 3
        for arc in picture.arcs:
            first, last = sorted((arc.head, arc.modifier))
            if 0 < first <= m <= last:
                height = max(height, last - first)
        lines.append(f"\\deproot[edge unit distance={height}ex]{{{m}}}{_braced(relation)}")
    return "\n".join([*lines, "\\end{dependency}\n"])


def _braced(text: str) -> str:
    return f"{{{text.translate(_TRANSLATION)}}}"
