"""The kernels: plain C beside this file, compiled when the package is built, loaded at the first search.

The library holds every kernel once per instruction set: baseline (SSE2 or NEON), avx2 and avx512. The best one that the
processor runs is taken; the environment variable ARCSPAN_KERNELS names another, for tests and for comparisons. Calls
release the GIL, and the library knows nothing of Python, so that one file serves every version.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).with_name("kernels.dll" if sys.platform == "win32" else "kernels.so")

# A pointer to an array's memory: `pointer(array)`. The array must be writeable, and outlive the call.
pointer: Any = (ctypes.c_char * 0).from_buffer


@functools.cache
def kernel(name: str) -> Any:
    """A function of the library, in the variant that is used."""
    return getattr(_library(), f"{name}_{variant()}")


def variants() -> list[str]:
    """The variants that this processor runs, the best one first."""
    supported = _library().supported
    supported.restype = ctypes.c_char_p
    return str(supported().decode()).split()


@functools.cache
def variant() -> str:
    """The variant that is used."""
    wanted = os.environ.get("ARCSPAN_KERNELS") or variants()[0]
    if wanted not in variants():
        raise ImportError(f"ARCSPAN_KERNELS={wanted}: this processor runs {', '.join(variants())}")
    return wanted


@functools.cache
def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        raise ImportError(
            f"the compiled search cannot be loaded ({error}): install arcspan with pip, or in a checkout run "
            "`python setup.py build_ext --inplace` with a C compiler"
        ) from None
