"""Head tables in files, and what is not one."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.errors import FileError
from arcspan.treebanks import load_rules
from arcspan.trees import ConstituencyTree, HeadRules, convert

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
    ("text", "line", "message"),
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
def test_a_damaged_table_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    path = tmp_path / "table.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load_rules(path)
    assert str(caught.value).startswith(f"{path}:{line}: ") and message in str(caught.value)


def test_a_table_that_is_empty_missing_a_folder_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    for name, message in (
        ("empty.txt", "no head rules"),
        ("missing.txt", "head tables by name: ptb, ctb"),
        ("", "no such rules"),
        ("binary.txt", "not a text in UTF-8"),
    ):
        with pytest.raises(FileError, match=message):
            load_rules(tmp_path / name)
