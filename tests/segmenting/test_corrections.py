"""Marks that rules correct after the network: closing quotes, dates, broken words, headlines."""

from __future__ import annotations

import pytest

import arcspan
from arcspan.parser import MODELS
from arcspan.segmenting import BaseSegmenter

pytestmark = pytest.mark.skipif(
    not (MODELS / "en" / "config.json").is_file(), reason="the package has no English model inside"
)


@pytest.fixture(scope="module")
def segmenter() -> BaseSegmenter:
    return arcspan.load().segmenter


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("‘Come here!’ she said.", "‘ Come here ! ’ she said ."),
        ("She said 'Who is it?' and opened.", "She said ' Who is it ? ' and opened ."),
        ("Sales rose 10%-15% this year.", "Sales rose 10 % - 15 % this year ."),
        ("It was significant (p<0.05).", "It was significant ( p < 0.05 ) ."),
        ("I love you <3", "I love you <3"),
        ("It was signed on 01-Feb-02 in Paris.", "It was signed on 01-Feb-02 in Paris ."),
        ("The standard ISO 639-3 is used.", "The standard ISO 639-3 is used ."),
        ("I had a proble- a problem with it.", "I had a proble- a problem with it ."),
        ("He wan- wanted to go.", "He wan- wanted to go ."),
        ("Its colour changed.", "Its colour changed ."),
        ("Its not my problem.", "It s not my problem ."),
        ("Storm Leaves Thousands Without Power", "Storm Leaves Thousands Without Power"),
        ("President Visits Flooded Towns In South", "President Visits Flooded Towns In South"),
    ],
)
def test_a_rule_decides_where_the_network_errs(
    segmenter: BaseSegmenter, text: str, words: str
) -> None:
    assert [" ".join(sentence.words) for sentence in segmenter.split(text)] == [words]


def test_ligatures_are_letters_for_the_tokenizer_and_stay_in_the_words() -> None:
    parser = arcspan.load()
    ligatures = parser.parse(["The", "ﬁnal", "oﬃce", "was", "closed", "."])
    letters = parser.parse(["The", "final", "office", "was", "closed", "."])
    assert ligatures.words[1:3] == ("ﬁnal", "oﬃce")
    assert ligatures.heads == letters.heads
    assert ligatures.tags == letters.tags
