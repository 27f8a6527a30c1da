"""arcspan: a constituency tree and a dependency tree at once, guaranteed compatible, found by exact search."""

from arcspan._version import __version__

__all__ = ["__version__"]
