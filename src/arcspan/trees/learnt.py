"""Rules from constituents to dependencies, learnt by counting in a paired treebank.

Converting a constituent is three decisions about its children: which one is the head child, to which sibling each
other child attaches (mostly the head child, but not always: in "A, B and C" the last conjunct may attach to the
one before), and by which relation. Each decision is counted in contexts that go from specific (the whole
production, the words) to general (the labels alone). Back-off is Witten and Bell's: the answers of a context are
weighed against those of the next more general one by how often the context was seen (n) and how many different
answers it had (t): p = (count + t * p_general) / (n + t).

Contexts that were seen once, and contexts that only repeat what the general ones say, are left out, so the
saved JSON can be read: one context a line, with its answers and their counts.
"""

from __future__ import annotations

import itertools
import json
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from arcspan.errors import FileError, TreeError
from arcspan.files import atomic_write
from arcspan.trees.compatibility import head_words
from arcspan.trees.constituency import Chain, ConstituencyTree, strip_function, units
from arcspan.trees.dependency import DependencyTree, yields

FORMAT = "arcspan learnt rules"
VERSION = 1

# The contexts of each decision, from specific to general. A context is named by its features:
# parent, grandparent: labels of the constituent whose child this is, and of the one around it;
# child, head: label of the child, and of the sibling to which it attaches (a word's label is its tag);
# *_tag, *_word, first_word: of the head word of the child or head, and the first word of the child;
# *_relations: the relations of what depends on that head word within the child or head;
# function: the function tag of the child's label, where labels have some; left, right: the neighbours' labels;
# side: where the child stands, seen from the head; to: whether it attaches to the head child or to a sibling;
# distance: in siblings, up to 4; between, words_between: labels and bare words between the two;
# nth: how many siblings with the child's label stand between the two;
# word, left_word, right_word: the child's and its neighbours' words where they are bare and common words (is, to).
HEAD_CONTEXTS = (
    ("parent", "child", "left", "right", "child_tag", "place", "word", "left_word", "right_word"),
    ("parent", "child", "left", "right", "child_tag", "place"),
    ("parent", "child", "left", "right"),
    ("parent", "child", "left"),
    ("parent", "child"),
)
ATTACHMENT_CONTEXTS = (
    ("parent", "child", "target", "to", "side", "distance", "words_between", "between", "right"),
    ("parent", "child", "target", "to", "side", "distance", "words_between"),
    ("parent", "child", "target", "to", "side", "distance"),
    ("child", "target", "to", "side", "distance"),
    ("to", "side", "distance"),
    ("to",),
)
_STRUCTURE = ("parent", "head", "child", "side", "to", "head_tag")
RELATION_CONTEXTS = (
    (
        *_STRUCTURE,
        "grandparent",
        "function",
        "head_word",
        "child_word",
        "head_relations",
        "child_relations",
        "left",
    ),
    (*_STRUCTURE, "function", "head_word", "child_tag", "nth", "left", "child_relations", "head_relations"),
    (
        *_STRUCTURE,
        "function",
        "child_tag",
        "head_relations",
        "child_relations",
        "child_word",
        "nth",
        "left",
        "right",
    ),
    (*_STRUCTURE, "function", "child_tag", "head_relations", "child_relations", "first_word", "nth", "left"),
    (*_STRUCTURE, "function", "head_word", "child_tag", "nth", "left"),
    (*_STRUCTURE, "function", "grandparent", "child_tag", "head_relations", "child_relations", "nth", "left"),
    (*_STRUCTURE, "function", "child_tag", "nth", "left"),
    (*_STRUCTURE, "child_tag", "nth"),
    (*_STRUCTURE, "child_tag"),
    ("parent", "head", "child"),
    ("parent", "child", "side"),
    ("child", "side"),
    ("child",),
)
_ALWAYS_KEPT = 4  # the most general contexts stay whole, so that they can be asked what was seen
_LONGEST_PRODUCTION = 12
_REACH = 6  # how many siblings away, other than the head child, a child may attach
_PURE = 0.95
_COMMON_WORDS = 200  # how many of the commonest words (of the first sentences) can decide on the head child


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
        for getter, counts, examples in zip(self._getters, self.counts, self._examples, strict=True):
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
        """The probability of every answer, backing off through the contexts from number `first` on to `base`."""
        mixed = base or {}
        for level in range(len(self.contexts) - 1, first - 1, -1):
            answers = self.counts[level].get(self._getters[level](features))
            if answers:
                kinds = len(answers)
                whole = sum(answers.values()) + kinds
                mixed = {answer: kinds * p / whole for answer, p in mixed.items()}
                for answer, count in answers.items():
                    mixed[answer] = mixed.get(answer, 0.0) + count / whole
        return mixed

    def best(self, features: Mapping[str, str]) -> str | None:
        """The most probable answer; the alphabetically first of equals."""
        mixed = self.distribution(features)
        return min(mixed, key=lambda answer: (-mixed[answer], answer)) if mixed else None

    def prune(self, min_count: int, keep: int) -> None:
        """Drop contexts seen less than `min_count` times, or adding nothing to more general ones, but `keep`."""
        for level in range(len(self.contexts) - keep - 1, -1, -1):
            kept = {}
            for key, answers in self.counts[level].items():
                if sum(answers.values()) < min_count:
                    continue
                if len(answers) == 1:
                    general = self.distribution(self._examples[level][key], first=level + 1)
                    if general.get(next(iter(answers)), 0.0) >= _PURE:
                        continue
                kept[key] = answers
            self.counts[level] = kept
        self._examples = [{} for _ in self.contexts]

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data: per kind of context its features and the answers counted in it."""
        return [
            {
                "context": list(context),
                "counts": {key: dict(sorted(counts[key].items(), key=_most_first)) for key in sorted(counts)},
            }
            for context, counts in zip(self.contexts, self.counts, strict=True)
        ]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> BackOff:
        """The inverse of `to_json`."""
        table = cls([level["context"] for level in data])
        for level, counts in zip(data, table.counts, strict=True):
            for key, answers in level["counts"].items():
                counts[key] = {str(answer): int(count) for answer, count in answers.items()}
        return table


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _getter(context: Sequence[str]) -> Any:
    """A function from features to the context's key: its features, joined by spaces."""
    if len(context) == 1:
        return itemgetter(context[0])
    pick = itemgetter(*context)
    return lambda features: " ".join(pick(features))


