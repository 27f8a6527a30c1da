"""Settings that people write, checked in one place: training, bundles, rule files, servers.

Settings are frozen data classes. A field's type and its rules (`described`) decide which values it
may have; `read` makes an instance from the plain tables of TOML or JSON, `check` examines one that
a program made. The first value that does not fit raises ConfigError with its path:
`data.train[1].every should be a whole number, at least 1, not 0`.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, TypeVar

from arcspan.errors import ConfigError
from arcspan.parts import names

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
_LIMITS = {"least": operator.ge, "above": operator.gt, "most": operator.le}
_NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


class FieldRules(TypedDict, total=False):
    """The values that a field may have.

    choices, least, most, above   of a value, and of each item of a list
    matches, expected             a regular expression for a string, and its meaning in words
    shortest                      least length of a list
    others                        whether a table may have fields that the data class does not have
    part                          the group of parts of other packages (`arcspan.parts`) that may be
                                  named, too
    """

    choices: tuple[str, ...]
    least: float
    most: float
    above: float
    matches: str
    expected: str
    shortest: int
    others: bool
    part: str


def described(
    default: Any = dataclasses.MISSING, text: str = "", **rules: Unpack[FieldRules]
) -> Any:
    """Return a field with its documentation and rules; without a default it is required."""
    metadata = {"doc": text, **rules}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def read(settings_type: type[T], data: Any, path: str = "", *, others: bool = False) -> T:
    """Make an instance of a data class from a table; raise ConfigError for the first wrong value.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Speed:
    ...     rate: float = described(0.1, "learning rate", above=0)
    >>> read(Speed, {"rate": 1})
    Speed(rate=1.0)
    >>> read(Speed, {"rate": 0}, "training")
    Traceback (most recent call last):
    arcspan.errors.ConfigError: training.rate should be a number, above 0, not 0
    """
    if not isinstance(data, dict):
        _refuse(path or "the configuration", data, "a table")
    described_fields = dataclasses.fields(settings_type)  # type: ignore[arg-type]
    fields = {field.name: field for field in described_fields}
    types_of_fields = typing.get_type_hints(settings_type)
    prefix = f"{path}." if path else ""
    for name in data:
        if name not in fields and not others:
            import difflib

            similar = difflib.get_close_matches(name, fields, 1)
            hint = (
                f"did you mean {prefix}{similar[0]}?" if similar else f"known: {', '.join(fields)}"
            )
            raise ConfigError(f"unknown field {prefix}{name}; {hint}")
    values = {
        name: _read_value(types_of_fields[name], value, prefix + name, fields[name].metadata)
        for name, value in data.items()
        if name in fields
    }
    for name, field in fields.items():
        is_required = field.default is field.default_factory is dataclasses.MISSING
        if is_required and name not in data:
            raise ConfigError(f"{prefix}{name} is missing")
    return settings_type(**values)


def check(settings: Any) -> None:
    """Raise ConfigError for the first described field of an instance that has a wrong value."""
    types_of_fields = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):
        if "doc" in field.metadata:
            value = getattr(settings, field.name)
            _read_value(types_of_fields[field.name], value, field.name, field.metadata)


def as_toml(value: Any) -> str:
    """Return a value as TOML writes it, for messages."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _refuse(path: str, value: Any, expected: str) -> NoReturn:
    text = as_toml(value)
    # A message is one line that can be read.
    if len(text) > 60:
        text = text[:57] + "..."
    raise ConfigError(f"{path} should be {expected}, not {text}")


def _read_value(value_type: Any, value: Any, path: str, rules: Mapping[str, Any]) -> Any:
    """Return a value as its field's type has it; raise ConfigError if it does not fit."""
    origin = typing.get_origin(value_type)
    arguments = typing.get_args(value_type)
    if value_type is Any:
        return value
    # X | None
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _read_value(arguments[0], value, path, rules)
    if dataclasses.is_dataclass(value_type):
        others = bool(rules.get("others"))
        return read(value_type, value, path, others=others)  # type: ignore[arg-type]
    if origin in (list, tuple, frozenset):
        return _read_items(origin, arguments, value, path, rules)
    if origin is dict:
        if not isinstance(value, dict):
            _refuse(path, value, "a table")
        return {
            name: _read_value(arguments[1], entry, f"{path}.{name}", rules)
            for name, entry in value.items()
        }
    if origin is re.Pattern:
        try:
            return re.compile(value)
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise ConfigError(f"{path} is not a regular expression: {error}") from None
    if not _fits(value_type, value, rules):
        _refuse(path, value, rules.get("expected", _expected_value(value_type, rules)))
    return value_type(value)


def _expected_value(value_type: Any, rules: Mapping[str, Any]) -> str:
    """Return the values that fit in words, for messages."""
    expected = _NAMES[value_type]
    if "choices" in rules:
        expected = f"one of {', '.join(rules['choices'])}"
        if "part" in rules:
            expected += ", or a part"
    if value_type in (int, float):
        for limit in _LIMITS:
            if limit in rules:
                preposition = "" if limit == "above" else "at "
                expected += f", {preposition}{limit} {rules[limit]:g}"
    return expected


def _read_items(
    origin: Any, arguments: Any, value: Any, path: str, rules: Mapping[str, Any]
) -> Any:
    """Return a list, a tuple of a certain length, or a set of names.

    A set of one name may be written as that name without a list.
    """
    items = [value] if origin is frozenset and isinstance(value, str) else value
    length = len(arguments) if origin is tuple and arguments[-1] is not Ellipsis else None
    shortest = 1 if origin is frozenset else rules.get("shortest", 0)
    is_list = isinstance(items, (list, tuple))
    if not is_list or len(items) < shortest or length not in (None, len(items)):
        expected = "a name or a list of names" if origin is frozenset else "a list"
        if length:
            expected += f" of {length}"
        elif shortest > 1:
            expected += f" of at least {shortest}"
        _refuse(path, value, expected)
    if _all_fit(arguments[0], items, rules):
        return origin(items)
    return origin(
        _read_value(arguments[0], entry, f"{path}[{index}]", rules)
        for index, entry in enumerate(items)
    )


def _all_fit(item_type: Any, items: Any, rules: Mapping[str, Any]) -> bool:
    """Return whether all items are plain strings or numbers that fit.

    Vocabularies have many thousands of items: these are not examined one by one.
    """
    is_uniform = set(map(type, items)) == {item_type}
    if not is_uniform or item_type not in (int, str) or rules.keys() & {"choices", "matches"}:
        return False
    return item_type is str or all(_is_in_range(end, rules) for end in (min(items), max(items)))


def _fits(value_type: Any, value: Any, rules: Mapping[str, Any]) -> bool:
    """Return whether a plain value has its type and obeys the rules."""
    if value_type in (int, float):
        return type(value) in (int, value_type) and _is_in_range(value, rules)
    if type(value) is not value_type:
        return False
    if value not in rules.get("choices", (value,)):
        return "part" in rules and (":" in value or value in names(rules["part"]))
    return "matches" not in rules or re.fullmatch(rules["matches"], value) is not None


def _is_in_range(value: float, rules: Mapping[str, Any]) -> bool:
    """Return whether a number is finite, fits into 64 bits, and is within its limits."""
    if isinstance(value, int):
        is_finite = value in range(-(1 << 63), 1 << 63)
    else:
        is_finite = math.isfinite(value)
    return is_finite and all(
        is_within(value, rules[limit]) for limit, is_within in _LIMITS.items() if limit in rules
    )
