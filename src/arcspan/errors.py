"""The one family of errors that users' input can cause.

Every message says where (file:line where there is one), what, and what to do. The command line turns
these into one line and exit code 2; anything else is a bug or a failure of the machine, exit code 1.
"""


class ArcspanError(ValueError):
    """Base of every error that the caller's input caused."""


class TreeError(ArcspanError):
    """Not a tree: unbalanced brackets, a cycle, several roots, trees that do not fit each other."""


class FileError(ArcspanError):
    """A file that is not what it should be.

    >>> str(FileError("no closing bracket", path="train.ptb", line=7))
    'train.ptb:7: no closing bracket'
    """

    def __init__(self, what: str, *, path: object = None, line: int | None = None) -> None:
        self.what, self.path, self.line = what, path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + what)


class ScoreError(ArcspanError):
    """Scores that cannot be searched: NaN, wrong shapes, a sentence for which every tree is forbidden."""


class ConfigError(ArcspanError):
    """A configuration with an unknown, missing or impossible field."""


class BundleError(ArcspanError):
    """A model bundle that is missing, damaged, or of a format this version cannot read."""


class MissingExtraError(ArcspanError):
    """A part of arcspan whose optional extra is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs packages that are not installed: pip install {_source(extra)}"
        )


def _source(extra: str) -> str:
    """What pip has to install for an extra: the checkout or file that arcspan came from, or its name in an index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return f"-e '{checkout}[{extra}]'"
    try:
        origin = json.loads(distribution("arcspan").read_text("direct_url.json") or "{}").get(
            "url", ""
        )
    except PackageNotFoundError:
        origin = ""
    path = unquote(urlsplit(origin).path) if origin.startswith("file:") else ""
    return f"'{path}[{extra}]'" if path and Path(path).exists() else f"'arcspan[{extra}]'"
