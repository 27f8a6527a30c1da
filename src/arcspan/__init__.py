"""arcspan: a constituency tree and a dependency tree at once, guaranteed compatible, found by exact
search.

>>> import arcspan  # doctest: +SKIP
>>> parser = arcspan.load()  # doctest: +SKIP
>>> parser("Logic plays a maximal role here.")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arcspan._version import __version__

if TYPE_CHECKING:
    from arcspan.parse import Node, Token, show
    from arcspan.parser import (
        Arc,
        Confidence,
        Head,
        Parse,
        Parser,
        Query,
        Root,
        Sentence,
        Span,
        Tag,
        load,
    )

__all__ = [
    "Arc",
    "Confidence",
    "Head",
    "Node",
    "Parse",
    "Parser",
    "Query",
    "Root",
    "Sentence",
    "Span",
    "Tag",
    "Token",
    "__version__",
    "load",
    "show",
]


def __getattr__(name: str) -> Any:
    # Imported when named: `import arcspan` alone, and commands that parse nothing, stay quick.
    if name in __all__:
        from arcspan import parse, parser

        return getattr(parse if name in ("Node", "Token", "show") else parser, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
