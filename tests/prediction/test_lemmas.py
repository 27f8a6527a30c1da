"""Lemmas as edits: an edit makes the lemma that it was made of, and fits words it was not made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.prediction.lemmas import edit_of, lemma_of
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.results import Prediction

# Letters whose lower or upper case is longer, the marks of the edits themselves, a combining accent, a joined emoji.
ODD = ["İ", "ß", "ŉ", "ﬁ", "Σ", "ς", "ǆ", "|", "+", "=", "\u0301", "\u200d", "👩", "k", "l", "0"]
texts = st.one_of(
    st.text(min_size=1, max_size=12), st.lists(st.sampled_from(ODD), min_size=1).map("".join)
)


@given(texts, texts)
def test_an_edit_makes_the_lemma_it_was_made_of(word: str, lemma: str) -> None:
    assert lemma_of(edit_of(word, lemma), word) == lemma


@given(texts, st.text(max_size=3), st.text(max_size=3))
def test_lemmas_that_share_much_with_the_word_come_back_too(
    word: str, front: str, back: str
) -> None:
    lemma = front + word[1:] + back
    assert lemma_of(edit_of(word, lemma), word) == lemma


@given(texts, texts, texts)
def test_an_edit_of_another_word_gives_some_lemma(word: str, lemma: str, other: str) -> None:
    assert isinstance(lemma_of(edit_of(word, lemma), other), str)


@pytest.mark.parametrize(
    ("word", "lemma", "other", "expected"),
    [
        ("flies", "fly", "Tries", "try"),
        ("Dogs", "dog", "CATS", "cat"),
        ("Paris", "Paris", "McDonald", "McDonald"),
        ("nato", "NATO", "unesco", "UNESCO"),
        ("paris", "Paris", "rome", "Rome"),
        ("gesagt", "sagen", "gefragt", "fragen"),
        ("was", "be", "were", "be"),
    ],
)
def test_words_never_seen_are_lemmatized_alike(
    word: str, lemma: str, other: str, expected: str
) -> None:
    assert lemma_of(edit_of(word, lemma), other) == expected


def test_an_edit_that_takes_off_more_than_a_word_has_leaves_it_in_lower_case() -> None:
    assert lemma_of(edit_of("flies", "fly"), "I") == "i"
    assert lemma_of(edit_of("flies", "fly"), "IES") == "ies"


def test_a_word_seen_with_its_tag_has_the_lemma_it_was_seen_with() -> None:
    inventories = Inventories(
        ((),), (), ("NN", "VBZ"), (), ("l|0+|0+", "l|0+|1+"), seen_lemmas={"VBZ": {"is": "=be"}}
    )
    words = {"tag": np.asarray([1, 0, 1]), "lemma": np.asarray([0, 0, 1])}
    prediction = Prediction(words=words, inventories=inventories)
    assert prediction.column("lemma", ["is", "is", "runs"]) == ("be", "is", "run")
