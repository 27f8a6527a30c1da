"""The HTTP API and the web page.

Needs the extra `serve` (Starlette, pydantic, uvicorn, prometheus-client).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from arcspan.errors import MissingExtraError
from arcspan.serving.server_settings import Settings

if TYPE_CHECKING:
    from arcspan.serving.app import create_app
    from arcspan.serving.server import bind, serve

__all__ = ["Settings", "bind", "create_app", "serve"]


def __getattr__(name: str) -> Any:
    # Imported on first use: the command line reads the settings for its help, without Starlette.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{'app' if name == 'create_app' else 'server'}")
    except ModuleNotFoundError as error:
        raise MissingExtraError("serving", "serve") from error
    return getattr(module, name)
