"""Curves and confusions counted by hand, and the files they make."""

from __future__ import annotations

import csv
import io

import pytest

from arcspan.evaluation import Tally, breakdown, evaluate
from arcspan.evaluation.breakdown import (
    ROOT,
    bin_names,
    csv_tables,
)
from arcspan.trees import ConstituencyTree
from tests.evaluation.samples import GOLD, PREDICTED


def test_bins_are_named_by_what_they_hold() -> None:
    assert bin_names((10, 20)) == ["1–10", "11–20", ">20"]
    assert bin_names((1, 2, 3, 5)) == ["1", "2", "3", "4–5", ">5"]


def test_constituents_are_sorted_by_width_and_sentence_length() -> None:
    system = breakdown(GOLD, PREDICTED, lengths=(3,), widths=(1, 2))
    assert system.curves["f1_by_length"] == {"1–3": Tally(3, 3, 3, 3), ">3": Tally(4, 3, 3, 3)}
    # Dogs, bark, Often, sleeps; "the cat" and "Dogs bark"; the sentence about the cat.
    assert system.curves["f1_by_width"] == {
        "1": Tally(4, 4, 4, 4),
        "2": Tally(2, 1, 1, 1),
        ">2": Tally(1, 1, 1, 1),
    }
    assert system.value("f1_by_width", "2") == pytest.approx(200 / 3)


def test_dependencies_are_sorted_by_distance_and_sentence_length() -> None:
    system = breakdown(GOLD, PREDICTED, lengths=(3,), distances=(1, 2))
    curve = system.curves["las_by_distance"]
    assert curve[ROOT] == Tally(2, 2, 2, 2)
    # Dogs <- bark, the <- cat (predicted <- sleeps, at 2), cat <- sleeps with another relation.
    assert curve["1"] == Tally(3, 2, 1, 1)
    assert curve["2"] == Tally(0, 1, 0, 0)
    assert curve[">2"] == Tally(1, 1, 1, 1)
    assert system.value("las_by_distance", "1") == pytest.approx(100 / 3)
    assert system.value("las_by_distance", "2") is None
    assert system.value("las_by_length", ">3") == 50.0


def test_the_bins_of_a_curve_add_up_to_the_report() -> None:
    system = breakdown(GOLD, PREDICTED)
    report = evaluate(GOLD, PREDICTED)
    for curve in system.curves.values():
        totals = [sum(tally[k] for tally in curve.values()) for k in range(4)]
        assert totals in ([7, 6, 6, 6], [6, 6, 4, 4])
    assert system.report.figures() == report.figures()


def test_labels_are_confused_on_the_same_span_or_with_nothing() -> None:
    gold = ConstituencyTree.from_brackets("(S (NP (NN a) (NN b)) (VP (ADVP (RB c))))")
    predicted = ConstituencyTree.from_brackets("(S (NN a) (X (NN b) (PRT (ADJP (RB c)))))")
    system = breakdown([(gold, None)], [(predicted, None)])
    assert system.report.label_confusion == {
        ("S", "S", True): 1,
        ("ADVP", "PRT", True): 1,
        ("VP", "ADJP", False): 1,
        ("NP", None, False): 1,
        (None, "X", False): 1,
    }


def test_relations_are_confused_word_by_word() -> None:
    system = evaluate(GOLD, PREDICTED)
    assert system.relation_confusion["nsubj:outer", "nsubj", True] == 1
    assert system.relation_confusion["det", "det", False] == 1
    assert system.relation_confusion["det", "det", True] == 0
    ignored = evaluate(GOLD, PREDICTED, subtypes=False).relation_confusion
    assert not any("nsubj:outer" in key for key in ignored)


def test_the_numbers_come_as_csv() -> None:
    systems = {"gold": breakdown(GOLD, GOLD), "wrong": breakdown(GOLD, PREDICTED)}
    tables = {
        name: list(csv.DictReader(io.StringIO(text))) for name, text in csv_tables(systems).items()
    }
    rows = tables["curves.csv"]
    row = next(
        r for r in rows if (r["system"], r["curve"], r["bin"]) == ("wrong", "f1_by_width", "2")
    )
    assert (row["gold"], row["predicted"], row["recall"], row["f1"]) == (
        "2",
        "1",
        "50.0",
        "66.6667",
    )
    assert {"system": "wrong", "gold": "NP", "predicted": "(none)", "count": "1"} in tables[
        "labels.csv"
    ]
    assert {
        "system": "wrong",
        "gold": "det",
        "predicted": "det",
        "count": "1",
        "head_right": "0",
    } in tables["relations.csv"]
    assert set(csv_tables({"empty": breakdown([], [])})) == {"curves.csv"}
