"""Heads that are compatible with a c-tree where its own d-tree is not.

A sentence whose two trees are incompatible can still teach a parser both: the d-tree as it is, and the
c-tree, which for that has to be binarized the way compatible trees are, along its heads. `compatible_heads`
gives heads that are compatible with the c-tree and keep as much of the d-tree as possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from arcspan.trees.constituency import ConstituencyTree, units
from arcspan.trees.dependency import DependencyTree, is_projective_tree


def compatible_heads(
    constituency: ConstituencyTree, dependencies: DependencyTree
) -> tuple[int, ...]:
    """Heads of a projective d-tree that fits all constituents; those of `dependencies` where they fit.

    >>> c = ConstituencyTree.from_brackets("(S (NP (A a) (B b)) (VP (C c)))")
    >>> compatible_heads(c, DependencyTree([3, 3, 0], ["x", "y", "root"]))
    (2, 3, 0)
    """
    given = dependencies.heads
    depth = _depths(given)
    nodes, _, children = units(constituency)
    head_words = [
        j for _, j, _ in nodes
    ]  # a word is its own; a constituent's is set after its children's
    heads = [0] * len(given)
    for node in range(len(nodes) - 1, -1, -1):
        if below := children[node]:
            own = [head_words[child] for child in below]
            head = _head_child(own, nodes[node][:2], given, depth)
            head_words[node] = own[head]
            parts = [nodes[child][:2] for child in below]
            for child, target in enumerate(_targets(own, parts, head, given)):
                if child != head:
                    heads[own[child] - 1] = own[target]
    return tuple(heads)


def _head_child(
    own: Sequence[int], span: tuple[int, int], given: Sequence[int], depth: Sequence[int]
) -> int:
    """Which child, by their head words `own`, heads the constituent.

    One whose head word attaches outside the constituent; of several, the one on which most others depend, then
    the one nearest to the root, then the one nearest to its own head, then the first.
    """
    i, j = span
    dependents = Counter(given[word - 1] for word in own)

    def rank(child: int) -> tuple[bool, int, int, int]:
        word = own[child]
        head = given[word - 1]
        return i < head <= j, -dependents[word], depth[word - 1], abs(head - word)

    return min(range(len(own)), key=rank)


def _targets(
    own: Sequence[int], parts: Sequence[tuple[int, int]], head: int, given: Sequence[int]
) -> list[int]:
    """The sibling to which each child attaches: the given one where that makes a projective tree, or the head."""
    place = {word: child for child, (i, j) in enumerate(parts) for word in range(i + 1, j + 1)}
    targets = [place.get(given[word - 1], head) for word in own]
    targets = [head if target == child else target for child, target in enumerate(targets)]
    if is_projective_tree(
        [0 if child == head else target + 1 for child, target in enumerate(targets)]
    ):
        return targets
    return [head] * len(own)


def _depths(heads: Sequence[int]) -> list[int]:
    """How many arcs lie between each word and the root."""
    depth = {0: 0}
    for word in range(1, len(heads) + 1):
        path = [word]
        while path[-1] not in depth:
            path.append(heads[path[-1] - 1])
        for below in reversed(path[:-1]):
            depth[below] = depth[heads[below - 1]] + 1
    return [depth[word] for word in range(1, len(heads) + 1)]
