"""Values that do not fit are refused with their place; the rest is what the data class says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from arcspan.errors import ConfigError
from arcspan.settings import check, described, read


@dataclass(frozen=True)
class Part:
    name: str = described(matches=r"\w+", expected="a name")
    sizes: list[int] = described([], least=1, most=9)


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...] = described((), others=True)
    pair: tuple[int, int] = (0, 0)
    rate: float = described(0.5, "speed", above=0)
    names: frozenset[str] = frozenset()
    word: re.Pattern[str] | None = None
    tables: dict[str, list[str]] = described({}, shortest=1)


def test_tables_become_what_the_types_say() -> None:
    data = {
        "parts": [{"name": "a", "sizes": [1, 9], "note": 1}],
        "pair": [1, 2],
        "rate": 2,
        "names": "x",
        "word": "a+",
    }
    assert read(Whole, data) == Whole(
        (Part("a", [1, 9]),), (1, 2), 2.0, frozenset({"x"}), re.compile("a+")
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "the configuration should be a table, not []"),
        ({"parts": [{}]}, "parts[0].name is missing"),
        ({"parts": [{"name": "a b"}]}, 'parts[0].name should be a name, not "a b"'),
        (
            {"parts": [{"name": "a", "sizes": [1, 10]}]},
            "parts[0].sizes[1] should be a whole number, at least 1, at most 9",
        ),
        ({"pair": [1]}, "pair should be a list of 2, not [1]"),
        ({"pair": [1, True]}, "pair[1] should be a whole number, not true"),
        ({"pair": [1, 10**30]}, "pair[1] should be a whole number"),
        ({"rate": float("nan")}, "rate should be a number, above 0, not nan"),
        ({"rate": 10**400}, "rate should be a number, above 0"),
        ({"names": []}, "names should be a name or a list of names"),
        ({"word": "("}, "word is not a regular expression"),
        ({"tables": {"a": []}}, "tables.a should be a list"),
        ({"raet": 1}, "unknown field raet; did you mean rate?"),
    ],
)
def test_the_first_value_that_does_not_fit_is_named(data: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        read(Whole, data)


def test_what_a_program_made_is_checked_by_the_same_rules() -> None:
    check(Whole())
    with pytest.raises(ConfigError, match="rate should be a number, above 0, not 0"):
        check(Whole(rate=0))
