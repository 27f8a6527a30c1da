"""Queries over both trees: a pattern is compiled once and then asked of any number of sentences.

The nodes of a sentence are numbered in pre-order: constituents, tags and words. A word in braces is the lowest node,
so that it can be related to constituents as well as to words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.syntax.pattern import ATTRIBUTES, Node, Relation, Relations, needed, read_pattern
from arcspan.syntax.sentence import Phrase, Range, Text
from arcspan.trees import ConstituencyTree, DependencyTree, HeadRules

Names = dict[str, int]
Test = Callable[["Nodes", int], bool]
Ways = Callable[["Nodes", int, Names], Iterator[Names]]
Reach = Callable[["Nodes", int], Iterable[int]]


class Match(Phrase):
    """Where a query fits.

    label     of the constituent or tag; of a word in braces, its relation, or its form without dependencies
    word      the position of the word, 0 for a constituent
    names     the nodes that the query names, each a match
    position  of its head word, 0 where the trees do not tell it
    """

    def __init__(self, sentence: Text, span: Range, position: int, label: str, word: int) -> None:
        super().__init__(sentence, span, position)
        self.label, self.word = label, word
        self.names: dict[str, Match] = {}

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        names = {name: match.to_dict(probabilities=probabilities) for name, match in self.names.items()}
        return {
            "label": self.label,
            **super().to_dict(probabilities=probabilities),
            **({"names": names} if names else {}),
        }

    def __repr__(self) -> str:
        return f"Match({self.label}, {self.text!r})"


class Query:
    """A pattern over constituents, words, or both.

    `heads`: the rules that say which child heads a constituent; None asks the dependency tree where there is one, and
    the table "ptb" where there is none.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NP (NN fish)) (PP (IN in) (NN oil))) (VP (VBZ smells)))")
    >>> Query("NP < PP").find(tree)
    [Match(NP, 'fish in oil')]
    >>> arcs = DependencyTree([4, 3, 1, 0], ["nsubj", "case", "nmod", "root"], tree.words, tree.tags)
    >>> Query("NP <# ({}=noun <nsubj {tag:VBZ}=verb)").find(tree, arcs)[0].names
    {'noun': Match(nsubj, 'fish'), 'verb': Match(root, 'smells')}
    """

    def __init__(self, pattern: str, *, heads: HeadRules | None = None) -> None:
        self.pattern, self._heads = pattern, heads
        read = read_pattern(pattern)
        self.literals, self.layers = read.literals, read.layers
        self._needed = [(ATTRIBUTES.get(of, ""), values) for of, values in needed(read.node)]
        self._labels = dict(needed(replace_relations(read.node))).get("label")
        self._names = read.node.has_names or bool(read.further)
        compile_ = _Compiler()
        self._test = None if self._names else compile_.test(read.node)
        self._ways = compile_.ways(read.node) if self._names else None
        self._further = [(name, compile_.relation_ways(relations)) for name, relations in read.further]

    def find(
        self,
        constituency: ConstituencyTree | DependencyTree | None = None,
        dependencies: DependencyTree | None = None,
        **of_text: Any,
    ) -> list[Match]:
        """The matches in a sentence of one tree or two; the order is that of the nodes, from the top.

        One match for each choice of named nodes. `of_text` are the options of `Sentence`: tokens, text, offsets.
        """
        if isinstance(constituency, DependencyTree):
            constituency, dependencies = None, constituency
        self.check(constituency, dependencies)
        if not self._possible(constituency, dependencies):
            return []
        nodes = Nodes(constituency, dependencies, self._heads)
        found = self._found(nodes)
        if not found:
            return []
        text = Text(nodes.tree.words, **of_text)
        return [nodes.match(text, node, names) for node, names in found]

    def count(
        self,
        constituency: ConstituencyTree | None = None,
        dependencies: DependencyTree | None = None,
    ) -> int:
        """How many matches there are."""
        if not self._possible(constituency, dependencies):
            return 0
        return len(self._found(Nodes(constituency, dependencies, self._heads)))

    def check(self, c: ConstituencyTree | None, d: DependencyTree | None) -> None:
        """Refuse a sentence without a tree that the query asks for."""
        for layer, tree, name in (("constituency", c, "constituents"), ("dependency", d, "dependencies")):
            if tree is None and layer in self.layers:
                raise ArcspanError(f"the query asks for {name}, which are not there")

    def _possible(self, c: ConstituencyTree | None, d: DependencyTree | None) -> bool:
        """Whether the sentence has the values without which nothing can match."""
        for column, values in self._needed:
            if column == "":
                if c is None or not (
                    any(label in values for _, _, label in c.spans)
                    or not values.isdisjoint(c.tags)
                    or not values.isdisjoint(c.words)
                ):
                    return False
            elif d is not None and values.isdisjoint(getattr(d, column)):
                return False
        return True

    def _found(self, nodes: Nodes) -> list[tuple[int, Names]]:
        if self._labels is None:
            candidates: Iterable[int] = range(len(nodes.labels))
        else:
            wanted = self._labels
            candidates = [k for k, label in enumerate(nodes.labels) if label in wanted]
        if self._test is not None:
            test = self._test
            return [(k, {}) for k in candidates if test(nodes, k)]
        found: dict[tuple[Any, ...], tuple[int, Names]] = {}
        for k in candidates:
            for names in self._all_ways(nodes, k):
                found.setdefault((k, *sorted(names.items())), (k, names))
        return list(found.values())

    def _all_ways(self, nodes: Nodes, k: int) -> Iterator[Names]:
        assert self._ways is not None
        ways: Iterable[Names] = self._ways(nodes, k, {})
        for name, relations in self._further:
            ways = [more for names in ways for more in relations(nodes, names[name], names)]
        yield from ways

    def __repr__(self) -> str:
        return f"Query({self.pattern!r})"


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Query:
    """A query, compiled when it is first asked for."""
    return Query(pattern)


def replace_relations(node: Node) -> Node:
    """A node without its relations, which are those of other nodes."""
    inner = None if node.inner is None else replace_relations(node.inner)
    return Node(
        node.labels,
        node.words,
        node.is_root,
        node.same,
        inner,
        node.negated,
        is_word=node.is_word,
        any=node.any,
    )


class Nodes:
    """The nodes of a sentence in pre-order; `ends[k]` is the node after the last one below k."""

    def __init__(
        self, c: ConstituencyTree | None, d: DependencyTree | None, rules: HeadRules | None = None
    ) -> None:
        tree = c if c is not None else d
        if tree is None or (c is not None and d is not None and len(c) != len(d)):
            raise ArcspanError("a query is asked of a tree, or of two trees over the same words")
        self.tree, self.c, self.d, self._rules = tree, c, d, rules
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.ends: list[int] = []
        self.left: list[int] = []
        self.words: list[int] = []  # of a word its position, 0 of other nodes
        self.leaves: list[int] = [-1]
        if c is None:
            n = len(tree)
            self.labels, self.parents, self.ends = list(tree.words), [-1] * n, list(range(1, n + 1))
            self.left, self.words, self.leaves = list(range(n)), list(range(1, n + 1)), list(range(-1, n))
        else:
            self._number(c)

    def _number(self, c: ConstituencyTree) -> None:
        labels, parents, ends, left, words = self.labels, self.parents, self.ends, self.left, self.words
        leaves, tags, forms = self.leaves, c.tags, c.words
        opened: list[tuple[int, int]] = []  # node, right fencepost
        above, close, at = -1, len(forms), 0
        k = 0
        for i, j, label in (*c.spans, (len(forms), 0, "")):
            while at < i:
                if tags[at]:
                    labels += (tags[at], forms[at])
                    parents += (above, k)
                    ends += (k + 2, k + 2)
                    left += (at, at)
                    words += (0, at + 1)
                    k += 2
                else:
                    labels.append(forms[at])
                    parents.append(above)
                    ends.append(k + 1)
                    left.append(at)
                    words.append(at + 1)
                    k += 1
                at += 1
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

    @cached_property
    def right(self) -> list[int]:
        """The right fencepost of every node."""
        return [self.words[end - 1] for end in self.ends]

    @cached_property
    def below(self) -> list[list[int]]:
        """The dependents of every word; of 0, the root."""
        found: list[list[int]] = [[] for _ in range(len(self.heads) + 1)]
        for m, h in enumerate(self.heads, 1):
            found[h].append(m)
        return found

    @property
    def heads(self) -> Sequence[int]:
        """The head of every word."""
        assert self.d is not None
        return self.d.heads

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
        while not self.words[k]:
            k = self.head_child(k)
        return self.words[k]

    def head_child(self, k: int) -> int:
        """The child of a node that its head is in; -1 for a word."""
        children = self.children(k)
        if len(children) < 2:
            return children[0] if children else -1
        if self.d is not None and self._rules is None:
            word = self.head_word(k)
            return next((child for child in children if self.left[child] < word <= self.right[child]), -1)
        rules = self._rules or HeadRules.load("ptb")
        return children[rules.head_child(self.labels[k], [self.labels[child] for child in children])]

    def match(self, text: Text, k: int, names: Names) -> Match:
        """A node with what is named as a match."""
        word = self.words[k]
        known = self.d is not None or self.c is not None
        label = self.d.relations[word - 1] if word and self.d is not None else self.labels[k]
        found = Match(text, (self.left[k], self.right[k]), self.head_word(k) if known else 0, label, word)
        found.names = {name: self.match(text, node, {}) for name, node in names.items()}
        return found


# ------------------------------------------------------------------------------------------ from node to node


def _up(t: Nodes, k: int) -> Iterator[int]:
    while (k := t.parents[k]) >= 0:
        yield k


def _edge(t: Nodes, k: int, last: bool) -> Iterator[int]:
    """The first, or last, child of a node, that one's, and so on."""
    while children := t.children(k):
        k = children[-1 if last else 0]
        yield k


