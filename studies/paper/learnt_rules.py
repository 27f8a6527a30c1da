"""Rules from constituents to dependencies, learnt by counting in a paired treebank: the study's
pipeline.

Converting a constituent is three decisions about its children: which one is the head child, to
which sibling each other child attaches (mostly the head child, but not always: in "A, B and C" the
last conjunct may attach to the one before), and by which relation. Each decision is counted in
contexts that go from specific (the whole production, the words) to general (the labels alone), and
answered by back-off (Witten and Bell). Contexts that were seen once, and contexts that only repeat
what the general ones say, are left out.

A constituent is seen as its production (its label, and the labels, tags and common words of its
children) and its children as they are after conversion: each with its head word and the relations
of what depends on it.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from arcspan.errors import TreeError
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.compatibility import head_words
from arcspan.trees.constituency import Chain, function_tags, strip_function, units
from arcspan.trees.dependency import is_projective_tree, yields

_PURE = 0.95


@lru_cache(maxsize=4096)
def symbol(label: str) -> str:
    """A label or tag as contexts name it: without function tags, one token.

    >>> symbol("NP-SBJ"), symbol("")
    ('NP', '_')
    """
    return one_token(strip_function(label))


def one_token(text: str) -> str:
    """A text as a part of a key: no white space, never empty."""
    return "_".join(text.split()) or "_"


def general_share(count: int, distinct: int) -> float:
    """How much of the probability a context leaves to the next more general one (Witten and Bell).

    `seen` answers were counted in it, of so many `kinds`: p = (1 - share) * count / seen + share *
    p_general.

    >>> general_share(3, 1)
    0.25
    """
    return distinct / (count + distinct)


class BackOff:
    """Counts of answers in contexts from specific to general.

    >>> table = BackOff((("parent", "child"), ("child",)))
    >>> table.add({"parent": "S", "child": "NP"}, "nsubj", 3)
    >>> table.add({"parent": "VP", "child": "NP"}, "dobj", 4)
    >>> table.best({"parent": "S", "child": "NP"}), table.best({"parent": "X", "child": "NP"})
    ('nsubj', 'dobj')
    """

    def __init__(self, contexts: Sequence[Sequence[str]]) -> None:
        self.contexts = tuple(tuple(context) for context in contexts)
        self.counts: list[dict[str, dict[str, int]]] = [{} for _ in self.contexts]
        self._getters = [_getter(context) for context in self.contexts]
        self._examples: list[dict[str, Mapping[str, str]]] = [{} for _ in self.contexts]

    def add(self, features: Mapping[str, str], answer: str, count: int = 1) -> None:
        """Count an answer in all contexts."""
        for getter, counts, examples in zip(
            self._getters, self.counts, self._examples, strict=True
        ):
            key = getter(features)
            answers = counts.get(key)
            if answers is None:
                counts[key] = {answer: count}
                examples[key] = features
            else:
                answers[answer] = answers.get(answer, 0) + count

    def distribution(
        self, features: Mapping[str, str], base: dict[str, float] | None = None, first: int = 0
    ) -> dict[str, float]:
        """The probability of every answer, backing off through the contexts from number `first` on
        to `base`.
        """
        mixed = base or {}
        for level in range(len(self.contexts) - 1, first - 1, -1):
            answers = self.counts[level].get(self._getters[level](features))
            if answers:
                total = sum(answers.values())
                share = general_share(total, len(answers))
                mixed = {answer: share * p for answer, p in mixed.items()}
                for answer, count in answers.items():
                    mixed[answer] = mixed.get(answer, 0.0) + (1 - share) * count / total
        return mixed

    def best(self, features: Mapping[str, str]) -> str | None:
        """The most probable answer; the alphabetically first of equals."""
        mixed = self.distribution(features)
        return min(mixed, key=lambda answer: (-mixed[answer], answer)) if mixed else None

    def prune(self, min_count: int, keep: int) -> None:
        """Drop contexts seen less than `min_count` times, or adding nothing to more general ones,
        but `keep`.
        """
        for level in range(len(self.contexts) - keep - 1, -1, -1):
            remaining = {}
            for key, answers in self.counts[level].items():
                if sum(answers.values()) < min_count:
                    continue
                if len(answers) == 1:
                    general = self.distribution(self._examples[level][key], first=level + 1)
                    if general.get(next(iter(answers)), 0.0) >= _PURE:
                        continue
                remaining[key] = answers
            self.counts[level] = remaining
        self._examples = [{} for _ in self.contexts]


def most_first(item: tuple[str, int]) -> tuple[int, str]:
    """Sorts answers with their counts: the commonest first, then by name."""
    return -item[1], item[0]


def _getter(context: Sequence[str]) -> Any:
    """A function from features to the context's key: its features, joined by spaces."""
    if len(context) == 1:
        return itemgetter(context[0])
    pick = itemgetter(*context)
    return lambda features: " ".join(pick(features))


