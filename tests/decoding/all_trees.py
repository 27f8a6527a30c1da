"""Every tree of a short sentence, by plain recursion over the definitions: the oracle of the tests
of inference.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np


class Tree(NamedTuple):
    """A binary tree; with heads, a lexicalized one. hooks are (i, j, h): h is what the head of (i,
    j) attaches to.
    """

    spans: tuple[tuple[int, int], ...]
    heads: tuple[int, ...] = ()
    headed: tuple[tuple[int, int, int], ...] = ()
    hooks: tuple[tuple[int, int, int], ...] = ()


@cache
def binary_trees(i: int, j: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Every binary tree over (i, j), as its spans in pre-order."""
    if j - i == 1:
        return (((i, j),),)
    return tuple(
        ((i, j), *left_tree, *right)
        for k in range(i + 1, j)
        for left_tree in binary_trees(i, k)
        for right in binary_trees(k, j)
    )


@cache
def lexicalized_trees(n: int) -> tuple[Tree, ...]:
    """Every binary tree with a choice, at every node, of which child gives it its head."""
    trees = []
    for spans in binary_trees(0, n):
        inner = [(i, j) for i, j in spans if j - i > 1]
        for choice in product((0, 1), repeat=len(inner)):
            trees.append(_lexicalize(spans, dict(zip(inner, choice, strict=True)), n))
    return tuple(trees)


def _lexicalize(
    spans: tuple[tuple[int, int], ...], choice: dict[tuple[int, int], int], n: int
) -> Tree:
    heads_of_spans, split = set(spans), {}
    for i, j in spans:
        for k in range(i + 1, j):
            if (i, k) in heads_of_spans and (k, j) in heads_of_spans:
                split[i, j] = k

    def head(i: int, j: int) -> int:
        if j - i == 1:
            return j
        k = split[i, j]
        return head(k, j) if choice[i, j] else head(i, k)

    heads, hooks = [0] * (n + 1), []
    for (i, j), k in split.items():
        other, own_parts = ((i, k), (k, j)) if choice[i, j] else ((k, j), (i, k))
        heads[head(*other)] = head(*own_parts)
        hooks.append((*other, head(*own_parts)))
    return Tree(spans, tuple(heads), tuple((i, j, head(i, j)) for i, j in spans), tuple(hooks))


@cache
def projective_heads(n: int) -> tuple[tuple[int, ...], ...]:
    """Every projective dependency tree with one root, as its heads (the first is unused)."""
    return tuple(sorted({tree.heads for tree in lexicalized_trees(n)}))


def scores_of(
    n: int, span: np.ndarray | None, arc: np.ndarray | None, headed: np.ndarray | None = None
) -> Iterator[tuple[Tree, float]]:
    """Every tree that the scores are over, with its score."""
    if span is None:
        trees = tuple(Tree((), heads) for heads in projective_heads(n))
    elif arc is None:
        trees = tuple(Tree(spans) for spans in binary_trees(0, n))
    else:
        trees = lexicalized_trees(n)
    for tree in trees:
        total = 0.0
        if span is not None:
            total += sum(float(span[i, j]) for i, j in tree.spans)
        if arc is not None:
            total += sum(float(arc[m, tree.heads[m]]) for m in range(1, n + 1))
        if headed is not None:
            total += sum(float(headed[i, j, h]) for i, j, h in tree.headed + tree.hooks)
        yield tree, total