def _only(t: Nodes, k: int) -> Iterator[int]:
    while len(children := t.children(k)) == 1:
        (k,) = children
        yield k


def _head_path(t: Nodes, k: int) -> Iterator[int]:
    while (k := t.head_child(k)) >= 0:
        yield k


def _inverse(down: Reach) -> Reach:
    return lambda t, k: (above for above in _up(t, k) if k in down(t, above))


def _arc_down(t: Nodes, k: int) -> Iterable[int]:
    return [t.leaves[m] for m in t.below[t.words[k]]] if t.words[k] else []


def _arcs_down(t: Nodes, k: int) -> Iterator[int]:
    waiting = list(reversed(t.below[t.words[k]])) if t.words[k] else []
    while waiting:
        m = waiting.pop()
        yield t.leaves[m]
        waiting += reversed(t.below[m])


def _arcs_up(t: Nodes, k: int) -> Iterator[int]:
    """The words above a word, each as the arc below it sees it: the word that has this head."""
    m = t.words[k]
    while m and t.heads[m - 1]:
        yield m
        m = t.heads[m - 1]


def _with_same_head(t: Nodes, k: int, after: bool) -> Iterable[int]:
    m = t.words[k]
    siblings = t.below[t.heads[m - 1]] if m and t.heads[m - 1] else []
    return [t.leaves[other] for other in siblings if (other > m if after else other < m)]


