"""Binarization: constituents become binary brackets, unary chains one node, and back without loss.

A node is (i, j, chain): a fencepost span and the labels of the constituents there, outermost first;
the chain is empty where binarization made the node, or where a word has no constituent of its own.
A sentence of n words gives 2n-1 nodes in pre-order.

Head binarization follows a dependency tree. A flat constituent is split at the right-most fencepost
where both sides have one head word and one of the two attaches to the other. Let r be the head word
of the whole. If r has dependents on its right, that fencepost is before the yield of the last one;
if not, r is at the right edge, and only the yield of its first left dependent can be split off. So
right dependents come off from the outside in, then left dependents, and a child that attaches to a
sibling other than the head travels with that sibling. This is one decision per node, linear in the
sentence, also for flat constituents of hundreds of children.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from arcspan.errors import TreeError
from arcspan.trees.compatibility import head_words, why_incompatible
from arcspan.trees.constituency import Chain, ConstituencyTree, units
from arcspan.trees.dependency import DependencyTree, yields
from arcspan.trees.immutable import Column, empty_column

BinaryNode = tuple[int, int, Chain]
HeadedNode = tuple[int, int, int, Chain]


def binarize(
    tree: ConstituencyTree,
    direction: Literal["head", "left", "right"] = "head",
    heads: Sequence[int] | None = None,
) -> tuple[BinaryNode, ...]:
    """Binarize a tree: 2n-1 nodes (i, j, chain) in pre-order.

    "left" makes ((a b) c), "right" (a (b c)), "head" what the dependency tree with these `heads`
    asks for, which must be compatible (TreeError otherwise).

    >>> flat = ConstituencyTree.from_brackets("(NP (DT a) (JJ maximal) (NN role))")
    >>> [(i, j) for i, j, chain in binarize(flat, "left")]
    [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3)]
    >>> [(i, j) for i, j, chain in binarize(flat, "head", heads=[3, 3, 0])]
    [(0, 3), (0, 1), (1, 3), (1, 2), (2, 3)]
    """
    if direction == "head":
        if heads is None:
            raise TreeError("head binarization needs the heads of a dependency tree")
        # Building the tree checks the heads.
        d = DependencyTree(heads, empty_column(len(heads)))
        headed_nodes = head_nodes(tree, d.heads)
        if headed_nodes is None:
            raise TreeError(str(why_incompatible(tree, d)))
        return tuple([(i, j, chain) for i, j, _, chain in headed_nodes])
    if direction not in ("left", "right"):
        raise ValueError(f"binarization is 'head', 'left' or 'right', not {direction!r}")
    unary_nodes, parents, children = units(tree)
    nodes: list[BinaryNode] = []
    for index, (i, j, chain) in enumerate(unary_nodes):
        parent = parents[index]
        # The first child has its parent's left fencepost, the last one its right one: both need no
        # new node.
        if direction == "right" and parent >= 0:
            siblings = children[parent]
            if siblings[0] < index < siblings[-1]:
                nodes.append((i, unary_nodes[parent][1], ()))
        nodes.append((i, j, chain))
        if direction == "left":
            nodes.extend((i, unary_nodes[child][0], ()) for child in reversed(children[index][2:]))
    return tuple(nodes)


def unbinarize(words: Iterable[str], tags: Column, nodes: Iterable[Any]) -> ConstituencyTree:
    """Return the tree of nodes (i, j, ..., chain), as `binarize` and `LexicalTree` have them.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NN dogs)) (RB also) (VB bark))")
    >>> unbinarize(tree.words, tree.tags, binarize(tree, "right")) == tree
    True
    """
    words = tuple(words)
    spans = [(node[0], node[1], label) for node in nodes for label in node[-1]]
    if len(words) > 1 and all((i, j) != (0, len(words)) for i, j, _ in spans):
        raise TreeError(
            "the root has no label: the node that covers the sentence needs at least one"
        )
    return ConstituencyTree(words, tags, spans)


def head_nodes(tree: ConstituencyTree, heads: Sequence[int]) -> list[HeadedNode] | None:
    """Return nodes (i, j, head, chain) of the head binarization; None for incompatible trees."""
    n = len(heads)
    if n != len(tree):
        return None
    borders = yields(heads)
    if borders is None:
        return None
    starts, ends = borders
    chains = tree.chains()
    span_heads = head_words(chains, heads, starts, ends)
    if not all(span_heads):
        return None
    # The constituents that each word heads, outermost last.
    constituents: list[list[BinaryNode]] = [[] for _ in range(n + 1)]
    for head, (i, j) in zip(reversed(span_heads), reversed(chains), strict=True):
        constituents[head].append((i, j, chains[i, j]))
    # The dependents of each word that are not split off yet: the outermost are at both ends.
    dependents: list[deque[int]] = [deque() for _ in range(n + 1)]
    for m, h in enumerate(heads, start=1):
        dependents[h].append(m)
    nodes: list[HeadedNode] = []
    waiting = [(dependents[0][0], 0, n)] if n else []
    while waiting:
        r, i, j = waiting.pop()
        # Down along left parts, while right parts wait: that is pre-order.
        while True:
            chain: Chain = ()
            if constituents[r] and constituents[r][-1][:2] == (i, j):
                chain = constituents[r].pop()[2]
            nodes.append((i, j, r, chain))
            if j - i == 1:
                break
            inner_end = constituents[r][-1][1] if constituents[r] else r
            if j > inner_end:
                m = dependents[r].pop()
                k = starts[m]
                waiting.append((m, k, j))
            else:
                m = dependents[r].popleft()
                k = ends[m]
                waiting.append((r, k, j))
                r = m
            j = k
    return nodes
