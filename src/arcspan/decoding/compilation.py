"""The first search of a process imports numba and may compile: who hears of it, and who must wait for it.

A process that forks while another of its threads is importing or compiling leaves the child with locks that nobody
will ever release. So a fork waits until that is over: some seconds at most, and only around a first search.
"""

from __future__ import annotations

import functools
import importlib
import logging  # noqa: F401 - before us: who forks takes the locks of what was imported last first, and numba logs
import os
import threading
from collections.abc import Callable
from typing import Any

# Held by who imports or compiles kernels, and by who forks.
busy = threading.RLock()

_listeners: list[Callable[[str], object]] = []


def on_compile(listener: Callable[[str], object]) -> None:
    """Have `listener(name)` called whenever a kernel is about to be compiled: it takes seconds, on the first run only.

    Where the compiled code of an earlier run is found on disk, nothing is compiled.
    """
    _listeners.append(listener)


def announce(name: str) -> None:
    """Tell the listeners that a kernel is about to be compiled."""
    for listener in _listeners:
        listener(name)


@functools.cache
def kernels(module: str) -> Any:
    """A module of `arcspan.decoding.kernels`, imported when it is first needed."""
    with busy:
        return importlib.import_module("arcspan.decoding.kernels." + module)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=busy.acquire, after_in_parent=busy.release, after_in_child=busy.release)
