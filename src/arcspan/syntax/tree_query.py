"""Queries over both trees: a pattern is compiled once and then matched against any number of
sentences.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from math import inf
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.syntax.nodes import NodeTable
from arcspan.syntax.pattern import (
    ATTRIBUTES,
    Pattern,
    PatternNode,
    Relation,
    Relations,
    required,
)
from arcspan.syntax.sentence import Phrase, SentenceText, plain
from arcspan.trees import ConstituencyTree, DependencyTree, HeadRules

# Steps that a match costs.
_MATCH = 10

Names = dict[str, int]
"""The node of each name."""


@dataclass(eq=False, repr=False)
class Match(Phrase):
    """A constituent, tag or word that a query matches.

    label     of the constituent or tag; of a word in braces, its relation, or its form without
              dependencies
    word      the position of the word, 0 for a constituent
    names     the nodes that the query names, each a match
    position  of its head word, 0 if the trees do not tell it
    """

    _fields_before = ("label", "word")

    label: str
    word: int
    names: dict[str, Match] = field(default_factory=dict)

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        fields = super().to_dict(probabilities=probabilities)
        if self.names:
            fields["names"] = {
                name: plain(match, probabilities) for name, match in self.names.items()
            }
        return fields

    def __repr__(self) -> str:
        return f"Match({self.label}, {self.text!r})"


class TreeQuery:
    """A pattern over constituents, words, or both.

    names     the names of its nodes
    layers    the trees that it needs: "constituency", "dependency"
    literals  the values that it compares with, by attribute; "label" for those of constituents

    `heads`: the rules that say which child heads a constituent; by default the dependency tree says
    it, and without one the table "ptb". `steps`: how many steps from node to node a sentence may
    take before ArcspanError is raised; a pattern that says little about its nodes takes a power of
    their number.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NP (NN fish)) (PP (IN in) (NN oil))) (VP (VBZ smells)))")
    >>> TreeQuery("NP < PP").find(tree)
    [Match(NP, 'fish in oil')]
    >>> arcs = DependencyTree([4, 3, 1, 0], ["nsubj", "case", "nmod", "root"], tree.words, tree.tags)
    >>> TreeQuery("NP <# ({}=noun <nsubj {tag:VBZ}=verb)").find(tree, arcs)[0].names
    {'noun': Match(nsubj, 'fish'), 'verb': Match(root, 'smells')}
    """

    def __init__(self, pattern: str, *, heads: HeadRules | None = None, steps: float = inf) -> None:
        parsed = Pattern(pattern)
        self.pattern = pattern
        self.literals = parsed.literals
        self.layers = parsed.layers
        self.names = tuple(parsed.names)
        self._heads = heads
        self._steps = steps
        self._node = parsed.node
        self._further = parsed.further
        self._required = list(required(parsed.node))

    def find(
        self,
        constituency: ConstituencyTree | DependencyTree | None = None,
        dependencies: DependencyTree | None = None,
        **text_options: Any,
    ) -> list[Match]:
        """Return the matches in a sentence of one tree or two, in the order of their nodes from the
        top.

        There is one match for each choice of named nodes. `text_options` are those of `Syntax`:
        tokens, text, offsets.
        """
        if isinstance(constituency, DependencyTree):
            constituency, dependencies = None, constituency
        if constituency is None and "constituency" in self.layers:
            raise ArcspanError("the query asks for constituents, which are not there")
        if dependencies is None and "dependency" in self.layers:
            raise ArcspanError("the query asks for dependencies, which are not there")
        nodes, ways = self._search(constituency, dependencies)
        if nodes is None or not ways:
            return []
        text = SentenceText(nodes.tree.words, **text_options)
        return [_match(nodes, text, k, names) for k, names in ways]

    def count(
        self,
        constituency: ConstituencyTree | None = None,
        dependencies: DependencyTree | None = None,
    ) -> int:
        """Return the number of matches."""
        return len(self._search(constituency, dependencies)[1])

    def _can_match(self, c: ConstituencyTree | None, d: DependencyTree | None) -> bool:
        """Return False for a sentence without values that every match has, which saves its node
        table.
        """
        for attribute, values in self._required:
            column: Iterable[str] = ()
            if attribute == "label":
                if c is not None:
                    column = chain((label for _, _, label in c.spans), c.tags, c.words)
            elif d is None:
                continue
            else:
                column = getattr(d, ATTRIBUTES[attribute])
            if values.isdisjoint(column):
                return False
        return True

    def _search(
        self, c: ConstituencyTree | None, d: DependencyTree | None
    ) -> tuple[NodeTable | None, list[tuple[int, Names]]]:
        """Return the nodes of the sentence, and each match as its node and the named nodes."""
        if not self._can_match(c, d):
            return None, []
        nodes = NodeTable(c, d, self._heads, self._steps)
        labels = self._node.label_set
        matches: dict[tuple[Any, ...], tuple[int, Names]] = {}
        for k, label in enumerate(nodes.labels):
            if labels is not None and label not in labels:
                continue
            ways = _node_ways(nodes, self._node, k, {})
            for name, relations in self._further:
                ways = [
                    way
                    for names in ways
                    for way in _relations_ways(nodes, relations, names[name], names)
                ]
            if ways:
                nodes.spend(_MATCH * len(ways))
            for names in ways:
                matches.setdefault((k, *sorted(names.items())), (k, names))
        return nodes, list(matches.values())

    def __repr__(self) -> str:
        return f"TreeQuery({self.pattern!r})"


@lru_cache(maxsize=256)
def compiled(pattern: str) -> TreeQuery:
    """Return a query, compiled at its first use."""
    return TreeQuery(pattern)


def _match(nodes: NodeTable, text: SentenceText, k: int, names: Names) -> Match:
    word = nodes.words[k]
    label = nodes.labels[k]
    if word and nodes.d is not None:
        label = nodes.d.relations[word - 1]
    named_nodes = {name: _match(nodes, text, node, {}) for name, node in names.items()}
    return Match(
        text, (nodes.left[k], nodes.right[k]), nodes.head_word(k), label, word, named_nodes
    )


def _node_ways(t: NodeTable, node: PatternNode, k: int, names: Names) -> list[Names]:
    """Return the ways in which a node of a pattern matches one of the sentence; none if it does
    not.

    A way is the named nodes so far and those that the pattern node and its relations name.
    """
    # Most nodes fail here.
    if node.label_set is not None and t.labels[k] not in node.label_set:
        return []
    if node.name:
        # A name is that of one node.
        if names.get(node.name, k) != k:
            return []
        names = names | {node.name: k}
    if node.inner is None:
        ways = [names] if _passes(t, node, k, names) else []
    else:
        ways = _node_ways(t, node.inner, k, names)
    if node.negated:
        # !{lemma:be} is another word and no constituent.
        is_excluded = node.is_word and not t.words[k]
        ways = [] if ways or is_excluded else [names]
    if node.relations is not None and ways:
        if len(ways) == 1:
            return _relations_ways(t, node.relations, k, ways[0])
        ways = [way for before in ways for way in _relations_ways(t, node.relations, k, before)]
    return ways


def _passes(t: NodeTable, node: PatternNode, k: int, names: Names) -> bool:
    """Return True if a node passes the tests of a pattern node, its relations aside."""
    if node.same:
        return names.get(node.same) == k
    if node.is_word:
        m = t.words[k]
        if not m or (node.is_root and t.heads[m - 1]):
            return False
        for name, expression in node.words:
            value = _attribute(t, m, name)
            if not t.passes(expression, value):
                return False
        return True
    if node.any or node.label_set is not None:
        return True
    return any(t.passes(label, t.labels[k]) for label in node.labels)


def _attribute(t: NodeTable, m: int, name: str) -> str:
    """Return the value of a word's attribute, or of a feature such as Number; "" without one."""
    # A constituency tree has words and tags, too.
    tree: Any = t.tree if name in ("word", "tag") else t.d
    if name in ATTRIBUTES:
        return getattr(tree, ATTRIBUTES[name])[m - 1]  # type: ignore[no-any-return]
    for pair in tree.features[m - 1].split("|"):
        feature, _, value = pair.partition("=")
        if feature == name:
            return value  # type: ignore[no-any-return]
    return ""


def _relations_ways(
    t: NodeTable, relations: Relations | Relation, k: int, names: Names
) -> list[Names]:
    """Return the ways in which relations hold of a node."""
    if isinstance(relations, Relation):
        return _relation_ways(t, relations, k, names)
    if relations.sign == "!":
        return [] if _relations_ways(t, relations.parts[0], k, names) else [names]
    if relations.sign == "|":
        return [way for part in relations.parts for way in _relations_ways(t, part, k, names)]
    ways = [names]
    for part in relations.parts:
        ways = [way for before in ways for way in _relations_ways(t, part, k, before)]
    return ways


def _relation_ways(t: NodeTable, relation: Relation, k: int, names: Names) -> list[Names]:
    ways: list[Names] = []
    steps = 1
    for other in relation.reach(t, k):
        steps += 1
        ways += _node_ways(t, relation.node, other, names)
        # Of nodes without names it only matters if there is one.
        if ways and not relation.has_names:
            break
    t.spend(steps)
    return ways
