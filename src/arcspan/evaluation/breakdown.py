"""Where a system is right and where not: scores by length and width (the paper's Figure 4), and confusions.

| curve | items | bins |
|---|---|---|
| f1_by_length | constituents | words of the sentence |
| f1_by_width | constituents | words of the constituent, after EVALB's deletions |
| las_by_length | dependencies | words of the sentence |
| las_by_distance | dependencies | words from head to modifier; "root" for the root's |

A point on a curve is a Tally: recall is over gold items of that bin, precision over predicted items of that
bin. Of the LAS curves the recall is the LAS of the gold dependencies in the bin.
"""

from __future__ import annotations

import csv
import io
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from arcspan.evaluation.metrics import Tallies, Tally
from arcspan.evaluation.report import Report, make_report
from arcspan.evaluation.scoring import AnyPair, Scoring, SentenceScore, score_all

#: Upper ends of the bins; the last bin is open.
LENGTHS = (10, 20, 30, 40, 50)
WIDTHS = (1, 2, 5, 10, 20, 30, 40)
DISTANCES = (1, 2, 3, 5, 10, 20)

#: Stands for "no such constituent" in a confusion; no label can have brackets in it.
NOTHING = "(none)"
ROOT = "root"

CURVES = {
    "f1_by_length": ("F1", "sentence length"),
    "f1_by_width": ("F1", "constituent width"),
    "las_by_length": ("LAS", "sentence length"),
    "las_by_distance": ("LAS", "dependency length"),
}


def bin_names(ends: Sequence[int], first: int = 1) -> list[str]:
    """What the bins with these upper ends are called; `first` is the smallest size.

    >>> bin_names((1, 2, 5))
    ['1', '2', '3–5', '>5']
    """
    lows = [first, *(end + 1 for end in ends)]
    names = [str(end) if low == end else f"{low}–{end}" for low, end in zip(lows, ends, strict=False)]
    return [*names, f">{lows[-1] - 1}"]


def _binner(ends: Sequence[int]) -> Callable[[int], str]:
    """The name of the bin of a size."""
    names = bin_names(ends)
    return lambda size: names[bisect_left(ends, size)]


@dataclass(frozen=True)
class Breakdown:
    """One system's curves and confusions.

    `curves[name][bin]` is a Tally, for the names in CURVES. `label_confusion[gold, predicted]` counts
    constituents with the same span, NOTHING standing for a span that only one tree has.
    `relation_confusion[gold, predicted]` counts words, `relation_confusion_at_head` those of them whose head
    is right.
    """

    report: Report
    curves: dict[str, dict[str, Tally]]
    label_confusion: Counter[tuple[str, str]]
    relation_confusion: Counter[tuple[str, str]]
    relation_confusion_at_head: Counter[tuple[str, str]]

    def value(self, curve: str, bin_name: str) -> float | None:
        """The height of a curve in a bin: F1 or LAS; None where there is nothing to score."""
        tally = self.curves[curve].get(bin_name)
        if tally is None or not tally.gold:
            return None
        return tally.f1 if CURVES[curve][0] == "F1" else tally.recall


def breakdown(
    gold: Iterable[AnyPair],
    predicted: Iterable[AnyPair],
    scoring: Scoring | None = None,
    *,
    lengths: Sequence[int] = LENGTHS,
    widths: Sequence[int] = WIDTHS,
    distances: Sequence[int] = DISTANCES,
) -> Breakdown:
    """Score pairs of trees and sort what was right and wrong by size and by label.

    >>> from arcspan.trees import ConstituencyTree, DependencyTree
    >>> c = ConstituencyTree.from_brackets("(S (NP (NNP Logic)) (VP (VBZ plays)))")
    >>> d = DependencyTree([2, 0], ["nsubj", "root"])
    >>> found = breakdown([(c, d)], [(c, d)])
    >>> found.curves["f1_by_width"]["1"]
    Tally(gold=2, predicted=2, found=2, right=2)
    >>> found.value("las_by_distance", "root")
    100.0
    """
    scoring, gold = (scoring or Scoring()).settled(gold)
    sorter = _Sorter(_binner(lengths), _binner(widths), _binner(distances))
    report = make_report(map(sorter.see, score_all(gold, predicted, scoring)), scoring)
    order = {
        "f1_by_length": bin_names(lengths),
        "f1_by_width": bin_names(widths),
        "las_by_length": bin_names(lengths),
        "las_by_distance": [ROOT, *bin_names(distances)],
    }
    curves = {curve: sorter.curves[curve].result(names) for curve, names in order.items()}
    return Breakdown(report, curves, sorter.labels, sorter.relations, sorter.relations_at_head)


