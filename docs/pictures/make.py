"""Write the pictures of the README and the documentation: `python docs/pictures/make.py`.

logic.svg shows the trees of the paper's figure 1, with its example's full stop; logic-tall.svg the same, one word
a line.
"""

from __future__ import annotations

from pathlib import Path

from arcspan.files import atomic_write
from arcspan.rendering import to_svg
from arcspan.trees import ConstituencyTree, DependencyTree

HERE = Path(__file__).resolve().parent
BRACKETS = "(S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (JJ maximal) (NN role)) (ADVP (RB here))) (. .))"
HEADS = [2, 0, 5, 5, 2, 2, 2]
RELATIONS = ["nsubj", "root", "det", "amod", "dobj", "advmod", "punct"]


def pictures() -> dict[str, str]:
    """File names and their contents."""
    c_tree = ConstituencyTree.from_brackets(BRACKETS)
    d_tree = DependencyTree(HEADS, RELATIONS, c_tree.words)
    return {"logic.svg": to_svg(c_tree, d_tree), "logic-tall.svg": to_svg(c_tree, d_tree, layout="tall")}


if __name__ == "__main__":
    for name, content in pictures().items():
        with atomic_write(HERE / name) as file:
            file.write(content)
