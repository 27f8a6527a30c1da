"""Values that a pattern compares with: sets of strings, or regular expressions of bounded cost.

Python's engine backtracks, so that `(a+)+b` takes time that doubles with every letter. So these are
refused: something of no fixed length or a choice inside a repetition, back references, repetitions
of what takes no letters or of a lookaround with another repetition, and too many repetitions,
optional parts and choices beside each other. What is left has a cost that grows with a power of the
value's length. `cost` bounds it, so that a query can count it as steps. Values are cut after 200
characters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    from re import _parser  # type: ignore[attr-defined]
else:
    import sre_parse as _parser

_LONGEST = 200
# Ways to match that may be tried, if a repetition has 40.
_MOST_WAYS = 256_000
_REPETITION = 40
# Ways that the engine tries in the time of one step of a query, about 2.5 microseconds.
_WAYS_PER_STEP = 50
# Letters in the classes of all expressions of a pattern: compiling 100,000 takes about 10
# milliseconds.
MOST_LETTERS = 300_000
# The last letter that Python's compiler puts in a table, and what that table costs, in letters.
_LAST_OF_TABLE = 0xFFFF
_TABLE = 4_000
_REMEMBERED = 100_000
_LOOKAROUNDS = ("ASSERT", "ASSERT_NOT")
# The parts of a part, by the name of the code that Python's parser gives it.
_PARTS: dict[str, Callable[[Any], list[Any]]] = {
    **dict.fromkeys(("SUBPATTERN", *_LOOKAROUNDS), lambda argument: [argument[-1]]),
    "BRANCH": lambda argument: argument[1],
    "ATOMIC_GROUP": lambda argument: [argument],
}


class Effort(NamedTuple):
    """The work that an expression makes.

    ways         about how many ways there are to match, if a repetition has 40
    repetitions  how many of them are beside each other
    length       how many characters may be compared on the way
    letters      about how many letters Python goes through to compile its classes
    """

    ways: int = 1
    repetitions: int = 0
    length: int = 0
    letters: int = 0


class Expression:
    """A test of a string; answers are remembered.

    values   the strings that pass; empty for a regular expression
    letters  about how many letters Python goes through to compile its classes

    >>> Expression({"NP", "PP"})("NP"), Expression("N.*")("NNS"), Expression("the", ignore_case=True)("The")
    (True, True, True)
    """

    def __init__(
        self,
        source: str | Collection[str],
        *,
        anywhere: bool = False,
        ignore_case: bool = False,
        most_letters: int = MOST_LETTERS,
    ) -> None:
        self.values: frozenset[str] = frozenset()
        self.letters = 0
        if not isinstance(source, str):
            self.values = frozenset(source)
            return
        try:
            effort = _effort(_parser.parse(source), 0)
            if anywhere:
                # The expression is tried at every letter.
                effort = effort._replace(
                    ways=effort.ways * _REPETITION, repetitions=effort.repetitions + 1
                )
            if effort.ways > _MOST_WAYS:
                raise ValueError(
                    "it has too many repetitions, optional parts and choices beside each other"
                )
            self.letters = effort.letters
            if self.letters > most_letters:
                raise ValueError("the pattern's classes of characters are too large")
            compiled = re.compile(source, re.IGNORECASE if ignore_case else 0)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(str(error)) from None
        self._effort = effort
        matches = compiled.search if anywhere else compiled.fullmatch
        self._passes = lru_cache(_REMEMBERED)(lambda value: matches(value[:_LONGEST]) is not None)

    def __call__(self, value: str) -> bool:
        """Return True if a string passes."""
        return value in self.values if self.values else self._passes(value)

    def cost(self, value: str) -> int:
        """Return the most steps that a test may take, whatever the value."""
        ways, repetitions, length, _ = self._effort
        scale = (min(len(value), _LONGEST) / _REPETITION) ** repetitions
        return 1 + int(ways * scale * (1 + length / 8) / _WAYS_PER_STEP)


def _effort(parts: Any, inside: int) -> Effort:
    """Add up the effort of parts in a row; ValueError for what is refused.

    inside   a repetition (1), a lookaround in a repetition (2), or neither (0)
    """
    ways, repetitions, length, letters = Effort()
    for code, argument in parts:
        name, deeper, times = str(code), inside, 1
        inner: list[Any] = []
        if name.endswith("_REPEAT"):
            least, most, part = argument
            if inside == 2 or not part.getwidth()[1]:
                raise ValueError(
                    "it repeats what takes no letters, or a lookaround with a repetition"
                )
            if least != most and inside:
                raise ValueError("it repeats something of no fixed length")
            if least != most and most == 1:
                ways *= 2
            elif least != most:
                ways *= _REPETITION
                repetitions += 1
            inner = [part]
            deeper = inside or int(most > 1)
            # A value ends after 200 letters.
            times = max(1, min(least, _LONGEST))
        elif name in ("GROUPREF", "GROUPREF_EXISTS"):
            raise ValueError("it refers back to a group")
        elif name == "BRANCH" and inside:
            raise ValueError("it repeats a choice")
        elif name in _PARTS:
            inner = _PARTS[name](argument)
            if inside and name in _LOOKAROUNDS:
                deeper = 2
        elif name == "IN":
            letters += _letters(argument)
        length += 1
        efforts = [_effort(part, deeper) for part in inner]
        if efforts:
            ways *= sum(effort.ways for effort in efforts)
            repetitions += max(effort.repetitions for effort in efforts)
            length += times * max(effort.length for effort in efforts)
            letters += sum(effort.letters for effort in efforts)
    return Effort(ways, repetitions, length, letters)


def _letters(members: Any) -> int:
    """Return how many letters the literals and ranges of a class have, and what their table costs."""
    letters = 0
    needs_table = False
    for code, argument in members:
        if str(code) not in ("RANGE", "LITERAL"):
            continue
        first, last = argument if str(code) == "RANGE" else (argument, argument)
        # Letters beyond the table are compared as they are.
        letters += max(0, min(last, _LAST_OF_TABLE) - first) + 1
        needs_table = needs_table or last > 255
    return letters + _TABLE if needs_table else letters
