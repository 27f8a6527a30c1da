"""The nodes of a sentence, and the ways from node to node that a query may take.

Nodes are numbered in pre-order: constituents, tags and words. A word in braces is the lowest node,
so that it can be related to constituents as well as to words. Nothing here knows how relations are
combined: that is `tree_query`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf

from arcspan.errors import ArcspanError
from arcspan.lazy import lazy
from arcspan.syntax.expressions import Expression
from arcspan.trees import ConstituencyTree, DependencyTree, HeadRules
from arcspan.trees.dependency import outgoing_words
from arcspan.trees.immutable import empty_column

Step = Callable[["NodeTable", int], int]
"""From a node to one of its children; -1 without one."""
Reach = Callable[["NodeTable", int], Iterable[int]]
"""From a node to all nodes at the other end of a relation, in pre-order unless a path is followed.
"""


# Steps that it costs to visit a node or a word without matching it against a pattern.
_VISIT = 1 / 16


class NodeTable:
    """The nodes of a sentence in pre-order.

    labels, parents  by node; -1 is the parent of the outermost
    left, right      the fenceposts of a node
    ends             the node after the last one below a node
    words            the position of a word, 0 for other nodes
    leaves           the node of each word, by position
    """

    def __init__(
        self,
        c: ConstituencyTree | None,
        d: DependencyTree | None,
        rules: HeadRules | None = None,
        steps: float = inf,
    ) -> None:
        tree = c if c is not None else d
        if tree is None or (c is not None and d is not None and len(c) != len(d)):
            raise ArcspanError("a query needs a tree, or two trees over the same words")
        self.tree = tree
        self.d = d
        self.heads: Sequence[int] = d.heads if d is not None else ()
        self._uses_arcs = d is not None and rules is None
        self._rules = rules
        self.steps_left = steps
        self._answers: dict[tuple[Expression, str], bool] = {}
        self._head_words: dict[int, int] = {}
        tags, spans = (empty_column(len(tree)), ()) if c is None else (c.tags, c.spans)
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.words: list[int] = []
        self.leaves = [-1]
        self._number(tree.words, tags, spans)
        # The last node below a node is its last word.
        leaves = self.leaves
        self.ends = [leaves[j] + 1 for j in self.right]

    def _number(
        self, forms: Sequence[str], tags: Sequence[str], spans: Sequence[tuple[int, int, str]]
    ) -> None:
        """Append all nodes in pre-order."""
        labels, parents, words = self.labels, self.parents, self.words
        lefts, rights = self.left, self.right
        parent = -1
        word = 0
        # The last of these spans comes after all words.
        for i, j, label in (*spans, (len(forms), 0, "")):
            while word < i:
                above = parent
                if tags[word]:
                    above = len(labels)
                    labels.append(tags[word])
                    parents.append(parent)
                    lefts.append(word)
                    rights.append(word + 1)
                    words.append(0)
                self.leaves.append(len(labels))
                labels.append(forms[word])
                parents.append(above)
                lefts.append(word)
                word += 1
                rights.append(word)
                words.append(word)
                while parent >= 0 and rights[parent] == word:
                    parent = parents[parent]
            if j:
                parents.append(parent)
                parent = len(labels)
                labels.append(label)
                lefts.append(i)
                rights.append(j)
                words.append(0)

    def spend(self, steps: int) -> None:
        """Count steps from node to node; raise ArcspanError if there are too many."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise ArcspanError(
                f"the query takes too many steps in a sentence of {len(self.tree)} words: "
                "say more about its nodes, or name fewer of them"
            )

    def passes(self, expression: Expression, value: str) -> bool:
        """Test a value; each expression and value of a sentence costs steps once."""
        if expression.values:
            return value in expression.values
        key = (expression, value)
        if key not in self._answers:
            self.spend(expression.cost(value))
            self._answers[key] = expression(value)
        return self._answers[key]

    @lazy
    def below(self) -> list[list[int]]:
        """Return the dependents of every word; of 0, the root."""
        dependents: list[list[int]] = [[] for _ in self.leaves]
        for m, h in enumerate(self.heads, 1):
            dependents[h].append(m)
        return dependents

    def children(self, k: int) -> list[int]:
        """Return the children of a node."""
        nodes = []
        child, end, ends = k + 1, self.ends[k], self.ends
        while child < end:
            nodes.append(child)
            child = ends[child]
        # The next `spend` checks it.
        self.steps_left -= len(nodes) * _VISIT
        return nodes

    def sisters(self, k: int) -> list[int]:
        """Return the children of a node's parent, itself among them."""
        return self.children(self.parents[k]) if self.parents[k] >= 0 else []

    def head_word(self, k: int) -> int:
        """Return the position of a node's head word; 0 if no word's head is outside."""
        if self.words[k]:
            return self.words[k]
        if self._uses_arcs:
            i, j = self.left[k], self.right[k]
            self.steps_left -= (j - i) * _VISIT
            return next(outgoing_words(self.heads, i, j), 0)
        # All nodes on the way down have the same head word.
        path = [k]
        while not (word := self._head_words.get(k) or self.words[k]):
            k = self.head_child(k)
            path.append(k)
        self._head_words.update(dict.fromkeys(path, word))
        return word

    def head_child(self, k: int) -> int:
        """Return the child of a node that contains its head; -1 for a word."""
        children = self.children(k)
        if len(children) < 2:
            return children[0] if children else -1
        if self._uses_arcs:
            word = self.head_word(k)
            around = [child for child in children if self.left[child] < word <= self.right[child]]
            return around[0] if around else -1
        rules = self._rules or HeadRules.load("ptb")
        labels = [self.labels[child] for child in children]
        # Rules may try every label for every child.
        self.steps_left -= len(labels) / 2
        return children[rules.head_child(self.labels[k], labels)]


