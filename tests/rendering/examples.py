"""Trees that the pictures' tests share: the paper's sentence, other scripts, trees that do not fit,
random trees.
"""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from types import SimpleNamespace

from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree

SVG = "{http://www.w3.org/2000/svg}"
LOGIC = ConstituencyTree.from_brackets(
    "(TOP (S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (JJ maximal) (NN role)) (ADVP (RB here))) (. .)))"
)
LOGIC_ARCS = DependencyTree(
    [2, 0, 5, 5, 2, 2, 2], ["nsubj", "root", "det", "amod", "dobj", "advmod", "punct"], LOGIC.words
)
ARABIC = ConstituencyTree.from_brackets(
    "(S (VP (VBP يلعب) (NP (NN المنطق)) (NP (NN دورا) (JJ كبيرا))) (PU .))"
)
ARABIC_ARCS = DependencyTree(
    [0, 1, 1, 3, 1], ["root", "nsubj", "obj", "amod", "punct"], ARABIC.words
)
CHINESE = ConstituencyTree.from_brackets(
    "(IP (NP (NN 逻辑)) (VP (VV 起) (AS 着) (NP (NN 作用))) (PU 。))"
)
CHINESE_ARCS = DependencyTree(
    [2, 0, 2, 2, 2], ["nsubj", "root", "aux", "obj", "punct"], CHINESE.words
)
CONFIDENCE = SimpleNamespace(
    spans={(0, 7): 1.0, (0, 1): 0.9, (1, 6): 0.25, (2, 5): 0.75},
    arcs=[0.9, 1.0, 0.3, 0.8, 0.7, 0.6, 1.0],
)


def parts(svg: str, role: str) -> list[ET.Element]:
    """The groups of a kind in a picture, which must be well-formed XML."""
    return [
        group
        for group in ET.fromstring(svg).iter(f"{SVG}g")
        if group.get("class", "").split()[0] == role
    ]


def texts(element: ET.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def random_pair(seed: int, n: int) -> tuple[ConstituencyTree, DependencyTree]:
    """A lexicalized tree of n words, taken apart."""
    dice = random.Random(seed)
    words = ["".join(dice.choices("abcdefgé漢ם'", k=dice.randint(1, 9))) for _ in range(n)]
    nodes: list[tuple[int, int, int, tuple[str, ...]]] = []
    stack = [(0, n, dice.randint(1, n))]
    while stack:
        i, j, head = stack.pop()
        chain = tuple(dice.choices(["NP", "VP", "S", "SBAR", "-"], k=dice.randint(1, 2)))
        nodes.append((i, j, head, chain if len(nodes) == 0 or dice.random() < 0.7 else ()))
        if j - i > 1:
            k = dice.randint(i + 1, j - 1)
            left = (i, k, head if head <= k else dice.randint(i + 1, k))
            right = (k, j, head if head > k else dice.randint(k + 1, j))
            stack += [right, left]
    relations = dice.choices(["nsubj", "punct", "nmod:unmarked", ""], k=n)
    return LexicalTree(words, nodes, relations).split()
