"""Levels, heads and widths, on which every picture stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan import rendering
from arcspan.errors import TreeError
from arcspan.rendering import draw_terminal, to_html, to_svg, to_tikz
from arcspan.rendering.layout import arrange, columns, is_right_to_left, visible
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.rendering.examples import ARABIC, LOGIC, LOGIC_ARCS, random_pair


def test_constituents_of_the_papers_sentence_have_the_papers_heads() -> None:
    picture = arrange(LOGIC, LOGIC_ARCS)
    rows = [
        (constituent.i, constituent.j, constituent.label, constituent.head, constituent.level)
        for constituent in picture.constituents
    ]
    assert rows == [
        (0, 7, "S", 2, 3),
        (0, 1, "NP", 1, 1),
        (1, 6, "VP", 2, 2),
        (2, 5, "NP", 5, 1),
        (5, 6, "ADVP", 6, 1),
    ]
    assert picture.above == (1, 2, 3, 3, 3, 4, 0)
    assert [edge.spine for edge in picture.edges()[:5]] == [False, False, True, False, False]


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_levels_keep_everything_apart(seed: int, n: int) -> None:
    picture = arrange(*random_pair(seed, n))
    for constituent in picture.constituents:
        assert constituent.head, "trees that were joined have one head everywhere"
        if constituent.parent >= 0:
            parent = picture.constituents[constituent.parent]
            assert (
                parent.level > constituent.level
                and parent.i <= constituent.i < constituent.j <= parent.j
            )
    arcs = [(*sorted((arc.head, arc.modifier)), arc.level) for arc in picture.arcs if arc.head]
    for position, (left, right, level) in enumerate(arcs):
        for other_left, other_right, other in arcs[:position]:
            assert max(left, other_left) >= min(right, other_right) or level != other


def test_a_constituent_with_two_words_that_attach_outside_has_no_head() -> None:
    c = ConstituencyTree.from_brackets("(S (X (A a) (B b)) (C c))")
    picture = arrange(c, DependencyTree([3, 3, 0], ["x", "y", "root"], c.words))
    assert [constituent.head for constituent in picture.constituents] == [3, 0]


def test_the_old_name_of_probabilities_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="Probabilities"):
        assert rendering.Confidence is rendering.Probabilities
    with pytest.raises(AttributeError, match="no attribute 'Certainty'"):
        _ = rendering.Certainty


def test_trees_over_different_words_are_refused() -> None:
    with pytest.raises(TreeError, match="7 constituency, 1 dependency"):
        arrange(LOGIC, DependencyTree([0], ["root"]))
    with pytest.raises(TreeError, match="nothing to draw"):
        arrange(None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", 3),
        ("漢字", 4),
        ("cafe\u0301", 4),
        ("한국", 4),
        ("👩‍🚀", 2),
        ("👍🏽", 2),
        ("ｱ", 1),
        ("Ａ", 2),
    ],
)
def test_columns_are_those_of_a_terminal(text: str, expected: int) -> None:
    assert columns(text) == expected


def test_words_become_visible() -> None:
    assert visible("a\x00\x1b[1m") == "a␀␛[1m"
    assert visible("\ud800\ufffe") == "\ufffd\ufffd"
    assert visible("x" * 100_000) == "x" * 39 + "…"


@pytest.mark.parametrize(
    "mark", ["\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\ufeff", "\u2028", "\u00ad"]
)
def test_marks_that_are_not_seen_are_told_by_their_numbers(mark: str) -> None:
    """U+202E turned the rest of the line round in terminals."""
    assert visible(f"a{mark}b") == f"a<U+{ord(mark):04X}>b"
    c = ConstituencyTree([f"a{mark}"], [f"T{mark}"], [(0, 1, f"X{mark}")])
    d = DependencyTree([0], [f"r{mark}"], c.words)
    for drawn in (
        draw_terminal(c, d, width=80),
        to_svg(c, d),
        to_html([(c, d)], texts=[f"a{mark}"]),
        to_tikz(c, d),
    ):
        assert mark not in drawn


@pytest.mark.parametrize("word", ["می‌خواهم", "👩‍🚀", "क्‍ष", "❤️", "عربي", "漢字", "؀١٢"])
def test_joiners_and_scripts_are_left_as_they_are(word: str) -> None:
    assert visible(word) == word


def test_the_direction_is_that_of_most_letters() -> None:
    assert is_right_to_left(ARABIC.words)
    assert not is_right_to_left(LOGIC.words)
    assert not is_right_to_left(["123", "."])