def _nth(place: int) -> Reach:
    def reach(t: Nodes, k: int) -> Iterable[int]:
        children = t.children(k)
        index = place - 1 if place > 0 else len(children) + place
        return [children[index]] if 0 <= index < len(children) else []

    return reach


def _parent_where(test: Callable[[list[int], int], bool]) -> Reach:
    def reach(t: Nodes, k: int) -> Iterable[int]:
        sisters = t.sisters(k)
        return [t.parents[k]] if sisters and test(sisters, k) else []

    return reach


def _beside(choose: Callable[[list[int], int], list[int]]) -> Reach:
    def reach(t: Nodes, k: int) -> Iterable[int]:
        sisters = t.sisters(k)
        return choose(sisters, sisters.index(k)) if sisters else []

    return reach


_TREE: dict[str, Reach] = {
    "<": Nodes.children,
    ">": lambda t, k: [t.parents[k]] if t.parents[k] >= 0 else [],
    "<:": lambda t, k: t.children(k) if len(t.children(k)) == 1 else [],
    ">:": _parent_where(lambda sisters, k: len(sisters) == 1),
    "<<": lambda t, k: range(k + 1, t.ends[k]),
    ">>": _up,
    "<<,": partial(_edge, last=False),
    "<<'": partial(_edge, last=True),
    "<<:": _only,
    "<<#": _head_path,
    "<#": lambda t, k: [child for child in [t.head_child(k)] if child >= 0],
    ">#": lambda t, k: [above for above in [t.parents[k]] if above >= 0 and t.head_child(above) == k],
    ".": lambda t, k: [other for other, i in enumerate(t.left) if i == t.right[k]],
    ",": lambda t, k: [other for other, j in enumerate(t.right) if j == t.left[k]],
    "..": lambda t, k: [other for other, i in enumerate(t.left) if i >= t.right[k]],
    ",,": lambda t, k: [other for other, j in enumerate(t.right) if j <= t.left[k]],
    "$": _beside(lambda sisters, at: sisters[:at] + sisters[at + 1 :]),
    "$.": _beside(lambda sisters, at: sisters[at + 1 : at + 2]),
    "$,": _beside(lambda sisters, at: sisters[at - 1 : at] if at else []),
    "$..": _beside(lambda sisters, at: sisters[at + 1 :]),
    "$,,": _beside(lambda sisters, at: sisters[:at]),
}  # fmt: skip
_TREE |= {f">>{sign}": _inverse(_TREE[f"<<{sign}"]) for sign in ",':#"}
_ARCS: dict[str, Reach] = {
    ">": _arc_down,
    ">>": _arcs_down,
    "$..": partial(_with_same_head, after=True),
    "$,,": partial(_with_same_head, after=False),
}