def _down(step: Step, *, is_path: bool) -> Reach:
    """Follow a step once, or as far as it leads."""

    def reach(t: NodeTable, k: int) -> Iterator[int]:
        while (k := step(t, k)) >= 0:
            t.spend(1)
            yield k
            if not is_path:
                return

    return reach


def _up(step: Step | None, *, is_path: bool) -> Reach:
    """Go up once, or as far as `step` leads down again; without a step, to any parent."""

    def reach(t: NodeTable, k: int) -> Iterator[int]:
        while (parent := t.parents[k]) >= 0 and (step is None or step(t, parent) == k):
            t.spend(1)
            yield parent
            if not is_path:
                return
            k = parent

    return reach


def _nth(number: int) -> Step:
    """Return the step to the child of a number, from 1; from -1 counted from the last."""

    def step(t: NodeTable, k: int) -> int:
        children = t.children(k)
        index = number - 1 if number > 0 else len(children) + number
        return children[index] if 0 <= index < len(children) else -1

    return step


def _only_child(t: NodeTable, k: int) -> int:
    children = t.children(k)
    return children[0] if len(children) == 1 else -1


def _sisters(accepts: Callable[[NodeTable, int, int], bool]) -> Reach:
    """Go to the sisters that stand in a relation to the node."""

    def reach(t: NodeTable, k: int) -> list[int]:
        return [other for other in t.sisters(k) if accepts(t, k, other)]

    return reach


def _right_after(t: NodeTable, k: int) -> Iterable[int]:
    # The next word and everything above it that begins with it.
    if t.right[k] == len(t.tree):
        return ()
    return range(t.ends[k], t.leaves[t.right[k] + 1] + 1)


def _right_before(t: NodeTable, k: int) -> list[int]:
    nodes: list[int] = []
    other = t.leaves[t.left[k]]
    while other >= 0 and t.right[other] == t.left[k]:
        nodes.append(other)
        other = t.parents[other]
    t.steps_left -= len(nodes) * _VISIT
    return nodes[::-1]


def _before(t: NodeTable, k: int) -> list[int]:
    t.steps_left -= k * _VISIT
    return [other for other in range(k) if t.ends[other] <= k]


