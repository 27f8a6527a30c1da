from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.errors import ArcspanError
from arcspan.treebanks import DocumentFilter, read_conllu
from arcspan.treebanks.filtering import read_values

ESSAY = ["# newdoc id = a", "# genre = essay"]
NEWS = ["# genre = news", "# newdoc id = b"]
PLAIN = ["# sent_id = 7", "1\tgenre = essay\t..."]


def test_what_stands_beside_newdoc_holds_until_the_next_document() -> None:
    keep = DocumentFilter(without={"genre": ["essay"]})
    assert [keep(lines) for lines in (PLAIN, ESSAY, PLAIN, NEWS, PLAIN)] == [
        True,
        False,
        False,
        True,
        True,
    ]
    keep = DocumentFilter(only={"genre": ["essay"]})
    assert [keep(lines) for lines in (PLAIN, ESSAY, PLAIN, NEWS, PLAIN)] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_several_conditions_must_all_hold() -> None:
    keep = DocumentFilter(without={"newdoc id": ["b"]}, only={"genre": ["news", "essay"]})
    assert [keep(lines) for lines in (ESSAY, NEWS)] == [True, False]
    assert keep.unused() == []


def test_values_that_no_document_has_are_told() -> None:
    keep = DocumentFilter(without={"genre": ["essay", "eassy"]})
    keep(ESSAY)
    assert keep.unused() == ["genre = eassy"]


@pytest.mark.parametrize("option", ["", "genre", "genre=", "=essay"])
def test_an_option_that_names_nothing_is_refused(option: str) -> None:
    with pytest.raises(ArcspanError, match="is not NAME=VALUE"):
        read_values(option)


def test_gums_genres_are_left_out(treebanks: Path) -> None:
    keep = DocumentFilter(without={"genre": ["essay", "letter"]})
    kept = {
        sentence.sent_id.split("_")[1]
        for sentence in read_conllu(treebanks / "gum" / "dev.conllu.xz")
        if keep(sentence.lines)
    }
    assert "essay" not in kept and "letter" not in kept and "news" in kept
    assert keep.unused() == []
