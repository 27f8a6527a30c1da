"""Heads that are compatible with a c-tree where its own d-tree is not.

A sentence whose two trees are incompatible can still teach a parser both: the d-tree as it is, and
the c-tree, which for that has to be binarized the way compatible trees are, along its heads.
`compatible_heads` gives heads that are compatible with the c-tree and keep as much of the d-tree as
possible. It gives no relations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from arcspan.trees.constituency import ConstituencyTree, units
from arcspan.trees.dependency import DependencyTree, is_projective_tree


def compatible_heads(
    constituency: ConstituencyTree, dependencies: DependencyTree
) -> tuple[int, ...]:
    """Return heads of a compatible d-tree; those of `dependencies` if that is compatible.

    >>> c = ConstituencyTree.from_brackets("(S (NP (A a) (B b)) (VP (C c)))")
    >>> compatible_heads(c, DependencyTree([3, 3, 0], ["x", "y", "root"]))
    (2, 3, 0)
    """
    gold = dependencies.heads
    depth = _depths(gold)
    nodes, _, children = units(constituency)
    # A word is its own head word; a constituent's is set after its children's.
    head_words = [j for _, j, _ in nodes]
    heads = [0] * len(gold)
    for node in range(len(nodes) - 1, -1, -1):
        below = children[node]
        if not below:
            continue
        words = [head_words[child] for child in below]
        i, j, _ = nodes[node]
        head = _head_child(words, (i, j), gold, depth)
        head_words[node] = words[head]
        ends = [nodes[child][1] for child in below]
        for child, target in enumerate(_targets(words, i, ends, head, gold)):
            if child != head:
                heads[words[child] - 1] = words[target]
    return tuple(heads)


def _head_child(
    words: Sequence[int], span: tuple[int, int], gold: Sequence[int], depth: Mapping[int, int]
) -> int:
    """Return the index of the child that heads the constituent, by the children's head words.

    One whose head word attaches outside the constituent; of several, the one on which most others
    depend, then the one nearest to the root, then the one nearest to its own head, then the first.
    """
    i, j = span
    dependents = Counter(gold[word - 1] for word in words)

    def rank(child: int) -> tuple[bool, int, int, int]:
        word = words[child]
        head = gold[word - 1]
        return i < head <= j, -dependents[word], depth[word], abs(head - word)

    return min(range(len(words)), key=rank)


def _targets(
    words: Sequence[int], i: int, ends: Sequence[int], head: int, gold: Sequence[int]
) -> list[int]:
    """Return the sibling to which each child attaches.

    That is the child in which its gold head lies if this makes a projective tree, and the head
    child otherwise. `words` are the children's head words; the children are adjacent spans from `i`
    to each of the `ends`.
    """
    targets = []
    sibling_heads = []
    for child, word in enumerate(words):
        gold_head = gold[word - 1]
        # The first child that ends at or behind a word contains it.
        target = bisect_left(ends, gold_head) if i < gold_head <= ends[-1] else head
        if target == child:
            target = head
        targets.append(target)
        sibling_heads.append(0 if child == head else target + 1)
    return targets if is_projective_tree(sibling_heads) else [head] * len(words)


def _depths(heads: Sequence[int]) -> dict[int, int]:
    """Return the number of arcs between the root, 0, and each word."""
    depth = {0: 0}
    for word in range(1, len(heads) + 1):
        path = []
        while word not in depth:
            path.append(word)
            word = heads[word - 1]
        for below in reversed(path):
            depth[below] = depth[heads[below - 1]] + 1
    return depth
