"""What segmenting finds and a parser reads: sentences, each with its words and where they stand in the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from arcspan.errors import ArcspanError

Offsets = tuple[int, int]


class Token(NamedTuple):
    """What is written together, `text[start:end]`: one word, or the words of a multiword token."""

    start: int
    end: int
    words: tuple[tuple[str, int, int], ...]  # each with its own place, or with the token's


@dataclass(frozen=True)
class Sentence:
    """A sentence: its words and, where they come from a text, how they are written there.

    words       its words
    text        the sentence as it is written; None where only the words are known
    offsets     for each word its (start, end) in the original text; () where only the words are known. Words that
                are not written in their token (French "au" is "à le") have the token's
    multiword   tokens of several words as (first word, last word, form), words counted from 1: of "I can't",
                (2, 3, "can't")
    paragraph   whether a paragraph begins with the sentence
    space_after   whether white space, or nothing, follows it in the text
    """

    words: tuple[str, ...]
    text: str | None = None
    offsets: tuple[Offsets, ...] = ()
    multiword: tuple[tuple[int, int, str], ...] = ()
    paragraph: bool = False
    space_after: bool = True

    def __len__(self) -> int:
        return len(self.words)

    @property
    def start(self) -> int:
        """Where it begins in the original text; 0 where only the words are known."""
        return self.offsets[0][0] if self.offsets else 0

    @property
    def end(self) -> int:
        """Where it ends in the original text; 0 where only the words are known."""
        return self.offsets[-1][1] if self.offsets else 0

    @classmethod
    def of(
        cls, text: str, tokens: Iterable[Token], *, shift: int = 0, paragraph: bool = False
    ) -> Sentence:
        """The sentence of some tokens, at least one, of `text`, which begins at `shift` in the original."""
        words: list[str] = []
        offsets: list[Offsets] = []
        multiword = []
        for token in tokens:
            if len(token.words) > 1:
                first = len(words) + 1
                multiword.append(
                    (first, len(words) + len(token.words), text[token.start : token.end])
                )
            for word, start, end in token.words:
                words.append(word)
                offsets.append((start + shift, end + shift))
        begin, stop = offsets[0][0] - shift, offsets[-1][1] - shift
        space = stop == len(text) or text[stop].isspace()
        return cls(
            tuple(words), text[begin:stop], tuple(offsets), tuple(multiword), paragraph, space
        )

    @classmethod
    def in_text(cls, words: Iterable[str], text: str) -> Sentence:
        """The sentence of these words, found one after the other in a text; ArcspanError names one that is not there.

        >>> Sentence.in_text(["Do", "n't", "go"], " Don't go!").offsets
        ((1, 3), (3, 6), (7, 9))
        """
        if not isinstance(text, str):
            raise ArcspanError(f"a text is needed, not {type(text).__name__}: {text!r}")
        words = tuple(words)
        offsets, end = [], 0
        for number, word in enumerate(words, 1):
            start = end
            while start < len(text) and text[start].isspace():
                start += 1
            if not word or not text.startswith(word, start):
                raise ArcspanError(
                    f"word {number}, {word!r}, is not at character {start} of the text, "
                    f"which goes on with {text[start : start + 20]!r}: give the words as they are written there"
                )
            end = start + len(word)
            offsets.append((start, end))
        if not offsets:
            return cls((), "", ())
        space = end == len(text) or text[end].isspace()
        return cls(words, text[offsets[0][0] : end], tuple(offsets), space_after=space)
