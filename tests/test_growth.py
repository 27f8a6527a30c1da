"""Time grows with the length of a text and not with its square, whatever character is repeated."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable

import pytest

from arcspan.errors import ArcspanError
from arcspan.evaluation.evalb import read_flat
from arcspan.segmenting import RuleSegmenter
from arcspan.segmenting.characters import SHADOW
from arcspan.segmenting.cleaning import RULES, CleanText
from arcspan.segmenting.expansion import Expansions
from arcspan.segmenting.paragraphs import paragraphs
from arcspan.segmenting.whole import whole_spans
from arcspan.syntax import TreeQuery
from arcspan.treebanks import ConlluSentence
from arcspan.treebanks.brackets import parse_lines
from arcspan.trees import ConstituencyTree
from arcspan.trees.words import unescape

UNITS = [
    *(" ", "\t", "\xa0", "\n", "\r", "\r\n", " \n", "\f", "\u2028"),
    *(
        "(",
        ")",
        "((",
        "( ",
        ") ",
        "(a ",
        "(a",
        "[",
        "[1",
        "[1,",
        "<",
        "<a",
        "<!-",
        "<!--",
        "<script>",
        "&",
        "&a",
        "&#",
        "{",
        "}",
    ),
    *(".", ". ", ".a", "a.", "A. ", "...", "…", "。", "?", "!", '?"', "Mr. ", "U.", ":", ";", ","),
    *("-", "--", "a-", "-a", "pre-", "- ", "-\n", "- a\n", "–", "_", "=", "~", "*", "+", "+1-"),
    *("1", "1,", "1,111", "1.", "1.1", "1-", "1:", "12/", "0x", "1. a\n", "2020-01-01T"),
    *("'", "a'", "n't", '"', "“", "``", "''", "‘"),
    *(
        "/",
        "//",
        "a/",
        "/a.",
        "\\",
        "a:\\",
        "\\/",
        "http://",
        "http://a(",
        "www.",
        "mailto:",
        "doi:1",
    ),
    *("@", "a@", "a@b.", "a@b-", "#", "#a", "##", "|", "| ", "|a|", "a\t", "\ta", "A: ", "Ab: c\n"),
    *(
        "a",
        "A",
        "é",
        "漢",
        "あ",
        "☺",
        "☺\u200d",
        "⚑",
        "\u200b",
        "\u200d",
        "\u0301",
        "a\u2060",
        "\ufeff",
    ),
]
ENDS = [("", ""), ("a\n", "b"), ("(a", "x"), ("1\t", "\n")]
ENGLISH, OTHER = RuleSegmenter("en"), RuleSegmenter("xx")
EXPANSIONS = Expansions({"au": ["à", "le"]}, {"d": ["de", ""]}, {"amelo": ["a", "me", "lo"]})


def refused(call: Callable[[str], object]) -> Callable[[str], object]:
    """The call, where an error of ours is an answer."""

    def attempt(text: str) -> None:
        with contextlib.suppress(ArcspanError, ValueError):
            call(text)

    return attempt


def columns(text: str) -> list[str]:
    return ["# text = " + text, *(f"{k}\t{text}\t_\t_\t_\t_\t{k - 1}\tdep\t_\t_" for k in (1, 2))]


READERS: dict[str, Callable[[str], object]] = {
    "English rules": ENGLISH.split,
    "rules for other languages": OTHER.split,
    "what is never torn apart": lambda text: list(whole_spans(text.translate(SHADOW))),
    "markup": lambda text: CleanText(text, RULES),
    "multiword tokens": EXPANSIONS,
    "one tree": refused(ConstituencyTree.from_brackets),
    "bracket files": lambda text: list(parse_lines(enumerate(io.StringIO(text)), empties="strip")),
    "scored brackets": refused(read_flat),
    "columns": refused(lambda text: ConlluSentence(columns(text)).tree),
    "comments": refused(lambda text: ConlluSentence(["#" + text, "1\t" + text]).comment("text")),
    "escapes": unescape,
    "queries": refused(lambda text: TreeQuery(text[: len(text) // 8])),
    "attributes of queries": refused(lambda text: TreeQuery("{word:" + text[: len(text) // 4])),
}


def seconds(call: Callable[[str], object], text: str) -> float:
    """The processor time of a call, the best of several."""
    best = float("inf")
    for _ in range(3):
        begin = time.thread_time()
        call(text)
        best = min(best, time.thread_time() - begin)
        if best < 0.2:
            break
    return best


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length_of_a_text(reader: str) -> None:
    """Of a text 4 times as long, a quadratic pattern takes 16 times as long, which shows."""
    call, slow = READERS[reader], []
    for number, unit in enumerate(UNITS):
        for before, after in (ENDS[0], ENDS[1 + number % 3]):
            short, long = (before + unit * (size // len(unit)) + after for size in (5_000, 20_000))
            if (took := seconds(call, long)) > 0.2 and took > 10 * seconds(call, short):
                slow.append((before, unit, after, round(took, 2)))
    assert not slow


def test_pieces_of_a_text_take_no_longer_than_the_whole() -> None:
    """A text without the end of a paragraph was searched again from its beginning for every piece."""

    def in_pieces(text: str, size: int = 1000) -> None:
        list(paragraphs(text[k : k + size] for k in range(0, len(text), size)))

    for unit in (" ", "\n ", "a ", "a\n"):
        text = unit * (1_000_000 // len(unit))
        if (took := seconds(in_pieces, text)) > 0.5:
            assert took < 10 * seconds(lambda text: in_pieces(text, len(text)), text), (unit, took)
