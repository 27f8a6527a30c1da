"""onnxruntime, imported in one place, so that every import has its telemetry switched off.

onnxruntime looks up a host and writes a device id below the home folder unless ORT_DISABLE_TELEMETRY is set before its
import; its own `disable_telemetry_events` comes too late. A value that the user has set is left alone.
"""

from __future__ import annotations

import os
from types import ModuleType


def import_onnxruntime() -> ModuleType:
    """Import onnxruntime with telemetry off, unless the user has set ORT_DISABLE_TELEMETRY himself."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    module: ModuleType = onnxruntime
    return module
