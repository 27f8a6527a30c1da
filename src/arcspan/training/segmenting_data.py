"""Training data of the segmenter: texts of treebanks, with a mark on characters that end something.

Treebanks are tidier than the texts that people paste. So a document is shown in another style each
time: paragraphs apart, lines wrapped, a paragraph or a sentence on each line, everything in one
line, verse; now and then without capital letters or in nothing else, with other quotes, without the
last full stop, with two spaces between sentences or none.
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

# Set beside the mark on a token's last character if its words are not its characters.
EXPANDED = 1 << EXPAND
_UNTIDY = 0.1  # share of documents that lack full stops


@dataclass(frozen=True)
class GoldText:
    """A sentence of a treebank with its text.

    marks       [characters]: INSIDE, WORD, TOKEN or SENTENCE, and EXPANDED
    expansions  the tokens with EXPANDED, and their words
    paragraph   whether it begins a paragraph
    glued       whether no space is before the next sentence
    """

    text: str
    marks: np.ndarray
    expansions: tuple[tuple[str, tuple[str, ...]], ...]
    paragraph: bool
    glued: bool


class Paragraph(NamedTuple):
    """A paragraph as it is shown in training, with its marks."""

    text: str
    marks: np.ndarray


def documents(
    path: str | PathLike[str], *, every: int = 1, without: Collection[str] = ()
) -> Iterator[list[GoldText]]:
    """Yield the documents of a CoNLL-U file, one of `every`, none whose genre or id is in
    `without`.
    """
    document: list[GoldText] = []
    number = -1
    in_use = True
    for sentence in read_conllu(str(path)):
        comments = [line[1:].strip() for line in sentence.comments]
        if number < 0 or any(line.startswith("newdoc") for line in comments):
            if document:
                yield document
            document = []
            number += 1
            names = {sentence.comment("genre"), sentence.comment("newdoc id")}
            in_use = number % every == 0 and names.isdisjoint(without)
        if in_use:
            begins_paragraph = any(line.startswith(("newpar", "newdoc")) for line in comments)
            gold = _gold(sentence, begins_paragraph)
            if gold is not None:
                document.append(gold)
    if document:
        yield document


def _gold(sentence: ConlluSentence, paragraph: bool) -> GoldText | None:
    """Return the marks of a sentence; None if its text does not have its words."""
    text = sentence.text
    marks = np.zeros(len(text), np.int64)
    forms = [token.form for token in sentence.words]
    expansions = []
    position = 0
    glued = False
    for token, first, last in sentence.surface():
        words = tuple(forms[first - 1 : last])
        glued = not token.space_after
        start, end = _find(text, token.form, position)
        if start < 0:
            return None
        position = end
        # A token with spaces inside is marked as several.
        for space in range(start + 1, end):
            if text[space].isspace():
                marks[space - 1] = TOKEN
        marks[end - 1] = TOKEN
        if "".join(words) == text[start:end]:
            for word in words[:-1]:
                start += len(word)
                marks[start - 1] = WORD
        elif len(words) > 1:
            marks[end - 1] |= EXPANDED
            expansions.append((text[start:end], words))
    if not position or text[position:].strip():
        return None
    marks[position - 1] += SENTENCE - TOKEN
    return GoldText(text[:position], marks[:position], tuple(expansions), paragraph, glued)


def _find(text: str, form: str, position: int) -> tuple[int, int]:
    """Return start and end of a form in the text, at `position` but for white space.

    (-1, -1) if it is not there. Some treebanks write -LRB- for "(", and ou_bien for "ou bien".
    """
    while position < len(text) and text[position].isspace():
        position += 1
    if text.startswith(form, position):
        return position, position + len(form)
    parts = [re.escape(part) for part in unescape(form).split("_")]
    match = re.compile(r"\s?".join(parts)).match(text, position)
    return match.span() if match else (-1, -1)


# Share of documents, space between sentences, gap between paragraphs, and what is done to lines.
_STYLES: tuple[tuple[float, str, str, str], ...] = (
    (0.60, " ", "\n\n", ""),
    (0.12, " ", "\n\n", "wrap"),
    (0.12, " ", "\n", ""),
    (0.07, "\n", "\n", ""),
    (0.06, " ", " ", ""),
    (0.03, "\n", "\n\n", "verse"),
)
_STRAIGHT = str.maketrans("‘’“”", "''\"\"")
_CURLY = str.maketrans("'", "’")


def varied(document: Sequence[GoldText], chance: random.Random) -> list[Paragraph]:
    """Return the paragraphs of a document in one of many styles."""
    weights = [style[0] for style in _STYLES]
    _, space, gap, lines = chance.choices(_STYLES, weights)[0]
    if chance.random() < _UNTIDY:
        document = _unfinished(document, chance)
    if space == " ":
        space = chance.choices((" ", "  ", ""), (0.9, 0.05, 0.05))[0]
    text, marks = joined(document, space, gap, chance)
    change = chance.choices(
        (None, str.lower, str.upper, _STRAIGHT, _CURLY), (0.72, 0.04, 0.02, 0.12, 0.1)
    )[0]
    if isinstance(change, dict):
        text = text.translate(change)
    elif change:
        # Only characters that become a single other one, so that the marks stay in place.
        changed = [(character, change(character)) for character in text]
        text = "".join(new if len(new) == 1 else old for old, new in changed)
    if lines == "wrap":
        text = wrapped(text, chance.randint(40, 100))
    elif lines == "verse":
        text = _verse(text, chance)
    return _paragraphs(Paragraph(text, marks))


def joined(
    document: Iterable[GoldText], space: str, gap: str, chance: random.Random | None = None
) -> Paragraph:
    """Join the sentences in one text; where `space` is empty, one space of ten is missing."""
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


def _paragraphs(document: Paragraph) -> list[Paragraph]:
    """Cut a text at blank lines."""
    paragraphs = []
    start = 0
    for text in document.text.split("\n\n"):
        end = start + len(text)
        if text:
            paragraphs.append(Paragraph(text, document.marks[start:end]))
        start = end + 2
    return paragraphs


def _unfinished(document: Sequence[GoldText], chance: random.Random) -> list[GoldText]:
    """Remove full stops: of the last sentence of many paragraphs, and of some others."""
    sentences = []
    for number, sentence in enumerate(document, 1):
        text, marks = sentence.text, sentence.marks
        is_last = number == len(document) or document[number].paragraph
        # The full stop has to be a token of its own.
        has_stop = text[-1] in ".!?" and len(text) > 1 and marks[-2] == TOKEN
        if has_stop and chance.random() < (0.6 if is_last else 0.2):
            marks = marks[:-1].copy()
            marks[-1] = SENTENCE
            sentence = GoldText(text[:-1], marks, (), sentence.paragraph, sentence.glued)
        sentences.append(sentence)
    return sentences


def wrapped(text: str, width: int) -> str:
    """Put line breaks for spaces, so that no line is longer than `width` where that is possible."""
    characters = list(text)
    line_start = 0
    last_space = -1
    for position, character in enumerate(characters):
        if character == "\n":
            line_start, last_space = position + 1, -1
        elif character == " ":
            last_space = position
        if position - line_start >= width and last_space >= line_start:
            characters[last_space] = "\n"
            line_start, last_space = last_space + 1, -1
    return "".join(characters)


def _verse(text: str, chance: random.Random) -> str:
    """Put line breaks after most commas and similar marks."""
    characters = []
    for before, character in zip(" " + text, text, strict=False):
        if character == " " and before in ",;:" and chance.random() < 0.7:
            character = "\n"
        characters.append(character)
    return "".join(characters)
