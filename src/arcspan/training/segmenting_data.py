"""What the learnt segmenter learns from: the texts of treebanks, with a mark on every character that ends something.

Treebanks are tidier than what people paste. So a document is shown in another style each time: paragraphs
apart, lines wrapped, a paragraph or a sentence a line, everything in one line, verse; now and then without
capital letters or in nothing else, with other quotes, without the last full stop, with two spaces between
sentences or none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np

from arcspan.segmenting.base import SENTENCE, TOKEN, WORD
from arcspan.segmenting.learnt import EXPAND
from arcspan.treebanks.conll import ConlluSentence, read_conllu
from arcspan.trees.words import unescape

EXPANDED = (
    1 << EXPAND
)  # set on a token's last character beside the mark: its words are not its characters


@dataclass(frozen=True)
class GoldText:
    """A sentence of a treebank: its text, a mark for every character, and how it goes on from there."""

    text: str
    marks: np.ndarray  # [characters] INSIDE, WORD, TOKEN or SENTENCE, and EXPANDED
    expansions: tuple[tuple[str, tuple[str, ...]], ...]
    paragraph: bool  # begins one
    glued: bool  # no space before the next sentence


class Paragraph(NamedTuple):
    """A paragraph as it is shown, with its marks."""

    text: str
    marks: np.ndarray


def documents(
    path: str | PathLike[str], *, every: int = 1, without: Collection[str] = ()
) -> Iterator[list[GoldText]]:
    """The documents of a CoNLL-U file, one of `every`, and of those none of a genre or with an id in `without`."""
    document: list[GoldText] = []
    number, kept = -1, True
    for sentence in read_conllu(str(path)):
        comments = [line[1:].strip() for line in sentence.comments]
        if number < 0 or any(line.startswith("newdoc") for line in comments):
            if document:
                yield document
            document, number = [], number + 1
            names = sentence.comment("genre"), sentence.comment("newdoc id")
            kept = number % every == 0 and not any(name in without for name in names)
        begins = any(line.startswith(("newpar", "newdoc")) for line in comments)
        if kept and (gold := _gold(sentence, begins)):
            document.append(gold)
    if document:
        yield document


def _gold(sentence: ConlluSentence, paragraph: bool) -> GoldText | None:
    """The marks of a sentence; None where its text does not have its words."""
    text = sentence.text
    marks = np.zeros(len(text), np.int64)
    forms = [token.form for token in sentence.words]
    expansions = []
    place, glued = 0, False
    for token, first, last in sentence.surface():
        words = tuple(forms[first - 1 : last])
        glued = not token.space_after
        start, end = _find(text, token.form, place)
        if start < 0:
            return None
        place = end
        for space in (at for at in range(start + 1, end) if text[at].isspace()):
            marks[space - 1] = TOKEN
        marks[end - 1] = TOKEN
        if "".join(words) == text[start:end]:
            for word in words[:-1]:
                start += len(word)
                marks[start - 1] = WORD
        elif len(words) > 1:
            marks[end - 1] |= EXPANDED
            expansions.append((text[start:end], words))
    if not place or text[place:].strip():
        return None
    marks[place - 1] += SENTENCE - TOKEN
    return GoldText(text[:place], marks[:place], tuple(expansions), paragraph, glued)


def _find(text: str, form: str, place: int) -> tuple[int, int]:
    """Where a form stands in the text, at `place` but for white space; (-1, -1) where it does not.

    Some treebanks write -LRB- for "(", and ou_bien for "ou bien".
    """
    while place < len(text) and text[place].isspace():
        place += 1
    if text.startswith(form, place):
        return place, place + len(form)
    parts = [re.escape(part) for part in unescape(form).split("_")]
    found = re.compile(r"\s?".join(parts)).match(text, place)
    return found.span() if found else (-1, -1)


# How paragraphs and sentences are set apart, how often, and what is done to the lines then.
_STYLES: tuple[tuple[float, str, str, str], ...] = (
    (0.60, " ", "\n\n", ""),
    (0.12, " ", "\n\n", "wrap"),
    (0.12, " ", "\n", ""),
    (0.07, "\n", "\n", ""),
    (0.06, " ", " ", ""),
    (0.03, "\n", "\n\n", "verse"),
)
_STRAIGHT, _CURLY = str.maketrans("‘’“”", "''\"\""), str.maketrans("'", "’")  # quotes


def varied(document: Sequence[GoldText], chance: random.Random) -> list[Paragraph]:
    """The paragraphs of a document in one of many styles."""
    weights = [style[0] for style in _STYLES]
    _, space, gap, lines = chance.choices(_STYLES, weights)[0]
    if chance.random() < 0.1:
        document = _unfinished(document, chance)
    if space == " ":
        space = chance.choices((" ", "  ", ""), (0.9, 0.05, 0.05))[0]
    text, marks = joined(document, space, gap, chance)
    change = chance.choices(
        (None, str.lower, str.upper, _STRAIGHT, _CURLY), (0.72, 0.04, 0.02, 0.12, 0.1)
    )[0]
    if isinstance(change, dict):
        text = text.translate(change)
    elif change:  # each character that becomes a single other one
        text = "".join(new if len(new := change(old)) == 1 else old for old in text)
    if lines == "wrap":
        text = wrapped(text, chance.randint(40, 100))
    elif lines == "verse":
        text = _verse(text, chance)
    return _cut(Paragraph(text, marks))


def joined(
    document: Iterable[GoldText], space: str, gap: str, chance: random.Random | None = None
) -> Paragraph:
    """The sentences in one text; where `space` is empty, one space of ten is missing."""
    texts: list[str] = []
    marks: list[np.ndarray] = []
    glued = False
    for sentence in document:
        if texts:
            joint = gap if sentence.paragraph else "" if glued else space
            if chance and not joint and not glued and chance.random() < 0.9:
                joint = " "
            texts.append(joint)
            marks.append(np.zeros(len(joint), np.int64))
        texts.append(sentence.text)
        marks.append(sentence.marks)
        glued = sentence.glued
    return Paragraph("".join(texts), np.concatenate(marks))


def _cut(whole: Paragraph) -> list[Paragraph]:
    """The paragraphs of a text, which blank lines set apart."""
    found, begin = [], 0
    for text in whole.text.split("\n\n"):
        end = begin + len(text)
        if text:
            found.append(Paragraph(text, whole.marks[begin:end]))
        begin = end + 2
    return found


def _unfinished(document: Sequence[GoldText], chance: random.Random) -> list[GoldText]:
    """Sentences without their full stop: the last one of many paragraphs, and some others."""
    found = []
    for number, sentence in enumerate(document):
        text, marks = sentence.text, sentence.marks
        closes = number + 1 == len(document) or document[number + 1].paragraph
        if (
            text[-1] in ".!?"
            and len(text) > 1
            and marks[-2] == TOKEN
            and chance.random() < (0.6 if closes else 0.2)
        ):
            marks = marks[:-1].copy()
            marks[-1] = SENTENCE
            sentence = GoldText(text[:-1], marks, (), sentence.paragraph, sentence.glued)
        found.append(sentence)
    return found


def wrapped(text: str, width: int) -> str:
    """The text with line breaks for spaces, so that no line is longer than `width` where that can be."""
    characters = list(text)
    begin, space = 0, -1
    for place, character in enumerate(characters):
        if character == "\n":
            begin, space = place + 1, -1
        elif character == " ":
            space = place
        if place - begin >= width and space >= begin:
            characters[space] = "\n"
            begin, space = space + 1, -1
    return "".join(characters)


def _verse(text: str, chance: random.Random) -> str:
    """The text with line breaks after most commas and their like."""
    return "".join(
        "\n" if character == " " and before in ",;:" and chance.random() < 0.7 else character
        for before, character in zip(" " + text, text, strict=False)
    )
