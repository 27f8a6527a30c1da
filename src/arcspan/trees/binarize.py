"""Binarization: every constituent becomes binary brackets, every unary chain one node, and back without loss.

A node is (i, j, chain): a fencepost span and the labels of the constituents there, outermost first; the
chain is empty where binarization made the node, or where a word has no constituent of its own. A sentence
of n words gives 2n-1 nodes in pre-order.

Head binarization follows a dependency tree. A flat constituent is split at the right-most place where both
sides have one head word and one of the two attaches to the other. Let r be the head word of the whole. If r
has dependents on its right, that place is before the yield of the last one; if not, r is at the right edge,
and only the yield of its first left dependent can be split off. So right dependents come off from the
outside in, then left dependents, and a child that attaches to a sibling other than the head travels with
that sibling. This is one decision per node, linear in the sentence, also for flat constituents of hundreds of
children.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from arcspan.errors import TreeError
from arcspan.trees.compatibility import head_words, why_incompatible
from arcspan.trees.constituency import Chain, ConstituencyTree, collapse, units
from arcspan.trees.dependency import DependencyTree, yields

BinaryNode = tuple[int, int, Chain]
HeadedNode = tuple[int, int, int, Chain]


def binarize(
    tree: ConstituencyTree,
    kind: Literal["head", "left", "right"] = "head",
    heads: Sequence[int] | None = None,
) -> tuple[BinaryNode, ...]:
    """Binarize a tree: 2n-1 nodes (i, j, chain) in pre-order.

    "left" makes ((a b) c), "right" (a (b c)), "head" what the dependency tree with these `heads` asks for,
    which must be compatible (TreeError otherwise).

    >>> flat = ConstituencyTree.from_brackets("(NP (DT a) (JJ maximal) (NN role))")
    >>> [(i, j) for i, j, chain in binarize(flat, "left")]
    [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3)]
    >>> [(i, j) for i, j, chain in binarize(flat, "head", heads=[3, 3, 0])]
    [(0, 3), (0, 1), (1, 3), (1, 2), (2, 3)]
    """
    if kind == "head":
        if heads is None:
            raise TreeError("head binarization needs the heads of a dependency tree")
        d = (
            heads
            if isinstance(heads, DependencyTree)
            else DependencyTree(heads, ("",) * len(heads))
        )
        nodes = head_nodes(tree, d.heads)
        if nodes is None:
            raise TreeError(str(why_incompatible(tree, d)))
        return tuple([(i, j, chain) for i, j, _, chain in nodes])
    if kind not in ("left", "right"):
        raise ValueError(f"binarization is 'head', 'left' or 'right', not {kind!r}")
    parts, parents, children = units(tree)
    made: list[BinaryNode] = []
    for index, (i, j, chain) in enumerate(parts):
        around = parents[index]
        if kind == "right" and around >= 0 and children[around][0] < index < children[around][-1]:
            made.append((i, parts[around][1], ()))
        made.append((i, j, chain))
        if kind == "left":
            made.extend((i, parts[child][0], ()) for child in reversed(children[index][2:]))
    return tuple(made)


def unbinarize(
    words: Iterable[str], tags: Iterable[str] | None, nodes: Iterable[Any]
) -> ConstituencyTree:
    """The tree that `nodes` came from: (i, j, ..., chain), as `binarize` and `LexicalTree` have them.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NN dogs)) (RB also) (VB bark))")
    >>> unbinarize(tree.words, tree.tags, binarize(tree, "right")) == tree
    True
    """
    words = tuple(words)
    spans = [(node[0], node[1], label) for node in nodes for label in node[-1]]
    if len(words) > 1 and all(i or j != len(words) for i, j, _ in spans):
        raise TreeError(
            "the root has no label: the node that covers the sentence needs at least one"
        )
    return ConstituencyTree(words, tags, spans)


def head_nodes(tree: ConstituencyTree, heads: Sequence[int]) -> list[HeadedNode] | None:
    """Nodes (i, j, head, chain) of the head binarization, in pre-order; None for incompatible trees."""
    n = len(heads)
    if n != len(tree):
        return None
    borders = yields(heads)
    if borders is None:
        return None
    left, right = borders
    spans = collapse(tree)
    span_heads = head_words(spans, heads, left, right)
    if not all(span_heads):
        return None
    own: list[list[BinaryNode]] = [
        [] for _ in range(n + 1)
    ]  # constituents a word heads, outermost last
    for head, span in zip(reversed(span_heads), reversed(spans), strict=True):
        own[head].append(span)
    rights: list[list[int]] = [[] for _ in range(n + 1)]  # dependents, outermost last
    lefts: list[list[int]] = [[] for _ in range(n + 1)]
    for m in range(1, n + 1):
        if heads[m - 1] < m:
            rights[heads[m - 1]].append(m)
    for m in range(n, 0, -1):
        if heads[m - 1] > m:
            lefts[heads[m - 1]].append(m)
    nodes: list[HeadedNode] = []
    waiting = [(rights[0][0], 0, n)] if n else []
    while waiting:
        r, i, j = waiting.pop()
        while True:
            mine = own[r]
            chain: Chain = ()
            if mine and mine[-1][0] == i and mine[-1][1] == j:
                chain = mine.pop()[2]
            nodes.append((i, j, r, chain))
            if j - i == 1:
                break
            if j > (mine[-1][1] if mine else r):
                m = rights[r].pop()
                k = left[m]
                waiting.append((m, k, j))
            else:
                m = lefts[r].pop()
                k = right[m]
                waiting.append((r, k, j))
                r = m
            j = k
    return nodes
