"""Files as every room wants them: written whole or not at all.

A reader never sees half a file, and a full disk or a kill in the middle leaves what was there before.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from arcspan.errors import ArcspanError


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary neighbour of `path`; it takes the place of `path` when the block ends without error.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "a.txt") as file:
    ...     _ = file.write("whole")
    >>> (folder / "a.txt").read_text()
    'whole'
    """
    path = Path(os.path.realpath(path))  # a link stays one: what it points to is written
    binary = "b" in mode
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        os.fchmod(descriptor, _usual_mode(path))
        options = {} if binary else {"encoding": "utf-8", "newline": ""}
        with os.fdopen(descriptor, mode, **options) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _usual_mode(path: Path) -> int:
    """The permissions that a plain open() would have given, or those of the file being replaced."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def refuse_to_overwrite(
    output: str | os.PathLike[str] | None, *inputs: str | os.PathLike[str] | None
) -> None:
    """ArcspanError where an output is one of the inputs, which would be lost."""
    for path in inputs:
        if (
            output
            and path
            and os.path.exists(output)
            and os.path.exists(path)
            and os.path.samefile(output, path)
        ):
            raise ArcspanError(
                f"{os.fspath(output)}: is the input too, which would be lost; name another output"
            )
