"""The frame of every segmenter: a text in blocks, block by block into sentences, as a stream.

A *block* is looked at by itself: a paragraph, an item of a list, a row of a table. What a block gives depends
on nothing around it, and where blocks begin depends on the text alone, so the result is the same whether a
text comes whole or in pieces of any size. A paragraph that is too long to be held is cut where its sentences
end: the last one that was found in a part of it begins the next part.

Rules, network and treebanks give the same answer about a block: for each of its characters, what ends after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from arcspan.errors import ArcspanError
from arcspan.segmenting.characters import SHADOW
from arcspan.segmenting.paragraphs import blank_mark, blocks, paragraphs
from arcspan.segmenting.sentence import Sentence, Token

INSIDE, WORD, TOKEN, SENTENCE = range(
    4
)  # nothing ends, a word inside a token does, a token, a sentence


def spaces(text: str) -> np.ndarray:
    """For each character whether it is white space."""
    codes = np.frombuffer(text.translate(SHADOW).encode("utf-32-le", "surrogatepass"), "<u4")
    return np.asarray(codes == ord(" "))


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


class BaseSegmenter(ABC):
    """Raw text to sentences and words, in one language."""

    language: str

    @abstractmethod
    def tokens(self, block: str) -> list[list[Token]]:
        """The sentences of a block, each a list of tokens that has at least one."""

    def split(self, text: str, *, one_sentence: bool = False, start: int = 0) -> list[Sentence]:
        """The sentences of a text, none where it has no words; `one_sentence`: all of it is one, begun at `start`."""
        if not isinstance(text, str):
            raise ArcspanError(f"a text is needed, not {type(text).__name__}: {text!r}")
        if not one_sentence:
            return list(self.stream([text]))
        found = [token for sentence in self.tokens(blank_mark(text)) for token in sentence]
        return [Sentence.of(text, found, shift=start)] if found else []

    def stream(self, pieces: Iterable[str]) -> Iterator[Sentence]:
        """The sentences of a text that comes in pieces; offsets are those in the whole text."""
        rest = ""  # of a paragraph: its last sentence so far, which may go on
        for part in paragraphs(pieces):
            text, shift, begins = rest + part.text, part.start - len(rest), part.first
            found = [
                (begin, block, tokens)
                for begin, block in blocks(text)
                for tokens in self.tokens(block)
            ]
            rest = ""
            if found and not part.last:
                begin, block, tokens = found.pop()
                if not found and len(tokens) > 1:  # a sentence that is longer than what may be held
                    found.append((begin, block, tokens[:-1]))
                    tokens = tokens[-1:]
                if found:
                    rest = text[begin + tokens[0].start :]
                else:
                    found.append((begin, block, tokens))
            for begin, block, tokens in found:
                yield Sentence.of(block, tokens, shift=shift + begin, paragraph=begins)
                begins = False
