"""onnxruntime, imported and run in one place.

It looks up a host and writes a device id below the home folder unless ORT_DISABLE_TELEMETRY is set before its
import; its own `disable_telemetry_events` comes too late. A value that the user has set is left alone.

C++ aborts the process when Python ends a daemon thread inside it, so Python's end waits for what runs there.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
from collections import Counter
from contextlib import ContextDecorator
from types import ModuleType

from arcspan.errors import BundleError

# The string that names weights in another file, after its length, 8, in as many bytes as somebody likes to write it.
_EXTERNAL = re.compile(rb"(?:\x08|\x88\x80*\x00)location")


def import_onnxruntime() -> ModuleType:
    """Import onnxruntime with telemetry off, unless the user has set ORT_DISABLE_TELEMETRY himself."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime  # type: ignore[no-any-return]


class NativeCalls(ContextDecorator):
    """Code that the end of Python waits for; a daemon thread that comes later stays before it."""

    def __init__(self) -> None:
        self.threads: Counter[int] = Counter()
        self.over, self.changed = False, threading.Condition()

    def __enter__(self) -> None:
        own = threading.get_ident()
        with self.changed:
            self.changed.wait_for(lambda: not self.over or own in self.threads)
            self.threads[own] += 1

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.threads[threading.get_ident()] -= 1
            self.threads += Counter()  # without zeros
            self.changed.notify_all()

    def end(self) -> None:
        """Wait for those that run, but not for a thread that hangs."""
        with self.changed:
            self.over = True
            self.changed.wait_for(lambda: not self.threads, LONGEST_CALL)


LONGEST_CALL = 30.0  # seconds
native = NativeCalls()
atexit.register(native.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=native.__init__)  # type: ignore[misc]


def refuse_external_weights(graph: bytes, place: object) -> None:
    """BundleError for a graph that has weights in other files: no checksum covers these, and they may be anywhere."""
    if _EXTERNAL.search(graph):
        raise BundleError(
            f"{place}: its weights are in another file: export the model anew, with all in one"
        )
