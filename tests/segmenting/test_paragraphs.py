"""Where a text is cut before anybody looks at its words: the same whatever pieces it comes in."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.segmenting import paragraphs as module
from arcspan.segmenting.paragraphs import blocks, paragraphs

TEXTS = st.lists(
    st.sampled_from(["a", "b. ", " ", "\n", "\r\n", "\r", "\n\n", "\f", "\t"]), max_size=30
).map("".join)


@given(TEXTS, st.lists(st.integers(0, 30), max_size=6))
def test_paragraphs_do_not_depend_on_the_pieces_of_a_text(text: str, cuts: list[int]) -> None:
    borders = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[begin:end] for begin, end in pairwise(borders)]
    expected = list(paragraphs([text]))
    assert list(paragraphs(pieces)) == expected
    assert list(paragraphs(text)) == expected, "one character at a time"
    for part in expected:
        assert text.startswith(part.text, part.start)
    assert " ".join(part.text for part in expected).split() == text.split()


@given(TEXTS, st.integers(1, 7))
def test_a_paragraph_longer_than_may_be_held_comes_in_parts(text: str, longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONGEST", longest)
        parts = list(paragraphs([text]))
        assert list(paragraphs(text)) == parts
    assert all(len(part.text) <= longest for part in parts)
    assert "".join("".join(part.text.split()) for part in parts) == "".join(text.split())
    assert all(earlier.last == following.first for earlier, following in pairwise(parts))


def lines(text: str) -> list[str]:
    located_blocks = list(blocks(text))
    assert all(text.startswith(block, begin) for begin, block in located_blocks)
    return [block for _, block in located_blocks]


def test_items_rows_and_fields_stand_for_themselves_and_running_text_does_not() -> None:
    assert lines("1. One\ngoes on\n2. Two") == ["1. One\ngoes on", "2. Two"]
    assert lines("Name\tAge\nAnn\t7\nBob\t8") == ["Name\tAge", "Ann\t7", "Bob\t8"]
    assert lines("| a | b |\n| c | d |") == ["| a | b |", "| c | d |"]
    assert lines("From: Ann\nSent By: Bob\nSubject: Us") == [
        "From: Ann",
        "Sent By: Bob",
        "Subject: Us",
    ]
    assert lines("Note: he left\nand came back | again") == ["Note: he left\nand came back | again"]
    assert lines("It was on May\n12. Then he left.") == ["It was on May\n12. Then he left."]
