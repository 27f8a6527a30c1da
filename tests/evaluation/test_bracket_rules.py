"""EVALB's parameter files, and the rules that are built in."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.errors import FileError
from arcspan.evaluation.bracket_rules import COLLINS, BracketRules, as_rules, read_prm

COLLINS_PRM = """\
##------------------------------------------##
## Debug mode                               ##
DEBUG 0

MAX_ERROR 10
CUTOFF_LEN 40
LABELED 1

DELETE_LABEL TOP
DELETE_LABEL -NONE-
DELETE_LABEL ,
DELETE_LABEL :
DELETE_LABEL ``
DELETE_LABEL ''
DELETE_LABEL .
DELETE_LABEL_FOR_LENGTH -NONE-
EQ_LABEL ADVP PRT
# EQ_WORD  Example example
"""


def prm(folder: Path, text: str) -> Path:
    path = folder / "my.prm"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_built_in_rules_are_those_of_collins_prm(tmp_path: Path) -> None:
    read = read_prm(prm(tmp_path, COLLINS_PRM))
    assert read == BracketRules("my.prm", *(getattr(COLLINS, name) for name in RULES))


RULES = (
    "deleted",
    "deleted_for_length",
    "quotes",
    "equal_labels",
    "equal_words",
    "labelled",
    "cutoff",
    "max_errors",
)


def test_a_file_that_says_nothing_deletes_nothing(tmp_path: Path) -> None:
    rules = read_prm(prm(tmp_path, "# nothing\nA\n"))
    assert (rules.deleted, rules.cutoff, rules.labelled, rules.max_errors) == (
        frozenset(),
        40,
        True,
        10,
    )


def test_every_keyword_is_read_with_tabs_and_trailing_space(tmp_path: Path) -> None:
    text = "LABELED\t0 \nCUTOFF_LEN  70\nMAX_ERROR 3\nQUOTE_LABEL POS\n"
    text += "EQ_WORD  colour\tcolor\nDELETE_LABEL \tS1  \n"
    rules = read_prm(prm(tmp_path, text))
    assert not rules.labelled
    assert (rules.cutoff, rules.max_errors, rules.quotes, rules.deleted) == (70, 3, {"POS"}, {"S1"})
    assert rules.same_word("color", "colour") and rules.same_word("colour", "color")


def test_equality_of_labels_goes_both_ways_and_no_further() -> None:
    rules = BracketRules(equal_labels=frozenset({("A", "B"), ("B", "C")}))
    assert rules.same_label("A", "B") and rules.same_label("C", "B")
    assert not rules.same_label("A", "C")


@pytest.mark.parametrize(
    ("label", "counted"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("PRT|ADVP", "PRT|ADVP"),
        ("TOP-X", None),
        ("-LRB-", ""),
        ("", ""),
    ],
)
def test_function_tags_are_cut_off_before_labels_are_compared(
    label: str, counted: str | None
) -> None:
    assert COLLINS.counted_label(label) == counted


def test_a_label_equal_to_a_deleted_one_is_deleted_too() -> None:
    rules = BracketRules(deleted=frozenset({"PRT"}), equal_labels=frozenset({("ADVP", "PRT")}))
    assert rules.counted_label("ADVP") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("DELETE_LABEL TOP\nEQ_LABEL ADVP\n", "EQ_LABEL takes two values, not 1"),
        ("\nCUTOFF_LEN long\n", "CUTOFF_LEN takes a number, not 'long'"),
        ("\nDELETE_LABEL \n", "DELETE_LABEL has no value"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(FileError, match=reason) as caught:
        read_prm(prm(tmp_path, text))
    assert caught.value.line == 2


def test_an_unknown_keyword_is_warned_of_and_ignored_as_evalb_does(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"my.prm:1: EVALB has no keyword DISC_ONLY"):
        rules = read_prm(prm(tmp_path, "DISC_ONLY 1\nDELETE_LABEL TOP\n"))
    assert rules.deleted == {"TOP"}


def test_rules_may_be_given_by_name_by_path_or_not_at_all(tmp_path: Path) -> None:
    assert as_rules(None) is COLLINS
    assert as_rules("COLLINS") is COLLINS
    assert as_rules(COLLINS) is COLLINS
    assert as_rules(prm(tmp_path, COLLINS_PRM)).name == "my.prm"


def test_a_file_that_is_no_parameter_file_is_refused(tmp_path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("Logic plays a maximal role here.\n")
    with (
        pytest.warns(UserWarning, match="no keyword"),
        pytest.raises(FileError, match="not an EVALB parameter"),
    ):
        read_prm(path)
