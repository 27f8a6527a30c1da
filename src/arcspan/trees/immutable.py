"""What all trees have in common: they do not change, compare by value, can be hashed and pickled."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from arcspan.errors import TreeError

Tree = TypeVar("Tree", bound="Immutable")


class Immutable:
    """An object made of parts that are set once. Parts whose names begin with "_" do not count in comparisons."""

    __slots__ = ()
    _parts: ClassVar[tuple[str, ...]]
    """The names of all parts, in the order in which `_trusted` takes them; those left out at the end are None."""

    def _fill(self, *parts: Any) -> None:
        for name, part in itertools.zip_longest(self._parts, parts):
            object.__setattr__(self, name, part)

    @classmethod
    def _trusted(cls: type[Tree], *parts: Any) -> Tree:
        """Build without checks, from parts that this package made itself."""
        made = cls.__new__(cls)
        made._fill(*parts)
        return made

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
        return self._trusted, tuple(getattr(self, name) for name in self._parts)


@lru_cache(maxsize=1024)
def nothing(n: int) -> tuple[str, ...]:
    """The column of n words that have nothing in it, one tuple for all trees."""
    return ("",) * n


def per_word(n: int, names: Sequence[str], *columns: Iterable[str] | None) -> list[tuple[str, ...]]:
    """Columns of a string per word, "" throughout where there is none; TreeError where one has another length.

    >>> per_word(2, ["words", "tags"], ["It", "works"], None)
    [('It', 'works'), ('', '')]
    """
    filled = [nothing(n) if column is None else tuple(column) for column in columns]
    wrong = [
        f"{len(own)} {name}" for name, own in zip(names, filled, strict=False) if len(own) != n
    ]
    if wrong:
        raise TreeError(f"{n} words, but {', '.join(wrong)}: there must be one per word")
    return filled
