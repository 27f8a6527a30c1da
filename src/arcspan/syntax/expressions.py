"""Values that a pattern compares with: sets of strings, or regular expressions that cannot run for ever.

Python's engine backtracks, so that `(a+)+b` takes time that doubles with every letter. So these are refused: something
of no fixed length or a choice inside a repetition, back references, repetitions of what takes no letters or of a
lookaround with another repetition, and too many repetitions, optional parts and choices beside each other. What is left
takes milliseconds, as values are cut after 200 characters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser  # type: ignore[attr-defined]
else:
    import sre_parse as _parser

_LONGEST = 200
_MOST_WAYS, _REPETITION = (
    256_000,
    40,
)  # ways to match that may be tried; about how many a repetition has
_REMEMBERED = 100_000
_LAST_OF_TABLE = 0xFFFF  # the letters that Python's compiler puts in a table
_TABLE = 4_000  # what that table costs, in letters
# Where the parts of a part are, by the name of the code that Python's parser gives it.
_BELOW: dict[str, Callable[[Any], list[Any]]] = {
    **dict.fromkeys(("SUBPATTERN", "ASSERT", "ASSERT_NOT"), lambda argument: [argument[-1]]),
    **{"BRANCH": lambda argument: argument[1], "ATOMIC_GROUP": lambda argument: [argument]},
}


class Expression:
    """A test of a string; answers are remembered.

    values  the strings that pass, where that is known; empty for a regular expression

    >>> Expression({"NP", "PP"})("NP"), Expression("N.*")("NNS"), Expression("the", ignore_case=True)("The")
    (True, True, True)
    """

    def __init__(
        self, wanted: str | Collection[str], *, anywhere: bool = False, ignore_case: bool = False
    ) -> None:
        self.values: frozenset[str] = frozenset()
        if isinstance(wanted, str):
            source = wanted
        elif ignore_case:
            source, anywhere = "|".join(map(re.escape, wanted)), False
        else:
            self.values = frozenset(wanted)
            return
        try:
            if _ways(_parser.parse(source), 0) * (_REPETITION if anywhere else 1) > _MOST_WAYS:
                raise ValueError(
                    "it has too many repetitions, optional parts and choices beside each other"
                )
            compiled = re.compile(source, re.IGNORECASE if ignore_case else 0)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(str(error)) from None
        fits = compiled.search if anywhere else compiled.fullmatch
        self._fits = lru_cache(_REMEMBERED)(lambda value: fits(value[:_LONGEST]) is not None)

    def __call__(self, value: str) -> bool:
        """Whether a string passes."""
        return value in self.values if self.values else self._fits(value)


def class_size(source: str) -> int:
    """Return about how many letters Python goes through to compile the classes of an expression.

    `[A-Z]` has 26; of letters beyond Latin-1 it makes a table of all, which takes as long as some thousand.

    >>> class_size("[A-Z]+|[0-9]"), class_size("[α-ω]") > 4_000
    (36, True)
    """
    return _class_size(_parser.parse(source))


def _class_size(parts: Any) -> int:
    size = 0
    for code, argument in parts:
        name = str(code)
        if name == "IN":
            size += _letters(argument)
        elif name.endswith("_REPEAT"):
            size += _class_size(argument[-1])
        elif name in _BELOW:
            size += sum(map(_class_size, _BELOW[name](argument)))
    return size


def _letters(items: Any) -> int:
    """Return how many letters the literals and ranges of a class have, and what their table costs."""
    letters = 0
    needs_table = False
    for code, argument in items:
        if str(code) == "RANGE":
            first, last = argument
            # Letters beyond the table are compared as they are.
            letters += max(0, min(last, _LAST_OF_TABLE) - first) + 1
            needs_table = needs_table or last > 255
        elif str(code) == "LITERAL":
            letters += 1
            needs_table = needs_table or argument > 255
    return letters + (_TABLE if needs_table else 0)


def _ways(parts: Any, inside: int) -> int:
    """About how many ways there are to match; ValueError for what may not be there.

    inside   a repetition (1), a lookaround in a repetition (2), or neither (0)
    """
    ways = 1
    for code, argument in parts:
        name, deeper = str(code), inside
        below: list[Any] = []
        if name.endswith("_REPEAT"):
            least, most, part = argument
            if inside == 2 or not part.getwidth()[1]:
                raise ValueError(
                    "it repeats what takes no letters, or a lookaround with a repetition"
                )
            if least != most:
                if inside:
                    raise ValueError("it repeats something of no fixed length")
                ways *= 2 if most == 1 else _REPETITION
            below, deeper = [part], inside or int(most > 1)
        elif name in ("GROUPREF", "GROUPREF_EXISTS") or (name == "BRANCH" and inside):
            raise ValueError(
                "it repeats a choice" if name == "BRANCH" else "it refers back to a group"
            )
        elif name in _BELOW:
            below, deeper = (
                _BELOW[name](argument),
                2 if inside and name.startswith("ASSERT") else inside,
            )
        each = [_ways(part, deeper) for part in below]
        ways *= sum(each) if each else 1
    return ways