# The child that a sign below < and << speaks of; a number speaks of the child of that number.
_STEPS: dict[str, Step] = {
    ":": _only_child,
    ",": _nth(1),
    "'": _nth(-1),
    "#": NodeTable.head_child,
}
_TREE: dict[str, Reach] = {
    "<": NodeTable.children,
    "<<": lambda t, k: range(k + 1, t.ends[k]),
    ">": _up(None, is_path=False),
    ">>": _up(None, is_path=True),
    ".": _right_after,
    ",": _right_before,
    "..": lambda t, k: range(t.ends[k], len(t.ends)),
    ",,": _before,
    "$": _sisters(lambda t, k, other: other != k),
    "$.": _sisters(lambda t, k, other: other == t.ends[k]),
    "$,": _sisters(lambda t, k, other: t.ends[other] == k),
    "$..": _sisters(lambda t, k, other: other > k),
    "$,,": _sisters(lambda t, k, other: other < k),
}


def _in_tree(sign: str) -> Reach:
    """Return a relation of the constituency tree."""
    if sign in _TREE:
        return _TREE[sign]
    child = sign.lstrip("<>")
    step = _STEPS.get(child) or _nth(int(child))
    direction = _down if sign[0] == "<" else _up
    return direction(step, is_path=sign[0] == sign[1])


def _words_above(t: NodeTable, m: int) -> Iterator[int]:
    """Yield a word and those above it, without the root."""
    while h := t.heads[m - 1]:
        yield m
        m = h


def _words_below(t: NodeTable, m: int) -> Iterator[int]:
    """Yield the words below a word, in pre-order."""
    stack = t.below[m][::-1]
    while stack:
        m = stack.pop()
        yield m
        stack += reversed(t.below[m])


def _attached(t: NodeTable, m: int) -> list[int]:
    return [m] if t.heads[m - 1] else []


def _siblings(t: NodeTable, m: int) -> Sequence[int]:
    head = t.heads[m - 1]
    siblings = t.below[head] if head else ()
    t.steps_left -= len(siblings) * _VISIT
    return siblings


def _siblings_after(t: NodeTable, m: int) -> list[int]:
    return [other for other in _siblings(t, m) if other > m]


def _siblings_before(t: NodeTable, m: int) -> list[int]:
    return [other for other in _siblings(t, m) if other < m]


# From a word to the modifiers of the arcs whose relation is compared.
ARCS: dict[str, Reach] = {
    ">": lambda t, m: t.below[m],
    ">>": _words_below,
    "<": _attached,
    "<<": _words_above,
    "$..": _siblings_after,
    "$,,": _siblings_before,
}


def reach_of(sign: str, *, to_word: bool = False) -> Reach:
    """Return the way to the nodes at the other end of a relation of the constituency tree."""
    if sign in ("<#", "<<#") and to_word:
        return _to_head_word
    return _to_headed if sign == ">#" else _in_tree(sign)


def reach_along_arcs(sign: str, relation: Expression | None) -> Reach:
    """Return the way between words along arcs of this relation, or of any."""
    modifiers_of = ARCS[sign]
    goes_up = sign[0] == "<"

    def reach(t: NodeTable, k: int) -> list[int]:
        nodes: list[int] = []
        if t.d is None or not t.words[k]:
            return nodes
        for m in modifiers_of(t, t.words[k]):
            t.steps_left -= _VISIT
            if relation is None or t.passes(relation, t.d.relations[m - 1]):
                nodes.append(t.leaves[t.heads[m - 1] if goes_up else m])
        return nodes

    return reach


_TO_PARENT = _up(NodeTable.head_child, is_path=False)
_TO_ALL_HEADED = _up(NodeTable.head_child, is_path=True)


def _to_headed(t: NodeTable, k: int) -> Iterable[int]:
    # A word in braces heads constituents, of which none is its parent.
    return _TO_ALL_HEADED(t, k) if t.words[k] else _TO_PARENT(t, k)


def _to_head_word(t: NodeTable, k: int) -> list[int]:
    word = 0 if t.words[k] else t.head_word(k)
    return [t.leaves[word]] if word else []
