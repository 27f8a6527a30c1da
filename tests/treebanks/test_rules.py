"""Rules in files: head tables, learnt rules, and what is neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arcspan.errors import FileError
from arcspan.treebanks import load_rules, save_rules
from arcspan.trees import ConstituencyTree, HeadRules, LearntRules, convert
from tests.trees.conversion.test_learnt import PAIRS, RULES

read = ConstituencyTree.from_brackets

TABLE = """
# a tiny table
head X left B > A ; right
head * right
coordination C
root top
relation first side=left child=A|B
relation rest
"""


def test_a_table_of_ones_own_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text(TABLE, encoding="utf-8")
    d = convert(read("(X (A a) (D d) (B b) (C c) (B e))"), load_rules(path))
    assert d.heads == (3, 3, 0, 3, 3)
    assert d.relations == ("first", "rest", "top", "rest", "rest")
    assert load_rules(path) == HeadRules.parse(TABLE)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("head * left\nheads X left", 2, "unknown statement 'heads'"),
        ("head X", 1, "a rule begins with 'left' or 'right', not ''"),
        ("head", 1, "not enough values"),
        ("head X up A", 1, "not 'up'"),
        ("head X left A > ; right", 1, "a rank without labels"),
        ("head X left A ; ; right", 1, "a rule begins with"),
        ("head * left\nrelation", 2, "a relation needs a name"),
        ("head * left\nrelation OBJ parents=X", 2, "not 'parents=X'"),
        ("head * left\nrelation OBJ side=up", 2, "side is left or right"),
        ("head * left\nroot a b", 2, "too many values"),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "table.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load_rules(path)
    assert str(caught.value).startswith(f"{path}:{line}: ") and what in str(caught.value)


def test_a_table_that_is_empty_missing_a_folder_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    for name, what in (
        ("empty.txt", "no head rules"),
        ("missing.txt", "head tables by name: ptb, ctb"),
        ("", "no such rules"),
        ("binary.txt", "not a text in UTF-8"),
    ):
        with pytest.raises(FileError, match=what):
            load_rules(tmp_path / name)


def test_saved_rules_are_readable_json_and_load_as_the_same_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    save_rules(RULES, path)
    assert json.loads(path.read_text(encoding="utf-8")) == RULES.to_json()
    assert any(line.strip() == '"S VP NP": {"nsubj": 4},' for line in path.read_text().splitlines())
    again = load_rules(path)
    assert isinstance(again, LearntRules) and again.to_json() == RULES.to_json()
    for c, _ in PAIRS:
        assert convert(c, load_rules(path)) == convert(c, RULES)


def test_a_key_that_lost_some_features_is_never_met(tmp_path: Path) -> None:
    data = RULES.to_json()
    data["relations"][0]["counts"]["S VP"] = {"nsubj": 1}
    (tmp_path / "rules.json").write_text(json.dumps(data))
    again = load_rules(tmp_path / "rules.json")
    assert [convert(c, again) for c, _ in PAIRS] == [convert(c, RULES) for c, _ in PAIRS]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"),
        ("[]", "these are not learnt rules"),
        ('{"format": "arcspan learnt rules", "version": 99}', "version 99"),
        ('{"format": "arcspan learnt rules", "version": 1}', "missing or damaged field"),
        (json.dumps(RULES.to_json()).replace('"head_tag"', '"head_tga"'), "no such context: 'head_tga'"),
        (json.dumps(RULES.to_json()).replace('"nsubj": 4', '"nsubj": 0'), "are not numbers from 1"),
        (f'{{"sentences": {"9" * 5000}}}', "4300 digits"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_damaged_rules_are_refused_with_the_file(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(text)
    with pytest.raises(FileError, match=what) as caught:
        load_rules(path)
    assert str(caught.value).startswith(str(path))
