"""Every tree of a short sentence, written down: the oracle of the searches. Nothing here is dynamic
programming.
"""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import numpy as np


class Tree(NamedTuple):
    """A binary lexicalized tree by its parts."""

    spans: tuple[tuple[int, int, int], ...]  # (i, j, head), pre-order
    heads: tuple[int, ...]  # of words 1..n
    hooked: tuple[
        tuple[int, int, int], ...
    ]  # (i, j, h): the largest span of a modifier, and its head


@functools.cache
def lexicalized(i: int, j: int) -> tuple[Tree, ...]:
    """Every tree over the words i+1..j; its own head's head is left at 0. `heads` has one place per
    word of (i, j].
    """
    if j == i + 1:
        return (Tree(((i, j, j),), (0,), ()),)
    total = []
    for k in range(i + 1, j):
        for left_part, right in itertools.product(lexicalized(i, k), lexicalized(k, j)):
            a, b = left_part.spans[0][2], right.spans[0][2]
            for h, m in ((a, b), (b, a)):
                heads = list(left_part.heads + right.heads)
                heads[m - i - 1] = h
                low, high = (k, j) if m == b else (i, k)
                total.append(
                    Tree(
                        ((i, j, h), *left_part.spans, *right.spans),
                        tuple(heads),
                        (*left_part.hooked, *right.hooked, (low, high, h)),
                    )
                )
    return tuple(total)


@functools.cache
def projective(n: int) -> tuple[tuple[int, ...], ...]:
    """Every projective tree with one root over n words, by trying all heads: heads of words 1..n."""
    return tuple(
        heads
        for heads in itertools.product(range(n + 1), repeat=n)
        if heads.count(0) == 1 and _is_tree(heads) and _is_projective(heads)
    )


def _is_tree(heads: tuple[int, ...]) -> bool:
    for word in range(1, len(heads) + 1):
        visited = set()
        while word:
            if word in visited:
                return False
            visited.add(word)
            word = heads[word - 1]
    return True


def _is_projective(heads: tuple[int, ...]) -> bool:
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return not any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


@functools.cache
def _tables(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    trees = lexicalized(0, n)
    return (
        np.array([tree.spans for tree in trees]),
        np.array([tree.heads for tree in trees]),
        np.array([tree.hooked for tree in trees], int).reshape(len(trees), n - 1, 3),
    )


def all_scores(
    n: int, span: np.ndarray, arc: np.ndarray, headed: np.ndarray | None = None
) -> np.ndarray:
    """The score of each of `lexicalized(0, n)`, in float64."""
    spans, heads, hooked = _tables(n)
    span, arc = span.astype(np.float64), arc.astype(np.float64)
    scores = span[spans[:, :, 0], spans[:, :, 1]].sum(1) + arc[np.arange(1, n + 1), heads].sum(1)
    if headed is not None:
        headed = headed.astype(np.float64)
        scores = scores + headed[spans[:, :, 0], spans[:, :, 1], spans[:, :, 2]].sum(1)
        scores = scores + headed[hooked[:, :, 0], hooked[:, :, 1], hooked[:, :, 2]].sum(1)
    return scores


def score_of(
    spans: np.ndarray,
    heads: np.ndarray,
    span: np.ndarray,
    arc: np.ndarray,
    headed: np.ndarray | None = None,
) -> float:
    """The score of one tree, found among all of them: a tree that is not one of them is an error."""
    n = len(heads)
    expected = tuple(map(tuple, spans.tolist())), tuple(heads.tolist())
    index = _index(n)[expected]
    return float(all_scores(n, span, arc, headed)[index])


@functools.cache
def _index(n: int) -> dict[tuple, int]:
    return {(tree.spans, tree.heads): number for number, tree in enumerate(lexicalized(0, n))}
