"""The output of segmenting and input of a parser: sentences, with the place of each word in the
text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from arcspan.errors import ArcspanError

Offsets = tuple[int, int]


class TextToken(NamedTuple):
    """A stretch of text, `text[start:end]`, that is one word or a multiword token."""

    start: int
    end: int
    # (word, start, end): a word that is not written in the text has the start and end of its token.
    words: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Sentence:
    """A sentence: its words and, if they come from a text, how they are written there.

    words       its words
    text        the sentence as it is written; None where only the words are known
    offsets     for each word its (start, end) in the original text; () where only the words are
                known. Words that are not written in their token (French "au" is "à le") have the
                token's
    multiword   tokens of several words as (first word, last word, form), words counted from 1: of
                "I can't", (2, 3, "can't")
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
        """Return its first character in the original text; 0 if only the words are known."""
        return self.offsets[0][0] if self.offsets else 0

    @property
    def end(self) -> int:
        """Return the end of its last word in the original text; 0 if only the words are known."""
        return self.offsets[-1][1] if self.offsets else 0

    @classmethod
    def of(
        cls, text: str, tokens: Iterable[TextToken], *, shift: int = 0, paragraph: bool = False
    ) -> Sentence:
        """Make a sentence of tokens of `text`, which begins at `shift` in the original."""
        words: list[str] = []
        offsets: list[Offsets] = []
        multiword = []
        for token in tokens:
            if len(token.words) > 1:
                first = len(words) + 1
                last = len(words) + len(token.words)
                multiword.append((first, last, text[token.start : token.end]))
            for word, start, end in token.words:
                words.append(word)
                offsets.append((start + shift, end + shift))
        start = offsets[0][0] - shift
        end = offsets[-1][1] - shift
        return cls(
            tuple(words),
            text[start:end],
            tuple(offsets),
            tuple(multiword),
            paragraph,
            space_after=_is_space_or_end(text, end),
        )

    @classmethod
    def in_text(cls, words: Iterable[str], text: str) -> Sentence:
        """Make a sentence of words that stand one after the other in a text.

        Raises ArcspanError for the first word that does not stand there.

        >>> Sentence.in_text(["Do", "n't", "go"], " Don't go!").offsets
        ((1, 3), (3, 6), (7, 9))
        """
        if not isinstance(text, str):
            raise ArcspanError(f"a text is needed, not {type(text).__name__}: {text!r}")
        words = tuple(words)
        offsets = []
        end = 0
        for number, word in enumerate(words, 1):
            start = end
            while start < len(text) and text[start].isspace():
                start += 1
            if not word or not text.startswith(word, start):
                raise ArcspanError(
                    f"word {number}, {word!r}, is not at character {start} of the text, "
                    f"which continues with {text[start : start + 20]!r}: "
                    "pass the words as they are written there"
                )
            end = start + len(word)
            offsets.append((start, end))
        if not offsets:
            return cls((), "", ())
        sentence_text = text[offsets[0][0] : end]
        space_after = _is_space_or_end(text, end)
        return cls(words, sentence_text, tuple(offsets), space_after=space_after)


def _is_space_or_end(text: str, position: int) -> bool:
    """Return whether white space or nothing stands at a position of a text."""
    return position == len(text) or text[position].isspace()