class LearntRules:
    """Rules learnt from pairs of trees: four tables of counts, which can be asked, saved and applied.

    `heads` says whether a child is the head child and `head_productions` which child is, in a production seen as a
    whole; `attachments` and `attachment_productions` likewise where the others attach; `relations` by which relation.
    """

    def __init__(
        self,
        heads: BackOff,
        head_productions: BackOff,
        attachments: BackOff,
        attachment_productions: BackOff,
        relations: BackOff,
        common_words: Iterable[str] = (),
        root: str = "root",
        sentences: int = 0,
    ) -> None:
        self.heads = heads
        self.head_productions = head_productions
        self.attachments = attachments
        self.attachment_productions = attachment_productions
        self.relations = relations
        self.common_words = frozenset(common_words)
        self.root = root
        self.sentences = sentences
        self._shapes: dict[_Production, tuple[int, tuple[int, ...]]] = {}

    def seen_relations(self, parent: str, head: str, child: str) -> dict[str, int]:
        """Relations, with counts, seen in constituent `parent` from a child with label `head` to one `child`.

        >>> c = ConstituencyTree.from_brackets("(S (NP (NN dogs)) (VP (VB bark)))")
        >>> rules = learn_rules([(c, DependencyTree([2, 0], ["nsubj", "root"]))])
        >>> rules.seen_relations("S", "VP", "NP")
        {'nsubj': 1}
        """
        level = self.relations.contexts.index(("parent", "head", "child"))
        return dict(self.relations.counts[level].get(f"{parent} {head} {child}", {}))

    def convert(self, tree: ConstituencyTree) -> DependencyTree:
        """The dependency tree that the rules give; it is always compatible with `tree`."""
        tree = tree.without_wrapper()
        walk = _Walk(tree, self.common_words)
        heads = [0] * len(tree)
        relations = [self.root] * len(tree)
        for constituent in walk.constituents():
            children = constituent.children
            head, targets = self._shape(constituent.production)
            for index, child in enumerate(children):
                if index != head:
                    features = _relation_features(constituent, head, index, targets[index])
                    heads[child.head - 1] = children[targets[index]].head
                    relations[child.head - 1] = self.relations.best(features) or self.root
            walk.close(constituent, children[head].head, heads, relations)
        return DependencyTree._trusted(
            tuple(heads), tuple(relations), tree.words, tree.tags, ("",) * len(tree)
        )

    def _shape(self, production: _Production) -> tuple[int, tuple[int, ...]]:
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

    def _head_child(self, production: _Production) -> int:
        base = _normalized(
            (str(index), self.heads.distribution(_head_features(production, index)).get("yes", 0.0))
            for index in range(len(production.labels))
        )
        mixed = self.head_productions.distribution(production.names(), base)
        return int(min(mixed, key=lambda index: (-mixed[index], int(index))))

    def _target(self, production: _Production, head: int, index: int) -> int:
        if index == head:
            return head
        base = _normalized(
            (
                str(to),
                self.attachments.distribution(_attachment_features(production, head, index, to)).get(
                    "yes", 0.0
                ),
            )
            for to in _candidates(production, head, index)
        )
        mixed = self.attachment_productions.distribution(production.names(index), base)
        return int(min(mixed, key=lambda to: (-mixed[to], int(to) != head, int(to))))

    def to_json(self) -> dict[str, Any]:
        """The rules as plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "sentences": self.sentences,
            "root": self.root,
            "common_words": sorted(self.common_words),
            **{name: getattr(self, name).to_json() for name in _TABLES},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LearntRules:
        """The inverse of `to_json`; TreeError where the data is something else."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise TreeError(f"these are no learnt rules: the field 'format' is not {FORMAT!r}")
        if data.get("version") != VERSION:
            raise TreeError(
                f"learnt rules of version {data.get('version')!r}; this program reads version {VERSION}"
            )
        try:
            tables = {name: BackOff.from_json(data[name]) for name in _TABLES}
            return cls(
                **tables,
                common_words=map(str, data["common_words"]),
                root=str(data["root"]),
                sentences=int(data["sentences"]),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise TreeError(f"learnt rules with a missing or damaged field: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rules as JSON, one context a line."""
        with atomic_write(path) as file:
            for line in _json_lines(self.to_json()):
                file.write(line)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LearntRules:
        """Read rules that `save` wrote."""
        try:
            return cls.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}", path=path) from error
        except json.JSONDecodeError as error:
            raise FileError(f"not JSON: {error.msg}", path=path, line=error.lineno) from error
        except (UnicodeDecodeError, TreeError) as error:
            raise FileError(str(error), path=path) from error

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {sum(map(len, getattr(self, name).counts))}" for name in _TABLES)
        return f"LearntRules(from {self.sentences} sentences; contexts: {sizes})"


_TABLES = ("heads", "head_productions", "attachments", "attachment_productions", "relations")


def learn_rules(
    pairs: Iterable[tuple[ConstituencyTree, DependencyTree]], *, min_count: int = 2
) -> LearntRules:
    """Learn rules from pairs of trees, from all constituents that fit their dependency tree.

    Specific contexts that occur less than `min_count` times are left out.
    """
    rules = LearntRules(
        BackOff(HEAD_CONTEXTS),
        BackOff((("production_with_words",), ("production_with_tags",), ("production",))),
        BackOff(ATTACHMENT_CONTEXTS),
        BackOff((("production", "place"),)),
        BackOff(RELATION_CONTEXTS),
    )
    shapes: Counter[tuple[_Production, int, tuple[int, ...]]] = Counter()
    roots: Counter[str] = Counter()
    pairs = iter(pairs)
    begin = list(itertools.islice(pairs, 2000))
    words = Counter(_one_token(word.lower()) for c, _ in begin for word in c.words)
    rules.common_words = frozenset(word for word, _ in sorted(words.items(), key=_most_first)[:_COMMON_WORDS])
    for c, d in itertools.chain(begin, pairs):
        rules.sentences += 1
        if len(c) != len(d):
            raise TreeError(f"sentence {rules.sentences}: {len(c)} words in one tree, {len(d)} in the other")
        borders = yields(d.heads)
        if borders is None or not len(c):
            continue
        roots[d.relations[d.root - 1]] += 1
        walk = _Walk(c.without_wrapper(), rules.common_words)
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
                        features = _relation_features(constituent, head, index, targets[index])
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
    rules: LearntRules, production: _Production, head: int, targets: Sequence[int], count: int
) -> None:
    size = len(production.labels)
    if size == 1:
        return
    if size <= _LONGEST_PRODUCTION:
        rules.head_productions.add(production.names(), str(head), count)
    for index in range(size):
        rules.heads.add(_head_features(production, index), "yes" if index == head else "no", count)
        if index == head:
            continue
        if size <= _LONGEST_PRODUCTION:
            rules.attachment_productions.add(production.names(index), str(targets[index]), count)
        for to in _candidates(production, head, index):
            answer = "yes" if to == targets[index] else "no"
            rules.attachments.add(_attachment_features(production, head, index, to), answer, count)


