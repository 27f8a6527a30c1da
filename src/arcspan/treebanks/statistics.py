"""Statistics of a treebank: the paper's Table 1 (sizes, compatibility), causes, and inventories."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

from arcspan.treebanks.pairs import Pair
from arcspan.trees import WRAPPERS, why_incompatible

CAUSES = {
    "crossing": "the dependency tree is not projective",
    "heads": "several words of a constituent have their heads outside it",
    "attachment": "a word outside a constituent attaches to a word inside that is not its head",
    "length": "the trees have different numbers of words",
}
"""Descriptions of the kinds of `Incompatibility`."""


@dataclasses.dataclass
class Statistics:
    """Counts over a treebank of pairs or of one layer.

    `causes` counts incompatible sentences by kind; `places` counts them by kind and label of the
    smallest constituent to blame. `labels` leaves out the wrapper around a tree.
    """

    sentences: int = 0
    words: int = 0
    longest: int = 0
    projective: int = 0
    compatible: int = 0
    causes: Counter[str] = dataclasses.field(default_factory=Counter)
    places: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    labels: Counter[str] = dataclasses.field(default_factory=Counter)
    relations: Counter[str] = dataclasses.field(default_factory=Counter)
    tags: Counter[str] = dataclasses.field(default_factory=Counter)
    unary: int = 0

    def add(self, pair: Pair) -> None:
        """Count another sentence."""
        constituency, dependencies = pair
        n = len(pair.words)
        self.sentences += 1
        self.words += n
        self.longest = max(self.longest, n)
        # The tags of a pair are those of one sentence, counted once.
        self.tags.update(dependencies.tags if constituency is None else constituency.tags)
        if dependencies is not None:
            self.projective += dependencies.is_projective
            self.relations.update(dependencies.relations)
        if constituency is not None:
            spans = constituency.spans
            if spans and spans[0][2] in WRAPPERS:
                spans = spans[1:]
            self.labels.update(label for _, _, label in spans)
            self.unary += sum(outer[:2] == inner[:2] for outer, inner in itertools.pairwise(spans))
        if constituency is not None and dependencies is not None:
            reason = why_incompatible(constituency, dependencies)
            if reason is None:
                self.compatible += 1
                return
            self.causes[reason.kind] += 1
            if reason.span is not None:
                self.places[reason.kind, reason.span[2]] += 1

    @property
    def projective_percent(self) -> float:
        """Return projective sentences in per cent."""
        return 100 * self.projective / max(1, self.sentences)

    @property
    def compatible_percent(self) -> float:
        """Return compatible sentences in per cent."""
        return 100 * self.compatible / max(1, self.sentences)

    @property
    def mean_length(self) -> float:
        """Return words per sentence."""
        return self.words / max(1, self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, commonest names first; None for figures of a missing layer."""
        # Every d-tree has relations, so none at all means that the layer is missing.
        has_arcs = bool(self.relations) or not self.sentences
        has_both = has_arcs and (bool(self.labels) or not self.sentences)
        return {
            "sentences": self.sentences,
            "words": self.words,
            "mean_length": round(self.mean_length, 2),
            "longest": self.longest,
            "projective": self.projective if has_arcs else None,
            "projective_percent": round(self.projective_percent, 2) if has_arcs else None,
            "compatible": self.compatible if has_both else None,
            "compatible_percent": round(self.compatible_percent, 2) if has_both else None,
            "causes": dict(self.causes.most_common()),
            "places": [
                {"cause": cause, "label": label, "sentences": count}
                for (cause, label), count in self.places.most_common()
            ],
            "constituents": sum(self.labels.values()),
            "unary": self.unary,
            "labels": dict(self.labels.most_common()),
            "relations": dict(self.relations.most_common()),
            "tags": dict(self.tags.most_common()),
        }


def stats(pairs: Iterable[Pair]) -> Statistics:
    """Compute the statistics of a treebank, read once.

    >>> from arcspan.trees import ConstituencyTree, DependencyTree
    >>> c = ConstituencyTree.from_brackets("(TOP (S (NP (NNS Dogs)) (VP (VBP bark))))")
    >>> statistics = stats([Pair(c, DependencyTree([2, 0], ["nsubj", "root"], c.words))])
    >>> statistics.sentences, statistics.compatible_percent, sorted(statistics.labels)
    (1, 100.0, ['NP', 'S', 'VP'])
    """
    statistics = Statistics()
    for pair in pairs:
        statistics.add(pair)
    return statistics