def _reach(relation: Relation) -> Reach:
    """The nodes at the other end of a relation."""
    sign, label = relation.sign, relation.label
    if relation.between_words:
        return _reach_arcs(sign, label)
    if sign in ("<#", "<<#") and relation.node.is_word:  # a constituent's head word
        return lambda t, k: [t.leaves[word] for word in [t.head_word(k)] if word and not t.words[k]]
    if sign == ">#" and not relation.node.is_word:
        return lambda t, k: _TREE[">>#" if t.words[k] else ">#"](t, k)
    if sign in _TREE:
        return _TREE[sign]
    place = int(sign[1:])
    if sign[0] == "<":
        return _nth(place)
    return _parent_where(
        lambda sisters, k: sisters.index(k) == (place - 1 if place > 0 else len(sisters) + place)
    )


def _reach_arcs(sign: str, label: Callable[[str], bool] | None) -> Reach:
    def has(t: Nodes, m: int) -> bool:
        assert t.d is not None
        return label is None or label(t.d.relations[m - 1])

    if sign in ("<", "<<"):
        first = slice(0, 1 if sign == "<" else None)
        return lambda t, k: [t.leaves[t.heads[m - 1]] for m in list(_arcs_up(t, k))[first] if has(t, m)]
    reach = _ARCS[sign]
    return lambda t, k: (other for other in reach(t, k) if has(t, t.words[other]))


# ------------------------------------------------------------------------------------------ from pattern to test


