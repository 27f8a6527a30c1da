"""Where a system is right and where not: scores by length and width (the paper's Figure 4), and tables of confusions.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arcspan.evaluation.metrics import Confusion, Tally, tallies
from arcspan.evaluation.report import Report, make_report, score_files
from arcspan.evaluation.scoring import AnyPair, Scoring, SentenceScore
from arcspan.treebanks.tree_files import TreeFiles
from arcspan.trees.bracketed_text import LabelledSpan

#: Upper ends of the bins; the last bin is open.
LENGTHS = (10, 20, 30, 40, 50)
WIDTHS = (1, 2, 5, 10, 20, 30, 40)
DISTANCES = (1, 2, 3, 5, 10, 20)

#: Stands for "no such constituent" in tables; no label can have brackets in it.
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
    names = [
        str(end) if low == end else f"{low}–{end}" for low, end in zip(lows, ends, strict=False)
    ]
    return [*names, f">{lows[-1] - 1}"]


@dataclass(frozen=True)
class Breakdown:
    """One system's report, with its confusions, and curves: `curves[name][bin]` is a Tally, for the names in CURVES."""

    report: Report
    curves: dict[str, dict[str, Tally]]

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
    length_names, width_names, distance_names = map(bin_names, (lengths, widths, distances))
    confusions: dict[str, Confusion] = {curve: Counter() for curve in CURVES}

    def width(span: LabelledSpan) -> str:
        return width_names[bisect_left(widths, span[1] - span[0])]

    def distance(head: int, m: int) -> str:
        return distance_names[bisect_left(distances, abs(head - m))] if head else ROOT

    def see(one: SentenceScore) -> None:
        pairs = one.brackets.pairs if one.brackets is not None else ()
        if pairs:
            length = length_names[bisect_left(lengths, len(one.gold.constituency.words))]
            confusions["f1_by_length"].update(
                (a and length, b and length, same) for a, b, same in pairs
            )
            confusions["f1_by_width"].update(
                (a and width(a), b and width(b), same) for a, b, same in pairs
            )
        if one.arcs:
            length = length_names[bisect_left(lengths, len(one.gold.dependencies.heads))]
            for arc in one.arcs:
                near, far = (
                    distance(arc.gold_head, arc.word),
                    distance(arc.predicted_head, arc.word),
                )
                confusions["las_by_length"][length, length, arc.right] += 1
                confusions["las_by_distance"][near, far, arc.right] += 1

    report = make_report(gold, predicted, scoring or Scoring(), see)
    orders = (length_names, width_names, length_names, [ROOT, *distance_names])
    found = zip(confusions.items(), orders, strict=True)
    return Breakdown(
        report, {curve: tallies(confusion, order) for (curve, confusion), order in found}
    )


def breakdown_files(
    gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None
) -> Breakdown:
    """The breakdown of files; see `evaluate_files`."""
    return score_files(breakdown, gold, predicted, scoring)


def csv_tables(systems: Mapping[str, Breakdown]) -> dict[str, str]:
    """CSV files by name, without those of trees that are not there.

    curves.csv     every point of every curve
    labels.csv     gold and predicted labels of the same spans; (none) where one tree has no such span
    relations.csv  gold and predicted relations of the same words, and how often the head was right
    """
    curves: list[Sequence[object]] = []
    pairs: dict[str, list[Sequence[object]]] = {"labels": [], "relations": []}
    for name, system in systems.items():
        for curve, points in system.curves.items():
            for bin_name, tally in points.items():
                scores = [round(score, 4) for score in (tally.precision, tally.recall, tally.f1)]
                curves.append([name, curve, bin_name, *tally, *scores])
        confusions = system.report.label_confusion, system.report.relation_confusion
        for what, confusion in zip(pairs, confusions, strict=True):
            counts = Counter[tuple[str, str]]()
            for (a, b, _), count in confusion.items():
                counts[NOTHING if a is None else a, NOTHING if b is None else b] += count
            for pair, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
                at_head = [confusion[pair[0], pair[1], True]] if what == "relations" else []
                pairs[what].append([name, *pair, count, *at_head])
    header = ["system", "gold", "predicted", "count"]
    tables = {
        "curves.csv": [
            ["system", "curve", "bin", *Tally._fields, "precision", "recall", "f1"],
            *curves,
        ],
        "labels.csv": [header, *pairs["labels"]],
        "relations.csv": [[*header, "head_right"], *pairs["relations"]],
    }
    return {
        name: _csv(rows) for name, rows in tables.items() if name == "curves.csv" or len(rows) > 1
    }


def _csv(rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
