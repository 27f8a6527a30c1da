"""The figures of evaluation: their titles, their kinds, and the counts of which they are ratios.

Every figure is a ratio of counts that add up over sentences, or the harmonic mean of two such
ratios. A class with `totals` that inherits from `BracketFigures` or `AllFigures` has every figure
as an attribute; only this module names them. The counts of a sentence are listed in
`evalb.bracket_counts` and `sentence_scoring.count`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

KINDS = {
    "attachment": "Dependencies",
    "brackets": "Constituents (as EVALB)",
    "complete": "Whole sentences",
    "tags": "Tags, lemmas and features",
}
"""The kinds of figures in the order of tables, and the titles of their blocks."""


@dataclass(frozen=True)
class Metric:
    """A figure: its title, its kind (one of KINDS), and the two counts of which it is the ratio.

    If `numerator` and `denominator` name other figures, it is their harmonic mean. `rules` names
    the rules of scoring on which its value depends, if these are not those of its kind.
    """

    title: str
    kind: str
    numerator: str
    denominator: str
    scale: float = 100.0
    rules: tuple[str, ...] | None = None

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Return the rules on which the value depends: names of kinds, or "main" (no subtypes)."""
        return (self.kind,) if self.rules is None else self.rules

    @overload
    def __get__(self, report: None, owner: type) -> Metric: ...
    @overload
    def __get__(self, report: EvalbFigures, owner: type) -> float: ...
    @overload
    def __get__(self, report: BracketFigures, owner: type) -> float | None: ...
    def __get__(self, report: BracketFigures | None, owner: type) -> Metric | float | None:
        # A metric is a descriptor: `report.las` is the figure, `AllFigures.las` the metric.
        return self if report is None else report.figure(self)

    def value(self, counts: Mapping[str, Any]) -> Any:
        """Return the figure from summed counts, numbers or arrays [resamples]; 0 for 0 of 0."""
        if self.numerator in METRICS:
            # F1: the harmonic mean of precision and recall.
            p = METRICS[self.numerator].value(counts)
            r = METRICS[self.denominator].value(counts)
            return _ratio(2 * p * r, p + r, 1.0)
        return _ratio(counts[self.numerator], counts[self.denominator], self.scale)


def _ratio(numerator: Any, denominator: Any, scale: float) -> NDArray[np.float64]:
    numerator = np.asarray(numerator, dtype=np.float64)
    denominator = np.asarray(denominator, dtype=np.float64)
    ratio: NDArray[np.float64] = np.zeros(np.broadcast(numerator, denominator).shape)
    np.divide(scale * numerator, denominator, out=ratio, where=denominator != 0)
    return ratio


class BracketFigures:
    """EVALB's figures, in percent (crossing brackets: per sentence), and unlabelled ones."""

    precision = Metric("precision", "brackets", "matched", "predicted")
    recall = Metric("recall", "brackets", "matched", "gold")
    f1 = Metric("F1", "brackets", "precision", "recall")
    unlabelled_precision = Metric("unlabelled precision", "brackets", "matched_spans", "predicted")
    unlabelled_recall = Metric("unlabelled recall", "brackets", "matched_spans", "gold")
    unlabelled_f1 = Metric("unlabelled F1", "brackets", "unlabelled_precision", "unlabelled_recall")
    complete_match = Metric("complete match", "brackets", "complete", "valid")
    average_crossing = Metric("average crossing", "brackets", "crossing", "valid", 1.0)
    no_crossing = Metric("no crossing", "brackets", "without_crossing", "valid")
    two_or_less_crossing = Metric("2 or less crossing", "brackets", "with_two_or_less", "valid")
    tagging_accuracy = Metric("tagging accuracy", "brackets", "bracket_tags", "bracket_words")

    @property
    def totals(self) -> Counter[str]:
        """Return the counts summed over sentences, by name."""
        raise NotImplementedError

    def figure(self, metric: Metric) -> float | None:
        """Return the value of one figure; None if nothing was counted."""
        if metric.kind == "brackets":
            # Without a gold bracket the figures are 0.
            has_counts = self.totals["con_sentences"] > 0
        else:
            has_counts = self.totals[metric.denominator] > 0 and metric.numerator in self.totals
        return float(metric.value(self.totals)) if has_counts else None