class _Child(NamedTuple):
    """A child of a constituent, as the rules see it; `head` is its head word, 0 where it has none."""

    label: str
    function: str
    head: int
    tag: str
    word: str
    first_word: str
    relations: str


class _Production(NamedTuple):
    """A constituent's label, its children's labels, the tags of their head words, and their common words."""

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


class _Constituent(NamedTuple):
    node: int
    parent: str
    grandparent: str
    children: list[_Child]
    production: _Production


class _Walk:
    """Goes through the constituents of a tree bottom-up; each one is closed once its head word is known."""

    def __init__(self, tree: ConstituencyTree, common_words: frozenset[str]) -> None:
        self.tree = tree
        self._common_words = common_words
        self.nodes, self._parents, self._below = units(tree)
        self._words = [_one_token(word.lower()) for word in tree.words]
        self._tags = [_one_token(tag) for tag in tree.tags]
        self._punctuation = [_is_punctuation(word) for word in tree.words]
        self._dependents: list[set[str]] = [set() for _ in range(len(tree) + 1)]
        self._children: list[_Child | None] = [None] * len(self.nodes)

    def constituents(self) -> Iterator[_Constituent]:
        """Constituents with children, smaller ones first."""
        for node in range(len(self.nodes) - 1, -1, -1):
            i, j, chain = self.nodes[node]
            if not self._below[node]:
                self._children[node] = self._child(i, j, chain)
                continue
            above = self._parents[node]
            outer = chain[-2] if len(chain) > 1 else self.nodes[above][2][-1] if above >= 0 else "^"
            parent, children = _label(chain[-1]), [self._made(below) for below in self._below[node]]
            labels, tags = tuple(child.label for child in children), tuple(child.tag for child in children)
            words = tuple(
                child.word if child.label == child.tag and child.word in self._common_words else "-"
                for child in children
            )
            yield _Constituent(
                node, parent, _label(outer), children, _Production(parent, labels, tags, words)
            )

    def close(
        self, constituent: _Constituent, head_word: int, heads: Sequence[int], relations: Sequence[str]
    ) -> None:
        """Note what attaches to what within the constituent, and that `head_word` is its head word."""
        for child in constituent.children:
            if child.head and child.head != head_word and not self._punctuation[child.head - 1]:
                self._dependents[heads[child.head - 1]].add(relations[child.head - 1])
        i, _, chain = self.nodes[constituent.node]
        self._children[constituent.node] = self._child(i, head_word, chain)

    def _child(self, i: int, head_word: int, chain: Chain) -> _Child:
        tag = self._tags[head_word - 1]
        label = chain[0] if chain else ""
        base = _label(label) if chain else tag
        return _Child(
            base,
            _function(label),
            head_word,
            tag,
            self._words[head_word - 1],
            self._words[i],
            "+".join(sorted(self._dependents[head_word])) or "-",
        )

    def _made(self, node: int) -> _Child:
        child = self._children[node]
        assert child is not None
        return child


