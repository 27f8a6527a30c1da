"""What learnt rules see of a tree: constituents from the bottom up, and the features of the decisions in each.

A constituent is seen as its production (its label, and the labels, tags and common words of its children) and its
children as they are after conversion: each with its head word and the relations of what depends on it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arcspan.trees.constituency import Chain, ConstituencyTree, function_tags, units
from arcspan.trees.conversion.back_off import one_token, symbol


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


class Constituent(NamedTuple):
    """A constituent whose children are known; `node` is its number among the walk's nodes."""

    node: int
    parent: str
    grandparent: str
    children: list[Child]
    production: Production


class Walk:
    """Goes through the constituents of a tree bottom-up; each one is closed once its head word is known."""

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
            labels, tags = tuple(child.label for child in children), tuple(child.tag for child in children)
            words = tuple(
                child.word if child.label == child.tag and child.word in self._common_words else "-"
                for child in children
            )
            yield Constituent(node, parent, symbol(outer), children, Production(parent, labels, tags, words))

    def close(
        self, constituent: Constituent, head_word: int, heads: Sequence[int], relations: Sequence[str]
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
        "words_between": "+".join(sorted({labels[k] for k in between if labels[k] == tags[k]})) or "-",
        "right": _neighbours(labels, index)[1],
    }


def relation_features(constituent: Constituent, head: int, index: int, to: int) -> dict[str, str]:
    """What there is to know of the relation of a child to the sibling to which it attaches."""
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


def candidates(production: Production, head: int, index: int) -> list[int]:
    """The siblings to which a child may attach: the head child and those near."""
    near = range(max(0, index - _REACH), min(len(production.labels), index + _REACH + 1))
    return sorted({head, *near} - {index})
