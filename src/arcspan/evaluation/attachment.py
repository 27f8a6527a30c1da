"""Attachment scores of dependency trees, and which words count: the punctuation rules in use.

| rule | words left out |
|---|---|
| ptb | those whose gold tag is one of the Penn Treebank's for punctuation: `` '' : , . (the paper's rule) |
| unicode | those made of characters of the Unicode categories P* only: % & # go out, `` (category S*) stays |
| upos | those whose gold universal tag is PUNCT |
| none | none |
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from arcspan.errors import ArcspanError

Punctuation = Literal["ptb", "unicode", "upos", "none"]
PUNCTUATION_RULES: tuple[Punctuation, ...] = ("ptb", "unicode", "upos", "none")

PTB_TAGS = frozenset({"``", "''", ":", ",", "."})


class Arcs(Protocol):
    """What is scored: a DependencyTree, or predicted heads that need not form one."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words, "" where unknown."""

    @property
    def heads(self) -> tuple[int, ...]:
        """The head of each word, 0 for the root."""

    @property
    def relations(self) -> tuple[str, ...]:
        """The relation of each word to its head."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Language-specific tags, "" where unknown."""

    @property
    def upos(self) -> tuple[str, ...]:
        """Universal tags, "" where unknown."""


class LooseArcs(NamedTuple):
    """Predicted heads that are no tree: several roots, or a cycle. They can be scored all the same."""

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]


class SentenceAttachment(NamedTuple):
    """The counts of one sentence over the words that count."""

    words: int = 0
    heads: int = 0  # the head is right
    relations: int = 0  # the relation is right, whatever the head
    arcs: int = 0  # both are right

    @property
    def complete(self) -> bool:
        """Whether every word that counts has the right head and relation."""
        return self.arcs == self.words


@lru_cache(maxsize=65536)
def is_punctuation(word: str) -> bool:
    """Whether a word is made of Unicode punctuation only.

    >>> [is_punctuation(word) for word in ("...", "%", "``", "U.S.")]
    [True, True, False, False]
    """
    return bool(word) and all(unicodedata.category(character)[0] == "P" for character in word)


class WordsThatCount(NamedTuple):
    """For each word whether it counts, and whether the sentence had what the rule looks at."""

    counts: list[bool]
    known: bool


def words_that_count(
    rule: Punctuation, words: Sequence[str], tags: Sequence[str], upos: Sequence[str]
) -> WordsThatCount:
    """Apply a punctuation rule to a gold sentence; every word counts where the tags it needs are not there.

    >>> words_that_count("ptb", ["Yes", ","], ["UH", ","], ["", ""])
    WordsThatCount(counts=[True, False], known=True)
    """
    if rule not in _COUNTS:
        raise ArcspanError(f"punctuation is one of {', '.join(PUNCTUATION_RULES)}, not {rule!r}")
    source, counts = _COUNTS[rule]
    items = {"words": words, "tags": tags, "upos": upos}[source]
    return WordsThatCount([counts(item) for item in items], rule == "none" or any(items))


_COUNTS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "ptb": ("tags", lambda tag: tag not in PTB_TAGS),
    "unicode": ("words", lambda word: not is_punctuation(word)),
    "upos": ("upos", lambda tag: tag != "PUNCT"),
    "none": ("words", lambda word: True),
}


def main_relation(relation: str) -> str:
    """A relation without its subtype.

    >>> main_relation("nsubj:pass")
    'nsubj'
    """
    return relation.partition(":")[0]


def relations_of(tree: Arcs, subtypes: bool) -> Sequence[str]:
    """The relations as they are compared."""
    return tree.relations if subtypes else [main_relation(relation) for relation in tree.relations]


def score_attachment(
    gold: Arcs, predicted: Arcs, counts: Sequence[bool], *, subtypes: bool = True
) -> SentenceAttachment:
    """Compare heads and relations where `counts` says so; `subtypes=False` takes nsubj:pass for nsubj.

    >>> from arcspan.trees import DependencyTree
    >>> gold = DependencyTree([2, 0], ["nsubj:pass", "root"])
    >>> score_attachment(gold, DependencyTree([2, 0], ["nsubj", "root"]), [True, True])
    SentenceAttachment(words=2, heads=2, relations=1, arcs=1)
    """
    words = heads = relations = arcs = 0
    for count, a, b, r, s in zip(
        counts,
        gold.heads,
        predicted.heads,
        relations_of(gold, subtypes),
        relations_of(predicted, subtypes),
        strict=True,
    ):
        if count:
            words += 1
            heads += a == b
            relations += r == s
            arcs += a == b and r == s
    return SentenceAttachment(words, heads, relations, arcs)
