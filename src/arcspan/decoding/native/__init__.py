"""Load the kernels: plain C beside this file, compiled into one library when the package is built.

The library holds every kernel once per instruction set: baseline (SSE2 or NEON), avx2 and avx512.
The best one that the processor runs is used; the environment variable ARCSPAN_KERNELS selects
another, for tests and comparisons. Calls release the GIL, and the library does not use Python's C
API, so that one file serves every version of Python.

What C and Python must agree on stands here once (the status codes, the arguments of the functions,
the layout of `SumsWork`) and is compared with the library when it is loaded.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import os
import sys
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).with_name("kernels.dll" if sys.platform == "win32" else "kernels.so")

# A pointer to an array's memory: `pointer(array)`. The array must be writeable, and outlive the
# call.
pointer: Any = (ctypes.c_char * 0).from_buffer

_INT = ctypes.c_int
_INT64 = ctypes.c_int64
_POINTER = ctypes.c_void_p


# The fields of `SumsWork` in their order, by type.
_LAYOUT = (
    ("sentence lengths status", _POINTER),
    ("count threads", _INT),
    ("order", _POINTER),
    ("next", _INT),
    ("span arc headed span_along arc_along headed_along", _POINTER),
    ("partition spans heads parts random tree_heads tree_rows", _POINTER),
    ("size samples wide packed logarithms product", _INT64),
)


# The status of a sentence after a kernel: the list of native/common.h, in its order.
Status = enum.IntEnum(
    "Status", "DONE FORBIDDEN TOO_LARGE NO_MEMORY UNSAFE EXHAUSTED NOT_A_NUMBER", start=0
)


class SumsWork(ctypes.Structure):
    """The arguments of the kernel `sums`: `batch` of native/common.h, then `sums_work` of
    native/sums_tpl.h.
    """

    _fields_ = tuple((name, ctype) for names, ctype in _LAYOUT for name in names.split())


# The types of the result and of the arguments of each kernel: i int, p pointer, - none.
_TYPES = {"i": _INT, "p": _POINTER, "-": None}
_SIGNATURES = {
    # algorithm; span, arc, headed; packed; lengths, heads, rows, scores, status, order; count,
    # size, threads
    "search_float": ("i", "ipppippppppiii"),
    "search_double": ("i", "ipppippppppiii"),
    # a SumsWork
    "sums": ("i", "p"),
    # span, arc, headed, visible; n; status
    "kbest_open": ("p", "ppppip"),
    # search; heads, spans, score
    "kbest_next": ("i", "pppp"),
    "kbest_close": ("-", "p"),
}


@functools.cache
def kernel(name: str) -> Any:
    """Return a function of the library, in the variant that is used."""
    function = getattr(_library(), f"{name}_{variant()}")
    result, arguments = _SIGNATURES[name]
    function.restype = _TYPES[result]
    function.argtypes = [_TYPES[code] for code in arguments]
    return function


def variants() -> list[str]:
    """Return the variants that this processor runs, the best one first."""
    return str(_library().supported().decode()).split()


@functools.cache
def variant() -> str:
    """Return the variant that is used."""
    selected = os.environ.get("ARCSPAN_KERNELS") or variants()[0]
    if selected not in variants():
        raise ImportError(
            f"ARCSPAN_KERNELS={selected}: this processor runs {', '.join(variants())}"
        )
    return selected


@functools.cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        raise ImportError(
            f"the compiled search cannot be loaded ({error}): install arcspan with pip, or in a checkout run "
            "`python setup.py build_ext --inplace` with a C compiler"
        ) from None
    if not _matches(library):
        raise ImportError(
            f"{LIBRARY.name} was compiled from other sources than this version of arcspan: reinstall "
            "arcspan, or in a checkout run `python setup.py build_ext --inplace`"
        )
    return library


def _matches(library: ctypes.CDLL) -> bool:
    """Return whether the library has the same status codes and the same layout of `SumsWork`."""
    try:
        names = library.status_names
        size = library.sums_work_size_baseline
        supported = library.supported
    except AttributeError:
        return False
    names.restype = supported.restype = ctypes.c_char_p
    size.restype = ctypes.c_size_t
    names.argtypes = size.argtypes = supported.argtypes = ()
    return names().decode() == " ".join(Status.__members__) and size() == ctypes.sizeof(SumsWork)
