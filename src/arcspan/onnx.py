"""Importing onnxruntime without telemetry, and letting its calls finish before Python ends.

onnxruntime looks up a host and writes a device id below the home folder unless
ORT_DISABLE_TELEMETRY is set before its import; its own `disable_telemetry_events` comes too late. A
value that the user has set is left alone.

When Python ends a daemon thread that is inside C++, C++ aborts the process. So Python's end waits
for such calls.
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

# "location", the key that names weights in another file, after its length. A protobuf length of 8
# may be written in several bytes: a file made to pass this check would use a longer form.
_EXTERNAL = re.compile(rb"(?:\x08|\x88\x80*\x00)location")


def import_onnxruntime() -> ModuleType:
    """Import onnxruntime with telemetry off, unless the user has set ORT_DISABLE_TELEMETRY."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime  # type: ignore[no-any-return]


class NativeCalls(ContextDecorator):
    """Calls into native code that the end of Python waits for; daemon threads cannot begin one
    after that.
    """

    def __init__(self) -> None:
        self.threads: Counter[int] = Counter()
        self.is_over = False
        self.changed = threading.Condition()

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self.changed:
            # A thread that is inside already may call again; others wait for ever, and end with the
            # process.
            self.changed.wait_for(lambda: not self.is_over or thread in self.threads)
            self.threads[thread] += 1

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.threads[threading.get_ident()] -= 1
            self.threads += Counter()  # drops threads with a count of zero
            self.changed.notify_all()

    def end(self) -> None:
        """Wait for the running calls, but not longer than LONGEST_CALL."""
        with self.changed:
            self.is_over = True
            self.changed.wait_for(lambda: not self.threads, LONGEST_CALL)


LONGEST_CALL = 30.0  # seconds; a thread that hangs must not keep the process alive
native = NativeCalls()
atexit.register(native.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=native.__init__)  # type: ignore[misc]


def refuse_external_weights(graph: bytes, path: object) -> None:
    """Raise BundleError if a graph has weights in other files: no checksum covers them, and they
    may be anywhere.
    """
    if _EXTERNAL.search(graph):
        raise BundleError(
            f"{path}: its weights are in another file; export the model again into one file"
        )
