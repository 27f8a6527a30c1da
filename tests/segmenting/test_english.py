"""The English segmenter inside the package: what it must never tear apart, and how well it does on
treebanks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.parser import MODELS
from arcspan.segmenting import Segmenter
from arcspan.training.segmenter import score
from arcspan.training.segmenting_data import documents


@pytest.fixture(scope="module")
def english() -> Segmenter:
    if not (MODELS / "en" / "segmenter.json").is_file():
        pytest.skip("the package has no English segmenter inside")
    return Segmenter.load(MODELS / "en")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Roe v. Wade was decided in 1973.", "Roe v. Wade was decided in 1973 ."),
        ("We met at 9 a.m. Monday in Paris.", "We met at 9 a.m. Monday in Paris ."),
        ("The firm (est. 1990) grew.", "The firm ( est. 1990 ) grew ."),
        ("The U.K.'s position is clear.", "The U.K. 's position is clear ."),
        ("I like C++ and use .NET daily.", "I like C++ and use .NET daily ."),
        (
            "On 2023-12-31 it was in /usr/local/bin again.",
            "On 2023-12-31 it was in /usr/local/bin again .",
        ),
        (
            "Call 1-800-555-1234 and say #WinBig2024!!!",
            "Call 1-800-555-1234 and say #WinBig2024 !!!",
        ),
        (
            "See http://a.org/b_(c)?d=e, or ask x.y@z.co.uk.",
            "See http://a.org/b_(c)?d=e , or ask x.y@z.co.uk .",
        ),
        ("It cost $1,000,000.50, or 3.5%.", "It cost $ 1,000,000.50 , or 3.5 % ."),
        (
            "We can't, it's the dogs' well-known toys.",
            "We ca n't , it 's the dogs ' well - known toys .",
        ),
        ("Nice 👨‍👩‍👧‍👦👍🏽🇩🇪 day", "Nice 👨‍👩‍👧‍👦 👍🏽 🇩🇪 day"),
    ],
)
def test_a_sentence_has_the_words_of_the_treebanks(
    english: Segmenter, text: str, expected: str
) -> None:
    assert [list(sentence.words) for sentence in english.split(text)] == [expected.split()]


@pytest.mark.parametrize("space", ["  ", " " * 9, "\t", " \t ", "\u00a0 "])
def test_white_space_in_a_row_ends_no_sentence(english: Segmenter, space: str) -> None:
    text = f"  Logic plays{space}a maximal{space}role here.{space}It does."
    expected = [("Logic", "plays", "a", "maximal", "role", "here", "."), ("It", "does", ".")]
    assert [sentence.words for sentence in english.split(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Brown met Dr. Who. They left at 5 p.m. on Monday.", 2),
        ("this is great i love it. it came fast. buy it", 3),
        ("A SHORT HEADING\nThe text below it begins here. And it goes on.", 3),
        (
            "The lines of this paragraph were wrapped by a\nprogram that did not care where a sentence ends,\nas here.",
            1,
        ),
        (
            "    The lines of this paragraph were wrapped by a\n    program that indents them all, wherever in the\n"
            "    sentence it happens to be.",
            1,
        ),
        ("From: Ann Lee\nTo: Bob Ray\nSubject: Lunch", 3),
        ("- a dog\n- a cat\n- a cow", 3),
        ("Name\tAge\nAnn\t7\nBob\t8", 3),
        ("“Why?” he asked. “Because,” she said.", 2),
        (
            "Shall I go with thee to the market,\nOr stay at home and mend my coat?\nI cannot say.",
            2,
        ),
    ],
)
def test_sentences_end_where_readers_end_them(english: Segmenter, text: str, expected: int) -> None:
    assert len(english.split(text)) == expected


@pytest.mark.treebanks
@pytest.mark.parametrize(
    ("treebank", "least"),
    [
        ("ewt", {"tokens": 99.3, "words": 98.9, "sentences": 88.0}),
        ("gum", {"tokens": 99.7, "words": 99.7, "sentences": 95.0}),
    ],
)
def test_dev_files_are_split_as_well_as_ever(
    english: Segmenter, treebanks: Path, treebank: str, least: dict[str, float]
) -> None:
    scores = score(english, documents(treebanks / treebank / "dev.conllu.xz"))
    assert all(scores[figure] >= value for figure, value in least.items()), scores