class EvalbFigures(BracketFigures):
    """The same figures, 0 if nothing was counted, like EVALB's."""

    def figure(self, metric: Metric) -> float:
        """Return the value of one figure."""
        return float(metric.value(self.totals))


class AllFigures(BracketFigures):
    """The figures of a report, in percent."""

    uas = Metric("UAS", "attachment", "right_heads", "arcs")
    las = Metric("LAS", "attachment", "right_arcs", "arcs")
    relation_accuracy = Metric("relation accuracy", "attachment", "right_relations", "arcs")
    las_main = Metric("LAS, no subtypes", "attachment", "right_main_arcs", "arcs", rules=("main",))
    relation_accuracy_main = Metric(
        "relations, no subtypes", "attachment", "right_main_relations", "arcs", rules=("main",)
    )
    # Complete match is labelled (the paper's Table 8), over all sentences with such trees; one that
    # EVALB refuses is not a match.
    lcm_con = Metric("LCM con", "complete", "complete_con", "con_sentences", rules=("brackets",))
    lcm_dep = Metric("LCM dep", "complete", "complete_dep", "dep_sentences", rules=("attachment",))
    lcm_both = Metric(
        "LCM con+dep",
        "complete",
        "complete_both",
        "both_sentences",
        rules=("brackets", "attachment"),
    )
    compatible = Metric("compatible", "complete", "fitting", "predicted_pairs", rules=())
    tag_accuracy = Metric("tag accuracy, all words", "tags", "right_tags", "tags")
    upos_accuracy = Metric("UPOS accuracy, all words", "tags", "right_upos", "upos")
    lemma_accuracy = Metric("lemma accuracy, all words", "tags", "right_lemmas", "lemmas")
    feature_accuracy = Metric("feature accuracy, all words", "tags", "right_features", "features")


# In the order of their definition, which is that of tables.
_TABLE = {**vars(AllFigures), **vars(BracketFigures)}
METRICS: dict[str, Metric] = {
    name: metric
    for kind in KINDS
    for name, metric in _TABLE.items()
    if isinstance(metric, Metric) and metric.kind == kind
}


class Tally(NamedTuple):
    """The counts of a label or relation in gold trees and in predicted ones.

    `found` of the gold ones were found, `right` of the predicted ones are right; they differ if
    rules take two labels for the same.
    """

    gold: int = 0
    predicted: int = 0
    found: int = 0
    right: int = 0

    @property
    def precision(self) -> float:
        """Return the share of the predicted ones that are right, in percent."""
        return 100.0 * self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Return the share of the gold ones that were found, in percent."""
        return 100.0 * self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return counts and shares by name."""
        return {**self._asdict(), "precision": self.precision, "recall": self.recall, "f1": self.f1}


Confusion = Counter[tuple[str | None, str | None, bool]]
"""Counts of (gold name, predicted name, True if right); the name of a missing partner is None."""


def tallies(confusion: Confusion, order: Iterable[str] | None = None) -> dict[str, Tally]:
    """Return tallies by name, in this order; else the most frequent in gold first.

    >>> tallies(Counter({("NP", "NP", True): 1, ("VP", "NP", False): 1}))["NP"]
    Tally(gold=1, predicted=2, found=1, right=1)
    """
    gold = Counter[Any]()
    predicted = Counter[Any]()
    right_gold = Counter[Any]()
    right_predicted = Counter[Any]()
    for (gold_name, predicted_name, is_right), count in confusion.items():
        gold[gold_name] += count
        predicted[predicted_name] += count
        if is_right:
            right_gold[gold_name] += count
            right_predicted[predicted_name] += count
    if order is None:
        # None stands for a missing partner and has no tally.
        order = sorted({*gold, *predicted} - {None}, key=lambda name: (-gold[name], name))
    tally_of = {}
    for name in order:
        if gold[name] or predicted[name]:
            tally_of[name] = Tally(
                gold[name], predicted[name], right_gold[name], right_predicted[name]
            )
    return tally_of
