"""Rules from constituents to dependencies, learnt by counting in a paired treebank.

Converting a constituent is three decisions about its children: which one is the head child, to which sibling each
other child attaches (mostly the head child, but not always: in "A, B and C" the last conjunct may attach to the
one before), and by which relation. Each decision is counted in contexts that go from specific (the whole
production, the words) to general (the labels alone), and answered by back-off. Contexts that were seen once, and
contexts that only repeat what the general ones say, are left out, so that saved rules can be read.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from arcspan.errors import TreeError
from arcspan.trees.compatibility import head_words
from arcspan.trees.constituency import ConstituencyTree
from arcspan.trees.conversion.back_off import BackOff, most_first, one_token
from arcspan.trees.conversion.productions import (
    ATTACHMENT_CONTEXTS,
    ATTACHMENT_PRODUCTIONS,
    HEAD_CONTEXTS,
    HEAD_PRODUCTIONS,
    RELATION_CONTEXTS,
    RULE,
    Production,
    Walk,
    attachment_features,
    candidates,
    head_features,
    relation_features,
)
from arcspan.trees.dependency import DependencyTree, is_projective_tree, yields

FORMAT = "arcspan learnt rules"
VERSION = 1
TABLES = {
    "heads": HEAD_CONTEXTS,
    "head_productions": HEAD_PRODUCTIONS,
    "attachments": ATTACHMENT_CONTEXTS,
    "attachment_productions": ATTACHMENT_PRODUCTIONS,
    "relations": RELATION_CONTEXTS,
}
_ALWAYS_KEPT = 4  # the most general contexts stay whole, so that they can be asked what was seen
_LONGEST_PRODUCTION = 12
_COMMON_WORDS = 200  # how many of the commonest words (of the first sentences) can decide on the head child


@dataclass(eq=False, repr=False)
class LearntRules:
    """Rules learnt from pairs of trees: tables of counts, which can be asked, saved and applied.

    `heads` says whether a child is the head child and `head_productions` which child is, in a production seen as a
    whole; `attachments` and `attachment_productions` likewise where the others attach; `relations` by which relation.
    """

    heads: BackOff
    head_productions: BackOff
    attachments: BackOff
    attachment_productions: BackOff
    relations: BackOff
    common_words: frozenset[str] = frozenset()
    root: str = "root"
    sentences: int = 0
    _shapes: dict[Production, tuple[int, tuple[int, ...]]] = field(default_factory=dict, init=False)

    @property
    def relation_counts(self) -> dict[str, dict[str, int]]:
        """Relations, with counts, by the labels "parent head child": of a constituent and two of its children."""
        return self.relations.counts[self.relations.contexts.index(RULE)]

    def seen_relations(self, parent: str, head: str, child: str) -> dict[str, int]:
        """Relations, with counts, seen in constituent `parent` from a child with label `head` to one `child`.

        >>> c = ConstituencyTree.from_brackets("(S (NP (NN dogs)) (VP (VB bark)))")
        >>> rules = learn_rules([(c, DependencyTree([2, 0], ["nsubj", "root"]))])
        >>> rules.seen_relations("S", "VP", "NP")
        {'nsubj': 1}
        """
        return dict(self.relation_counts.get(f"{parent} {head} {child}", {}))

    @cached_property
    def knows_functions(self) -> bool:
        """Whether the rules were learnt from labels with function tags."""
        return any(
            dict(zip(context, key.split(" "), strict=False)).get("function", "-") != "-"
            for context, counts in zip(self.relations.contexts, self.relations.counts, strict=True)
            if "function" in context
            for key in counts
        )

    def convert(self, tree: ConstituencyTree) -> DependencyTree:
        """The dependency tree that the rules give; it is always compatible with `tree`.

        Function tags are ignored where the rules were learnt without them.
        """
        tree = tree.without_wrapper()
        tree = tree if self.knows_functions else tree.without_functions()
        walk = Walk(tree, self.common_words)
        heads = [0] * len(tree)
        relations = [self.root] * len(tree)
        for constituent in walk.constituents():
            children = constituent.children
            head, targets = self._shape(constituent.production)
            for index, child in enumerate(children):
                if index != head:
                    features = relation_features(constituent, head, index, targets[index])
                    heads[child.head - 1] = children[targets[index]].head
                    relations[child.head - 1] = self.relations.best(features) or self.root
            walk.close(constituent, children[head].head, heads, relations)
        return DependencyTree(heads, relations, tree.words, tree.tags)

    def _shape(self, production: Production) -> tuple[int, tuple[int, ...]]:
        """Which child is the head, and where the others attach. Remembered, since productions come again."""
        shape = self._shapes.get(production)
        if shape is None:
            if len(production.labels) == 1:
                return 0, (0,)
            head = self._head_child(production)
            targets = [self._target(production, head, index) for index in range(len(production.labels))]
            shape = head, tuple(_as_projective_tree(targets, head))
            if len(self._shapes) < 100_000:
                self._shapes[production] = shape
        return shape

    def _head_child(self, production: Production) -> int:
        children = range(len(production.labels))
        base = _normalized(self.heads, {index: head_features(production, index) for index in children})
        mixed = self.head_productions.distribution(production.names(), base)
        return min(children, key=lambda index: (-mixed[str(index)], index))

    def _target(self, production: Production, head: int, index: int) -> int:
        if index == head:
            return head
        base = _normalized(
            self.attachments,
            {
                to: attachment_features(production, head, index, to)
                for to in candidates(production, head, index)
            },
        )
        mixed = self.attachment_productions.distribution(production.names(index), base)
        siblings = (to for to in range(len(production.labels)) if to != index and str(to) in mixed)
        return min(siblings, key=lambda to: (-mixed[str(to)], to != head, to))

    def to_json(self) -> dict[str, Any]:
        """The rules as plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "sentences": self.sentences,
            "root": self.root,
            "common_words": sorted(self.common_words),
            **{name: getattr(self, name).to_json() for name in TABLES},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LearntRules:
        """The inverse of `to_json`; TreeError where the data is something else."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise TreeError(f"these are not learnt rules: the field 'format' is not {FORMAT!r}")
        if data.get("version") != VERSION:
            raise TreeError(
                f"learnt rules of version {data.get('version')!r}; this program reads version {VERSION}"
            )
        try:
            tables: dict[str, Any] = {
                name: BackOff.from_json(data[name], contexts) for name, contexts in TABLES.items()
            }
            return cls(
                **tables,
                common_words=frozenset(map(str, data["common_words"])),
                root=str(data["root"]),
                sentences=int(data["sentences"]),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise TreeError(f"learnt rules with a missing or damaged field: {error}") from error

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {sum(map(len, getattr(self, name).counts))}" for name in TABLES)
        return f"LearntRules(from {self.sentences} sentences; contexts: {sizes})"


def learn_rules(
    pairs: Iterable[tuple[ConstituencyTree, DependencyTree]], *, min_count: int = 2
) -> LearntRules:
    """Learn rules from pairs of trees, from all constituents that fit their dependency tree.

    Specific contexts that occur less than `min_count` times are left out.
    """
    tables: dict[str, Any] = {name: BackOff(contexts) for name, contexts in TABLES.items()}
    rules = LearntRules(**tables)
    shapes: Counter[tuple[Production, int, tuple[int, ...]]] = Counter()
    roots: Counter[str] = Counter()
    pairs = iter(pairs)
    begin = list(itertools.islice(pairs, 2000))
    words = Counter(one_token(word.lower()) for c, _ in begin for word in c.words)
    rules.common_words = frozenset(word for word, _ in sorted(words.items(), key=most_first)[:_COMMON_WORDS])
    for c, d in itertools.chain(begin, pairs):
        rules.sentences += 1
        if len(c) != len(d):
            raise TreeError(f"sentence {rules.sentences}: {len(c)} words in one tree, {len(d)} in the other")
        borders = yields(d.heads)
        if borders is None or not len(c):
            continue
        roots[d.relations[d.root - 1]] += 1
        walk = Walk(c.without_wrapper(), rules.common_words)
        span_heads = head_words(walk.nodes, d.heads, *borders)
        for constituent in walk.constituents():
            children = constituent.children
            head_word = span_heads[constituent.node]
            if head_word and all(child.head for child in children):
                place = {child.head: index for index, child in enumerate(children)}
                head = place[head_word]
                targets = tuple(place.get(d.heads[child.head - 1], head) for child in children)
                shapes[constituent.production, head, targets] += 1
                for index, child in enumerate(children):
                    if index != head:
                        features = relation_features(constituent, head, index, targets[index])
                        rules.relations.add(features, d.relations[child.head - 1])
            walk.close(constituent, head_word, d.heads, d.relations)
    if not roots:
        raise TreeError("no pair to learn from: there is no sentence with a projective dependency tree")
    rules.root = min(roots, key=lambda relation: (-roots[relation], relation))
    for (production, head, targets), count in shapes.items():
        _count_shape(rules, production, head, targets, count)
    rules.heads.prune(min_count, keep=1)
    rules.attachments.prune(min_count, keep=1)
    rules.head_productions.prune(min_count, keep=0)
    rules.attachment_productions.prune(min_count, keep=0)
    rules.relations.prune(min_count, keep=_ALWAYS_KEPT)
    return rules


def _count_shape(
    rules: LearntRules, production: Production, head: int, targets: Sequence[int], count: int
) -> None:
    size = len(production.labels)
    if size == 1:
        return
    if size <= _LONGEST_PRODUCTION:
        rules.head_productions.add(production.names(), str(head), count)
    for index in range(size):
        rules.heads.add(head_features(production, index), "yes" if index == head else "no", count)
        if index == head:
            continue
        if size <= _LONGEST_PRODUCTION:
            rules.attachment_productions.add(production.names(index), str(targets[index]), count)
        for to in candidates(production, head, index):
            answer = "yes" if to == targets[index] else "no"
            rules.attachments.add(attachment_features(production, head, index, to), answer, count)


def _normalized(table: BackOff, choices: Mapping[int, Mapping[str, str]]) -> dict[str, float]:
    """Of choices with their features, one of which is right: how likely each is, by the table's "yes"."""
    yes = {str(index): table.distribution(features).get("yes", 0.0) for index, features in choices.items()}
    whole = sum(yes.values())
    return {index: p / whole if whole else 1 / len(yes) for index, p in yes.items()}


def _as_projective_tree(targets: Sequence[int], head: int) -> list[int]:
    """The targets if they make a projective tree; else with attachments to other siblings moved to the head."""
    heads = [0 if index == head else to + 1 for index, to in enumerate(targets)]
    for index in range(len(heads) - 1, -1, -1):
        if is_projective_tree(heads):
            break
        if index != head:
            heads[index] = head + 1
    return [to - 1 if to else head for to in heads]
