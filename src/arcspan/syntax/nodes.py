"""The nodes of a sentence, and the ways from node to node that a query may take.

Nodes are numbered in pre-order: constituents, tags and words. A word in braces is the lowest node, so that it can be
related to constituents as well as to words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from math import inf

from arcspan.errors import ArcspanError
from arcspan.lazy import lazy
from arcspan.syntax.pattern import Relation
from arcspan.trees import ConstituencyTree, DependencyTree, HeadRules
from arcspan.trees.immutable import nothing

Reach = Callable[["NodeTable", int], Iterable[int]]


class NodeTable:
    """The nodes of a sentence in pre-order; `ends[k]` is the node after the last one below k."""

    def __init__(
        self,
        c: ConstituencyTree | None,
        d: DependencyTree | None,
        rules: HeadRules | None = None,
        steps: float = inf,
    ) -> None:
        tree = c if c is not None else d
        if tree is None or (c is not None and d is not None and len(c) != len(d)):
            raise ArcspanError("a query is asked of a tree, or of two trees over the same words")
        self.tree, self.d, self._rules = tree, d, rules
        self._steps = steps  # that may still be taken
        self.heads: Sequence[int] = d.heads if d is not None else ()
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.ends: list[int] = []
        self.left: list[int] = []
        self.words: list[int] = []  # of a word its position, 0 of other nodes
        self.leaves: list[int] = [-1]
        self._head_words: dict[int, int] = {}  # those found by head rules
        tags, spans = (nothing(len(tree)), ()) if c is None else (c.tags, c.spans)
        self._number(tree.words, tags, spans)

    def spend(self, steps: int) -> None:
        """Count steps from node to node; ArcspanError where there are too many."""
        self._steps -= steps
        if self._steps < 0:
            what = f"the query takes too many steps in a sentence of {len(self.tree)} words"
            raise ArcspanError(f"{what}: say more about its nodes, or name fewer of them")

    def _number(
        self, forms: Sequence[str], tags: Sequence[str], spans: Sequence[tuple[int, int, str]]
    ) -> None:
        labels, parents, ends, left, words = (
            self.labels,
            self.parents,
            self.ends,
            self.left,
            self.words,
        )
        leaves = self.leaves
        opened: list[tuple[int, int]] = []  # node, right fencepost
        above, close, at = -1, len(forms), 0
        k = 0
        for i, j, label in (*spans, (len(forms), 0, "")):
            while at < i:
                if tags[at]:
                    labels.append(tags[at])
                    parents.append(above)
                    ends.append(k + 2)
                    left.append(at)
                    words.append(0)
                    k += 1
                labels.append(forms[at])
                parents.append(k - 1 if tags[at] else above)
                ends.append(k + 1)
                left.append(at)
                at += 1
                words.append(at)
                k += 1
                leaves.append(k - 1)
                while opened and close == at:
                    ends[above] = k
                    opened.pop()
                    above, close = opened[-1] if opened else (-1, len(forms) + 1)
            if j:
                labels.append(label)
                parents.append(above)
                ends.append(0)
                left.append(i)
                words.append(0)
                above, close = k, j
                opened.append((k, j))
                k += 1

    @lazy
    def right(self) -> list[int]:
        """The right fencepost of every node."""
        return [self.words[end - 1] for end in self.ends]

    @lazy
    def below(self) -> list[list[int]]:
        """The dependents of every word; of 0, the root."""
        found: list[list[int]] = [[] for _ in range(len(self.heads) + 1)]
        for m, h in enumerate(self.heads, 1):
            found[h].append(m)
        return found

    def children(self, k: int) -> list[int]:
        """The nodes right below a node."""
        found = []
        child, end, ends = k + 1, self.ends[k], self.ends
        while child < end:
            found.append(child)
            child = ends[child]
        return found

    def sisters(self, k: int) -> list[int]:
        """The children of a node's parent, itself among them."""
        return self.children(self.parents[k]) if self.parents[k] >= 0 else []

    def head_word(self, k: int) -> int:
        """The position of a node's head word; 0 where no word's head is outside."""
        if self.words[k]:
            return self.words[k]
        if self.d is not None and self._rules is None:
            i, j = self.left[k], self.right[k]
            return next((m for m in range(i + 1, j + 1) if not i < self.d.heads[m - 1] <= j), 0)
        way = [k]
        while not (word := self._head_words.get(k) or self.words[k]):
            k = self.head_child(k)
            way.append(k)
        self._head_words.update(dict.fromkeys(way, word))
        return word

    def head_child(self, k: int) -> int:
        """The child of a node that its head is in; -1 for a word."""
        children = self.children(k)
        if len(children) < 2:
            return children[0] if children else -1
        if self.d is not None and self._rules is None:
            word = self.head_word(k)
            return next(
                (child for child in children if self.left[child] < word <= self.right[child]), -1
            )
        rules = self._rules or HeadRules.load("ptb")
        return children[
            rules.head_child(self.labels[k], [self.labels[child] for child in children])
        ]