# The contexts of each decision, from specific to general. A context is named by its features:
# parent, grandparent: labels of the constituent whose child this is, and of the one around it;
# child, head: label of the child, and of the sibling to which it attaches (a word's label is its
# tag); *_tag, *_word, first_word: of the head word of the child or head, and the first word of the
# child; *_relations: the relations of what depends on that head word within the child or head;
# function: the function tag of the child's label, where labels have some; left, right: the
# neighbours' labels; side: where the child stands, seen from the head; to: whether it attaches to
# the head child or to a sibling; distance: in siblings, up to 4; between, words_between: labels and
# bare words between the two; nth: how many siblings with the child's label stand between the two;
# word, left_word, right_word: the child's and its neighbours' words where they are bare and common
# words (is, to).
def _contexts(*contexts: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(context.split()) for context in contexts)


HEAD_CONTEXTS = _contexts(
    "parent child left right child_tag place word left_word right_word",
    "parent child left right child_tag place",
    "parent child left right",
    "parent child left",
    "parent child",
)
HEAD_PRODUCTIONS = _contexts("production_with_words", "production_with_tags", "production")
ATTACHMENT_CONTEXTS = _contexts(
    "parent child target to side distance words_between between right",
    "parent child target to side distance words_between",
    "parent child target to side distance",
    "child target to side distance",
    "to side distance",
    "to",
)
ATTACHMENT_PRODUCTIONS = _contexts("production place")
_STRUCTURE = "parent head child side to head_tag"
RULE = ("parent", "head", "child")
RELATION_CONTEXTS = _contexts(
    f"{_STRUCTURE} grandparent function head_word child_word head_relations child_relations left",
    f"{_STRUCTURE} function head_word child_tag nth left child_relations head_relations",
    f"{_STRUCTURE} function child_tag head_relations child_relations child_word nth left right",
    f"{_STRUCTURE} function child_tag head_relations child_relations first_word nth left",
    f"{_STRUCTURE} function head_word child_tag nth left",
    f"{_STRUCTURE} function grandparent child_tag head_relations child_relations nth left",
    f"{_STRUCTURE} function child_tag nth left",
    f"{_STRUCTURE} child_tag nth",
    f"{_STRUCTURE} child_tag",
    " ".join(RULE),
    "parent child side",
    "child side",
    "child",
)
_REACH = 6  # how many siblings away, other than the head child, a child may attach


class Child(NamedTuple):
    """A child of a constituent, as the rules see it; `head` is its head word, 0 where it has none."""

    label: str
    function: str
    head: int
    tag: str
    word: str
    first_word: str
    relations: str


class Production(NamedTuple):
    """A constituent's label, its children's labels, the tags of their head words, and their common
    words.
    """

    parent: str
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    words: tuple[str, ...]

    def names(self, index: int = 0) -> dict[str, str]:
        """The production as features, with and without tags, and a place in it."""
        with_tags = [
            label if label == tag else f"{label}/{tag}"
            for label, tag in zip(self.labels, self.tags, strict=True)
        ]
        with_words = [
            name if word == "-" else f"{name}={word}"
            for name, word in zip(with_tags, self.words, strict=True)
        ]
        return {
            "production_with_words": f"{self.parent} -> {' '.join(with_words)}",
            "production_with_tags": f"{self.parent} -> {' '.join(with_tags)}",
            "production": f"{self.parent} -> {' '.join(self.labels)}",
            "place": f"child {index}",
        }


class Constituent(NamedTuple):
    """A constituent whose children are known; `node` is its number among the walk's nodes."""

    node: int
    parent: str
    grandparent: str
    children: list[Child]
    production: Production


