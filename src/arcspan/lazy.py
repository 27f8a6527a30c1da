"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy(Generic[Value]):
    """`functools.cached_property` without its lock.

    Before Python 3.12 that lock is one for all instances of a class: threads took turns for it, and a process that was
    forked while another thread held it waited forever. Here two threads may both compute the value, which is the same.

    >>> class Square:
    ...     side = 3
    ...     @lazy
    ...     def area(self) -> int:
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, "area" in vars(square)
    (9, True)
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
