"""From constituents to dependencies: head-percolation tables, and one `convert` for them and for learnt rules.

A head table says which child heads each kind of constituent. The head word of a constituent is that of its head
child, and the head words of the other children attach to it. The classical tables for English ("ptb") and Chinese
("ctb") come with the package as text files; their format is described at the top of head_table_ptb.txt, so that a
table for another treebank can be written in an editor. Rules learnt from a paired treebank are in `learnt`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from arcspan.errors import FileError
from arcspan.trees.constituency import ConstituencyTree, strip_function, units
from arcspan.trees.dependency import DependencyTree
from arcspan.trees.learnt import LearntRules, learn_rules

__all__ = [
    "TABLES",
    "HeadRule",
    "HeadRules",
    "LearntRules",
    "RelationRule",
    "convert",
    "learn_rules",
    "load_rules",
]

TABLES = ("ptb", "ctb")
"""The names of the head tables inside the package."""


@dataclass(frozen=True)
class HeadRule:
    """Look for a child from one side: ranks of labels, of which the first that occurs wins; no ranks: any child."""

    direction: Literal["left", "right"]
    ranks: tuple[frozenset[str], ...] = ()

    def find(self, labels: Sequence[str], allowed: Sequence[int]) -> int | None:
        """The index, among those `allowed`, of the child that the rule finds.

        >>> HeadRule("right", (frozenset({"NN", "NNS"}),)).find(["DT", "NN", "NNS", "PP"], [0, 1, 2, 3])
        2
        """
        order = allowed if self.direction == "left" else list(reversed(allowed))
        if not self.ranks:
            return order[0] if order else None
        for rank in self.ranks:
            for index in order:
                if labels[index] in rank:
                    return index
        return None


@dataclass(frozen=True)
class RelationRule:
    """Give a relation where all conditions hold; an empty set of labels is no condition."""

    relation: str
    parent: frozenset[str] = frozenset()
    head: frozenset[str] = frozenset()
    child: frozenset[str] = frozenset()
    side: str = ""

    def holds(self, parent: str, head: str, child: str, side: str) -> bool:
        """Whether the rule is about this child of this constituent. Labels may carry function tags."""
        return (
            (not self.side or self.side == side)
            and _is_among(child, self.child)
            and _is_among(parent, self.parent)
            and _is_among(head, self.head)
        )


def _is_among(label: str, labels: frozenset[str]) -> bool:
    if not labels or label in labels:
        return True
    base = strip_function(label)
    return base != label and (base in labels or any(f"-{mark}" in labels for mark in _marks(label, base)))


def _marks(label: str, base: str) -> list[str]:
    return label[len(base) :].replace("=", "-").split("-")[1:]


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
    relations: tuple[RelationRule, ...] = ()
    root: str = "root"
    name: str = field(default="", compare=False)

    @classmethod
    def load(cls, source: str | os.PathLike[str]) -> HeadRules:
        """Read a table: "ptb" or "ctb" inside the package, or the path of a file in the same format."""
        if source in TABLES:
            return _packaged(str(source))
        try:
            text = Path(source).read_text(encoding="utf-8")
        except OSError as error:
            known = ", ".join(TABLES)
            raise FileError(
                f"no such head table: {error.strerror} (tables by name: {known})", path=source
            ) from error
        except UnicodeDecodeError as error:
            raise FileError(f"not a text in UTF-8: {error.reason}", path=source) from error
        return cls.parse(text, name=str(source))

    @classmethod
    def parse(cls, text: str, *, name: str = "head table") -> HeadRules:
        """Read a table from text, in the format that head_table_ptb.txt describes."""
        heads: dict[str, tuple[HeadRule, ...]] = {}
        sets: dict[str, frozenset[str]] = {"punctuation": frozenset(), "coordination": frozenset()}
        relations: list[RelationRule] = []
        root = "root"
        for number, line in enumerate(text.splitlines(), start=1):
            statement, *rest = line.split() or ["#"]
            try:
                if statement.startswith("#"):
                    continue
                if statement == "head":
                    label, *words = rest
                    heads[label] = tuple(_head_rules(words))
                elif statement in sets:
                    sets[statement] |= frozenset(rest)
                elif statement == "relation":
                    relations.append(_relation_rule(rest))
                elif statement == "root":
                    (root,) = rest
                else:
                    raise ValueError(f"unknown statement {statement!r}")
            except ValueError as error:
                raise FileError(
                    f"{line.strip()!r} is no statement of a head table: {error}", path=name, line=number
                ) from error
        if not heads:
            raise FileError("the head table has no head rules", path=name)
        return cls(heads, sets["punctuation"], sets["coordination"], tuple(relations), root, name)

    def head_child(self, parent: str, labels: Sequence[str]) -> int:
        """The index of the head child of a constituent `parent` whose children have these labels."""
        labels = [strip_function(label) for label in labels]
        every = range(len(labels))
        allowed = [index for index in every if labels[index] not in self.punctuation] or list(every)
        rules = self.heads.get(strip_function(parent)) or self.heads.get("*") or ()
        found = next((index for rule in rules if (index := rule.find(labels, allowed)) is not None), None)
        head = allowed[0] if found is None else found
        if head >= 2 and labels[head - 1] in self.coordination and head - 2 in allowed:
            head -= 2
        return head

    def relation(self, parent: str, head: str, child: str, side: Literal["left", "right"]) -> str:
        """The relation of a child to its head child; "dep" where the table has no line for it."""
        for rule in self.relations:
            if rule.holds(parent, head, child, side):
                return rule.relation
        return "dep"

    def convert(self, tree: ConstituencyTree) -> DependencyTree:
        """The dependency tree that the table gives; it is always compatible with `tree`."""
        tree = tree.without_wrapper()
        nodes, _, children = units(tree)
        n = len(tree)
        heads, relations = [0] * n, [self.root] * n
        head_words = [
            j for _, j, _ in nodes
        ]  # a word is its own; a constituent's is set once its children's are
        labels = [chain[0] if chain else tree.tags[i] for i, _, chain in nodes]
        for node in range(len(nodes) - 1, -1, -1):
            below = children[node]
            if not below:
                continue
            parent = nodes[node][2][-1]
            head = below[self.head_child(parent, [labels[child] for child in below])]
            head_words[node] = head_words[head]
            for child in below:
                if child != head:
                    m = head_words[child]
                    side: Literal["left", "right"] = "left" if child < head else "right"
                    heads[m - 1] = head_words[head]
                    relations[m - 1] = self.relation(parent, labels[head], labels[child], side)
        return DependencyTree._trusted(tuple(heads), tuple(relations), tree.words, tree.tags, ("",) * n)


@cache
def _packaged(name: str) -> HeadRules:
    text = files("arcspan.trees").joinpath(f"head_table_{name}.txt").read_text(encoding="utf-8")
    return HeadRules.parse(text, name=name)


def _head_rules(words: Iterable[str]) -> list[HeadRule]:
    rules: list[HeadRule] = []
    for part in " ".join(words).split(" ; "):
        direction, *labels = part.split() or [""]
        if direction not in ("left", "right"):
            raise ValueError(f"a rule begins with 'left' or 'right', not {direction!r}")
        ranks = [frozenset(rank.split()) for rank in " ".join(labels).split(" > ")] if labels else []
        if any(not rank or rank & {">", ";"} for rank in ranks):
            raise ValueError("a rank without labels")
        rules.append(HeadRule("left" if direction == "left" else "right", tuple(ranks)))
    return rules


def _relation_rule(words: Sequence[str]) -> RelationRule:
    if not words:
        raise ValueError("a relation needs a name")
    name, *conditions = words
    values: dict[str, str] = {}
    for condition in conditions:
        key, equals, value = condition.partition("=")
        if key not in ("parent", "head", "child", "side") or not equals or not value or key in values:
            raise ValueError(f"a condition is parent=, head=, child= or side=, each once, not {condition!r}")
        values[key] = value
    side = values.pop("side", "")
    if side not in ("", "left", "right"):
        raise ValueError(f"side is left or right, not {side!r}")
    return RelationRule(
        name, side=side, **{key: frozenset(value.split("|")) for key, value in values.items()}
    )


def load_rules(source: str | os.PathLike[str]) -> HeadRules | LearntRules:
    """Rules by name ("ptb", "ctb") or from a file: learnt rules (.json) or a head table (any other)."""
    if str(source).endswith(".json"):
        return LearntRules.load(source)
    return HeadRules.load(source)


def convert(
    tree: ConstituencyTree, rules: str | os.PathLike[str] | HeadRules | LearntRules = "ptb"
) -> DependencyTree:
    """The dependency tree that rules make of a constituency tree; always projective and compatible with it.

    `rules` are the name of a table ("ptb", "ctb"), the path of a table or of learnt rules (.json), or either loaded.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (NN role))))")
    >>> convert(tree, "ptb").heads
    (2, 0, 4, 2)
    """
    loaded = rules if isinstance(rules, HeadRules | LearntRules) else load_rules(rules)
    return loaded.convert(tree)