class Walk:
    """Goes through the constituents of a tree bottom-up; each one is closed once its head word is
    known.
    """

    def __init__(self, tree: ConstituencyTree, common_words: frozenset[str]) -> None:
        self.tree = tree
        self._common_words = common_words
        self.nodes, self._parents, self._below = units(tree)
        self._words = [one_token(word.lower()) for word in tree.words]
        self._tags = [one_token(tag) for tag in tree.tags]
        self._punctuation = [_is_punctuation(word) for word in tree.words]
        self._dependents: list[set[str]] = [set() for _ in range(len(tree) + 1)]
        self._children: list[Child | None] = [None] * len(self.nodes)

    def constituents(self) -> Iterator[Constituent]:
        """Constituents with children, smaller ones first."""
        for node in range(len(self.nodes) - 1, -1, -1):
            i, j, chain = self.nodes[node]
            if not self._below[node]:
                self._children[node] = self._child(i, j, chain)
                continue
            above = self._parents[node]
            outer = chain[-2] if len(chain) > 1 else self.nodes[above][2][-1] if above >= 0 else "^"
            parent, children = symbol(chain[-1]), [self._made(below) for below in self._below[node]]
            labels, tags = (
                tuple(child.label for child in children),
                tuple(child.tag for child in children),
            )
            words = tuple(
                child.word if child.label == child.tag and child.word in self._common_words else "-"
                for child in children
            )
            yield Constituent(
                node, parent, symbol(outer), children, Production(parent, labels, tags, words)
            )

    def close(
        self,
        constituent: Constituent,
        head_word: int,
        heads: Sequence[int],
        relations: Sequence[str],
    ) -> None:
        """Note what attaches to what within the constituent, and that `head_word` is its head word."""
        for child in constituent.children:
            if child.head and child.head != head_word and not self._punctuation[child.head - 1]:
                self._dependents[heads[child.head - 1]].add(relations[child.head - 1])
        i, _, chain = self.nodes[constituent.node]
        self._children[constituent.node] = self._child(i, head_word, chain)

    def _child(self, i: int, head_word: int, chain: Chain) -> Child:
        tag = self._tags[head_word - 1]
        label = chain[0] if chain else ""
        base = symbol(label) if chain else tag
        return Child(
            base,
            _function(label),
            head_word,
            tag,
            self._words[head_word - 1],
            self._words[i],
            "+".join(sorted(self._dependents[head_word])) or "-",
        )

    def _made(self, node: int) -> Child:
        child = self._children[node]
        assert child is not None
        return child


def _function(label: str) -> str:
    """The function tags of a label, without index marks: "SBJ" of NP-SBJ-1."""
    return "-".join(tag for tag in function_tags(label) if not tag.isdigit()) or "-"


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(letter)[0] == "P" for letter in word)


def _neighbours(labels: Sequence[str], index: int) -> tuple[str, str]:
    return (
        labels[index - 1] if index else "^",
        labels[index + 1] if index + 1 < len(labels) else "$",
    )


def head_features(production: Production, index: int) -> dict[str, str]:
    """What there is to know of whether this child is the head child."""
    labels = production.labels
    left_label, right_label = _neighbours(labels, index)
    left_word, right_word = _neighbours(production.words, index)
    return {
        "parent": production.parent,
        "child": labels[index],
        "child_tag": production.tags[index],
        "word": production.words[index],
        "left_word": left_word,
        "right_word": right_word,
        "left": left_label,
        "right": right_label,
        "place": "first" if not index else "last" if index + 1 == len(labels) else "middle",
    }


def attachment_features(production: Production, head: int, index: int, to: int) -> dict[str, str]:
    """What there is to know of whether this child attaches to that one."""
    labels, tags = production.labels, production.tags
    between = range(min(index, to) + 1, max(index, to))
    return {
        "parent": production.parent,
        "child": labels[index],
        "target": labels[to],
        "to": "head" if to == head else "sibling",
        "side": "right" if to < index else "left",
        "distance": str(min(abs(to - index), 4)),
        "between": "+".join(sorted({labels[k] for k in between})[:4]) or "-",
        "words_between": "+".join(sorted({labels[k] for k in between if labels[k] == tags[k]}))
        or "-",
        "right": _neighbours(labels, index)[1],
    }


def relation_features(constituent: Constituent, head: int, index: int, to: int) -> dict[str, str]:
    """What there is to know of the relation of a child to the sibling to which it attaches."""
    child, target = constituent.children[index], constituent.children[to]
    labels = constituent.production.labels
    left_label, right_label = _neighbours(labels, index)
    same = labels[min(index, to) + 1 : max(index, to)].count(child.label)
    return {
        "parent": constituent.parent,
        "grandparent": constituent.grandparent,
        "head": target.label,
        "child": child.label,
        "side": "right" if to < index else "left",
        "to": "head" if to == head else "sibling",
        "head_tag": target.tag,
        "child_tag": child.tag,
        "head_word": target.word,
        "child_word": child.word,
        "first_word": child.first_word,
        "head_relations": target.relations,
        "child_relations": child.relations,
        "function": child.function,
        "left": left_label,
        "right": right_label,
        "nth": str(min(same, 2)),
    }


