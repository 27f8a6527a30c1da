"""Head-percolation tables: from constituents to dependencies by rules that people wrote.

A head table says which child heads each kind of constituent. The head word of a constituent is that
of its head child, and the head words of the other children attach to it. The classical tables for
English ("ptb") and Chinese ("ctb") come with the package as text files; their format is described
at the top of head_table_ptb.txt, so that a table for another treebank can be written in an editor.
Files other than these two are read in `treebanks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from arcspan.errors import FileError, TreeError
from arcspan.trees.constituency import ConstituencyTree, function_tags, strip_function, units
from arcspan.trees.dependency import DependencyTree

TABLES = ("ptb", "ctb")
"""The names of the head tables inside the package."""

HeadRule = tuple[str, tuple[frozenset[str], ...]]
"""The side to begin at, "left" or "right", and ranks of labels: the first that occurs wins.

No ranks stand for any label but punctuation."""
ArcRule = tuple[str, tuple[tuple[str, frozenset[str]], ...]]
"""A relation, and its conditions on "parent", "head", "child" and "side": all must hold."""

_ANY_CHILD: HeadRule = ("left", ())


@dataclass(frozen=True)
class HeadRules:
    """A head-percolation table.

    >>> rules = HeadRules.load("ptb")
    >>> rules.head_child("NP", ["DT", "JJ", "NN", "PP"])
    2
    """

    heads: dict[str, tuple[HeadRule, ...]]
    punctuation: frozenset[str] = frozenset()
    coordination: frozenset[str] = frozenset()
    relations: tuple[ArcRule, ...] = ()
    root: str = "root"
    name: str = field(default="", compare=False)

    @staticmethod
    @cache
    def load(name: str) -> HeadRules:
        """Load a table of the package, "ptb" or "ctb"."""
        if name not in TABLES:
            raise TreeError(
                f"no head table {name!r} in the package, which has {', '.join(TABLES)}; "
                "arcspan.treebanks.load_rules reads rules from a file"
            )
        text = files(__package__).joinpath(f"head_table_{name}.txt").read_text(encoding="utf-8")
        return HeadRules.parse(text, name=name)

    @classmethod
    def parse(cls, text: str, *, name: str = "head table") -> HeadRules:
        """Read a table from text, in the format that head_table_ptb.txt describes."""
        heads: dict[str, tuple[HeadRule, ...]] = {}
        label_sets: dict[str, frozenset[str]] = {
            "punctuation": frozenset(),
            "coordination": frozenset(),
        }
        relations: list[ArcRule] = []
        root = "root"
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            statement, *words = line.split()
            try:
                if statement == "head":
                    label, *rules = words
                    heads[label] = _head_rules(rules)
                elif statement in label_sets:
                    label_sets[statement] |= frozenset(words)
                elif statement == "relation":
                    relations.append(_relation_rule(words))
                elif statement == "root":
                    (root,) = words
                else:
                    raise ValueError(f"unknown statement {statement!r}")
            except ValueError as error:  # also from unpacking too few or too many words
                message = f"{line.strip()!r} is not a statement of a head table: {error}"
                raise FileError(message, path=name, line=number) from error
        if not heads:
            raise FileError("the head table has no head rules", path=name)
        return cls(heads, **label_sets, relations=tuple(relations), root=root, name=name)

    def head_child(self, parent: str, labels: Sequence[str]) -> int:
        """Return the index of the head child, by the parent's and the children's labels."""
        labels = [strip_function(label) for label in labels]
        rules = self.heads.get(strip_function(parent)) or self.heads.get("*") or ()
        for rule in (*rules, _ANY_CHILD):
            head = self._match(rule, labels)
            if head is not None:
                break
        else:
            return 0  # all children are punctuation
        # The head of a coordination is the conjunct before its conjunction.
        if head >= 2 and labels[head - 1] in self.coordination:
            return head if labels[head - 2] in self.punctuation else head - 2
        return head

    def _match(self, rule: HeadRule, labels: Sequence[str]) -> int | None:
        """Return the index of the child that the rule takes."""
        side, ranks = rule
        order = range(len(labels))
        for rank in ranks or [set(labels) - self.punctuation]:
            for index in order if side == "left" else reversed(order):
                if labels[index] in rank:
                    return index
        return None

    def relation(self, parent: str, head: str, child: str, side: str) -> str:
        """Return the relation of a child to its head child; "dep" if no line of the table holds."""
        labels = {"parent": parent, "head": head, "child": child, "side": side}
        for relation, conditions in self.relations:
            if all(_is_among(labels[key], allowed) for key, allowed in conditions):
                return relation
        return "dep"

    def convert(self, tree: ConstituencyTree) -> DependencyTree:
        """Convert a constituency tree to a dependency tree that is compatible with it."""
        tree = tree.without_wrapper()
        nodes, _, children = units(tree)
        heads = [0] * len(tree)
        relations = [self.root] * len(tree)
        # A word is its own head word; a constituent's is set after its children's.
        head_words = [j for _, j, _ in nodes]
        labels = [tree.tags[i] for i, _, _ in nodes]
        for node in range(len(nodes) - 1, -1, -1):
            chain = nodes[node][2]
            if chain:
                labels[node] = chain[0]
            below = children[node]
            if not below:
                continue
            # The children are those of the innermost label of a unary chain.
            parent = chain[-1]
            head = below[self.head_child(parent, [labels[child] for child in below])]
            head_words[node] = head_words[head]
            for child in below:
                if child != head:
                    index = head_words[child] - 1
                    side = "left" if child < head else "right"
                    heads[index] = head_words[head]
                    relations[index] = self.relation(parent, labels[head], labels[child], side)
        return DependencyTree(heads, relations, tree.words, tree.tags)


def _is_among(label: str, allowed: frozenset[str]) -> bool:
    """Return True if a label, which may carry function tags, is one of the allowed labels."""
    if label in allowed or strip_function(label) in allowed:
        return True
    return any(f"-{tag}" in allowed for tag in function_tags(label))


def _head_rules(words: Iterable[str]) -> tuple[HeadRule, ...]:
    """Read the rules of a `head` statement: directions with ranks of labels, between ";"."""
    rules: list[HeadRule] = []
    for rule in " ".join(words).split(" ; "):
        direction, _, labels = rule.strip().partition(" ")
        if direction not in ("left", "right"):
            raise ValueError(f"a rule begins with 'left' or 'right', not {direction!r}")
        ranks = [frozenset(rank.split()) for rank in labels.split(" > ") if labels]
        if any(not rank or rank & {">", ";"} for rank in ranks):
            raise ValueError("a rank without labels")
        rules.append((direction, tuple(ranks)))
    return tuple(rules)


def _relation_rule(words: Sequence[str]) -> ArcRule:
    """Read a `relation` statement: a name and conditions such as "child=NP|-SBJ"."""
    if not words:
        raise ValueError("a relation needs a name")
    name, *conditions = words
    allowed: dict[str, frozenset[str]] = {}
    for condition in conditions:
        key, _, labels = condition.partition("=")
        if key not in ("parent", "head", "child", "side") or not labels or key in allowed:
            raise ValueError(
                f"a condition is parent=, head=, child= or side=, each once, not {condition!r}"
            )
        if key == "side" and labels not in ("left", "right"):
            raise ValueError(f"side is left or right, not {labels!r}")
        allowed[key] = frozenset(labels.split("|"))
    return name, tuple(allowed.items())


def convert(tree: ConstituencyTree, rules: str | HeadRules = "ptb") -> DependencyTree:
    """Convert a constituency tree to a compatible dependency tree by a head table.

    `rules` are the name of a table in the package ("ptb", "ctb"), or a table that
    `arcspan.treebanks.load_rules` read from a file.

    >>> text = "(S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (NN role))))"
    >>> tree = ConstituencyTree.from_brackets(text)
    >>> convert(tree, "ptb").heads
    (2, 0, 4, 2)
    """
    return (HeadRules.load(rules) if isinstance(rules, str) else rules).convert(tree)
