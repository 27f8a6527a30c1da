"""The frame of every segmenter: a text is cut into blocks, each block into sentences, as a stream.

A *block* is segmented by itself: a paragraph, an item of a list, a row of a table. Its sentences
depend on nothing around it, and where blocks begin depends on the text alone, so the result is the
same whether a text comes in one piece or in many. A paragraph that is too long to be held is cut
where its sentences end: the last sentence of one part begins the next part.

Rules, network and treebanks describe a block in the same way: a mark for each of its characters,
which says whether a word, a token or a sentence ends after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from arcspan.errors import ArcspanError
from arcspan.segmenting.characters import SHADOW
from arcspan.segmenting.paragraphs import blank_mark, blocks, paragraphs
from arcspan.segmenting.sentence import Sentence, TextToken

# Marks of a character: nothing ends after it, a word inside a token, a token, a sentence.
INSIDE, WORD, TOKEN, SENTENCE = range(4)

Expand = Callable[[str], tuple[str, ...] | None]
"""Returns the words of a multiword token that are not written in it, None for other tokens."""


def spaces(text: str) -> np.ndarray:
    """Return for each character whether it is white space: bool [characters]."""
    codes = np.frombuffer(text.translate(SHADOW).encode("utf-32-le", "surrogatepass"), "<u4")
    return np.asarray(codes == ord(" "))


def read_marks(
    block: str,
    marks: np.ndarray,
    is_space: np.ndarray,
    is_expanded: np.ndarray,
    expand: Expand,
) -> list[list[TextToken]]:
    """Return the sentences that the marks of a block describe, each a list of tokens.

    marks, is_space, is_expanded  arrays [characters]; where `is_expanded`, the token that ends
                                  there may stand for words that are not written in it, which
                                  `expand` knows
    """
    starts_word = ~is_space
    starts_word[1:] &= is_space[:-1] | (marks[:-1] > INSIDE)
    starts = np.flatnonzero(starts_word).tolist()
    last_characters = np.flatnonzero(marks > INSIDE)
    word_ends = zip(
        (last_characters + 1).tolist(),
        marks[last_characters].tolist(),
        is_expanded[last_characters].tolist(),
        strict=True,
    )
    sentences: list[list[TextToken]] = [[]]
    words: list[tuple[str, int, int]] = []
    for start, (end, mark, expandable) in zip(starts, word_ends, strict=True):
        words.append((block[start:end], start, end))
        if mark == WORD:
            continue
        token_start = words[0][1]
        # A token that is already cut into words stands for these.
        if expandable and len(words) == 1:
            expansion = expand(block[token_start:end])
            if expansion:
                words = [(word, token_start, end) for word in expansion]
        sentences[-1].append(TextToken(token_start, end, tuple(words)))
        words = []
        if mark == SENTENCE:
            sentences.append([])
    if not sentences[-1]:
        sentences.pop()
    return sentences


class BaseSegmenter(ABC):
    """A splitter of raw text into sentences and words, for one language."""

    language: str

    @abstractmethod
    def tokens(self, block: str) -> list[list[TextToken]]:
        """Return the sentences of a block, each a list of at least one token."""

    def split(self, text: str, *, one_sentence: bool = False, start: int = 0) -> list[Sentence]:
        """Return the sentences of a text; the list is empty if the text has no words.

        With `one_sentence` all of the text is one sentence, which begins at character `start` of
        the original.
        """
        if not isinstance(text, str):
            raise ArcspanError(f"a text is needed, not {type(text).__name__}: {text!r}")
        if not one_sentence:
            return list(self.stream([text]))
        tokens = [token for sentence in self.tokens(blank_mark(text)) for token in sentence]
        return [Sentence.of(text, tokens, shift=start)] if tokens else []

    def stream(self, pieces: Iterable[str]) -> Iterator[Sentence]:
        """Yield the sentences of a text that comes in pieces; offsets count from its beginning."""
        # The last sentence of an unfinished paragraph: it may go on in the next part.
        unfinished = ""
        for part in paragraphs(pieces):
            text = unfinished + part.text
            shift = part.start - len(unfinished)
            unfinished = ""
            sentences = [
                (block_start, block, tokens)
                for block_start, block in blocks(text)
                for tokens in self.tokens(block)
            ]
            if sentences and not part.last:
                block_start, block, tokens = sentences.pop()
                # A sentence that is longer than a part: all of it but the last token is given out.
                if not sentences and len(tokens) > 1:
                    sentences.append((block_start, block, tokens[:-1]))
                    tokens = tokens[-1:]
                if sentences:
                    unfinished = text[block_start + tokens[0].start :]
                else:
                    sentences.append((block_start, block, tokens))
            begins_paragraph = part.first
            for block_start, block, tokens in sentences:
                yield Sentence.of(
                    block, tokens, shift=shift + block_start, paragraph=begins_paragraph
                )
                begins_paragraph = False
