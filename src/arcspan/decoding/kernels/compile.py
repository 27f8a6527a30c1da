"""How every kernel is compiled: the GIL released, no floating-point liberties, machine code kept on disk.

Compiled code is kept by numba beside the source or, where that cannot be written, in the user's cache folder.
A cache that cannot be written, is full or is damaged costs the time to compile again, and nothing else. numba would
use kept code as long as the file that holds the kernel is the same; here it is all files that it may be made from.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

logger = logging.getLogger(__name__)


def kernel(function: Callable[..., Any]) -> Any:
    """A function that Python calls: compiled at its first call, machine code kept on disk where possible."""
    try:
        dispatcher = numba.njit(function, nogil=True, cache=True, error_model="numpy")
    except (RuntimeError, OSError):
        logger.debug("no folder for compiled code can be written: %s is compiled in every process", function)
        return numba.njit(function, nogil=True, error_model="numpy")
    dispatcher._cache._cache_file._source_stamp = _stamp()
    for verb in ("load_overload", "save_overload"):
        _forgive(dispatcher._cache, verb)
    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a kernel, always compiled into its caller: arrays are dear to pass, and LLVM sees the whole."""
    return numba.njit(function, nogil=True, error_model="numpy", forceinline=True)


def called(function: Callable[..., Any]) -> Any:
    """A large part of a kernel, compiled on its own: nested `inlined` parts are optimised again at every level."""
    return numba.njit(function, nogil=True, error_model="numpy")


@functools.cache
def _stamp() -> str:
    """Other for every version of any file of this folder: a kernel is compiled from several of them."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _forgive(cache: Any, verb: str) -> None:
    """Make a failure of the disk a cache miss."""
    method = getattr(cache, verb)

    @functools.wraps(method)
    def attempt(*args: Any) -> Any:
        try:
            return method(*args)
        except Exception as error:
            logger.debug("compiled code cannot be kept or read: %s", error)
            return None

    setattr(cache, verb, attempt)
