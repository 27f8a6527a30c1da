"""Helpers who are still awake from the last batch: work is handed to them in no time, without the GIL.

A batch of sixteen sentences takes a third of a millisecond; waking a sleeping thread and letting it into Python takes
a tenth of that. So a helper stays for a quarter of a millisecond at a desk, a row of integers that it watches in
compiled code. The caller's kernel writes there the addresses of the batch; the helper works on it and clears the
desk. Who asks for help reserves desks first, so at each there is one caller at a time; where nobody sits, someone of
the crew is called. A helper that comes too late finds nothing to do, as the caller does what nobody else has begun.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcspan.decoding import crew

MOST = 256
# Pauses of 20 to 50 nanoseconds that a helper watches an empty desk.
ATTENTION = 6000
_STATE, _AWAKE, _EMPTY, _BUSY, _CELLS = 0, 1, 0, 2, 32  # as in kernels/eisner_satta.py


class _Office:
    def __init__(self) -> None:
        self.desks = np.zeros((MOST, _CELLS), np.int64)
        self.free = list(range(MOST))[::-1]
        # What the helpers read and write stays alive while they do, whatever becomes of the caller.
        self.held: list[object] = [None] * MOST
        self.none = np.empty(0, np.int64)
        self.open = False

    def reserve(self, number: int) -> list[int]:
        """The places of at most so many desks; none that is busy still, because its caller was interrupted."""
        if not self.open:
            # Compiled here and not by a helper, who may be in the middle of that when the process ends.
            self.attend(MOST - 1, 0)
            self.open = True
        places: list[int] = []
        busy: list[int] = []
        while self.free and len(places) < number:
            try:
                place = self.free.pop()
            except IndexError:
                break
            (busy if self.desks[place, _STATE] == _BUSY else places).append(place)
        self.free += busy
        return places

    def attend(self, place: int, attention: int = ATTENTION) -> None:
        """What the crew is called for: do what is posted at a desk."""
        from arcspan.decoding.kernels.eisner_satta import attend

        try:
            attend(self.desks, place, attention)
        except MemoryError:
            # No room for a chart: the caller, who has one, does the work.
            self.desks[place, :2] = 0


_office = _Office()


def _start_anew() -> None:
    global _office
    _office = _Office()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def search_with_helpers(
    search: Callable[[NDArray[np.int64], NDArray[np.int64]], bool], helpers: int, arrays: tuple[Any, ...]
) -> None:
    """Call `search(desks, places)`, a kernel that posts its batch at these desks; return when all is done.

    arrays  whatever the kernel gives to its helpers
    """
    office = _office
    places = office.reserve(helpers) if helpers else []
    try:
        for place in places:
            office.held[place] = arrays
            if not office.desks[place, _AWAKE]:
                office.desks[place, _AWAKE] = 1
                if not crew.call(functools.partial(office.attend, place), len(places)):
                    office.desks[place, _AWAKE] = 0
        ready = search(office.desks, np.array(places, np.int64) if places else office.none)
        nap = 5e-5
        while not ready:
            time.sleep(nap)
            nap = min(2 * nap, 1e-3)
            ready = not any(office.desks[place, _STATE] == _BUSY for place in places)
    finally:
        for place in places:
            if office.desks[place, _STATE] != _BUSY:
                office.held[place] = None
        office.free += places[::-1]
