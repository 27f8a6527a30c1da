"""The frame of every segmenter: a text in blocks, block by block into sentences, as a stream.

A *block* is looked at by itself: a paragraph, an item of a list, a row of a table. What a block gives depends
on nothing around it, and where blocks begin depends on the text alone, so the result is the same whether a
text comes whole or in pieces of any size. A paragraph that is too long to be held is cut where its sentences
end: the last one that was found in a part of it begins the next part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from arcspan.errors import ArcspanError
from arcspan.segmenting.paragraphs import blank_mark, blocks, paragraphs
from arcspan.segmenting.sentence import Sentence, Token


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
            found = [(begin, block, tokens) for begin, block in blocks(text) for tokens in self.tokens(block)]
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