def _one_token(text: str) -> str:
    """A feature is one token of its context's key."""
    return "_".join(text.split()) or "_"


@lru_cache(maxsize=4096)
def _label(label: str) -> str:
    return _one_token(strip_function(label))


@lru_cache(maxsize=4096)
def _function(label: str) -> str:
    """The function tags of a label, without index marks: "SBJ" of NP-SBJ-1."""
    marks = label[len(strip_function(label)) :].replace("=", "-").split("-")
    return "-".join(mark for mark in marks if mark and not mark.isdigit()) or "-"


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(letter)[0] == "P" for letter in word)


def _neighbours(labels: Sequence[str], index: int) -> tuple[str, str]:
    return (
        labels[index - 1] if index else "^",
        labels[index + 1] if index + 1 < len(labels) else "$",
    )


def _head_features(production: _Production, index: int) -> dict[str, str]:
    labels = production.labels
    left, right = _neighbours(labels, index)
    left_word, right_word = _neighbours(production.words, index)
    return {
        "parent": production.parent,
        "child": labels[index],
        "child_tag": production.tags[index],
        "word": production.words[index],
        "left_word": left_word,
        "right_word": right_word,
        "left": left,
        "right": right,
        "place": "first" if not index else "last" if index + 1 == len(labels) else "middle",
    }


