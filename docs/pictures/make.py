"""Write the pictures of the README and the documentation: `python docs/pictures/make.py`.

logic.svg shows the trees of the paper's figure 1, with its example's full stop; logic-tall.svg the
same, one word per line. The others belong to the page on concepts: each tree alone, the lexicalized
tree, two trees that do not fit, and a headed span before and after it is hooked.
"""

from __future__ import annotations

from pathlib import Path

from arcspan.files import atomic_write
from arcspan.rendering import to_svg
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree

HERE = Path(__file__).resolve().parent
BRACKETS = (
    "(S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (JJ maximal) (NN role)) (ADVP (RB here))) (. .))"
)
HEADS = [2, 0, 5, 5, 2, 2, 2]
RELATIONS = ["nsubj", "root", "det", "amod", "obj", "advmod", "punct"]

# "with a fork" belongs to the fish in one tree and to the eating in the other.
FORK = "(S (NP (PRP We)) (VP (VBP eat) (NP (NP (NN fish)) (PP (IN with) (NP (DT a) (NN fork))))))"
FORK_HEADS = [2, 0, 2, 6, 6, 2]
FORK_RELATIONS = ["nsubj", "root", "obj", "case", "det", "obl"]

HEADED = "(NP (DT a) (JJ maximal) (NN role))"
HOOKED = "(VP* (VBZ plays) (NP (DT a) (JJ maximal) (NN role)))"


def pictures() -> dict[str, str]:
    """File names and their contents."""
    c_tree = ConstituencyTree.from_brackets(BRACKETS)
    d_tree = DependencyTree(HEADS, RELATIONS, c_tree.words)
    fork = ConstituencyTree.from_brackets(FORK)
    headed = ConstituencyTree.from_brackets(HEADED)
    hooked = ConstituencyTree.from_brackets(HOOKED)
    return {
        "logic.svg": to_svg(c_tree, d_tree),
        "logic-tall.svg": to_svg(c_tree, d_tree, layout="tall"),
        "c-tree.svg": to_svg(c_tree, None),
        "d-tree.svg": to_svg(None, DependencyTree(HEADS, RELATIONS, c_tree.words, c_tree.tags)),
        "l-tree.svg": to_svg(binary(LexicalTree.join(c_tree, d_tree)), d_tree),
        "incompatible.svg": to_svg(fork, DependencyTree(FORK_HEADS, FORK_RELATIONS, fork.words)),
        "headed.svg": to_svg(
            headed, DependencyTree([3, 3, 0], ["det", "amod", "root"], headed.words)
        ),
        "hooked.svg": to_svg(
            hooked, DependencyTree([0, 4, 4, 1], ["root", "det", "amod", "obj"], hooked.words)
        ),
    }


def binary(tree: LexicalTree) -> ConstituencyTree:
    """Return the binary nodes of an l-tree as a c-tree; binarization's own are called after what they are
    part of.
    """
    spans: list[tuple[int, int, str]] = []
    around: list[tuple[int, str]] = []
    for i, j, _, chain in tree.nodes:
        while around and around[-1][0] <= i:
            around.pop()
        if chain:
            spans += [(i, j, label) for label in chain]
            around.append((j, chain[-1]))
        elif j - i > 1:
            spans.append((i, j, around[-1][1] + "*"))
            around.append((j, around[-1][1]))
    return ConstituencyTree(tree.words, tree.tags, spans)


if __name__ == "__main__":
    for name, content in pictures().items():
        with atomic_write(HERE / name) as file:
            file.write(content)
