"""Hints on a text that is parsed without complaint: another language, or left-over markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arcspan.cli.reading import Item
from arcspan.parser import Parser

WORDS = 200  # that are looked at
MIN_WORDS = 50  # below which nothing is said about the language
# Of running text: in samples of 100 words of the English model's dev files at least 0.85 are known.
KNOWN_SHARE = 0.55
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>|&(?:[a-z]{2,6}|#\d{1,6});")


class Hints:
    """Looks at the first sentences on their way to the parser."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self._words: list[str] = []
        self._marks = 0

    def watch(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield the same sentences."""
        for item in items:
            # Lists of words come from other programs, which know their language.
            if len(self._words) < WORDS and not isinstance(item.content, list):
                self._words += [word.lower() for word in item.content.words if word.isalpha()]
                self._marks += len(_MARKUP.findall(item.content.text or ""))
            yield item

    def notes(self) -> Iterator[str]:
        """Yield the hints."""
        if self._marks > 2:
            yield "the text seems to have tags or entities of HTML: --clean html takes them out"
        seen_lemmas = self.parser.inventories.seen_lemmas
        if len(self._words) < MIN_WORDS or not seen_lemmas:
            return
        vocabulary = {word.lower() for words in seen_lemmas.values() for word in words}
        lexicon = self.parser.inventories.lexicon
        known = 0
        for word in self._words:
            known += word in vocabulary or (lexicon is not None and lexicon.has_lemma(word))
        share = known / len(self._words)
        if share < KNOWN_SHARE:
            language = self.parser.language or "its language"
            yield (
                f"is this text in the model's language ({language})? It knows {share:.0%} of the "
                f"first {len(self._words)} words"
            )
