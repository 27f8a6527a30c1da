"""Words in brackets and in columns: what one file can hold, the other can too, and other readers
can read.
"""

from __future__ import annotations

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.conllu import format_conllu
from arcspan.trees.words import one_line

read = ConstituencyTree.from_brackets


def two_words(word: str) -> ConstituencyTree:
    return ConstituencyTree([word, "x"], ["A", "B"], [(0, 2, "S")])


@pytest.mark.parametrize("word", ["\\", "a\\", "\\\\", "\\/", "\\*", "1\\/2", "\\)"])
def test_a_word_with_a_backslash_is_read_back_by_us_and_as_one_leaf_by_nltk(word: str) -> None:
    """NLTK took the bracket after `\\` for a part of the word."""
    brackets = two_words(word).brackets()
    assert read(brackets).words == (word, "x")
    assert len(nltk.Tree.fromstring(brackets).leaves()) == 2


@pytest.mark.parametrize("word", ["New  York", " a", "a\t", "\n", "a\r\nb c"])
def test_white_space_in_a_word_is_the_same_in_brackets_and_columns(word: str) -> None:
    """Two spaces became two in one file and one in the other, so that the pair was refused."""
    (in_brackets, _) = read(two_words(word).brackets()).words
    row = format_conllu(DependencyTree([0], ["root"], [word])).split("\n")[0].split("\t")
    assert len(row) == 10
    assert in_brackets.replace("\N{NO-BREAK SPACE}", " ") == row[1] == one_line(word)


@given(
    st.text(min_size=1).filter(
        lambda word: not set(word) & set("()[]{} \t\n\r\f\v") and "B-" not in word
    )
)
def test_any_other_word_survives_brackets(word: str) -> None:
    assert read(two_words(word).brackets()).words == (word, "x")