def _attachment_features(production: _Production, head: int, index: int, to: int) -> dict[str, str]:
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
        "words_between": "+".join(sorted({labels[k] for k in between if labels[k] == tags[k]})) or "-",
        "right": _neighbours(labels, index)[1],
    }


def _relation_features(constituent: _Constituent, head: int, index: int, to: int) -> dict[str, str]:
    child, target = constituent.children[index], constituent.children[to]
    labels = constituent.production.labels
    left, right = _neighbours(labels, index)
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
        "left": left,
        "right": right,
        "nth": str(min(same, 2)),
    }


def _candidates(production: _Production, head: int, index: int) -> list[int]:
    """The siblings to which a child may attach: the head child and those near."""
    near = range(max(0, index - _REACH), min(len(production.labels), index + _REACH + 1))
    return sorted({head, *near} - {index})


def _normalized(scores: Iterable[tuple[str, float]]) -> dict[str, float]:
    known = dict(scores)
    whole = sum(known.values())
    return {answer: score / whole if whole else 1 / len(known) for answer, score in known.items()}


def _as_projective_tree(targets: Sequence[int], head: int) -> list[int]:
    """The targets if they make a projective tree; else with attachments to other siblings moved to the head."""
    heads = [0 if index == head else to + 1 for index, to in enumerate(targets)]
    for index in range(len(heads) - 1, -1, -1):
        if _is_projective_tree(heads):
            break
        if index != head:
            heads[index] = head + 1
    return [to - 1 if to else head for to in heads]


def _is_projective_tree(heads: Sequence[int]) -> bool:
    try:
        return DependencyTree(heads, ("",) * len(heads)).is_projective
    except TreeError:
        return False


def _json_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """JSON with one context a line."""
    fields = [
        f"{json.dumps(name)}: {json.dumps(value)}" for name, value in data.items() if name not in _TABLES
    ]
    yield "{\n" + ",\n".join(fields)
    for name in _TABLES:
        yield f",\n{json.dumps(name)}: ["
        for number, level in enumerate(data[name]):
            yield f'{"," if number else ""}\n  {{"context": {json.dumps(level["context"])}, "counts": {{'
            lines = (
                f"    {json.dumps(key, ensure_ascii=False)}: {json.dumps(answers, ensure_ascii=False)}"
                for key, answers in level["counts"].items()
            )
            yield "\n" + ",\n".join(lines) + "\n  }}"
        yield "\n]"
    yield "\n}\n"
