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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from arcspan.evaluation.attachment import relations_of
from arcspan.evaluation.report import AnyPair, Report, Scored, Scoring, Tally, make_report, score_all

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


def bin_names(ends: Sequence[int]) -> list[str]:
    """What the bins with these upper ends are called.

    >>> bin_names((1, 2, 5))
    ['1', '2', '3–5', '>5']
    """
    names = []
    low = 1
    for end in ends:
        names.append(str(end) if low == end else f"{low}–{end}")
        low = end + 1
    return [*names, f">{low - 1}"]


def _bins(ends: Sequence[int]) -> list[str]:
    """The bin of every size up to one more than the last end."""
    names = bin_names(ends)
    table = [""]
    for name, end in zip(names, ends, strict=False):
        table += [name] * (end + 1 - len(table))
    return [*table, names[-1]]


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
    scoring = scoring or Scoring()
    sorter = _Sorter(scoring, _bins(lengths), _bins(widths), _bins(distances))
    report = make_report(map(sorter.see, score_all(gold, predicted, scoring)), scoring)
    order = {
        "f1_by_length": bin_names(lengths),
        "f1_by_width": bin_names(widths),
        "las_by_length": bin_names(lengths),
        "las_by_distance": [ROOT, *bin_names(distances)],
    }
    curves = {curve: sorter.curve(curve, names) for curve, names in order.items()}
    return Breakdown(report, curves, sorter.labels, sorter.relations, sorter.relations_at_head)


@dataclass
class _Sorter:
    """Looks at scored sentences as they pass by."""

    scoring: Scoring
    lengths: list[str]
    widths: list[str]
    distances: list[str]
    tallies: Counter[tuple[str, str, int]] = field(default_factory=Counter)  # curve, bin, place in a Tally
    labels: Counter[tuple[str, str]] = field(default_factory=Counter)
    relations: Counter[tuple[str, str]] = field(default_factory=Counter)
    relations_at_head: Counter[tuple[str, str]] = field(default_factory=Counter)

    def see(self, one: Scored) -> Scored:
        if one.alignment is not None:
            assert one.gold.constituency is not None
            self._see_brackets(one, _bin(self.lengths, len(one.gold.constituency.words)))
        if one.counts is not None:
            assert one.gold.dependencies is not None
            self._see_arcs(one, _bin(self.lengths, len(one.gold.dependencies.heads)))
        return one

    def curve(self, name: str, bins: Sequence[str]) -> dict[str, Tally]:
        points = {bin_name: Tally(*(self.tallies[name, bin_name, k] for k in range(4))) for bin_name in bins}
        return {bin_name: tally for bin_name, tally in points.items() if tally.gold or tally.predicted}

    def _see_brackets(self, one: Scored, length: str) -> None:
        assert one.alignment is not None
        _, gold, predicted, pairs = one.alignment
        items = (gold, predicted, [gold[a] for a, _ in pairs], [predicted[b] for _, b in pairs])
        for place, brackets in enumerate(items):
            self.tallies["f1_by_length", length, place] += len(brackets)
            for i, j, _ in brackets:
                self.tallies["f1_by_width", _bin(self.widths, j - i), place] += 1
        self._confuse(gold, predicted, pairs)

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

    def _see_arcs(self, one: Scored, length: str) -> None:
        gold, predicted = one.gold.dependencies, one.predicted.dependencies
        assert gold is not None and predicted is not None and one.counts is not None
        rows = zip(
            one.counts,
            gold.heads,
            predicted.heads,
            relations_of(gold, self.scoring.subtypes),
            relations_of(predicted, self.scoring.subtypes),
            strict=True,
        )
        for m, (counts, a, b, r, s) in enumerate(rows, 1):
            if not counts:
                continue
            self.relations[r, s] += 1
            self.relations_at_head[r, s] += a == b
            right = a == b and r == s
            near, far = self._distance(a, m), self._distance(b, m)
            for place, bin_name, count in ((0, near, 1), (1, far, 1), (2, near, right), (3, far, right)):
                self.tallies["las_by_distance", bin_name, place] += count
                self.tallies["las_by_length", length, place] += count

    def _distance(self, head: int, m: int) -> str:
        return _bin(self.distances, abs(head - m)) if head else ROOT


def _bin(table: list[str], size: int) -> str:
    return table[size] if size < len(table) else table[-1]


def curves_csv(systems: Mapping[str, Breakdown]) -> str:
    """Every point of every curve of every system, one a line."""
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
