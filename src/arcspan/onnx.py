"""Importing onnxruntime without telemetry, and letting its calls finish before Python ends.

onnxruntime looks up a host and writes a device id below the home folder unless
ORT_DISABLE_TELEMETRY is set before its import; its own `disable_telemetry_events` comes too late. A
value that the user has set is left alone.

When Python ends a daemon thread that is inside C++, C++ aborts the process. So Python's end waits
for such calls.
"""

from __future__ import annotations

import atexit
import importlib
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ContextDecorator
from types import ModuleType

from arcspan.errors import ArcspanError, BundleError
from arcspan.files import printable_name

# "location", the key that names weights in another file, after its length. A protobuf length of 8
# may be written in several bytes: a file made to pass this check would use a longer form.
_EXTERNAL = re.compile(rb"(?:\x08|\x88\x80*\x00)location")


def import_onnxruntime() -> ModuleType:
    """Import onnxruntime with telemetry off, unless the user has set ORT_DISABLE_TELEMETRY.

    Raises ArcspanError in a sub-interpreter, where loading a model would wait for ever.
    """
    if _is_subinterpreter():
        raise ArcspanError(
            "arcspan cannot run in a sub-interpreter, since onnxruntime cannot: "
            "use threads or processes"
        )
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime  # type: ignore[no-any-return]


def _is_subinterpreter() -> bool:
    # The module has another name since Python 3.13, and other implementations have neither.
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    try:
        interpreters = importlib.import_module(name)
    except ImportError:
        return False
    return bool(interpreters.get_current() != interpreters.get_main())


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


def refuse_unsafe_graph(graph: bytes, path: object) -> None:
    """Raise BundleError for a graph that reads other files, or that may run without an end."""
    refuse_external_weights(graph, path)
    refuse_subgraphs(graph, path)


def refuse_external_weights(graph: bytes, path: object) -> None:
    """Raise BundleError if a graph has weights in other files: no checksum covers them, and they
    may be anywhere.
    """
    if _EXTERNAL.search(graph):
        raise BundleError(
            f"{path}: its weights are in another file; export the model again into one file"
        )


# Numbers of the fields of ONNX's messages that lead to a graph inside an operator.
_MODEL_GRAPH = 7
_MODEL_FUNCTIONS = 25
_GRAPH_NODE = 1
_FUNCTION_NODE = 7
_NODE_OP_TYPE = 4
_NODE_ATTRIBUTE = 5
_SUBGRAPHS = (6, 11)  # of an attribute: one graph, and several


def refuse_subgraphs(graph: bytes, path: object) -> None:
    """Raise BundleError for operators with a graph inside (Loop, Scan, If): none of ours has one,
    and a loop of 2^62 rounds never ends.
    """
    try:
        for number, part in _fields(memoryview(graph)):
            if number not in (_MODEL_GRAPH, _MODEL_FUNCTIONS):
                continue
            node_field = _GRAPH_NODE if number == _MODEL_GRAPH else _FUNCTION_NODE
            for field, node in _fields(part):
                if field == node_field:
                    _refuse_subgraph(node, path)
    except IndexError:
        raise BundleError(f"{path}: damaged: not an ONNX graph") from None


def _refuse_subgraph(node: memoryview, path: object) -> None:
    operator = ""
    has_subgraph = False
    for field, part in _fields(node):
        if field == _NODE_OP_TYPE:
            operator = bytes(part).decode("utf-8", "replace")
        elif field == _NODE_ATTRIBUTE:
            has_subgraph |= any(number in _SUBGRAPHS for number, _ in _fields(part))
    if has_subgraph:
        raise BundleError(
            f"{path}: its operator {printable_name(operator)} has a graph inside, which may run "
            "without an end: export the model without loops and branches"
        )


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the content of each field of a protobuf message.

    Numbers have no content here. Raises IndexError for what is not such a message.
    """
    position = 0
    while position < len(message):
        key, position = _read_number(message, position)
        wire_type = key & 7
        if wire_type == 0:
            size = 0
            _, position = _read_number(message, position)
        elif wire_type == 2:
            size, position = _read_number(message, position)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise IndexError
        end = position + size
        if end > len(message):
            raise IndexError
        # The upper bits of a key that is written with more than 32 are ignored.
        yield key >> 3 & 0x1FFFFFFF, message[position:end]
        position = end


def _read_number(message: memoryview, position: int) -> tuple[int, int]:
    """Return a number of 7 bits per byte, the lowest first, and the position after it."""
    number = 0
    for shift in range(0, 70, 7):
        byte = message[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            # Numbers have 64 bits.
            return number & 0xFFFFFFFFFFFFFFFF, position
    raise IndexError