def candidates(production: Production, head: int, index: int) -> list[int]:
    """The siblings to which a child may attach: the head child and those near."""
    near = range(max(0, index - _REACH), min(len(production.labels), index + _REACH + 1))
    return sorted({head, *near} - {index})


TABLES = {
    "heads": HEAD_CONTEXTS,
    "head_productions": HEAD_PRODUCTIONS,
    "attachments": ATTACHMENT_CONTEXTS,
    "attachment_productions": ATTACHMENT_PRODUCTIONS,
    "relations": RELATION_CONTEXTS,
}
_ALWAYS_KEPT = 4  # the most general contexts stay whole, so that they can be asked what was seen
_LONGEST_PRODUCTION = 12
_COMMON_WORDS = (
    200  # how many of the commonest words (of the first sentences) can decide on the head child
)


@dataclass(eq=False, repr=False)
class LearntRules:
    """Rules learnt from pairs of trees: tables of counts, which can be asked, saved and applied.

    `heads` says whether a child is the head child and `head_productions` which child is, in a
    production seen as a whole; `attachments` and `attachment_productions` likewise where the others
    attach; `relations` by which relation.
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
        """Which child is the head, and where the others attach. Remembered, since productions come
        again.
        """
        shape = self._shapes.get(production)
        if shape is None:
            if len(production.labels) == 1:
                return 0, (0,)
            head = self._head_child(production)
            targets = [
                self._target(production, head, index) for index in range(len(production.labels))
            ]
            shape = head, tuple(_as_projective_tree(targets, head))
            if len(self._shapes) < 100_000:
                self._shapes[production] = shape
        return shape

    def _head_child(self, production: Production) -> int:
        children = range(len(production.labels))
        base = _normalized(
            self.heads, {index: head_features(production, index) for index in children}
        )
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
    rules.common_words = frozenset(
        word for word, _ in sorted(words.items(), key=most_first)[:_COMMON_WORDS]
    )
    for c, d in itertools.chain(begin, pairs):
        rules.sentences += 1
        if len(c) != len(d):
            raise TreeError(
                f"sentence {rules.sentences}: {len(c)} words in one tree, {len(d)} in the other"
            )
        borders = yields(d.heads)
        if borders is None or not len(c):
            continue
        roots[d.relations[d.root - 1]] += 1
        walk = Walk(c.without_wrapper(), rules.common_words)
        span_heads = head_words([node[:2] for node in walk.nodes], d.heads, *borders)
        for constituent in walk.constituents():
            children = constituent.children
            head_word = span_heads[constituent.node]
            if head_word and all(child.head for child in children):
                child_of_head = {child.head: index for index, child in enumerate(children)}
                head = child_of_head[head_word]
                targets = tuple(
                    child_of_head.get(d.heads[child.head - 1], head) for child in children
                )
                shapes[constituent.production, head, targets] += 1
                for index, child in enumerate(children):
                    if index != head:
                        features = relation_features(constituent, head, index, targets[index])
                        rules.relations.add(features, d.relations[child.head - 1])
            walk.close(constituent, head_word, d.heads, d.relations)
    if not roots:
        raise TreeError(
            "no pair to learn from: there is no sentence with a projective dependency tree"
        )
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
    """Of choices with their features, one of which is right: how likely each is, by the table's
    "yes".
    """
    yes = {
        str(index): table.distribution(features).get("yes", 0.0)
        for index, features in choices.items()
    }
    total = sum(yes.values())
    return {index: p / total if total else 1 / len(yes) for index, p in yes.items()}


def _as_projective_tree(targets: Sequence[int], head: int) -> list[int]:
    """The targets if they make a projective tree; else with attachments to other siblings moved to
    the head.
    """
    heads = [0 if index == head else to + 1 for index, to in enumerate(targets)]
    for index in range(len(heads) - 1, -1, -1):
        if is_projective_tree(heads):
            break
        if index != head:
            heads[index] = head + 1
    return [to - 1 if to else head for to in heads]
