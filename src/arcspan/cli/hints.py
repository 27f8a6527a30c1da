"""What a user should know of a text that is parsed without complaint: another language, or left-over markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arcspan.cli.reading import Item
from arcspan.parser import Parser

WORDS = 200  # that are looked at
LEAST = 50  # on which anything is said
# Of running text: in samples of 100 words of the English model's dev files at least 0.85 are known.
KNOWN = 0.55
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>|&(?:[a-z]{2,6}|#\d{1,6});")


class Hints:
    """Looks at the first sentences on their way to the parser."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self._words: list[str] = []
        self._marks = 0

    def watch(self, items: Iterator[Item]) -> Iterator[Item]:
        """The same sentences."""
        for item in items:
            if len(self._words) < WORDS and not isinstance(item.content, list):
                self._words += [word.lower() for word in item.content.words if word.isalpha()]
                self._marks += len(_MARKUP.findall(item.content.text or ""))
            yield item

    def notes(self) -> Iterator[str]:
        """What was noticed."""
        if self._marks > 2:
            yield "the text seems to have tags or entities of HTML: --clean html takes them out"
        seen = self.parser.inventories.seen_lemmas
        if len(self._words) < LEAST or not seen:
            return
        known = {word.lower() for words in seen.values() for word in words}
        share = sum(word in known for word in self._words) / len(self._words)
        if share < KNOWN:
            language = self.parser.language or "its language"
            yield (
                f"is this text in the model's language ({language})? It knows {share:.0%} of the first "
                f"{len(self._words)} words"
            )