@dataclass
class _Sorter:
    """Looks at scored sentences as they pass by."""

    length_bin: Callable[[int], str]
    width_bin: Callable[[int], str]
    distance_bin: Callable[[int], str]
    curves: dict[str, Tallies] = field(default_factory=lambda: {curve: Tallies() for curve in CURVES})
    labels: Counter[tuple[str, str]] = field(default_factory=Counter)
    relations: Counter[tuple[str, str]] = field(default_factory=Counter)
    relations_at_head: Counter[tuple[str, str]] = field(default_factory=Counter)

    def see(self, one: SentenceScore) -> SentenceScore:
        if one.alignment is not None and one.gold.constituency is not None:
            _, gold, predicted, pairs = one.alignment
            items = (gold, predicted, [gold[a] for a, _ in pairs], [predicted[b] for _, b in pairs])
            widths = [[self.width_bin(j - i) for i, j, _ in brackets] for brackets in items]
            self._add("f1_by_length", "f1_by_width", len(one.gold.constituency.words), widths)
            self._confuse(gold, predicted, pairs)
        if one.arcs is not None and one.gold.dependencies is not None:
            near = [self._distance(arc.gold_head, arc.word) for arc in one.arcs]
            far = [self._distance(arc.predicted_head, arc.word) for arc in one.arcs]
            right = [self._distance(arc.gold_head, arc.word) for arc in one.arcs if arc.right]
            lengths = len(one.gold.dependencies.heads)
            self._add("las_by_length", "las_by_distance", lengths, [near, far, right, right])
            for arc in one.arcs:
                self.relations[arc.gold_relation, arc.predicted_relation] += 1
                if arc.right_head:
                    self.relations_at_head[arc.gold_relation, arc.predicted_relation] += 1
        return one

    def _add(self, by_length: str, by_size: str, words: int, sizes: Sequence[list[str]]) -> None:
        """Count the items of a sentence, given by the bins of their sizes: gold, predicted, found, right."""
        length = self.length_bin(words)
        self.curves[by_length].add(*([length] * len(bins) for bins in sizes))
        self.curves[by_size].add(*sizes)

    def _distance(self, head: int, m: int) -> str:
        return self.distance_bin(abs(head - m)) if head else ROOT

    def _confuse(
        self,
        gold: Sequence[tuple[int, int, str]],
        predicted: Sequence[tuple[int, int, str]],
        pairs: Sequence[tuple[int, int]],
    ) -> None:
        """Matched brackets with each other, then the rest of a span in order, then those with no partner."""
        matched_gold, matched_predicted = {a for a, _ in pairs}, {b for _, b in pairs}
        for a, b in pairs:
            self.labels[gold[a][2], predicted[b][2]] += 1
        rest: dict[tuple[int, int], list[str]] = {}
        for b, (i, j, label) in enumerate(predicted):
            if b not in matched_predicted:
                rest.setdefault((i, j), []).append(label)
        for a, (i, j, label) in enumerate(gold):
            if a not in matched_gold:
                partners = rest.get((i, j))
                self.labels[label, partners.pop(0) if partners else NOTHING] += 1
        for labels in rest.values():
            for label in labels:
                self.labels[NOTHING, label] += 1


def curves_csv(systems: Mapping[str, Breakdown]) -> str:
    """Every point of every curve of every system, one per line."""
    rows: list[list[object]] = []
    for name, system in systems.items():
        for curve, points in system.curves.items():
            for bin_name, tally in points.items():
                scores = [round(score, 4) for score in (tally.precision, tally.recall, tally.f1)]
                rows.append([name, curve, bin_name, *tally, *scores])
    header = ["system", "curve", "bin", "gold", "predicted", "found", "right", "precision", "recall", "f1"]
    return _csv(header, rows)


def label_confusion_csv(systems: Mapping[str, Breakdown]) -> str:
    """Gold and predicted labels of the same spans; (none) where one tree has no such span."""
    rows = [
        [name, gold, predicted, count]
        for name, system in systems.items()
        for (gold, predicted), count in sorted(system.label_confusion.items(), key=_by_count)
    ]
    return _csv(["system", "gold", "predicted", "count"], rows)


def relation_confusion_csv(systems: Mapping[str, Breakdown]) -> str:
    """Gold and predicted relations of the same words, and how often the head was right."""
    rows = [
        [name, *pair, count, system.relation_confusion_at_head[pair]]
        for name, system in systems.items()
        for pair, count in sorted(system.relation_confusion.items(), key=_by_count)
    ]
    return _csv(["system", "gold", "predicted", "count", "head_right"], rows)


def _by_count(item: tuple[tuple[str, str], int]) -> tuple[int, tuple[str, str]]:
    return -item[1], item[0]


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
