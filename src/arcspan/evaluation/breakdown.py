"""Scores by length and width (the paper's Figure 4), and tables of confusions; `plots` draws them.

| curve | counted | bins |
|---|---|---|
| f1_by_length | constituents | words of the sentence |
| f1_by_width | constituents | words of the constituent, after EVALB's deletions |
| las_by_length | dependencies | words of the sentence |
| las_by_distance | dependencies | words from head to modifier; "root" for the root's |

A point on a curve is a Tally: recall is over gold constituents or dependencies of that bin,
precision over predicted ones of that bin. Of the LAS curves the recall is the LAS of the gold
dependencies in the bin.
"""

from __future__ import annotations

import csv
import io
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arcspan.evaluation.metrics import Confusion, Tally, tallies
from arcspan.evaluation.report import Report, make_report, score_files
from arcspan.evaluation.sentence_scoring import AnyPair, Scoring, SentenceScore
from arcspan.treebanks.tree_files import TreeFiles
from arcspan.trees.bracketed_text import LabelledSpan

# Upper ends of the bins; the last bin is open.
LENGTHS = (10, 20, 30, 40, 50)
WIDTHS = (1, 2, 5, 10, 20, 30, 40)
DISTANCES = (1, 2, 3, 5, 10, 20)

# A label of tables that no constituent can have, since it has brackets.
NOTHING = "(none)"
ROOT = "root"

CURVES = {
    "f1_by_length": ("F1", "sentence length"),
    "f1_by_width": ("F1", "constituent width"),
    "las_by_length": ("LAS", "sentence length"),
    "las_by_distance": ("LAS", "dependency length"),
}


def bin_names(ends: Sequence[int], first: int = 1) -> list[str]:
    """Return the names of the bins with these upper ends; `first` is the smallest size.

    >>> bin_names((1, 2, 5))
    ['1', '2', '3–5', '>5']
    """
    names = []
    low = first
    for end in ends:
        names.append(str(end) if low == end else f"{low}–{end}")
        low = end + 1
    return [*names, f">{low - 1}"]


Row = Sequence[object]


@dataclass(frozen=True)
class Breakdown:
    """A system's report and curves: `curves[name][bin]` is a Tally, for the names in CURVES."""

    report: Report
    curves: dict[str, dict[str, Tally]]

    def value(self, curve: str, bin_name: str) -> float | None:
        """Return the height of a curve in a bin: F1 or LAS; None without gold ones."""
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
    """Score pairs of trees, and count right and wrong parts by size and by label.

    >>> from arcspan.trees import ConstituencyTree, DependencyTree
    >>> c = ConstituencyTree.from_brackets("(S (NP (NNP Logic)) (VP (VBZ plays)))")
    >>> d = DependencyTree([2, 0], ["nsubj", "root"])
    >>> system = breakdown([(c, d)], [(c, d)])
    >>> system.curves["f1_by_width"]["1"]
    Tally(gold=2, predicted=2, found=2, right=2)
    >>> system.value("las_by_distance", "root")
    100.0
    """
    length_names = bin_names(lengths)
    width_names = bin_names(widths)
    distance_names = bin_names(distances)
    confusions: dict[str, Confusion] = {curve: Counter() for curve in CURVES}

    def width(span: LabelledSpan | None) -> str | None:
        return span and width_names[bisect_left(widths, span[1] - span[0])]

    def distance(head: int, m: int) -> str:
        return distance_names[bisect_left(distances, abs(head - m))] if head else ROOT

    def observe(score: SentenceScore) -> None:
        if score.brackets is not None:
            length = length_names[bisect_left(lengths, len(score.gold.constituency.words))]
            for gold_span, predicted_span, is_match in score.brackets.pairs:
                bins = (gold_span and length, predicted_span and length, is_match)
                confusions["f1_by_length"][bins] += 1
                bins = (width(gold_span), width(predicted_span), is_match)
                confusions["f1_by_width"][bins] += 1
        if score.arcs:
            # Both heads of a word are in the sentence's bin, whatever their distance.
            length = length_names[bisect_left(lengths, len(score.gold.dependencies.heads))]
            for arc in score.arcs:
                confusions["las_by_length"][length, length, arc.right] += 1
                gold_bin = distance(arc.gold_head, arc.word)
                predicted_bin = distance(arc.predicted_head, arc.word)
                confusions["las_by_distance"][gold_bin, predicted_bin, arc.right] += 1

    report = make_report(gold, predicted, scoring or Scoring(), observe)
    curves = {
        "f1_by_length": tallies(confusions["f1_by_length"], length_names),
        "f1_by_width": tallies(confusions["f1_by_width"], width_names),
        "las_by_length": tallies(confusions["las_by_length"], length_names),
        "las_by_distance": tallies(confusions["las_by_distance"], [ROOT, *distance_names]),
    }
    return Breakdown(report, curves)


def breakdown_files(
    gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None
) -> Breakdown:
    """Return the breakdown of files; see `evaluate_files`."""
    return score_files(breakdown, gold, predicted, scoring)


def csv_tables(systems: Mapping[str, Breakdown]) -> dict[str, str]:
    """Return CSV files by name, without files that would be empty.

    curves.csv     every point of every curve
    labels.csv     gold and predicted labels of the same spans; (none) for a missing span
    relations.csv  gold and predicted relations of the same words, and how often the head was right
    """
    curve_rows: list[Row] = [
        ["system", "curve", "bin", *Tally._fields, "precision", "recall", "f1"]
    ]
    label_rows: list[Row] = [["system", "gold", "predicted", "count"]]
    relation_rows: list[Row] = [["system", "gold", "predicted", "count", "head_right"]]
    for name, system in systems.items():
        for curve, points in system.curves.items():
            for bin_name, tally in points.items():
                scores = [round(score, 4) for score in (tally.precision, tally.recall, tally.f1)]
                curve_rows.append([name, curve, bin_name, *tally, *scores])
        for gold, predicted, count in _pair_counts(system.report.label_confusion):
            label_rows.append([name, gold, predicted, count])
        confusion = system.report.relation_confusion
        for gold, predicted, count in _pair_counts(confusion):
            # The same relation with a wrong head counts as a pair, too.
            right_heads = confusion[gold, predicted, True]
            relation_rows.append([name, gold, predicted, count, right_heads])
    tables = {"curves.csv": _csv(curve_rows)}
    if len(label_rows) > 1:
        tables["labels.csv"] = _csv(label_rows)
    if len(relation_rows) > 1:
        tables["relations.csv"] = _csv(relation_rows)
    return tables


def _pair_counts(confusion: Confusion) -> list[tuple[str, str, int]]:
    """Return (gold, predicted, count), right or not, the most frequent first."""
    counts = Counter[tuple[str, str]]()
    for (gold, predicted, _), count in confusion.items():
        counts[NOTHING if gold is None else gold, NOTHING if predicted is None else predicted] += (
            count
        )
    pairs = [(gold, predicted, count) for (gold, predicted), count in counts.items()]
    return sorted(pairs, key=lambda pair: (-pair[2], pair[:2]))


def _csv(rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
