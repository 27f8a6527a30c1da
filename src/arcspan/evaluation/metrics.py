"""The figures: what each is called, what it scores, and the counts it is the ratio of.

Every figure is a ratio of counts that add up over sentences, or the harmonic mean of two such ratios. A class with
`totals` that inherits from `BracketFigures` or `AllFigures` has every figure as an attribute; this table is the only
place that names them. What is counted in a sentence is listed in `brackets.bracket_counts` and `scoring.count`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

#: What figures score, in the order in which they are shown, and the titles of the blocks of a table.
KINDS = {
    "attachment": "Dependencies",
    "brackets": "Constituents (as EVALB)",
    "complete": "Whole sentences",
    "tags": "Tags, lemmas and features",
}


@dataclass(frozen=True)
class Metric:
    """A figure: its title, its kind (one of KINDS), and the counts it is the ratio of.

    Where `part` and `whole` name other figures, it is their harmonic mean. `rules` names the rules of scoring that
    its value depends on, where these are not those of its kind.
    """

    title: str
    kind: str
    part: str
    whole: str
    scale: float = 100.0
    rules: tuple[str, ...] | None = None

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The rules of scoring that the value depends on: names of kinds, or "main" (no subtypes)."""
        return (self.kind,) if self.rules is None else self.rules

    @overload
    def __get__(self, report: None, owner: type) -> Metric: ...
    @overload
    def __get__(self, report: EvalbFigures, owner: type) -> float: ...
    @overload
    def __get__(self, report: BracketFigures, owner: type) -> float | None: ...
    def __get__(self, report: BracketFigures | None, owner: type) -> Metric | float | None:
        return self if report is None else report.figure(self)

    def value(self, counts: Mapping[str, Any]) -> Any:
        """The figure from summed counts: numbers, or arrays with one entry per resample; 0 where nothing counts."""
        if self.part in METRICS:
            p, r = METRICS[self.part].value(counts), METRICS[self.whole].value(counts)
            return _ratio(2 * p * r, p + r, 1.0)
        return _ratio(counts[self.part], counts[self.whole], self.scale)


def _ratio(part: Any, whole: Any, scale: float) -> NDArray[np.float64]:
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    out: NDArray[np.float64] = np.zeros(np.broadcast(part, whole).shape)
    np.divide(scale * part, whole, out=out, where=whole != 0)
    return out


class BracketFigures:
    """What EVALB reports, in percent (crossing brackets: per sentence), and the same whatever the labels."""

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
        """The counts summed over sentences, by name."""
        raise NotImplementedError

    def figure(self, metric: Metric) -> float | None:
        """The value of one figure; None where there was nothing to make it of."""
        counted = self.totals["con_sentences" if metric.kind == "brackets" else metric.whole]
        known = metric.kind == "brackets" or metric.part in self.totals
        return float(metric.value(self.totals)) if counted and known else None


class EvalbFigures(BracketFigures):
    """The same, 0 where nothing was counted, as EVALB has it."""

    def figure(self, metric: Metric) -> float:
        """The value of one figure."""
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
    # Complete match is labelled (the paper's Table 8), over all sentences with such trees; one that EVALB refuses is
    # not a match.
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


_TABLE = {**vars(AllFigures), **vars(BracketFigures)}
METRICS: dict[str, Metric] = {
    name: metric
    for kind in KINDS
    for name, metric in _TABLE.items()
    if isinstance(metric, Metric) and metric.kind == kind
}


class Tally(NamedTuple):
    """How often a label or relation stands in gold trees and in predicted ones, and how often rightly."""

    gold: int = 0
    predicted: int = 0
    found: int = 0  # of the gold ones
    right: int = (
        0  # of the predicted ones; differs from `found` where rules take two labels for the same
    )

    @property
    def precision(self) -> float:
        """Share of the predicted ones that are right, in percent."""
        return 100.0 * self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold ones that were found, in percent."""
        return 100.0 * self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def to_dict(self) -> dict[str, float]:
        """Counts and shares by name."""
        return {**self._asdict(), "precision": self.precision, "recall": self.recall, "f1": self.f1}


Confusion = Counter[tuple[str | None, str | None, bool]]
"""How often a gold item met a predicted one, by their names (None: it had no partner), and whether that was right."""


def tallies(confusion: Confusion, order: Iterable[str] | None = None) -> dict[str, Tally]:
    """Tallies by name, in this order; else the most frequent in gold first.

    >>> tallies(Counter({("NP", "NP", True): 1, ("VP", "NP", False): 1}))["NP"]
    Tally(gold=1, predicted=2, found=1, right=1)
    """
    counters = gold, predicted, found, right = (
        Counter[Any](),
        Counter[Any](),
        Counter[Any](),
        Counter[Any](),
    )
    for (a, b, is_right), count in confusion.items():
        gold[a] += count
        predicted[b] += count
        if is_right:
            found[a] += count
            right[b] += count
    if order is None:
        order = sorted({*gold, *predicted} - {None}, key=lambda name: (-gold[name], name))
    counted = {name: Tally(*(counter[name] for counter in counters)) for name in order}
    return {name: tally for name, tally in counted.items() if tally.gold or tally.predicted}
