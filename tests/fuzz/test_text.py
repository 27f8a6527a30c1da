"""Hostile texts: every character is in a word, trees fit each other, and no text changes what its neighbours get."""

from __future__ import annotations

import functools
import random
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from arcspan.parser import Parse, Parser
from arcspan.segmenting.paragraphs import blank_mark
from arcspan.treebanks import ConlluSentence
from arcspan.trees import ConstituencyTree, compatible

TOY = Path(__file__).parents[1] / "bundles" / "toy"
WORDS = [
    "Ada",
    "sees",
    "trees",
    ".",
    "Mr.",
    "e.g.",
    "didn't",
    "cannot",
    "3.14",
    "$5",
    "a.m.",
    "http://a.b/c?d=e",
    "x@y.z",
]
PIECES = [
    *" \t\n\r\x0b\x0c\x1c\x85\xa0\u2028\u2029\u3000",  # white space of every kind
    *"()[]{}<>\\/|\"'`.,;:!?-_#$%&*+=~^@",
    *"\u200b\u200d\ufeff\u202e\u2066\u00ad\x00\x07\x1b\x7f",  # invisible, or worse
    *"\u0301\u0489\u20dd\u1ab0",  # marks that need something before them
    "\r\n\r\n", "\n \n", "...", "``", "''", "-LRB-", "* ", "1. ", "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}", "🇩🇪", "👍🏽",
    "مرحبا", "שלום", "中文句子。", "ไทย", "हिन्दी", "ﷺ", "ſ", "İ", "ǆ", "Straße", "\ue000", "\U000e0001", "\U0010ffff",
]  # fmt: skip


@functools.cache
def parsers() -> list[Parser]:
    """A model of whole words and, where the package has it, the English one of word pieces."""
    all_parsers = [Parser(TOY, threads=1)]
    if (Path(__file__).parents[2] / "src" / "arcspan" / "models" / "en").is_dir():
        all_parsers.append(Parser(threads=1))
    return all_parsers


def draw(rng: random.Random) -> str:
    """A text of up to some dozens of parts."""
    parts: list[str] = []
    for _ in range(rng.randrange(1, rng.choice((3, 12, 60)))):
        chance = rng.random()
        if chance < 0.4:
            parts.append(rng.choice(WORDS) + rng.choice(("", " ", " ")))
        elif chance < 0.8:
            parts.append(rng.choice(PIECES) * rng.choice((1, 1, 1, 2, 5)))
        elif chance < 0.95:
            parts.append("".join(chr(_code(rng)) for _ in range(rng.randrange(1, 6))))
        else:
            parts.append(rng.choice("aé中.-\u0301\u200d") * rng.randrange(50, 200))
    return "".join(parts)


def _code(rng: random.Random) -> int:
    while 0xD800 <= (code := rng.randrange(rng.choice((0x80, 0x800, 0x10000, 0x110000)))) <= 0xDFFF:
        pass  # a half of a character is not text
    return code


def tokens(parse: Parse) -> Iterator[tuple[str, int, int]]:
    """What is written, and where: words, and multiword tokens instead of theirs."""
    assert parse.offsets is not None
    multiword = {first: (last, form) for first, last, form in parse.multiword}
    word = 1
    while word <= len(parse.words):
        last, form = multiword.get(word, (word, parse.words[word - 1]))
        yield form, parse.offsets[word - 1][0], parse.offsets[last - 1][1]
        word = last + 1


def check(text: str, parses: list[Parse]) -> None:
    """Assert what is promised of the parses of a text."""
    text, end = blank_mark(text), 0
    for parse in parses:
        assert parse.error is None, (text, parse.error)
        assert parse.offsets is not None and len(parse.offsets) == len(parse.words) > 0, text
        for form, start, stop in tokens(parse):
            assert end <= start < stop and text[start:stop] == form, (text, form, start)
            assert not text[end:start].strip(), (text, text[end:start])
            end = stop
        assert compatible(parse.constituency, parse.dependencies), text
        assert parse.score == parse.score, text
        read_back = ConstituencyTree.from_brackets(parse.brackets())
        assert read_back.spans == parse.constituency.spans, text
        assert read_back.words == parse.words or "-LRB-" in text, (
            text
        )  # which brackets cannot tell from "("
        sentence = ConlluSentence(parse.conllu().rstrip("\n").split("\n"))
        assert sentence.tree.heads == parse.dependencies.heads, text
        assert sentence.tree.words == parse.words, text
        drawn = parse.draw(width=100) + parse.to_svg()
        assert not any(
            unicodedata.category(character) == "Cc" for character in drawn.replace("\n", "")
        ), text
    assert not text[end:].strip(), (text, text[end:])


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    rng, counts = random.Random(seed), Counter[str]()
    for _ in rounds:
        parser = rng.choice(parsers())
        texts = [draw(rng) for _ in range(rng.randrange(2, 8))]
        alone = [parser(text) for text in texts]
        beside = list(parser.stream(texts, batch_size=rng.choice((1, 3, 256))))
        for text, parses, in_company in zip(texts, alone, beside, strict=True):
            check(text, parses)
            assert parses == in_company and [p.score for p in parses] == [
                p.score for p in in_company
            ], (
                text,
                texts,
            )
            counts.update(texts=1, sentences=len(parses), words=sum(map(len, parses)))
    return counts


def test_hostile_texts_are_parsed_as_promised() -> None:
    assert run(seed=1, rounds=range(12))["texts"] >= 24
