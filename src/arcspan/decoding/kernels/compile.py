"""How every kernel is compiled: the GIL released, machine code kept on disk.

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
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys

from arcspan.decoding import compilation

logger = logging.getLogger(__name__)


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a part as it was written: LLVM optimises it, and makes machine code of it, in a kernel only."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """What numba asks to set the environment of the machine code, of which there is none."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set."""


class _PartCompiler(Compiler):  # type: ignore[misc]
    def __init__(self, typing: Any, target: Any, library: Any, *others: Any) -> None:
        library = library or _PartLibrary(target.codegen(), "part")
        super().__init__(typing, target, library, *others)


# What is not said here a part would take over from whichever caller is compiled first.
_ALL = {"nogil": True, "error_model": "numpy", "fastmath": False, "no_cfunc_wrapper": True}
# Parts are called by kernels and never by Python: they need neither a wrapper for it nor machine code of their own.
_PART = {**_ALL, "no_cpython_wrapper": True, "pipeline_class": _PartCompiler}


def kernel(function: Callable[..., Any]) -> Any:
    """A function that Python calls: compiled at its first call, machine code kept on disk where possible."""
    try:
        dispatcher = numba.njit(function, cache=True, **_ALL)
    except (RuntimeError, OSError):
        logger.debug("no folder for compiled code can be written: %s is compiled in every process", function)
        return _announced(numba.njit(function, **_ALL))
    cache = dispatcher._cache
    cache._cache_file._source_stamp = _stamp()
    cache.load_overload = functools.partial(_load, cache)
    for verb in ("load_overload", "save_overload"):
        _forgive(cache, verb)
    return _announced(dispatcher)


def _load(cache: Any, signature: Any, context: Any) -> Any:
    """Code from disk: what numba does, without first importing all that its compiler knows, a tenth of a start."""
    rtsys.initialize(context)
    return cache._load_overload(signature, context)


def _announced(dispatcher: Any) -> Any:
    """The kernel, compiled while no other thread forks; listeners hear of it unless its code was found on disk."""
    # What numba's compiled code calls when it meets new types: both import and lock.
    for verb in ("_compile_for_args", "typeof_pyval"):
        setattr(dispatcher, verb, _alone(getattr(dispatcher, verb)))
    _kernels.add(dispatcher)
    return dispatcher


def _alone(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        with compilation.busy:
            return method(*args, **named)

    return call


class _Listener(event.Listener):  # type: ignore[misc]
    def on_start(self, happening: Any) -> None:
        found = (happening.data or {}).get("dispatcher")
        if found in _kernels:
            compilation.announce(found.__module__.rpartition(".")[2])

    def on_end(self, happening: Any) -> None:
        pass


_kernels: set[Any] = set()
event.register("numba:compile", _Listener())


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a kernel, always compiled into its caller: passing arrays takes time, and LLVM sees the whole."""
    return numba.njit(function, forceinline=True, **_PART)


def merged(function: Callable[..., Any]) -> Any:
    """A large part that is called in one place: made part of its caller first, and compiled once with it."""
    return numba.njit(function, inline="always", **_PART)


def called(function: Callable[..., Any]) -> Any:
    """A large part of a kernel that may stay a function: `inlined` in several places, it is compiled for each."""
    return numba.njit(function, **_PART)


def relaxed(function: Callable[..., Any]) -> Any:
    """A part of a kernel whose sums may be reordered, as vectorising them needs; infinities keep their meaning."""
    return numba.njit(function, **{**_PART, "fastmath": {"reassoc", "nsz", "contract", "nnan", "arcp"}})


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
