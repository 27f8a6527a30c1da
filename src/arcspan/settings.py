"""Settings that people write, checked in one place: training configurations, bundles, rule files, servers.

Settings are frozen data classes. A field's type and its description (`described`) say what it may be; `read` makes
an instance from the plain tables of TOML or JSON, `check` examines one that a program made. The first value that
does not fit raises ConfigError with its place: `data.train[1].every should be a whole number, at least 1, not 0`.
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
    """What a field may be.

    choices, least, most, above   of a value, and of each item of a list
    matches, wanted               a regular expression for a string, and what that is in words
    shortest                      least length of a list
    others                        whether a table may have fields that the data class does not know
    part                          the kind of parts of other packages (`arcspan.parts`) that may be named, too
    """

    choices: tuple[str, ...]
    least: float
    most: float
    above: float
    matches: str
    wanted: str
    shortest: int
    others: bool
    part: str


def described(
    default: Any = dataclasses.MISSING, text: str = "", **rules: Unpack[FieldRules]
) -> Any:
    """A field with one line of documentation and what it may be; without a default it must be given."""
    metadata = {"doc": text, **rules}
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def read(kind: type[T], data: Any, place: str = "", *, others: bool = False) -> T:
    """An instance of a data class from a table; ConfigError for the first thing that does not fit.

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
        _refuse(place or "the whole", data, "a table")
    known = {one.name: one for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints, prefix = typing.get_type_hints(kind), f"{place}." if place else ""
    for name in data:
        if name not in known and not others:
            import difflib

            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"known: {', '.join(known)}"
            raise ConfigError(f"unknown field {prefix}{name}; {hint}")
    values = {
        name: _value(hints[name], value, prefix + name, known[name].metadata)
        for name, value in data.items()
        if name in known
    }
    for name, one in known.items():
        if name not in data and one.default is one.default_factory is dataclasses.MISSING:
            raise ConfigError(f"{prefix}{name} is missing")
    return kind(**values)


def check(settings: Any) -> None:
    """Raise ConfigError for the first described field of an instance that does not fit."""
    hints = typing.get_type_hints(type(settings))
    for one in dataclasses.fields(settings):
        if "doc" in one.metadata:
            _value(hints[one.name], getattr(settings, one.name), one.name, one.metadata)


def as_toml(value: Any) -> str:
    """A value as TOML writes it, for messages."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _refuse(place: str, value: Any, wanted: str) -> NoReturn:
    shown = as_toml(value)
    raise ConfigError(
        f"{place} should be {wanted}, not {shown if len(shown) <= 60 else shown[:57] + '...'}"
    )


def _value(kind: Any, value: Any, place: str, rules: Mapping[str, Any]) -> Any:
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (typing.Union, types.UnionType):  # X | None
        return None if value is None else _value(inside[0], value, place, rules)
    if dataclasses.is_dataclass(kind):
        return read(kind, value, place, others=bool(rules.get("others")))  # type: ignore[arg-type]
    if origin in (list, tuple, frozenset):
        return _items(origin, inside, value, place, rules)
    if origin is dict:
        if not isinstance(value, dict):
            _refuse(place, value, "a table")
        return {
            name: _value(inside[1], one, f"{place}.{name}", rules) for name, one in value.items()
        }
    if origin is re.Pattern:
        try:
            return re.compile(value)
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise ConfigError(f"{place} is not a regular expression: {error}") from None
    if not _fits(kind, value, rules):
        wanted = _NAMES[kind]
        if "choices" in rules:
            wanted = f"one of {', '.join(rules['choices'])}" + (
                ", or a part" if "part" in rules else ""
            )
        for name in [one for one in _LIMITS if one in rules and kind in (int, float)]:
            wanted += f", {name if name == 'above' else 'at ' + name} {rules[name]:g}"
        _refuse(place, value, rules.get("wanted", wanted))
    return kind(value)


def _items(origin: Any, inside: Any, value: Any, place: str, rules: Mapping[str, Any]) -> Any:
    """A list, or a tuple of a certain length, or a set of names, of which one may be given without a list."""
    items = [value] if origin is frozenset and isinstance(value, str) else value
    length = len(inside) if origin is tuple and inside[-1] is not Ellipsis else None
    shortest = 1 if origin is frozenset else rules.get("shortest", 0)
    if (
        not isinstance(items, (list, tuple))
        or len(items) < shortest
        or length not in (None, len(items))
    ):
        what = "a name or a list of names" if origin is frozenset else "a list"
        what += f" of {length}" if length else f" of at least {shortest}" if shortest > 1 else ""
        _refuse(place, value, what)
    if _all_fit(inside[0], items, rules):
        return origin(items)
    return origin(_value(inside[0], one, f"{place}[{k}]", rules) for k, one in enumerate(items))


def _all_fit(kind: Any, items: Any, rules: Mapping[str, Any]) -> bool:
    """Whether the items are strings or whole numbers that need no closer look: vocabularies are long."""
    if (
        set(map(type, items)) != {kind}
        or kind not in (int, str)
        or rules.keys() & {"choices", "matches"}
    ):
        return False
    return kind is str or all(_is_in_range(one, rules) for one in (min(items), max(items)))


def _fits(kind: Any, value: Any, rules: Mapping[str, Any]) -> bool:
    if kind in (int, float):
        return type(value) in (int, kind) and _is_in_range(value, rules)
    if type(value) is not kind:
        return False
    if value not in rules.get("choices", (value,)):
        return "part" in rules and (":" in value or value in names(rules["part"]))
    return "matches" not in rules or re.fullmatch(rules["matches"], value) is not None


def _is_in_range(value: float, rules: Mapping[str, Any]) -> bool:
    finite = value in range(-(1 << 63), 1 << 63) if isinstance(value, int) else math.isfinite(value)
    return finite and all(
        within(value, rules[name]) for name, within in _LIMITS.items() if name in rules
    )
