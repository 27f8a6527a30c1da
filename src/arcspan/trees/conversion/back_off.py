"""Counts of answers in contexts from specific to general, and probabilities from them by back-off.

A context is a few named features of what is decided on; its key is their values, joined by spaces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from arcspan.trees.constituency import strip_function

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


def general_share(seen: int, kinds: int) -> float:
    """How much of the probability a context leaves to the next more general one (Witten and Bell).

    `seen` answers were counted in it, of so many `kinds`: p = (1 - share) * count / seen + share * p_general.

    >>> general_share(3, 1)
    0.25
    """
    return kinds / (seen + kinds)


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
                seen = sum(answers.values())
                share = general_share(seen, len(answers))
                mixed = {answer: share * p for answer, p in mixed.items()}
                for answer, count in answers.items():
                    mixed[answer] = mixed.get(answer, 0.0) + (1 - share) * count / seen
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
                "counts": {key: dict(sorted(counts[key].items(), key=most_first)) for key in sorted(counts)},
            }
            for context, counts in zip(self.contexts, self.counts, strict=True)
        ]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]], contexts: Sequence[Sequence[str]]) -> BackOff:
        """The inverse of `to_json`; ValueError for features that none of these contexts has, or wrong counts."""
        table = cls([level["context"] for level in data])
        unknown = {name for own in table.contexts for name in own} - {
            name for own in contexts for name in own
        }
        if unknown or not all(table.contexts):
            raise ValueError(f"no such context: {', '.join(map(repr, unknown)) or 'an empty one'}")
        for level, counts in zip(data, table.counts, strict=True):
            for key, answers in level["counts"].items():
                counts[key] = {str(answer): int(count) for answer, count in answers.items()}
                if min(counts[key].values(), default=0) < 1:
                    raise ValueError(f"the counts of {key!r} are not numbers from 1")
        return table


def most_first(item: tuple[str, int]) -> tuple[int, str]:
    """Sorts answers with their counts: the commonest first, then by name."""
    return -item[1], item[0]


def _getter(context: Sequence[str]) -> Any:
    """A function from features to the context's key: its features, joined by spaces."""
    if len(context) == 1:
        return itemgetter(context[0])
    pick = itemgetter(*context)
    return lambda features: " ".join(pick(features))
