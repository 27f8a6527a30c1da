r"""Trees for LaTeX: the constituency tree with the package forest, the arcs with tikz-dependency.

Text is escaped, so that every sentence compiles. Scripts other than Latin need lualatex or xelatex and a font for them
(`\setmainfont`). A right-to-left script is drawn from left to right.
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
# & separates columns in tikz-dependency, however it is escaped.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "&": r"\symbol{38}",
        **{character: f"\\{character}" for character in "$%#_{}"},
    }
)


def to_tikz(
    c_tree: ConstituencyTree | None,
    d_tree: DependencyTree | None,
    *,
    layers: Layer | None = None,
    document: bool = True,
) -> str:
    r"""Both trees (or one, where the other is None) as a LaTeX document, or without `document` as a part of one.

    A part needs `\usepackage{forest}` and `\usepackage{tikz-dependency}`. Thick lines lead to the heads, and `layers`
    draws one of the two trees, as in `to_svg`.

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
    parts = [_forest(picture)] if picture.constituents else []
    parts += [_arcs(picture)] if picture.arcs else []
    found = "\n".join(parts)
    return DOCUMENT % found if document else found


def _forest(picture: Picture) -> str:
    """Each constituent on a line of its own, a word on the line of its tag."""
    # By parent; the last are outermost. From the innermost to the outermost, so that children come before parents.
    children: list[list[tuple[int, str]]] = [[] for _ in range(len(picture.constituents) + 1)]
    edges = sorted(picture.edges(), key=lambda edge: (not edge.word, -edge.constituent))
    for parent, position, word, spine in edges:
        thick = ", edge={very thick}" if spine else ""
        if word:
            leaf = f"[{_braced(picture.words[word - 1])}{thick}]"
            tag = picture.tags[word - 1]
            children[parent].append((word, f"[{_braced(tag)}{thick} {leaf}]" if tag else leaf))
        else:
            one = picture.constituents[position]
            children[parent].append(
                (one.i + 1, _node(_braced(one.label) + thick, children[position]))
            )
    top = children[-1]
    return (
        "\\begin{forest}\nfor tree={s sep=3mm, inner sep=2pt}, where n children=0{tier=word}{}\n"
        f"{top[0][1] if len(top) == 1 else _node('{}', top)}\n\\end{{forest}}\n"
    )


def _node(label: str, children: list[tuple[int, str]]) -> str:
    below = "\n".join(text for _, text in sorted(children))
    return f"[{label}\n{below}".replace("\n", "\n  ") + "]"


def _arcs(picture: Picture) -> str:
    rows = [picture.words, *([picture.tags] if any(picture.tags) else [])]
    edges = []
    for arc in picture.arcs:
        relation = _escaped(arc.relation)
        if arc.head:
            edges.append(f"\\depedge{{{arc.head}}}{{{arc.modifier}}}{{{relation}}}")
        else:  # higher than the arcs over it
            ends = [sorted((other.head, other.modifier)) for other in picture.arcs if other.head]
            lengths = [right - left for left, right in ends if left <= arc.modifier <= right]
            height = f"edge unit distance={max(3, *lengths, 0)}ex"
            edges.append(f"\\deproot[{height}]{{{arc.modifier}}}{{{relation}}}")
    return "\n".join(
        [
            "\\begin{dependency}",
            "\\begin{deptext}[column sep=1em]",
            *(" \\& ".join(map(_braced, row)) + " \\\\" for row in rows),
            "\\end{deptext}",
            *edges,
            "\\end{dependency}\n",
        ]
    )


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


def _braced(text: str) -> str:
    return f"{{{_escaped(text)}}}"
