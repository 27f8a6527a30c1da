"""Queries over both trees: a pattern is compiled once and then asked of any number of sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from math import inf
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.syntax.nodes import NodeTable, reach_of
from arcspan.syntax.pattern import (
    ATTRIBUTES,
    Pattern,
    PatternNode,
    Relation,
    Relations,
    label_set,
    needed,
)
from arcspan.syntax.sentence import Phrase, Range, Text
from arcspan.trees import ConstituencyTree, DependencyTree, HeadRules

_MATCH = 10  # steps that a match costs

Names = dict[str, int]
Ways = Callable[[NodeTable, int, Names], list[Names]]
"""The ways in which something holds of a node, each as the names that are known then; none where it does not hold."""


class Match(Phrase):
    """Where a query fits.

    label     of the constituent or tag; of a word in braces, its relation, or its form without dependencies
    word      the position of the word, 0 for a constituent
    names     the nodes that the query names, each a match
    position  of its head word, 0 where the trees do not tell it
    """

    _before = ("label", "word")

    def __init__(self, sentence: Text, span: Range, position: int, label: str, word: int) -> None:
        super().__init__(sentence, span, position)
        self.label, self.word = label, word
        self.names: dict[str, Match] = {}

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        names = {
            name: match.to_dict(probabilities=probabilities) for name, match in self.names.items()
        }
        return super().to_dict(probabilities=probabilities) | ({"names": names} if names else {})

    def __repr__(self) -> str:
        return f"Match({self.label}, {self.text!r})"


class Query:
    """A pattern over constituents, words, or both.

    names     the names of its nodes
    layers    which trees it asks for: "constituency", "dependency"
    literals  the values that it compares with, by attribute; "label" for those of constituents

    `heads`: the rules that say which child heads a constituent; None asks the dependency tree where there is one, and
    the table "ptb" where there is none. `steps`: how many steps from node to node a sentence may
    take before it is an ArcspanError; a pattern that says little about its nodes takes a power of their number.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NP (NN fish)) (PP (IN in) (NN oil))) (VP (VBZ smells)))")
    >>> Query("NP < PP").find(tree)
    [Match(NP, 'fish in oil')]
    >>> arcs = DependencyTree([4, 3, 1, 0], ["nsubj", "case", "nmod", "root"], tree.words, tree.tags)
    >>> Query("NP <# ({}=noun <nsubj {tag:VBZ}=verb)").find(tree, arcs)[0].names
    {'noun': Match(nsubj, 'fish'), 'verb': Match(root, 'smells')}
    """

    def __init__(self, pattern: str, *, heads: HeadRules | None = None, steps: float = inf) -> None:
        self.pattern, self._heads, self._steps = pattern, heads, steps
        read = Pattern(pattern)
        self.literals, self.layers, self.names = read.literals, read.layers, tuple(read.names)
        self._needed = [(ATTRIBUTES.get(of, ""), values) for of, values in needed(read.node)]
        self._labels = label_set(read.node)
        self._ways = _node(read.node)
        self._further = [(name, _relations(relations)) for name, relations in read.further]

    def find(
        self,
        constituency: ConstituencyTree | DependencyTree | None = None,
        dependencies: DependencyTree | None = None,
        **of_text: Any,
    ) -> list[Match]:
        """The matches in a sentence of one tree or two; the order is that of the nodes, from the top.

        One match for each choice of named nodes. `of_text` are the options of `TreeIndex`: tokens, text, offsets.
        """
        if isinstance(constituency, DependencyTree):
            constituency, dependencies = None, constituency
        if constituency is None and "constituency" in self.layers:
            raise ArcspanError("the query asks for constituents, which are not there")
        if dependencies is None and "dependency" in self.layers:
            raise ArcspanError("the query asks for dependencies, which are not there")
        nodes, found = self._search(constituency, dependencies)
        if nodes is None or not found:
            return []
        text = Text(nodes.tree.words, **of_text)
        return [_match(nodes, text, node, names) for node, names in found]

    def count(
        self,
        constituency: ConstituencyTree | None = None,
        dependencies: DependencyTree | None = None,
    ) -> int:
        """How many matches there are."""
        return len(self._search(constituency, dependencies)[1])

    def _possible(self, c: ConstituencyTree | None, d: DependencyTree | None) -> bool:
        """Whether the sentence has the values without which nothing can match."""
        for column, values in self._needed:
            if column == "":
                if c is None or values.isdisjoint(
                    chain((label for _, _, label in c.spans), c.tags, c.words)
                ):
                    return False
            elif d is not None and values.isdisjoint(getattr(d, column)):
                return False
        return True

    def _search(
        self, c: ConstituencyTree | None, d: DependencyTree | None
    ) -> tuple[NodeTable | None, list[tuple[int, Names]]]:
        if not self._possible(c, d):
            return None, []
        nodes = NodeTable(c, d, self._heads, self._steps)
        candidates: Iterable[int] = range(len(nodes.labels))
        if (wanted := self._labels) is not None:
            candidates = [k for k, label in enumerate(nodes.labels) if label in wanted]
        found: dict[Any, tuple[int, Names]] = {}
        for k in candidates:
            ways = self._ways(nodes, k, {})
            for name, relations in self._further:
                ways = [more for names in ways for more in relations(nodes, names[name], names)]
            if ways:
                nodes.spend(_MATCH * len(ways))
            for names in ways:
                found.setdefault((k, *sorted(names.items())) if names else k, (k, names))
        return nodes, list(found.values())

    def __repr__(self) -> str:
        return f"Query({self.pattern!r})"


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Query:
    """A query, compiled when it is first asked for."""
    return Query(pattern)


def _match(nodes: NodeTable, text: Text, k: int, names: Names) -> Match:
    word = nodes.words[k]
    label = nodes.d.relations[word - 1] if word and nodes.d is not None else nodes.labels[k]
    found = Match(text, (nodes.left[k], nodes.right[k]), nodes.head_word(k), label, word)
    found.names = {name: _match(nodes, text, node, {}) for name, node in names.items()}
    return found


def _node(node: PatternNode) -> Ways:
    """A node with its name and its relations."""
    own = _inner(node)
    if node.negated:
        own = _negated(own, of_word=node.is_word)
    if not node.name and node.relations is None:
        return own
    name, related = node.name, None if node.relations is None else _relations(node.relations)

    def ways(t: NodeTable, k: int, names: Names) -> list[Names]:
        if name and names.get(name, k) != k:
            return []
        found = own(t, k, names)
        if name:
            found = [{**known, name: k} for known in found]
        if related is not None and found:
            found = [way for known in found for way in related(t, k, known)]
        return found

    return ways


def _negated(ways: Ways, *, of_word: bool = False) -> Ways:
    return lambda t, k, names: [] if (of_word and not t.words[k]) or ways(t, k, names) else [names]


def _inner(node: PatternNode) -> Ways:
    """A node without its own name and relations."""
    if node.inner is not None:
        return _node(node.inner)
    if node.same:
        return lambda t, k, names: [names] if names.get(node.same) == k else []
    if node.is_word:
        return _word(node)
    if node.any:
        return lambda t, k, names: [names]
    if (values := label_set(node)) is not None:
        return lambda t, k, names: [names] if t.labels[k] in values else []
    return lambda t, k, names: [names] if any(label(t.labels[k]) for label in node.labels) else []


def _word(node: PatternNode) -> Ways:
    tests = [(ATTRIBUTES.get(name, ""), name, value) for name, value in node.words]

    def ways(t: NodeTable, k: int, names: Names) -> list[Names]:
        m = t.words[k]
        if not m or (node.is_root and t.heads[m - 1]):
            return []
        for column, name, value in tests:
            own = getattr(t.tree if column in ("words", "tags") else t.d, column or "features")[
                m - 1
            ]
            if not column:
                pairs = (pair.partition("=") for pair in own.split("|"))
                own = next((given for feature, _, given in pairs if feature == name), "")
            if not value(own):
                return []
        return [names]

    return ways


def _relations(relations: Relations | Relation) -> Ways:
    """Relations to other nodes; of nodes without names it only matters whether there is one."""
    if isinstance(relations, Relation):
        reach, node, named = reach_of(relations), _node(relations.node), relations.named

        def related(t: NodeTable, k: int, names: Names) -> list[Names]:
            found: list[Names] = []
            steps = 1
            for other in reach(t, k):
                steps += 1
                found += node(t, other, names)
                if found and not named:
                    break
            t.spend(steps)
            return found

        return related
    parts = [_relations(part) for part in relations.parts]
    if relations.sign == "!":
        return _negated(parts[0])
    if len(parts) == 1:
        return parts[0]
    if relations.sign == "|":
        return lambda t, k, names: [way for part in parts for way in part(t, k, names)]

    def all_of(t: NodeTable, k: int, names: Names) -> list[Names]:
        found = [names]
        for part in parts:
            found = [way for known in found for way in part(t, k, known)]
        return found

    return all_of