def _path(step: Callable[[NodeTable, int], int]) -> Reach:
    """All nodes along a way, of which a step gives the next; -1 ends it."""

    def reach(t: NodeTable, k: int) -> Iterator[int]:
        while (k := step(t, k)) >= 0:
            t.spend(1)
            yield k

    return reach


def _nth(place: int) -> Callable[[NodeTable, int], int]:
    """The child at a place, from 1; from -1 counted from the last."""

    def step(t: NodeTable, k: int) -> int:
        children = t.children(k)
        index = place - 1 if place > 0 else len(children) + place
        return children[index] if 0 <= index < len(children) else -1

    return step


def _only(t: NodeTable, k: int) -> int:
    children = t.children(k)
    return children[0] if len(children) == 1 else -1


def _one(step: Callable[[NodeTable, int], int]) -> Reach:
    return lambda t, k: [other for other in [step(t, k)] if other >= 0]


def _beside(choose: Callable[[list[int], int], list[int]]) -> Reach:
    def reach(t: NodeTable, k: int) -> Iterable[int]:
        sisters = t.sisters(k)
        return choose(sisters, sisters.index(k)) if sisters else []

    return reach


def _just_before(t: NodeTable, k: int) -> list[int]:
    found, end = [t.leaves[t.left[k]]], t.left[k]
    while found[-1] >= 0 and t.right[found[-1]] == end:
        found.append(t.parents[found[-1]])
    return found[-2::-1]


_TREE: dict[str, Reach] = {
    "<": NodeTable.children,
    ">": _one(lambda t, k: t.parents[k]),
    "<<": lambda t, k: range(k + 1, t.ends[k]),
    ">>": _path(lambda t, k: t.parents[k]),
    "<:": _one(_only),
    "<<:": _path(_only),
    "<<,": _path(_nth(1)),
    "<<'": _path(_nth(-1)),
    "<#": _one(NodeTable.head_child),
    "<<#": _path(NodeTable.head_child),
    ".": lambda t, k: takewhile(
        lambda other: t.left[other] == t.right[k], range(t.ends[k], len(t.ends))
    ),
    ",": _just_before,
    "..": lambda t, k: range(t.ends[k], len(t.ends)),
    ",,": lambda t, k: (other for other in range(k) if t.ends[other] <= k),
    "$": _beside(lambda sisters, at: sisters[:at] + sisters[at + 1 :]),
    "$.": _beside(lambda sisters, at: sisters[at + 1 : at + 2]),
    "$,": _beside(lambda sisters, at: sisters[at - 1 : at] if at else []),
    "$..": _beside(lambda sisters, at: sisters[at + 1 :]),
    "$,,": _beside(lambda sisters, at: sisters[:at]),
}


def _in_tree(sign: str) -> Reach:
    """A relation of the constituency tree; the way up is the way down seen from its end."""
    if sign in _TREE:
        return _TREE[sign]
    if sign[0] == "<":
        return _one(_nth(int(sign[1:])))
    above, down = _TREE[">>" if sign.startswith(">>") else ">"], _in_tree(sign.replace(">", "<"))
    return lambda t, k: [other for other in above(t, k) if k in down(t, other)]


def _words_above(t: NodeTable, m: int) -> Iterator[int]:
    """A word and those above it, without the root."""
    while h := t.heads[m - 1]:
        yield m
        m = h


def _words_below(t: NodeTable, m: int) -> Iterator[int]:
    waiting = t.below[m][::-1]
    while waiting:
        yield (m := waiting.pop())
        waiting += reversed(t.below[m])


def _siblings(t: NodeTable, m: int) -> Sequence[int]:
    return t.below[t.heads[m - 1]] if t.heads[m - 1] else ()


# From a word: the modifiers of the arcs whose relation is asked for.
_ARCS: dict[str, Reach] = {
    ">": lambda t, m: t.below[m],
    ">>": _words_below,
    "<": lambda t, m: [m] if t.heads[m - 1] else [],
    "<<": _words_above,
    "$..": lambda t, m: [other for other in _siblings(t, m) if other > m],
    "$,,": lambda t, m: [other for other in _siblings(t, m) if other < m],
}


def reach_of(relation: Relation) -> Reach:
    """The nodes at the other end of a relation."""
    sign, label = relation.sign, relation.label
    if relation.between_words:
        arcs, up = _ARCS[sign], sign[0] == "<"

        def reach(t: NodeTable, k: int) -> Iterable[int]:
            relations = t.d.relations if t.d is not None else ()
            found = arcs(t, t.words[k]) if t.words[k] else ()
            fitting = (m for m in found if label is None or label(relations[m - 1]))
            return [t.leaves[t.heads[m - 1] if up else m] for m in fitting]

        return reach
    if sign in ("<#", "<<#") and relation.node.is_word:  # a constituent's head word
        return lambda t, k: [t.leaves[word] for word in [t.head_word(k)] if word and not t.words[k]]
    if sign == ">#":  # of a word, all constituents that it heads
        one, all_ = _in_tree(">#"), _in_tree(">>#")
        return lambda t, k: (all_ if t.words[k] else one)(t, k)
    return _in_tree(sign)
