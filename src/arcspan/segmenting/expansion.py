"""The words of a multiword token that are not written in it: French "au" is "à le", Spanish "dámelo" "da me lo".

What training saw is kept in a table. For tokens that it never saw there are rewrite rules, learnt from the same
examples: an ending (or a beginning) of the token gives way to the ending of the first word and the words after
it. "dámelo" teaches that -ámelo is -a me lo, and so what "tómamelo" is; the longest ending decides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from os.path import commonprefix

from arcspan.settings import described

Words = tuple[str, ...]


@dataclass(frozen=True)
class Expansions:
    """What tokens stand for: a table, and rules for the beginnings and endings of others; all in small letters."""

    table: dict[str, list[str]] = described(shortest=1)
    prefixes: dict[str, list[str]] = described(shortest=1)
    suffixes: dict[str, list[str]] = described(shortest=1)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "_longest", max(map(len, (*self.prefixes, *self.suffixes)), default=0)
        )

    @classmethod
    def learn(cls, examples: Iterable[tuple[str, Words]]) -> Expansions:
        """The table and the rules of tokens with their words; of several answers the most frequent one.

        >>> learnt = Expansions.learn([("au", ("à", "le")), ("dámelo", ("da", "me", "lo"))] * 2)
        >>> learnt("Au"), learnt("lávamelo"), learnt("pan")
        (('À', 'le'), None, None)
        >>> learnt("quedámelo")
        ('queda', 'me', 'lo')
        """
        seen: tuple[dict[str, Counter[Words]], ...] = tuple(defaultdict(Counter) for _ in range(3))
        for form, words in examples:
            form, words = form.lower(), tuple(word.lower() for word in words)
            seen[0][form][words] += 1
            if stem := _shared(form, words[0]):
                rest = (words[0][stem:], *words[1:])
                seen[2][form[stem:]][rest] += 1
            if stem := _shared(form[::-1], words[-1][::-1]):
                rest = (*words[:-1], words[-1][:-stem])
                seen[1][form[:-stem]][rest] += 1
        table, *affixes = (
            {key: counts.most_common(1)[0] for key, counts in sorted(found.items())}
            for found in seen
        )
        rules = (
            {affix: list(words) for affix, (words, count) in found.items() if affix and count > 1}
            for found in affixes
        )
        return cls({form: list(words) for form, (words, _) in table.items()}, *rules)

    def __call__(self, form: str) -> Words | None:
        """The words of a token, with its capital letters; None where nothing is known."""
        lower = form.lower()
        known = self.table.get(lower) or self._by_rule(lower)
        if known is None or form == lower:
            return known and tuple(known)
        words = tuple(known)
        if form.isupper() and len(form) > 1:
            return tuple(word.upper() for word in words)
        return (words[0][:1].upper() + words[0][1:], *words[1:]) if form[0].isupper() else words

    def _by_rule(self, form: str) -> Words | None:
        longest: int = self._longest  # type: ignore[attr-defined]
        for cut in range(max(1, len(form) - longest), len(form)):
            if found := self.suffixes.get(form[cut:]):
                return form[:cut] + found[0], *found[1:]
            if found := self.prefixes.get(form[:-cut]):
                return *found[:-1], found[-1] + form[-cut:]
        return None


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return len(commonprefix([one, other]))  # noqa: RUF071 - characters are meant
