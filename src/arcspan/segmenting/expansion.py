"""The words of multiword tokens that are not written in them: French "au" is "à le".

Tokens of the training data are kept in a table. For others there are rewrite rules, learnt from the
same examples: an ending (or a beginning) of the token is replaced by the ending of the first word
and the words after it. Spanish "dámelo", "da me lo", teaches that -ámelo is -a me lo, and so that
"tómamelo" is "toma me lo"; the longest ending decides.
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
    """The words of multiword tokens: a table of known ones and rules for others, all in lower case.

    table     words by token
    prefixes, suffixes  words by the beginning or the ending of a token; the word at the cut gets
                        the part of the token that remains
    """

    table: dict[str, list[str]] = described(shortest=1)
    prefixes: dict[str, list[str]] = described(shortest=1)
    suffixes: dict[str, list[str]] = described(shortest=1)

    def __post_init__(self) -> None:
        longest = max(map(len, (*self.prefixes, *self.suffixes)), default=0)
        object.__setattr__(self, "_longest", longest)  # the instance is frozen

    @classmethod
    def learn(cls, examples: Iterable[tuple[str, Words]]) -> Expansions:
        """Learn from tokens and their words; where a token was expanded in several ways, the most
        frequent.

        >>> learnt = Expansions.learn([("au", ("à", "le")), ("dámelo", ("da", "me", "lo"))] * 2)
        >>> learnt("Au"), learnt("lávamelo"), learnt("pan")
        (('À', 'le'), None, None)
        >>> learnt("quedámelo")
        ('queda', 'me', 'lo')
        """
        forms: dict[str, Counter[Words]] = defaultdict(Counter)
        prefixes: dict[str, Counter[Words]] = defaultdict(Counter)
        suffixes: dict[str, Counter[Words]] = defaultdict(Counter)
        for original_form, original_words in examples:
            form = original_form.lower()
            words = tuple(word.lower() for word in original_words)
            forms[form][words] += 1
            stem = _shared_length(form, words[0])
            if stem:
                remainder = (words[0][stem:], *words[1:])
                suffixes[form[stem:]][remainder] += 1
            stem = _shared_length(form[::-1], words[-1][::-1])
            if stem:
                remainder = (*words[:-1], words[-1][:-stem])
                prefixes[form[:-stem]][remainder] += 1
        return cls(_most_frequent(forms), _rules(prefixes), _rules(suffixes))

    def __call__(self, form: str) -> Words | None:
        """Return the words of a token, with its capital letters; None for an unknown token."""
        lower = form.lower()
        expansion = self.table.get(lower) or self._by_rule(lower)
        if expansion is None:
            return None
        words = tuple(expansion)
        if form == lower:
            return words
        if form.isupper() and len(form) > 1:
            return tuple(word.upper() for word in words)
        if form[0].isupper():
            return (words[0][:1].upper() + words[0][1:], *words[1:])
        return words

    def _by_rule(self, form: str) -> Words | None:
        """Return the words of an unseen token by the longest suffix or prefix that has a rule."""
        longest: int = self._longest  # type: ignore[attr-defined]
        for cut in range(max(1, len(form) - longest), len(form)):
            if words := self.suffixes.get(form[cut:]):
                return form[:cut] + words[0], *words[1:]
            if words := self.prefixes.get(form[:-cut]):
                return *words[:-1], words[-1] + form[-cut:]
        return None


def _most_frequent(counts: dict[str, Counter[Words]]) -> dict[str, list[str]]:
    """Return the most frequent words of each form, in alphabetical order of the forms."""
    return {form: list(words.most_common(1)[0][0]) for form, words in sorted(counts.items())}


def _rules(counts: dict[str, Counter[Words]]) -> dict[str, list[str]]:
    """Return the rules whose affix is not empty and whose words were seen more than once."""
    frequent = {
        affix: words for affix, words in counts.items() if affix and words.most_common(1)[0][1] > 1
    }
    return _most_frequent(frequent)


def _shared_length(left: str, right: str) -> int:
    """Return the number of characters that both begin with."""
    return len(commonprefix([left, right]))  # noqa: RUF071 - characters are meant
