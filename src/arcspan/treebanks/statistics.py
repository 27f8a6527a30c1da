"""What a treebank holds: the paper's Table 1 (sizes, compatibility), its causes, and inventories."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

from arcspan.treebanks.pairs import Pair
from arcspan.trees import WRAPPERS, why_incompatible

#: What the kinds of `Incompatibility` mean, for people.
CAUSES = {
    "crossing": "the dependency tree is not projective",
    "heads": "several words of a constituent have their heads outside it",
    "attachment": "a word outside a constituent attaches to a word inside that is not its head",
    "length": "the trees have different numbers of words",
}


@dataclasses.dataclass
class Statistics:
    """Counts over a treebank of pairs or of one layer. A sentence is compatible when its d-tree is projective and fits.

    `causes` counts incompatible sentences by kind; `places` counts them by kind and label of the smallest
    constituent to blame. `labels` leaves out the wrapper around a tree.
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
        """Count one more sentence."""
        constituency, dependencies = pair
        n = len(pair.words)
        self.sentences += 1
        self.words += n
        self.longest = max(self.longest, n)
        self.tags.update(dependencies.tags if constituency is None else constituency.tags)
        if dependencies is not None:
            self.projective += dependencies.is_projective
            self.relations.update(dependencies.relations)
        if constituency is not None:
            spans = constituency.spans
            spans = spans[1:] if spans and spans[0][2] in WRAPPERS else spans
            self.labels.update(label for _, _, label in spans)
            self.unary += sum(one[:2] == other[:2] for one, other in itertools.pairwise(spans))
            if dependencies is not None:
                why = why_incompatible(constituency, dependencies)
                self.compatible += why is None
                self.causes.update([why.kind] if why else [])
                self.places.update([(why.kind, why.span[2])] if why and why.span else [])

    @property
    def projective_percent(self) -> float:
        """Projective sentences in per cent."""
        return 100 * self.projective / max(1, self.sentences)

    @property
    def compatible_percent(self) -> float:
        """Compatible sentences in per cent."""
        return 100 * self.compatible / max(1, self.sentences)

    @property
    def mean_length(self) -> float:
        """Words per sentence."""
        return self.words / max(1, self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, inventories from the commonest down; None for what a single layer cannot say."""
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
                {"cause": kind, "label": label, "sentences": count}
                for (kind, label), count in self.places.most_common()
            ],
            "constituents": sum(self.labels.values()),
            "unary": self.unary,
            **{
                name: dict(getattr(self, name).most_common())
                for name in ("labels", "relations", "tags")
            },
        }


def stats(pairs: Iterable[Pair]) -> Statistics:
    """The statistics of a treebank, read once.

    >>> from arcspan.trees import ConstituencyTree, DependencyTree
    >>> c = ConstituencyTree.from_brackets("(TOP (S (NP (NNS Dogs)) (VP (VBP bark))))")
    >>> found = stats([Pair(c, DependencyTree([2, 0], ["nsubj", "root"], c.words))])
    >>> found.sentences, found.compatible_percent, sorted(found.labels)
    (1, 100.0, ['NP', 'S', 'VP'])
    """
    statistics = Statistics()
    for pair in pairs:
        statistics.add(pair)
    return statistics
