"""Parts from other packages: a scorer, an encoder, a loss or a decoder, named in a configuration.

A name is an entry point of the group `arcspan.KIND` (`[project.entry-points."arcspan.scorers"]` in the package's
pyproject.toml), or `package.module:Name`, which may also be a module in the current folder.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from arcspan.errors import ConfigError

KINDS = ("scorers", "encoders", "losses", "decoders")


def names(kind: str) -> list[str]:
    """The entry points of a kind that installed packages have."""
    return sorted(one.name for one in entry_points(group=f"arcspan.{kind}"))


def find_part(kind: str, name: str, *, installed: bool = False) -> Any:
    """What a name stands for; only an entry point if it must be `installed`, as what a bundle names must be.

    >>> find_part("losses", "collections:OrderedDict")
    <class 'collections.OrderedDict'>
    """
    for one in entry_points(group=f"arcspan.{kind}", name=name):
        return one.load()
    module, colon, attribute = name.partition(":")
    if installed or not colon:
        known = ", ".join(names(kind)) or "none"
        raise ConfigError(
            f"no installed package has an entry point {name!r} of arcspan.{kind} (known: {known})"
        )
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{name} cannot be imported: {error}") from None
    finally:
        sys.path.remove("")
