"""How every kernel is compiled: the GIL released, no floating-point liberties, machine code kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call; keep the machine code on disk, or go without where no cache can be written."""
    try:
        return numba.njit(function, nogil=True, cache=True, error_model="numpy")
    except RuntimeError:
        # numba: "no locator available": neither __pycache__ nor the user's cache folder is writeable.
        return numba.njit(function, nogil=True, error_model="numpy")
