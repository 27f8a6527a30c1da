"""Markup taken out of a text: what is left is read as if it had never been there, at its old place."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.errors import ArcspanError
from arcspan.parser import Parser
from arcspan.segmenting import RuleSegmenter, clean_sentences
from arcspan.segmenting.cleaning import RULES

SEGMENTER = RuleSegmenter()


def cleaned(text: str, *kinds: str) -> list[str]:
    return [" ".join(sentence.words) for sentence in clean_sentences(SEGMENTER, text, kinds)]


def test_tags_and_entities_of_html() -> None:
    text = (
        "<!DOCTYPE html><head><title>News</title><style>p { x }</style></head><body class='a'><h1>Big news</h1>\n"
        "<p>AT&amp;T&nbsp;paid <b>half</b>, <a href='x'>we</a>'re told.<br/>It &lt;did&gt; &#8212; not"
        "<!-- a < b -->.</p><script>if (a < b) c();</script>Fine if 1 < 2."
    )
    assert cleaned(text, "html") == [
        *(
            "News",
            "Big news",
            "AT&T paid half , we 're told .",
            "It < did > — not .",
            "Fine if 1 < 2 .",
        ),
    ]


def test_words_divided_at_the_end_of_a_line() -> None:
    text = (
        "An exam-\nple of un\xadusual hyphen-\r\n  ation by the Smith-\nJones family -\nand more."
    )
    assert cleaned(text, "hyphens") == [
        "An example of unusual hyphenation by the Smith - Jones family - and more ."
    ]


def test_numbers_and_times_of_subtitles() -> None:
    text = (
        "1\r\n00:00:01,000 --> 00:00:02,500\r\nI never said\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\nthat he left.\r\n"
    )
    assert cleaned(text, "subtitles") == ["I never said that he left ."]
    text = "WEBVTT\n\n00:01.000 --> 00:02.000 align:start\n<i>We left at 10:30.</i>\n"
    assert cleaned(text, "subtitles", "html") == ["We left at 10:30 ."]


def test_times_and_names_of_a_chat() -> None:
    text = "[12:01] Ann: are you there\n[12:02] Bob B.: yes\n<ann> ok: fine\n2024-01-05 9:07 pm - Ann: see you\nand bye"
    assert cleaned(text, "chat") == ["are you there", "yes", "ok : fine", "see you and bye"]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ArcspanError, match="html, hyphens, subtitles, chat from a text, not 'tex'"):
        cleaned("text", "tex")


@given(
    st.lists(
        st.sampled_from(
            ["<b>", "</p>", "&amp;", "&#65;", "a", "bc", "-\n", " ", "\n\n", "<", "1:00 ", ": "]
        )
    )
)
def test_offsets_are_those_of_the_original(parts: list[str]) -> None:
    text, end = "".join(parts), 0
    for sentence in clean_sentences(SEGMENTER, text, RULES):
        for word, (start, stop) in zip(sentence.words, sentence.offsets, strict=True):
            assert end <= start < stop
            end = stop
            if not set("<&-") & set(text[start:stop]):
                assert word == text[start:stop]
        assert sentence.text == text[sentence.start : sentence.end]
    if not set("<&-:") & set(text):
        assert clean_sentences(SEGMENTER, text, RULES) == SEGMENTER.split(text)


def test_a_parse_of_clean_sentences_has_the_spaces_of_the_text(toy_bundle: Path) -> None:
    parser = Parser(toy_bundle)
    text = "<p><b>Ada</b>, <i>who</i> sees R&amp;D<a href='x y'>.</a></p>"
    (parse,) = parser.pipe(clean_sentences(parser.segmenter, text, ["html"]))
    assert f"# text = {html.unescape('Ada, who sees R&amp;D.')}\n" in parse.conllu()
    assert [text[start:end] for start, end in parse.offsets or ()][-2:] == ["R&amp;D", "."]
