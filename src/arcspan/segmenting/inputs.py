"""What the learnt segmenter sees of a text: two small numbers for every character.

The *letter* is the character itself without case and accents where training saw it often, and otherwise its
Unicode category; the *kind* is the category. So a letter of a script that training never saw is still a
capital letter, a digit or an opening bracket. A line break has one of two kinds: where the first word of the
next line would have fitted on the line, somebody meant to begin a new line; where it would not, the text was
wrapped.
"""

from __future__ import annotations

import encodings.utf_32_le  # noqa: F401  otherwise imported by the first text: see tests/test_ending.py
import unicodedata
from collections.abc import Iterable

import numpy as np

from arcspan.segmenting.characters import HAN_RANGES

# Beyond the paragraph, the two kinds of line breaks, other white space.
EDGE, WRAPPED, MEANT, BLANK = range(4)
CATEGORIES = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe"),
    *("Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"),
)
HAN, HIRAGANA, KATAKANA, EMOJI = range(4 + len(CATEGORIES), 8 + len(CATEGORIES))
KINDS = 8 + len(CATEGORIES)
LINE_BREAKS = (0x0A, 0x85, 0x2028)
_UNKNOWN = -1
_RANGES = (
    *((low, high, HAN) for low, high in HAN_RANGES),
    *((0x3040, 0x309F, HIRAGANA), (0x30A0, 0x30FF, KATAKANA), (0xFF66, 0xFF9F, KATAKANA)),
    (0x1F000, 0x1FAFF, EMOJI),
)


def kind_of(code: int) -> int:
    """The kind of a character: its category, or its script where words are written without spaces."""
    character = chr(code)
    if character.isspace():
        return WRAPPED if code in LINE_BREAKS else BLANK
    for low, high, kind in _RANGES:
        if low <= code <= high:
            return kind
    return 4 + CATEGORIES.index(unicodedata.category(character))


def letter_of(character: str) -> str:
    """The character without case and accents; all digits are 0."""
    base = unicodedata.normalize("NFKD", character)[0].lower()[0]
    return "0" if base.isdigit() else base


class Alphabet:
    """Characters to numbers: `letters` are those that training saw often."""

    def __init__(self, letters: Iterable[str]) -> None:
        self.letters = "".join(letters)
        self._numbers = {letter: KINDS + i for i, letter in enumerate(self.letters)}
        self._letter = np.full(0x110000, _UNKNOWN, np.int16)
        self._kind = np.zeros(0x110000, np.int16)

    def __len__(self) -> int:
        return KINDS + len(self.letters)

    def encode(self, text: str) -> np.ndarray:
        """The letters and the kinds of a text: [2, characters], int64."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        letters = self._letter[codes]
        if (letters == _UNKNOWN).any():
            for code in {*codes[letters == _UNKNOWN].tolist()}:
                self._kind[code] = kind = kind_of(code)
                self._letter[code] = self._numbers.get(letter_of(chr(code)), kind)
            letters = self._letter[codes]
        found = np.stack([letters, self._kind[codes]]).astype(np.int64)
        breaks = np.flatnonzero(found[1] == WRAPPED)
        if len(breaks):
            found[:, breaks[_meant(found[1], breaks)]] = MEANT
        return found


def _meant(kinds: np.ndarray, breaks: np.ndarray) -> np.ndarray:
    """For each line break, whether the first word of the next line would have fitted on the line before it."""
    lengths = np.diff(breaks, prepend=-1, append=len(kinds)) - 1
    space = np.append(kinds <= BLANK, True)
    begins, ends = np.flatnonzero(np.diff(space, prepend=True)).reshape(-1, 2).T  # of every word
    first_words = np.append(ends - begins, 0)[np.searchsorted(begins, breaks)]
    return np.asarray(lengths[:-1] + 1 + first_words <= lengths.max())
