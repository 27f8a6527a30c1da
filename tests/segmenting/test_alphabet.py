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
    _, kinds = ALPHABET.encode("Roses are red\nand sweet\nviolets\tblue").tolist()
    assert [kind for kind in kinds if kind <= BLANK] == [
        BLANK,
        BLANK,
        WRAPPED,
        BLANK,
        WRAPPED,
        BLANK,
    ]
    _, kinds = ALPHABET.encode("a b\na longer line\nc").tolist()
    assert [kind for kind in kinds if kind in (WRAPPED, MEANT)] == [MEANT, WRAPPED]
    _, kinds = ALPHABET.encode("a longer line\n  that\n  on").tolist()
    assert [kind for kind in kinds if kind in (WRAPPED, MEANT)] == [WRAPPED, MEANT], (
        "indented or not"
    )


@given(st.text(st.characters(exclude_categories=[]), max_size=40))
def test_every_character_has_a_number(text: str) -> None:
    found = ALPHABET.encode(text)
    assert found.shape == (2, len(text))
    assert ((found >= 0) & (found < [[len(ALPHABET)], [KINDS]])).all()
    assert ((found[1] <= BLANK) == [character.isspace() for character in text]).all()
