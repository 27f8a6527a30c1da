"""The input of the learnt segmenter: two small numbers for every character of a text.

The *letter* is the character itself without case and accents where training saw it often, and
otherwise its category; the *category* is Unicode's, or a script that is written without spaces. So
a letter of a script that training never saw is still a capital letter, a digit or an opening
bracket. Line breaks have two categories: where the first word of the next line would have fitted on
the line, the author meant to begin a new line; where it would not, the text was wrapped.
"""

from __future__ import annotations

# Otherwise the first text imports it, which fails when Python is ending: tests/test_ending.py.
import encodings.utf_32_le  # noqa: F401
import unicodedata
from collections.abc import Iterable

import numpy as np

from arcspan.segmenting.characters import HAN_RANGES

# Beyond the paragraph, the two categories of line breaks, other white space.
EDGE, WRAPPED, MEANT, BLANK = range(4)
_FIRST_CATEGORY = 4  # number of the first Unicode category; those before it are the four above
_CATEGORIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
)
_NUMBER_OF_CATEGORY = {
    category: number for number, category in enumerate(_CATEGORIES.split(), _FIRST_CATEGORY)
}
_FIRST_SCRIPT = _FIRST_CATEGORY + len(_NUMBER_OF_CATEGORY)
HAN, HIRAGANA, KATAKANA, EMOJI = range(_FIRST_SCRIPT, _FIRST_SCRIPT + 4)
KINDS = _FIRST_SCRIPT + 4  # letters are numbered from here
LINE_BREAKS = (0x0A, 0x85, 0x2028)
_UNKNOWN = -1
_SCRIPT_RANGES = [(low, high, HAN) for low, high in HAN_RANGES]
_SCRIPT_RANGES += [
    (0x3040, 0x309F, HIRAGANA),
    (0x30A0, 0x30FF, KATAKANA),
    (0xFF66, 0xFF9F, KATAKANA),
    (0x1F000, 0x1FAFF, EMOJI),
]


def category_of(code: int) -> int:
    """Return the number of a character's category, or of its script if it is written without
    spaces.
    """
    character = chr(code)
    if character.isspace():
        # Whether a line break was meant depends on its line: `_is_meant` decides.
        return WRAPPED if code in LINE_BREAKS else BLANK
    for low, high, script in _SCRIPT_RANGES:
        if low <= code <= high:
            return script
    return _NUMBER_OF_CATEGORY[unicodedata.category(character)]


def letter_of(character: str) -> str:
    """Return the character without case and accents; all digits are 0."""
    base = unicodedata.normalize("NFKD", character)[0].lower()[0]
    return "0" if base.isdigit() else base


class Alphabet:
    """A mapping from characters to numbers; `letters` are those that training saw often."""

    def __init__(self, letters: Iterable[str]) -> None:
        self.letters = "".join(letters)
        self._numbers = {letter: KINDS + i for i, letter in enumerate(self.letters)}
        # Tables over all of Unicode, filled when a character is first seen.
        self._letter_table = np.full(0x110000, _UNKNOWN, np.int16)
        self._category_table = np.zeros(0x110000, np.int16)

    def __len__(self) -> int:
        return KINDS + len(self.letters)

    def encode(self, text: str) -> np.ndarray:
        """Return the letters and the categories of a text: int64 [2, characters]."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        letters = self._letter_table[codes]
        is_new = letters == _UNKNOWN
        if is_new.any():
            for code in set(codes[is_new].tolist()):
                category = category_of(code)
                self._category_table[code] = category
                self._letter_table[code] = self._numbers.get(letter_of(chr(code)), category)
            letters = self._letter_table[codes]
        encoded = np.stack([letters, self._category_table[codes]]).astype(np.int64)
        breaks = np.flatnonzero(encoded[1] == WRAPPED)
        if len(breaks):
            encoded[:, breaks[_is_meant(encoded[1], breaks)]] = MEANT
        return encoded


def _is_meant(categories: np.ndarray, breaks: np.ndarray) -> np.ndarray:
    """Return for each line break whether the next line's first word would have fitted before it."""
    line_lengths = np.diff(breaks, prepend=-1, append=len(categories)) - 1
    is_space = np.append(categories <= BLANK, True)
    # Changes between space and word come in pairs: where a word begins, and where it ends.
    word_starts, word_ends = np.flatnonzero(np.diff(is_space, prepend=True)).reshape(-1, 2).T
    # After the last word there may be line breaks, whose next line is empty.
    word_lengths = np.append(word_ends - word_starts, 0)
    next_word_lengths = word_lengths[np.searchsorted(word_starts, breaks)]
    # The longest line shows how wide lines may be.
    return np.asarray(line_lengths[:-1] + 1 + next_word_lengths <= line_lengths.max())
