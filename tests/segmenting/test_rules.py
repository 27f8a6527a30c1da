"""Raw text to sentences and words: the treebanks' conventions, any Unicode, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.segmenting import RuleSegmenter, Sentence
from arcspan.segmenting.paragraphs import blank_mark
from arcspan.training.segmenter import score
from arcspan.training.segmenting_data import documents


def words(text: str, language: str = "en") -> list[str]:
    return [
        word
        for sentence in RuleSegmenter(language).split(text, one_sentence=True)
        for word in sentence.words
    ]


def sentences(text: str, language: str = "en") -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in RuleSegmenter(language).split(text)]


def assert_nothing_is_lost(text: str, sentences: list[Sentence]) -> None:
    text, end = blank_mark(text), 0
    for sentence in sentences:
        assert sentence.words and len(sentence.words) == len(sentence.offsets)
        assert (sentence.start, sentence.end) == (sentence.offsets[0][0], sentence.offsets[-1][1])
        for word, (start, stop) in zip(sentence.words, sentence.offsets, strict=True):
            assert word == text[start:stop] and word and not any(map(str.isspace, word))
            assert not text[end:start].strip()
            end = stop
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He didn't, couldn’t, won't.", "He did n't , could n’t , wo n't ."),
        ("She'd've known it's Ann's", "She 'd 've known it 's Ann 's"),
        (
            "They cannot; we're gonna, I wanna, you gotta",
            "They can not ; we 're gon na , I wan na , you got ta",
        ),
        ("the dogs' toys at five o'clock", "the dogs ' toys at five o'clock"),
        ("'Tis the '60s, the 1930's", "'T is the '60s , the 1930's"),
        ("well-known, state-of-the-art", "well - known , state - of - the - art"),
        (
            "non-profit e-mail, anti-TNF-alpha, 10-fold",
            "non-profit e-mail , anti-TNF - alpha , 10-fold",
        ),
        ("pre- and post-war th- they", "pre - and post-war th- they"),
        ("and/or 5 mg/kg, 1/2 cup, on 1/2/2020", "and / or 5 mg / kg , 1/2 cup , on 1/2/2020"),
        ("1,000,000.50 or 3.14, [1,2,13]", "1,000,000.50 or 3.14 , [ 1 , 2 , 13 ]"),
        ("at 8:30 a.m. for $5 (US$4), 50%", "at 8:30 a.m. for $ 5 ( US$ 4 ) , 50 %"),
        ("Wait... what?! “No” -- yes…", "Wait ... what ? ! “ No ” -- yes …"),
        ("Dr. J. R. Smith et al., e.g. Fig. 3.", "Dr. J. R. Smith et al. , e.g. Fig. 3 ."),
        ("See (http://a.b/c_(d)?e=f), x@y.co.uk.", "See ( http://a.b/c_(d)?e=f ) , x@y.co.uk ."),
        ("(http://a.b/c_(d)). http://a.b/(c)", "( http://a.b/c_(d) ) . http://a.b/(c)"),
        (
            "Go to example.com/path. Call 555-123-4567.",
            "Go to example.com/path . Call 555-123-4567 .",
        ),
        ("#hashtag @someone :) at 37°C", "#hashtag @someone :) at 37 °C"),
        ("Roe v. Wade, (est. 1990), the U.K.'s", "Roe v. Wade , ( est. 1990 ) , the U.K. 's"),
        ("C++, C#, .NET: /usr/local/bin", "C++ , C# , .NET : /usr/local/bin"),
        (
            "2023-12-31, 1-800-555-1234 #WinBig2024 !!!",
            "2023-12-31 , 1-800-555-1234 #WinBig2024 !!!",
        ),
    ],
)
def test_english_words_follow_the_treebanks(text: str, expected: str) -> None:
    assert words(text) == expected.split()


def test_clitics_and_their_hosts_are_multiword_tokens() -> None:
    (sentence,) = RuleSegmenter().split("I can't say it's the U.K.'s, it cannot be.")
    assert sentence.multiword == (
        (2, 3, "can't"),
        (5, 6, "it's"),
        (8, 9, "U.K.'s"),
        (12, 13, "cannot"),
    )
    assert [sentence.words[first - 1] for first, _, _ in sentence.multiword] == [
        "ca",
        "it",
        "U.K.",
        "can",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two? Three! Four", ["One.", "Two?", "Three!", "Four"]),
        ("Mr. Brown met Dr. Who. They left.", ["Mr. Brown met Dr. Who.", "They left."]),
        ("I live in the U.S. He does not.", ["I live in the U.S.", "He does not."]),
        ("The U.S. Army came at 5 p.m. on Monday.", ["The U.S. Army came at 5 p.m. on Monday."]),
        ('"Stop!" he said. "Now."', ['"Stop!" he said.', '"Now."']),
        ("“Why?” I asked. (He left.) Gone.", ["“Why?” I asked.", "(He left.)", "Gone."]),
        ("It is known.[3] But see C. elegans.", ["It is known.[3]", "But see C. elegans."]),
        (
            "Take vitamin C. Later more. See No. 5.",
            ["Take vitamin C.", "Later more.", "See No. 5."],
        ),
        ("lower case. it goes on", ["lower case.", "it goes on"]),
        ("A missing space.Next one.", ["A missing space.", "Next one."]),
        ("1. First item. 2. Second.", ["1. First item.", "2. Second."]),
        ("We met at 9 a.m. Monday. Roe v. Wade.", ["We met at 9 a.m. Monday.", "Roe v. Wade."]),
    ],
)
def test_sentences_end_where_readers_end_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_blank_line_ends_a_sentence_and_a_single_line_break_does_not() -> None:
    assert sentences("A heading\n\nsome text\nthat goes on\n \t\nend") == [
        "A heading",
        "some text\nthat goes on",
        "end",
    ]
    assert sentences("one\r\ntwo\r\n\r\nthree\ffour") == ["one\r\ntwo", "three", "four"]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n", "\u3000"])
def test_text_without_words_has_no_sentences(text: str) -> None:
    assert RuleSegmenter().split(text) == []
    assert RuleSegmenter().split(text, one_sentence=True) == []


def test_scripts_without_spaces_are_split_by_character_and_stop() -> None:
    sentences = RuleSegmenter().split("我爱北京。你呢？他说：“好！”然后走了。")
    assert [sentence.words for sentence in sentences[:2]] == [
        ("我", "爱", "北", "京", "。"),
        ("你", "呢", "？"),
    ]
    assert sentences[2].words[-3:] == ("好", "！", "”")
    assert words("これはペンです") == ["これは", "ペン", "です"]


def test_other_scripts_keep_their_marks_and_their_full_stops() -> None:
    assert sentences("यह पहला है। यह दूसरा है।", "xx") == ["यह पहला है।", "यह दूसरा है।"]
    assert sentences("مرحبا بالعالم. كيف حالك؟ بخير", "ar") == [
        "مرحبا بالعالم.",
        "كيف حالك؟",
        "بخير",
    ]
    assert words("हिन्दी cafe\u0301 lɑ̃fɑ̃") == ["हिन्दी", "cafe\u0301", "lɑ̃fɑ̃"]


def test_a_language_without_rules_keeps_hyphens_and_apostrophes_in_words() -> None:
    assert words("peut-être aujourd'hui 3,14 didn't", "xx") == [
        "peut-être",
        "aujourd'hui",
        "3,14",
        "didn't",
    ]


def test_an_emoji_sequence_is_one_word() -> None:
    family, thumb = "👨‍👩‍👧‍👦", "👍🏽"
    assert words(f"{family}{thumb}🇩🇪🇫🇷😂😂 ☀️") == [family, thumb, "🇩🇪", "🇫🇷", "😂", "😂", "☀️"]


@pytest.mark.parametrize("pieces", [["\ufeffWe go.\n\nWe"], ["", "\ufeff", "We go.\n", "\nWe"]])
def test_a_byte_order_mark_is_white_space_at_the_beginning_alone(pieces: list[str]) -> None:
    text = "".join(pieces)
    first, second = RuleSegmenter().stream(pieces)
    assert (first.words, first.start, text[second.start :]) == (("We", "go", "."), 1, "We")
    (sentence,) = RuleSegmenter().split(text + "\ufeff", one_sentence=True)
    assert sentence.words == ("We", "go", ".", "We\ufeff") and sentence.start == 1
    assert RuleSegmenter().split("\ufeff") == []


def test_what_cannot_be_seen_stays_with_a_word_beside_it() -> None:
    assert words("a\ufefffoo\x00bar a\u200bb") == ["a\ufefffoo\x00bar", "a\u200b", "b"]
    assert words("x \u200b \x07") == ["x", "\u200b", "\x07"]


PIECES = [
    "n't",
    "'s",
    ". ",
    "-",
    "...",
    "U.S.",
    "http://",
    "@",
    "\u200d",
    "\u0301",
    "漢",
    "👍🏽",
    "\n\n",
    '"',
    "e.g.",
    "1,",
]


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from([*PIECES, "The ", "a"]), max_size=30).map("".join),
    )
)
def test_no_character_but_white_space_is_ever_lost(text: str) -> None:
    for language in ("en", "xx"):
        assert_nothing_is_lost(text, RuleSegmenter(language).split(text))
        assert_nothing_is_lost(text, RuleSegmenter(language).split(text, one_sentence=True))


@given(
    st.lists(st.sampled_from(["A", "b", ".", "漢", "\u0301", " ", "'s", "é"]), max_size=20).map(
        "".join
    )
)
def test_a_paragraph_is_split_the_same_alone_and_in_company(text: str) -> None:
    alone = [sentence.words for sentence in RuleSegmenter().split(text)]
    together = [
        sentence.words
        for sentence in RuleSegmenter().split("Before it.\n\n" + text + "\n\nAfter it.")
    ]
    assert together == [("Before", "it", "."), *alone, ("After", "it", ".")]


@pytest.mark.treebanks
def test_words_and_sentences_of_gum_and_craft_are_found(treebanks: Path) -> None:
    for treebank, words, sentences in (("gum", 99.8, 95.5), ("craft-ud", 99.8, 90.0)):
        scores = score(RuleSegmenter(), documents(treebanks / treebank / "dev.conllu.xz"))
        assert scores["words"] > words and scores["sentences"] > sentences


def test_the_items_of_a_list_are_kept_apart_and_keep_their_marks() -> None:
    def split(text: str) -> list[str]:
        return [" ".join(sentence.words) for sentence in RuleSegmenter().split(text)]

    assert [len(words) > 1 for words in split("1. First\n2. Second\n10) Third one\n")] == [True] * 3
    assert split("- a dog\n- a cat\nsat there") == ["- a dog", "- a cat sat there"]
    assert len(split("It was on May\n12. Then he left.")) == 2, "no list"


def test_a_letter_that_is_longer_in_lower_case_moves_no_clitic() -> None:
    """Found by tests/fuzz/test_text.py: offsets of "İdidn't" were counted in "i̇didn't", and a word
    was empty.
    """
    assert words("İİİİİdidn't z") == ["İİİİİdid", "n't", "z"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        # A letter at the end of a text is no initial; nor is a long word an abbreviation.
        ("He got an A.", ["He got an A ."]),
        (
            "It was a supercalifragilistic. Show me.",
            ["It was a supercalifragilistic .", "Show me ."],
        ),
        # A word like "iPhone" begins a sentence after a full stop.
        ("He came. McDonald left.", ["He came .", "McDonald left ."]),
    ],
)
def test_stops_of_letters_and_long_words_end_sentences(text: str, sentences: list[str]) -> None:
    split = RuleSegmenter().split(text)
    assert [" ".join(sentence.words) for sentence in split] == sentences
