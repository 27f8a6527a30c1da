"""Head-percolation tables: from constituents to dependencies by rules that people wrote.

A head table says which child heads each kind of constituent. The head word of a constituent is that of its head
child, and the head words of the other children attach to it. The classical tables for English ("ptb") and Chinese
("ctb") come with the package as text files; their format is described at the top of head_table_ptb.txt, so that a
table for another treebank can be written in an editor.
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
"""Where to begin, "left" or "right", and ranks of labels: the first that occurs wins; no ranks: any but punctuation."""
ArcRule = tuple[str, tuple[tuple[str, frozenset[str]], ...]]
"""A relation, and its conditions on labels of "parent", "head" and "child" and the child's "side": all must hold."""


def _is_among(label: str, labels: frozenset[str]) -> bool:
    """Whether a label, which may carry function tags, is one of these."""
    ways = strip_function(label), *(f"-{tag}" for tag in function_tags(label))
    return label in labels or not labels.isdisjoint(ways)


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
        """A table inside the package: "ptb" or "ctb". `arcspan.treebanks.load_rules` reads one from a file."""
        if name not in TABLES:
            what = f"no head table {name!r} in the package, which has {', '.join(TABLES)}"
            raise TreeError(f"{what}; arcspan.treebanks.load_rules reads rules from a file")
        text = files(__package__).joinpath(f"head_table_{name}.txt").read_text(encoding="utf-8")
        return HeadRules.parse(text, name=name)

    @classmethod
    def parse(cls, text: str, *, name: str = "head table") -> HeadRules:
        """Read a table from text, in the format that head_table_ptb.txt describes."""
        heads: dict[str, tuple[HeadRule, ...]] = {}
        sets: dict[str, frozenset[str]] = {"punctuation": frozenset(), "coordination": frozenset()}
        relations: list[ArcRule] = []
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
                what = f"{line.strip()!r} is not a statement of a head table: {error}"
                raise FileError(what, path=name, line=number) from error
        if not heads:
            raise FileError("the head table has no head rules", path=name)
        return cls(heads, sets["punctuation"], sets["coordination"], tuple(relations), root, name)

    def head_child(self, parent: str, labels: Sequence[str]) -> int:
        """The index of the head child of a constituent `parent` whose children have these labels."""
        labels = [strip_function(label) for label in labels]
        rules = self.heads.get(strip_function(parent)) or self.heads.get("*") or ()
        for side, ranks in (*rules, ("left", ())):
            order = range(len(labels)) if side == "left" else range(len(labels) - 1, -1, -1)
            allowed = ranks or [set(labels) - self.punctuation]
            head = next(
                (index for rank in allowed for index in order if labels[index] in rank), None
            )
            if head is not None:
                break
        else:
            return 0  # nothing but punctuation
        if (
            head < 2
            or labels[head - 1] not in self.coordination
            or labels[head - 2] in self.punctuation
        ):
            return head
        return head - 2

    def relation(self, parent: str, head: str, child: str, side: str) -> str:
        """The relation of a child to its head child; "dep" where the table has no line for it."""
        place = {"parent": parent, "head": head, "child": child, "side": side}
        for relation, conditions in self.relations:
            if all(_is_among(place[key], labels) for key, labels in conditions):
                return relation
        return "dep"

    def convert(self, tree: ConstituencyTree) -> DependencyTree:
        """The dependency tree that the table gives; it is always compatible with `tree`."""
        tree = tree.without_wrapper()
        nodes, _, children = units(tree)
        n = len(tree)
        heads, relations = [0] * n, [self.root] * n
        # A word is its own head word; a constituent's is set after its children's.
        head_words = [j for _, j, _ in nodes]
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
                    side = "left" if child < head else "right"
                    heads[m - 1] = head_words[head]
                    relations[m - 1] = self.relation(parent, labels[head], labels[child], side)
        return DependencyTree(heads, relations, tree.words, tree.tags)


def _head_rules(words: Iterable[str]) -> list[HeadRule]:
    rules: list[HeadRule] = []
    for part in " ".join(words).split(" ; "):
        direction, *labels = part.split() or [""]
        if direction not in ("left", "right"):
            raise ValueError(f"a rule begins with 'left' or 'right', not {direction!r}")
        ranks = (
            [frozenset(rank.split()) for rank in " ".join(labels).split(" > ")] if labels else []
        )
        if any(not rank or rank & {">", ";"} for rank in ranks):
            raise ValueError("a rank without labels")
        rules.append((direction, tuple(ranks)))
    return rules


def _relation_rule(words: Sequence[str]) -> ArcRule:
    if not words:
        raise ValueError("a relation needs a name")
    name, *conditions = words
    values: dict[str, frozenset[str]] = {}
    for condition in conditions:
        key, _, value = condition.partition("=")
        if key not in ("parent", "head", "child", "side") or not value or key in values:
            raise ValueError(
                f"a condition is parent=, head=, child= or side=, each once, not {condition!r}"
            )
        if key == "side" and value not in ("left", "right"):
            raise ValueError(f"side is left or right, not {value!r}")
        values[key] = frozenset(value.split("|"))
    return name, tuple(values.items())


def convert(tree: ConstituencyTree, rules: str | HeadRules = "ptb") -> DependencyTree:
    """The dependency tree that a head table makes of a constituency tree; always projective and compatible with it.

    `rules` are the name of a table in the package ("ptb", "ctb"), or a table that `arcspan.treebanks.load_rules` read
    from a file.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (NN role))))")
    >>> convert(tree, "ptb").heads
    (2, 0, 4, 2)
    """
    return (HeadRules.load(rules) if isinstance(rules, str) else rules).convert(tree)
