"""What ends after each character of a block: the one answer that rules, network and treebanks give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from arcspan.segmenting.characters import shadow_of
from arcspan.segmenting.sentence import Token

INSIDE, WORD, TOKEN, SENTENCE = range(4)  # nothing ends, a word inside a token does, a token, a sentence


def spaces(text: str) -> np.ndarray:
    """For each character whether it is white space."""
    codes = np.frombuffer(shadow_of(text).encode("utf-32-le", "surrogatepass"), "<u4")
    white: np.ndarray = codes == ord(" ")
    return white


def read_marks(
    block: str,
    marks: np.ndarray,
    space: np.ndarray,
    expanded: np.ndarray,
    expansions: Callable[[str], tuple[str, ...] | None],
) -> list[list[Token]]:
    """The sentences of a block that its marks tell of, [characters]; where `expanded`, a token stands for others."""
    begins = ~space
    begins[1:] &= space[:-1] | (marks[:-1] > INSIDE)
    ends = np.flatnonzero(marks > INSIDE)
    columns = np.flatnonzero(begins), ends + 1, marks[ends], expanded[ends]
    sentences: list[list[Token]] = [[]]
    words: list[tuple[str, int, int]] = []
    for start, end, mark, other in zip(*(column.tolist() for column in columns), strict=True):
        words.append((block[start:end], start, end))
        if mark == WORD:
            continue
        begin = words[0][1]
        if other and len(words) == 1 and (found := expansions(block[begin:end])):
            words = [(word, begin, end) for word in found]
        sentences[-1].append(Token(begin, end, tuple(words)))
        words = []
        if mark == SENTENCE:
            sentences.append([])
    return sentences if sentences[-1] else sentences[:-1]
