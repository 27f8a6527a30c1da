"""Parts from other packages: a scorer, an encoder, a loss or a decoder, named in a configuration.

A name is an entry point of the group `arcspan.GROUP` (`[project.entry-points."arcspan.scorers"]` in
the package's pyproject.toml), or `package.module:Name`, which may also be a module in the current
folder. A name of the second form imports code. It is taken only from the user's own configuration
or command line: bundles, runs and models of the hub may come from somebody else, and may name entry
points of installed packages only, unless the user names the same part, or trusts them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Container
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from arcspan.errors import ConfigError

GROUPS = ("scorers", "encoders", "losses", "decoders")


class EveryPart(Container[str]):
    """All names: the trust of a user who knows where a bundle or run comes from."""

    def __contains__(self, name: object) -> bool:
        return True


def names(group: str) -> list[str]:
    """Return the entry points of a group that installed packages have."""
    return sorted(entry_point.name for entry_point in entry_points(group=f"arcspan.{group}"))


def find_part(group: str, name: str, *, trusted: Container[str] = ()) -> Any:
    """Return the part of a name: an entry point or, if the name is `trusted`, any Python object.

    >>> find_part("losses", "collections:OrderedDict", trusted=["collections:OrderedDict"])
    <class 'collections.OrderedDict'>
    """
    for entry_point in entry_points(group=f"arcspan.{group}", name=name):
        return entry_point.load()
    module, colon, attribute = name.partition(":")
    if not colon:
        installed = ", ".join(names(group)) or "none"
        raise ConfigError(
            f"no installed package has an entry point {name!r} of arcspan.{group} "
            f"(known: {installed})"
        )
    if name not in trusted:
        raise ConfigError(
            f"{name!r} of arcspan.{group} is code that a bundle or run names, and it may come from "
            "somebody else: it is not imported. If you trust it, name it in your own configuration "
            "(arcspan train), use --trust-parts (arcspan export), or install it as an entry point"
        )
    # A module may lie in the current folder. It is looked for last, so that no file there can
    # replace a module of Python or of an installed package.
    folder = os.getcwd()
    is_new = folder not in sys.path
    if is_new:
        sys.path.append(folder)
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{name} cannot be imported: {error}") from None
    finally:
        if is_new:
            sys.path.remove(folder)
