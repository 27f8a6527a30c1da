"""Curves and confusions counted by hand, and the files they make."""

from __future__ import annotations

import csv
import io

import pytest

from arcspan.evaluation import Scoring, Tally, breakdown, evaluate
from arcspan.evaluation.breakdown import (
    NOTHING,
    ROOT,
    bin_names,
    curves_csv,
    label_confusion_csv,
    relation_confusion_csv,
)
from arcspan.trees import ConstituencyTree
from tests.evaluation.samples import GOLD, PREDICTED


def test_bins_are_named_by_what_they_hold() -> None:
    assert bin_names((10, 20)) == ["1–10", "11–20", ">20"]
    assert bin_names((1, 2, 3, 5)) == ["1", "2", "3", "4–5", ">5"]


def test_constituents_are_sorted_by_width_and_sentence_length() -> None:
    found = breakdown(GOLD, PREDICTED, lengths=(3,), widths=(1, 2))
    assert found.curves["f1_by_length"] == {"1–3": Tally(3, 3, 3, 3), ">3": Tally(4, 3, 3, 3)}
    # Dogs, bark, Often, sleeps; "the cat" and "Dogs bark"; the sentence about the cat.
    assert found.curves["f1_by_width"] == {
        "1": Tally(4, 4, 4, 4),
        "2": Tally(2, 1, 1, 1),
        ">2": Tally(1, 1, 1, 1),
    }
    assert found.value("f1_by_width", "2") == pytest.approx(200 / 3)


def test_dependencies_are_sorted_by_distance_and_sentence_length() -> None:
    found = breakdown(GOLD, PREDICTED, lengths=(3,), distances=(1, 2))
    curve = found.curves["las_by_distance"]
    assert curve[ROOT] == Tally(2, 2, 2, 2)
    # Dogs <- bark, the <- cat (predicted <- sleeps, at 2), cat <- sleeps with another relation.
    assert curve["1"] == Tally(3, 2, 1, 1)
    assert curve["2"] == Tally(0, 1, 0, 0)
    assert curve[">2"] == Tally(1, 1, 1, 1)
    assert found.value("las_by_distance", "1") == pytest.approx(100 / 3)
    assert found.value("las_by_distance", "2") is None
    assert found.value("las_by_length", ">3") == 50.0


def test_the_bins_of_a_curve_add_up_to_the_report() -> None:
    found = breakdown(GOLD, PREDICTED)
    report = evaluate(GOLD, PREDICTED)
    for curve in found.curves.values():
        totals = [sum(tally[k] for tally in curve.values()) for k in range(4)]
        assert totals in ([7, 6, 6, 6], [6, 6, 4, 4])
    assert found.report.figures() == report.figures()


def test_labels_are_confused_on_the_same_span_or_with_nothing() -> None:
    gold = ConstituencyTree.from_brackets("(S (NP (NN a) (NN b)) (VP (ADVP (RB c))))")
    predicted = ConstituencyTree.from_brackets("(S (NN a) (X (NN b) (PRT (ADJP (RB c)))))")
    found = breakdown([(gold, None)], [(predicted, None)])
    assert found.label_confusion == {
        ("S", "S"): 1,
        ("ADVP", "PRT"): 1,
        ("VP", "ADJP"): 1,
        ("NP", NOTHING): 1,
        (NOTHING, "X"): 1,
    }


def test_relations_are_confused_word_by_word() -> None:
    found = breakdown(GOLD, PREDICTED)
    assert found.relation_confusion["nsubj:outer", "nsubj"] == 1
    assert found.relation_confusion["det", "det"] == 1
    assert found.relation_confusion_at_head["det", "det"] == 0
    assert ("nsubj:outer", "nsubj") not in breakdown(
        GOLD, PREDICTED, Scoring(subtypes=False)
    ).relation_confusion


def test_the_numbers_come_as_csv() -> None:
    systems = {"gold": breakdown(GOLD, GOLD), "wrong": breakdown(GOLD, PREDICTED)}
    rows = list(csv.DictReader(io.StringIO(curves_csv(systems))))
    row = next(r for r in rows if (r["system"], r["curve"], r["bin"]) == ("wrong", "f1_by_width", "2"))
    assert (row["gold"], row["predicted"], row["recall"], row["f1"]) == ("2", "1", "50.0", "66.6667")
    labels = list(csv.DictReader(io.StringIO(label_confusion_csv(systems))))
    assert {"system": "wrong", "gold": "NP", "predicted": "(none)", "count": "1"} in labels
    relations = list(csv.DictReader(io.StringIO(relation_confusion_csv(systems))))
    assert {
        "system": "wrong",
        "gold": "det",
        "predicted": "det",
        "count": "1",
        "head_right": "0",
    } in relations
