"""BERT's word pieces, without the `tokenizers` library and its dependencies.

The ids are those that the library's BertNormalizer, BertPreTokenizer and WordPiece give for words
one by one. No offsets, no truncation, no special pieces around a sentence; `WordPieces.from_json`
leaves every other kind of tokenizer to the library. A character is what Unicode 8 says it is, as in
the library, whatever version Python knows.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

# Words whose pieces are cached, if they are not longer than so many characters.
CACHE_SIZE = 20_000
LONGEST_CACHED = 40

# Each of these characters is a word by itself.
_ideograph = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)
# The marks, punctuation and format characters that came after Unicode 8 are in these ranges, and no
# earlier ones.
_newer = re.compile(
    r"[\u05c8-\u05c9\u061d\u07fd\u0890-\u08e2\u09fd-\u09fe\u0a76\u0afa-\u0aff\u0b53-\u0b55\u0c04-\u0c3c\u0c77\u0c84"
    r"\u0d00\u0d3b-\u0d3c\u0d81\u0eba\u0ece\u180f-\u1886\u1abf-\u1af0\u1b4e-\u1b4f\u1b7d-\u1b7f\u1df6-\u1dfb"
    r"\u2e43-\u2e63\ua82c\ua8c5\ua8ff\ua9bd\U00010d24-\U00010f89\U00011070-\U00011074\U000110c2-\U000110cd"
    r"\U000111cf\U0001123e-\U00011241\U0001133b\U000113bb-\U0001145e\U00011660-\U0001166c\U000116b9"
    r"\U0001182f-\U00011fff\U00012ff1-\U0001612f\U00016d6d-\U00016f4f\U00016fe2-\U00016fe4\U0001cf00-\U0001d128"
    r"\U0001d25b-\U0001d25c\U0001e000-\U0001e6f5\U0001e944-\U000e0000]"
)
# The characters whose category has changed since Unicode 8: what they were.
_CHANGED = {"\u166d": "Po", "\u1734": "Mn", "\U000111c9": "Po", "\U0001171e": "Mn"}


class WordPieces:
    """Cuts words into pieces, each the longest that the vocabulary has.

    >>> pieces = WordPieces({"[UNK]": 0, "play": 1, "##s": 2, "!": 3}, "[UNK]")
    >>> pieces.cut(["Plays!", "role"])
    [[1, 2, 3], [0]]
    """

    def __init__(
        self,
        vocabulary: dict[str, int],
        unknown: str,
        *,
        prefix: str = "##",
        longest: int = 100,
        special: frozenset[str] = frozenset(),
        lowercase: bool = True,
        strip_accents: bool = True,
    ) -> None:
        self._vocabulary = vocabulary
        self._unknown = vocabulary[unknown]
        self._prefix = prefix
        self._longest = longest
        self._special = special
        self._longest_piece = max(map(len, vocabulary))
        self._characters = _Characters(lowercase, strip_accents)
        # The longest of the special pieces that begin at one position. Without any, nothing
        # matches.
        names = "|".join(re.escape(name) for name in sorted(special, key=len, reverse=True))
        self._split = re.compile(f"({names or '(?!)'})").split
        self._cut_cached = functools.lru_cache(CACHE_SIZE)(self._cut)

    @classmethod
    def from_json(cls, data: Any) -> WordPieces | None:
        """Return the tokenizer of a `tokenizer.json`, None if it is of another type."""
        match data:
            case {"normalizer": {"type": "Sequence", "normalizers": [normalizer]}}:
                data = {**data, "normalizer": normalizer}
        match data:
            case {
                "normalizer": {
                    "type": "BertNormalizer",
                    "clean_text": True,
                    "handle_chinese_chars": True,
                    "strip_accents": bool() | None as strip_accents,
                    "lowercase": bool() as lowercase,
                },
                "pre_tokenizer": {"type": "BertPreTokenizer"},
                "added_tokens": [*added],
                "model": {
                    "type": "WordPiece",
                    "unk_token": str() as unknown,
                    "continuing_subword_prefix": str() as prefix,
                    "max_input_chars_per_word": int() as longest,
                    "vocab": {**vocabulary},
                },
            } if unknown in vocabulary and all(
                type(id) is int and 0 <= id < 2**32 for id in vocabulary.values()
            ):
                special = {token["content"]: token for token in added}
            case _:
                return None
        for name, token in special.items():
            moves = any(
                token[option] for option in ("single_word", "lstrip", "rstrip", "normalized")
            )
            if moves or not name or vocabulary.get(name) != token["id"]:
                return None
        return cls(
            data["model"]["vocab"],
            unknown,
            prefix=prefix,
            longest=longest,
            special=frozenset(special),
            lowercase=lowercase,
            strip_accents=lowercase if strip_accents is None else strip_accents,
        )

    def has(self, id: int) -> bool:
        """Return whether a piece has this id."""
        return id in self._vocabulary.values()

    def cut(self, words: Sequence[str]) -> list[list[int]]:
        """Return the pieces of each word, which may have none."""
        pieces = []
        for word in words:
            cut = self._cut_cached if len(word) <= LONGEST_CACHED else self._cut
            pieces.append(cut(word))
        return pieces

    def _cut(self, word: str) -> list[int]:
        pieces: list[int] = []
        for part in self._split(word):
            if part in self._special:
                pieces.append(self._vocabulary[part])
                continue
            for token in part.translate(self._characters).split():
                pieces += self._cut_token(token)
        return pieces

    def _cut_token(self, token: str) -> list[int]:
        pieces: list[int] = []
        start = 0
        while start < len(token) <= self._longest:
            prefix = self._prefix if start else ""
            # The longest piece that the vocabulary has.
            for stop in range(min(len(token), start + self._longest_piece), start, -1):
                id = self._vocabulary.get(prefix + token[start:stop])
                if id is not None:
                    break
            else:
                return [self._unknown]
            pieces.append(id)
            start = stop
        return pieces or [self._unknown]


class _Characters(dict[int, str]):
    """A table for str.translate, with spaces where words are cut; entries are made at their first
    use.
    """

    def __init__(self, lowercase: bool, strip_accents: bool) -> None:
        self._lowercase = lowercase
        self._strip_accents = strip_accents

    def __missing__(self, code: int) -> str:
        replacement = self[code] = self._replace(chr(code))
        return replacement

    def _replace(self, character: str) -> str:
        if character in "\t\n\r":
            return " "
        if _category(character) in ("Cc", "Cf", "Co") or character == "\ufffd":
            return ""
        if character.isspace():
            return " "
        letters = character
        if self._strip_accents:
            decomposed = unicodedata.normalize("NFD", letters)
            letters = "".join(letter for letter in decomposed if _category(letter) != "Mn")
        if self._lowercase:
            # One by one: the lower case of a sigma must not depend on what follows.
            letters = "".join(letter.lower() for letter in letters)
        spaced = (f" {letter} " if _is_punctuation(letter) else letter for letter in letters)
        text = "".join(spaced)
        return f" {text} " if _ideograph.match(character) else text


def _category(character: str) -> str:
    """Return the category that a character has in Unicode 8."""
    if _newer.match(character):
        return "Cn"
    return _CHANGED.get(character) or unicodedata.category(character)


def _is_punctuation(character: str) -> bool:
    """Return whether it is punctuation: in ASCII all that is printed but letters, digits and the
    space.
    """
    if character.isascii():
        return "!" <= character <= "~" and not character.isalnum()
    return _category(character).startswith("P")
