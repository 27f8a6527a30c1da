"""onnxruntime, imported in one place, so that every import has its telemetry switched off.

onnxruntime looks up a host and writes a device id below the home folder unless ORT_DISABLE_TELEMETRY is set before its
import; its own `disable_telemetry_events` comes too late. A value that the user has set is left alone.
"""

from __future__ import annotations

import os
from types import ModuleType

from arcspan.errors import BundleError

_EXTERNAL = b"\x0a\x08location\x12"  # the first key that ONNX writes for weights in another file


def import_onnxruntime() -> ModuleType:
    """Import onnxruntime with telemetry off, unless the user has set ORT_DISABLE_TELEMETRY himself."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    module: ModuleType = onnxruntime
    return module


def refuse_external_weights(graph: bytes, place: object) -> None:
    """BundleError for a graph that has weights in other files: no checksum covers these, and they may be anywhere."""
    if _EXTERNAL in graph:
        raise BundleError(f"{place}: its weights are in another file: export the model anew, with all in one")
