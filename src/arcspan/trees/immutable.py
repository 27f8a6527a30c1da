"""Base class of all trees: immutable, compared by value, hashable and picklable.

The columns of strings that trees have, one string per word, are made here, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from arcspan.errors import TreeError

Self = TypeVar("Self", bound="Immutable")

Column = Iterable[str] | None
"""One string per word; None stands for empty strings."""


class Immutable:
    """An object whose parts are set once; parts with names in "_" do not count in comparisons."""

    __slots__ = ()
    _parts: ClassVar[tuple[str, ...]]
    """The names of all parts in the order of `_trusted`'s arguments; omitted last ones are None."""

    def _fill(self, *parts: Any) -> None:
        for name, part in itertools.zip_longest(self._parts, parts):
            # `__setattr__` of this class always raises.
            object.__setattr__(self, name, part)

    @classmethod
    def _trusted(cls: type[Self], *parts: Any) -> Self:
        """Build without checks, from parts that this package made itself."""
        new = cls.__new__(cls)
        new._fill(*parts)
        return new

    def _replaced(self: Self, **changes: Any) -> Self:
        """Copy without checks, with some parts exchanged."""
        return self._trusted(*[changes.get(name, getattr(self, name)) for name in self._parts])

    def _value(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._parts if name[0] != "_")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; make a new one")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would restore the parts with `__setattr__`.
        return self._trusted, tuple(getattr(self, name) for name in self._parts)


@lru_cache(maxsize=1024)
def empty_column(n: int) -> tuple[str, ...]:
    """Return n empty strings; all trees of n words share the tuple."""
    return ("",) * n


def per_word(n: int, names: Sequence[str], *columns: Column) -> list[tuple[str, ...]]:
    """Return columns of one string per word, "" throughout for None; TreeError for a wrong length.

    >>> per_word(2, ["words", "tags"], ["It", "works"], None)
    [('It', 'works'), ('', '')]
    """
    filled = []
    mismatches = []
    # Callers name all columns of their class and may leave out the last ones.
    for name, column in zip(names, columns, strict=False):
        strings = empty_column(n) if column is None else tuple(column)
        filled.append(strings)
        if len(strings) != n:
            mismatches.append(f"{len(strings)} {name}")
    if mismatches:
        raise TreeError(f"{n} words, but {', '.join(mismatches)}: there must be one per word")
    return filled
