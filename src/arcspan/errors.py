"""The errors that users' input can cause: one family, so that callers can catch them all.

Every message names the place (file:line where there is one), the problem, and what to do. The
command line prints these as one line and ends with exit code 2; anything else is a bug or a failure
of the machine, exit code 1.
"""

from __future__ import annotations

import operator
from typing import Any


class ArcspanError(ValueError):
    """Base of every error that the caller's input caused."""


class TreeError(ArcspanError):
    """A malformed tree: unbalanced brackets, a cycle, several roots, incompatible trees."""


class FileError(ArcspanError):
    """A file with malformed content.

    >>> str(FileError("no closing bracket", path="train.ptb", line=7))
    'train.ptb:7: no closing bracket'
    """

    def __init__(self, what: str, *, path: object = None, line: int | None = None) -> None:
        self.what = what
        self.path = path
        self.line = line
        location = ""
        if path is not None:
            location = f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(location + what)


def check_count(name: str, value: Any, error: type[ArcspanError] = ArcspanError) -> int:
    """Return the value of an argument that must be a whole number of at least 1, else raise
    `error`.

    >>> check_count("k", 0)
    Traceback (most recent call last):
    arcspan.errors.ArcspanError: k must be a whole number of at least 1, not 0
    """
    try:
        # Takes the integers of numpy as well, and refuses floats such as 2.0.
        count = operator.index(value)
    except TypeError:
        count = 0
    if isinstance(value, bool) or count < 1:
        raise error(f"{name} must be a whole number of at least 1, not {value!r}")
    return count


class ScoreError(ArcspanError):
    """Scores that cannot be searched: NaN, wrong shapes, a sentence for which every tree is
    forbidden.
    """


class ConfigError(ArcspanError):
    """A configuration with an unknown, missing or impossible field."""


class BundleError(ArcspanError):
    """A model bundle that is missing, damaged, or of a format this version cannot read."""


class MissingExtraError(ArcspanError):
    """A feature of arcspan whose optional extra is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs packages that are not installed: pip install {_requirement(extra)}"
        )


def _requirement(extra: str) -> str:
    """Return what to give to pip: the checkout or file that arcspan came from, or its name in an
    index.
    """
    # Imported here because this module is imported by all others and the error is rare.
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return f"-e '{checkout}[{extra}]'"
    try:
        # pip writes this file where the package was not installed from an index.
        direct_url = distribution("arcspan").read_text("direct_url.json") or "{}"
    except PackageNotFoundError:
        direct_url = "{}"
    origin = json.loads(direct_url).get("url", "")
    path = unquote(urlsplit(origin).path) if origin.startswith("file:") else ""
    return f"'{path}[{extra}]'" if path and Path(path).exists() else f"'arcspan[{extra}]'"
