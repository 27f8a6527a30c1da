"""Attributes that are computed on demand, without a lock that threads share."""

from __future__ import annotations

import threading

from arcspan.lazy import lazy


class Slow:
    """Its value is there when it is let go."""

    def __init__(self, go: threading.Event) -> None:
        self.begun, self.go, self.times = threading.Event(), go, 0

    @lazy
    def value(self) -> int:
        """A number."""
        self.begun.set()
        assert self.go.wait(300)
        self.times += 1
        return 7


def test_an_attribute_is_computed_once_and_keeps_its_documentation() -> None:
    go = threading.Event()
    go.set()
    slow = Slow(go)
    assert slow.value == slow.value == 7 and slow.times == 1
    assert Slow.value.__doc__ == "A number."


def test_nobody_waits_for_another_instance() -> None:
    """The lock of cached_property was the whole class's: a forked child inherited it held, and
    hung.
    """
    held, free = threading.Event(), threading.Event()
    free.set()
    slow = Slow(held)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.begun.wait(300)
    other: list[int] = []
    second = threading.Thread(target=lambda: other.append(Slow(free).value))
    second.start()
    second.join(300)
    assert other == [7] and slow.times == 0
    held.set()
    thread.join(300)
    assert slow.value == 7
