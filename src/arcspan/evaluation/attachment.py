"""Attachment scores of dependency trees, and the punctuation rules by which words count or not.

| rule | words left out | |---|---| | ptb | those whose gold tag is one of the Penn Treebank's for
punctuation: `` '' : , . (the paper's rule) | | ctb | those whose gold tag is the Chinese Treebank's
for punctuation: PU | | unicode | those made of characters of the Unicode categories P* only: % & #
are, `` (category S*) is not | | upos | those whose gold universal tag is PUNCT | | none | none |

The rule `auto` is upos if gold trees have universal tags, otherwise ptb.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import compress
from typing import Literal, NamedTuple, get_args

from arcspan.errors import ArcspanError
from arcspan.trees import DependencyTree

Punctuation = Literal["auto", "ptb", "ctb", "unicode", "upos", "none"]
PUNCTUATION_RULES: tuple[Punctuation, ...] = get_args(Punctuation)


class ScoredArc(NamedTuple):
    """A word that counts, with its head and relation in both trees."""

    word: int
    gold_head: int
    predicted_head: int
    gold_relation: str
    predicted_relation: str

    @property
    def right_head(self) -> bool:
        """Return True if the head is right."""
        return self.gold_head == self.predicted_head

    @property
    def right_relation(self) -> bool:
        """Return True if the relation is right, whatever the head."""
        return self.gold_relation == self.predicted_relation

    @property
    def right_main(self) -> bool:
        """Return True if the relation is right up to its subtype."""
        return main_relation(self.gold_relation) == main_relation(self.predicted_relation)

    @property
    def right(self) -> bool:
        """Return True if head and relation are right."""
        return self.right_head and self.right_relation


@lru_cache(maxsize=65536)
def is_punctuation(word: str) -> bool:
    """Return True for a word of Unicode punctuation only.

    >>> [is_punctuation(word) for word in ("...", "%", "``", "U.S.")]
    [True, True, False, False]
    """
    return bool(word) and all(unicodedata.category(character)[0] == "P" for character in word)


def words_that_count(
    rule: Punctuation, words: Sequence[str], tags: Sequence[str], upos: Sequence[str]
) -> tuple[list[bool], bool]:
    """Return True for each word that counts, and True if there is the column of the rule.

    Every word counts in a sentence without the tags that the rule uses.

    >>> words_that_count("ptb", ["Yes", ","], ["UH", ","], ["", ""])
    ([True, False], True)
    """
    if rule == "auto":
        # `Scoring.settled` decides for all sentences; this is for a single one.
        rule = "upos" if any(upos) else "ptb"
    if rule not in _COUNTS:
        raise ArcspanError(f"punctuation is one of {', '.join(PUNCTUATION_RULES)}, not {rule!r}")
    name, counts = _COUNTS[rule]
    column = {"words": words, "tags": tags, "upos": upos}[name]
    return [counts(cell) for cell in column], rule == "none" or any(column)


# The column that a rule uses, and a function from its cells to True if the word counts.
_COUNTS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "ptb": ("tags", lambda tag: tag not in ("``", "''", ":", ",", ".")),
    "ctb": ("tags", lambda tag: tag != "PU"),
    "unicode": ("words", lambda word: not is_punctuation(word)),
    "upos": ("upos", lambda tag: tag != "PUNCT"),
    "none": ("words", lambda word: True),
}


@lru_cache(maxsize=4096)
def main_relation(relation: str) -> str:
    """Return a relation without its subtype.

    >>> main_relation("nsubj:pass")
    'nsubj'
    """
    return relation.partition(":")[0]


def score_attachment(
    gold: DependencyTree,
    predicted: DependencyTree,
    counts: Sequence[bool],
    *,
    subtypes: bool = True,
) -> list[ScoredArc]:
    """Return the arcs of the words that count; `subtypes=False` takes nsubj:pass for nsubj.

    >>> from arcspan.trees import DependencyTree
    >>> gold = DependencyTree([2, 0], ["nsubj:pass", "root"])
    >>> arcs = score_attachment(gold, DependencyTree([2, 0], ["nsubj", "root"]), [True, False])
    >>> [(arc.word, arc.right_head, arc.right) for arc in arcs]
    [(1, True, False)]
    """
    compared = str if subtypes else main_relation
    rows = zip(
        range(1, len(counts) + 1),
        gold.heads,
        predicted.heads,
        map(compared, gold.relations),
        map(compared, predicted.relations),
        strict=True,
    )
    return [ScoredArc(*row) for row in compress(rows, counts)]
