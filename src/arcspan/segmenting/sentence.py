"""What segmenting finds: sentences, each with its words and where they stand in the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

Offsets = tuple[int, int]


class Token(NamedTuple):
    """What is written together, `text[start:end]`: one word, or the words of a multiword token."""

    start: int
    end: int
    words: tuple[tuple[str, int, int], ...]  # each with its own place, or with the token's


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text: `text[start:end]`, its words, and for each the (start, end) in the same text.

    `multiword` are the tokens of several words as (first word, last word, form), words counted from 1: of
    "I can't", (2, 3, "can't"). Words that are not written in their token (French "au" is "à le") have the
    token's offsets. `paragraph` says that a paragraph begins with the sentence.
    """

    start: int
    end: int
    words: tuple[str, ...]
    offsets: tuple[Offsets, ...]
    multiword: tuple[tuple[int, int, str], ...] = ()
    paragraph: bool = False

    def __len__(self) -> int:
        return len(self.words)

    @classmethod
    def of(cls, text: str, tokens: Iterable[Token], *, shift: int = 0, paragraph: bool = False) -> Sentence:
        """The sentence of some tokens of `text`, which begins at `shift` in the original."""
        words: list[str] = []
        offsets: list[Offsets] = []
        multiword = []
        for token in tokens:
            if len(token.words) > 1:
                first = len(words) + 1
                multiword.append((first, len(words) + len(token.words), text[token.start : token.end]))
            for word, start, end in token.words:
                words.append(word)
                offsets.append((start + shift, end + shift))
        start, end = (offsets[0][0], offsets[-1][1]) if offsets else (0, 0)
        return cls(start, end, tuple(words), tuple(offsets), tuple(multiword), paragraph)
