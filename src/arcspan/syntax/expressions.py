"""Values that a pattern compares with: sets of strings, or regular expressions that cannot run for ever.

Python's engine backtracks, so that `(a+)+b` takes time that doubles with every letter. Expressions with a repetition
inside a repetition, or with back references, are refused, and so are those with more than four repetitions; what is
left takes at most the fifth power of a value's length, and values longer than 200 characters are cut.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as _codes  # type: ignore[attr-defined]
    from re import _parser  # type: ignore[attr-defined]
else:
    import sre_constants as _codes
    import sre_parse as _parser

_LONGEST = 200
_REPETITIONS = 4
_REMEMBERED = 100_000


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
        self._known: dict[str, bool] = {}
        if isinstance(wanted, str):
            source = wanted
        elif ignore_case:
            source, anywhere = "|".join(map(re.escape, wanted)), False
        else:
            self.values = frozenset(wanted)
            return
        try:
            parsed = _parser.parse(source)
            if _repetitions(parsed, False) > _REPETITIONS:
                raise ValueError(f"it has more than {_REPETITIONS} repetitions")
            compiled = re.compile(source, re.IGNORECASE if ignore_case else 0)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(str(error)) from None
        self._fits = compiled.search if anywhere else compiled.fullmatch

    def __call__(self, value: str) -> bool:
        """Whether a string passes."""
        if self.values:
            return value in self.values
        known = self._known.get(value)
        if known is None:
            if len(self._known) > _REMEMBERED:
                self._known.clear()
            known = self._known[value] = self._fits(value[:_LONGEST]) is not None
        return known


def _repetitions(parts: Any, inside: bool) -> int:
    """How many unbounded repetitions there are; ValueError for one inside another and for back references."""
    count = 0
    for code, argument in parts:
        if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
            _, most, below = argument
            if most > 10:
                if inside:
                    raise ValueError("it repeats a repetition")
                count += 1
            count += _repetitions(below, inside or most > 10)
        elif code is _codes.SUBPATTERN:
            count += _repetitions(argument[-1], inside)
        elif code is _codes.BRANCH:
            if inside and any(len(branch) != 1 for branch in argument[1]):
                raise ValueError("it repeats a choice of several letters")
            count += sum(_repetitions(branch, inside) for branch in argument[1])
        elif code in (_codes.ASSERT, _codes.ASSERT_NOT):
            count += _repetitions(argument[1], inside)
        elif code in (_codes.GROUPREF, _codes.GROUPREF_EXISTS):
            raise ValueError("it refers back to a group")
    return count
