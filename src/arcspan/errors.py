"""The one family of errors that users' input can cause.

Every message says where (file:line where there is one), what, and what to do. The command line turns
these into one line and exit code 2; anything else is a bug or the machine's failure, exit code 1.
"""


class ArcspanError(ValueError):
    """Base of every error that the caller's input caused."""


class TreeError(ArcspanError):
    """A tree that is not one: unbalanced brackets, a cycle, several roots, trees that do not fit each other."""


class FileError(ArcspanError):
    """A file that cannot be read as what it should be.

    >>> str(FileError("no closing bracket", path="train.ptb", line=7))
    'train.ptb:7: no closing bracket'
    """

    def __init__(self, what: str, *, path: object = None, line: int | None = None) -> None:
        self.what = what
        self.path = path
        self.line = line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + what)


class ScoreError(ArcspanError):
    """Scores that no search can use: NaN, wrong shapes, a sentence whose every tree is forbidden."""


class ConfigError(ArcspanError):
    """A configuration with an unknown, missing or impossible field."""


class BundleError(ArcspanError):
    """A model bundle that is missing, damaged, or of a format this version cannot read."""


class MissingExtraError(ArcspanError):
    """A part of arcspan that needs an optional extra that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs packages that are not installed: pip install 'arcspan[{extra}]'")
