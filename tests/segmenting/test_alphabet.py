"""What the learnt segmenter sees of a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arcspan.segmenting.alphabet import BLANK, KINDS, MEANT, WRAPPED, Alphabet

ALPHABET = Alphabet("abe0.")


def test_a_letter_is_known_without_its_case_and_accents_and_otherwise_by_its_category() -> None:
    letters, kinds = ALPHABET.encode("aAéЖ7٣").tolist()
    assert letters[0] == letters[1] and kinds[0] != kinds[1]
    assert letters[2] == ALPHABET.encode("e")[0, 0]
    assert letters[3] == kinds[3] < KINDS, "never seen: a capital letter"
    assert letters[4] == letters[5] >= KINDS, "a digit is a digit"


def test_a_line_break_was_meant_where_the_next_word_would_have_fitted() -> None:
    _, codes = ALPHABET.encode("Roses are red\nand sweet\nviolets\tblue").tolist()
    assert [code for code in codes if code <= BLANK] == [
        BLANK,
        BLANK,
        WRAPPED,
        BLANK,
        WRAPPED,
        BLANK,
    ]
    _, codes = ALPHABET.encode("a b\na longer line\nc").tolist()
    assert [code for code in codes if code in (WRAPPED, MEANT)] == [MEANT, WRAPPED]
    _, codes = ALPHABET.encode("a longer line\n  that\n  on").tolist()
    assert [code for code in codes if code in (WRAPPED, MEANT)] == [WRAPPED, MEANT], (
        "indented or not"
    )


@given(st.text(st.characters(exclude_categories=[]), max_size=40))
def test_every_character_has_a_number(text: str) -> None:
    encoded = ALPHABET.encode(text)
    assert encoded.shape == (2, len(text))
    assert ((encoded >= 0) & (encoded < [[len(ALPHABET)], [KINDS]])).all()
    assert ((encoded[1] <= BLANK) == [character.isspace() for character in text]).all()
