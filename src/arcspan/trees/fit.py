"""The heads that fit a c-tree best where its d-tree does not.

A sentence whose two trees are incompatible can still teach a parser both: the d-tree as it is, and the
c-tree, which for that has to be binarized the way compatible trees are, along its heads. `fitting_heads`
gives heads that are compatible with the c-tree and keep as much of the d-tree as goes.
"""

from __future__ import annotations

from collections import Counter

from arcspan.trees.constituency import ConstituencyTree
from arcspan.trees.dependency import DependencyTree


def fitting_heads(constituency: ConstituencyTree, dependencies: DependencyTree) -> tuple[int, ...]:
    """Heads of a projective d-tree that fits all constituents; those of `dependencies` where they fit.

    >>> c = ConstituencyTree.from_brackets("(S (NP (A a) (B b)) (VP (C c)))")
    >>> fitting_heads(c, DependencyTree([3, 3, 0], ["x", "y", "root"]))
    (2, 3, 0)
    """
    n = len(constituency.words)
    heads = dependencies.heads
    depth = _depths(heads)
    spans = constituency.spans if constituency.spans else ((0, n, ""),)
    if spans[0][:2] != (0, n):
        spans = ((0, n, ""), *spans)
    fitted = [0] * n
    # Bottom-up: in reversed pre-order, the children of a span are done before it.
    finished: list[tuple[int, int, int]] = []  # (i, j, head), leftmost last
    word = n
    for i, j, _ in reversed(spans):
        children: list[tuple[int, int, int]] = []
        # Words right of the last finished constituent are children of their own.
        while word > i and (not finished or finished[-1][0] > word - 1 or finished[-1][1] < word):
            finished.append((word - 1, word, word))
            word -= 1
        while finished and finished[-1][0] >= i and finished[-1][1] <= j and finished[-1][0] < j:
            children.append(finished.pop())
        word = min(word, i)
        finished.append((i, j, _combine(children, (i, j), heads, depth, fitted)))
    fitted[finished[-1][2] - 1] = 0
    return tuple(fitted)


def _combine(
    children: list[tuple[int, int, int]],
    span: tuple[int, int],
    heads: tuple[int, ...],
    depth: list[int],
    fitted: list[int],
) -> int:
    """Choose the head among the children's heads, attach the other children, return the head."""
    i, j = span

    dependents = Counter(heads[word - 1] for _, _, word in children)

    def rank(child: tuple[int, int, int]) -> tuple[bool, int, int, int]:
        """Head words attach outside; of several, the one with most dependents, nearest the root, near its head."""
        word = child[2]
        head = heads[word - 1]
        return i < head <= j, -dependents[word], depth[word - 1], abs(head - word)

    chosen = min(children, key=rank)
    child_of = {}
    for place, (left, right, _) in enumerate(children):
        for word in range(left + 1, right + 1):
            child_of[word] = place
    top = children.index(chosen)
    parent = [child_of.get(heads[head - 1], top) for _, _, head in children]
    parent = [top if above == place else above for place, above in enumerate(parent)]
    if not _is_projective_tree(parent, top):
        parent = [top] * len(children)
    for place, (_, _, head) in enumerate(children):
        if place != top:
            fitted[head - 1] = children[parent[place]][2]
    return chosen[2]


def _is_projective_tree(parent: list[int], top: int) -> bool:
    for place in range(len(parent)):
        seen, above = {place}, place
        while above != top:
            above = parent[above]
            if above in seen:
                return False
            seen.add(above)
    arcs = [(min(m, h), max(m, h)) for m, h in enumerate(parent) if m != top]
    crossing = any(a < c < b < d for a, b in arcs for c, d in arcs)
    return not crossing and not any(a < top < b for a, b in arcs)


def _depths(heads: tuple[int, ...]) -> list[int]:
    depth = [0] * len(heads)
    for word in range(1, len(heads) + 1):
        path = []
        above = word
        while above and not depth[above - 1]:
            path.append(above)
            above = heads[above - 1]
        base = depth[above - 1] if above else 0
        for step, passed in enumerate(reversed(path), 1):
            depth[passed - 1] = base + step
    return depth