class _Compiler:
    """Turns nodes and relations into tests, or, where something is named, into ways in which they hold."""

    def test(self, node: Node) -> Test:
        """Whether a node of a sentence is this one."""
        own = self.own(node)
        if node.relations is None:
            return own
        related = self.relation_test(node.relations)
        return lambda t, k: own(t, k) and related(t, k)

    def own(self, node: Node) -> Test:
        """The test of a node without its relations."""
        test = self._inner(node)
        if node.negated:
            return (
                (lambda t, k: bool(t.words[k]) and not test(t, k))
                if node.is_word
                else lambda t, k: not test(t, k)
            )
        return test

    def _inner(self, node: Node) -> Test:
        if node.inner is not None:
            return self.test(node.inner)
        if node.words is not None:
            return self._word(node)
        if node.any:
            return lambda t, k: True
        if all(label.values for label in node.labels):
            values = frozenset().union(*(label.values for label in node.labels))
            return lambda t, k: t.labels[k] in values
        labels = node.labels
        return lambda t, k: any(label(t.labels[k]) for label in labels)

    def _word(self, node: Node) -> Test:
        tests = [(ATTRIBUTES.get(name, ""), name, value) for name, value in node.words or ()]

        def test(t: Nodes, k: int) -> bool:
            m = t.words[k]
            if not m or (node.is_root and t.heads[m - 1]):
                return False
            for column, name, value in tests:
                if column in ("words", "tags"):
                    own = getattr(t.tree, column)[m - 1]
                elif column:
                    own = getattr(t.d, column)[m - 1]
                else:
                    features: str = getattr(t.d, "features")[m - 1]  # noqa: B009
                    pairs = (pair.partition("=") for pair in features.split("|"))
                    own = next((given for feature, _, given in pairs if feature == name), "")
                if not value(own):
                    return False
            return True

        return test

    def relation_test(self, relations: Relations | Relation) -> Test:
        """Whether relations hold."""
        if isinstance(relations, Relation):
            reach, test = _reach(relations), self.test(relations.node)
            return lambda t, k: any(test(t, other) for other in reach(t, k))
        parts = [self.relation_test(part) for part in relations.parts]
        if len(parts) == 1:
            (only,) = parts
            return (lambda t, k: not only(t, k)) if relations.sign == "!" else only
        if relations.sign == "&":
            return lambda t, k: all(part(t, k) for part in parts)
        return lambda t, k: any(part(t, k) for part in parts)

    def ways(self, node: Node) -> Ways:
        """The ways in which a node of a sentence is this one, each as the names that are known then."""
        if not node.has_names:
            test = self.test(node)
            return lambda t, k, names: iter([names] if test(t, k) else [])
        own: Ways
        if node.inner is not None and node.inner.has_names and not node.negated:
            own = self.ways(node.inner)
        elif node.same:
            own = lambda t, k, names: iter([names] if (names.get(node.same) == k) != node.negated else [])  # noqa: E731
        else:
            test = self.own(node)
            own = lambda t, k, names: iter([names] if test(t, k) else [])  # noqa: E731
        related = None if node.relations is None else self.relation_ways(node.relations)
        name = node.name

        def ways(t: Nodes, k: int, names: Names) -> Iterator[Names]:
            if name and names.get(name, k) != k:
                return
            for known in own(t, k, names):
                more = {**known, name: k} if name else known
                if related is None:
                    yield more
                else:
                    yield from related(t, k, more)

        return ways

    def relation_ways(self, relations: Relations | Relation) -> Ways:
        """The ways in which relations hold."""
        if not relations.has_names:
            test = self.relation_test(relations)
            return lambda t, k, names: iter([names] if test(t, k) else [])
        if isinstance(relations, Relation):
            reach, node = _reach(relations), self.ways(relations.node)
            return lambda t, k, names: (way for other in reach(t, k) for way in node(t, other, names))
        parts = [self.relation_ways(part) for part in relations.parts]
        if relations.sign == "!":
            return lambda t, k, names: iter([] if any(True for _ in parts[0](t, k, names)) else [names])
        if relations.sign == "|":
            return lambda t, k, names: (way for part in parts for way in part(t, k, names))

        def all_of(t: Nodes, k: int, names: Names) -> Iterator[Names]:
            found: Iterable[Names] = [names]
            for part in parts:
                found = [way for known in found for way in part(t, k, known)]
            yield from found

        return all_of
