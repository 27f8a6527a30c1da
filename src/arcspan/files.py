"""Files as every room wants them: written whole or not at all.

A reader never sees half a file, and a full disk or a kill on the way leaves what was there before.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from arcspan.errors import ArcspanError


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "w", *, draft: str | None = None
) -> Iterator[IO[Any]]:
    """Open a temporary neighbour of `path`; it takes the place of `path` when the block ends without error.

    draft  its name, where nobody else writes it at the same time: then it takes the place of what a kill has left

    A device or a named pipe (/dev/null, >(less)) is written to, never replaced.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "a.txt") as file:
    ...     _ = file.write("whole")
    >>> (folder / "a.txt").read_text()
    'whole'
    """
    options: dict[str, str] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, **options) as file:  # type: ignore[call-overload]
            yield file
        return
    path = Path(os.path.realpath(path))  # a link stays one: what it points to is written
    if path.is_symlink():
        raise ArcspanError(f"{path}: symbolic links that form a loop")
    name = path.with_name(draft or f".{path.name}.{secrets.token_hex(4)}.part")
    if draft is not None:
        name.unlink(missing_ok=True)
    try:
        # A new file gets its permissions from the system, by the umask, which only a race could read from here.
        with open(name, mode.replace("w", "x"), **options) as file:  # type: ignore[call-overload]
            with contextlib.suppress(FileNotFoundError):
                os.chmod(name, path.stat().st_mode & 0o777)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except FileNotFoundError as error:
        if error.filename == str(name) and not path.parent.is_dir():
            raise ArcspanError(f"{path.parent}: no such folder") from None
        raise
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def dump(data: Any) -> str:
    """JSON as every file of a checkpoint and a bundle has it."""
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def lock(file: IO[Any]) -> bool:
    """Lock an open file until it is closed, or its process ends; False where another run has locked it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # a file system without locks
    return True


def refuse_to_overwrite(
    output: str | os.PathLike[str] | None, *inputs: str | os.PathLike[str] | None
) -> None:
    """ArcspanError where an output is one of the inputs, which would be lost; the input "-" is standard input."""
    written = _file(output or "-")
    for path in inputs:
        read = _file(path, sys.stdin) if path else None
        if written and read and os.path.samestat(written, read):
            raise ArcspanError(
                f"{output}: is also the input, which would be lost; choose another output"
            )


def _file(path: str | os.PathLike[str], stream: Any = None) -> os.stat_result | None:
    """The status of a file, of that behind `stream` if the path is "-"; None for pipes, devices, and no file."""
    try:
        found = os.stat(stream.fileno() if stream and os.fspath(path) == "-" else path)
    except (OSError, ValueError):  # a stream may be closed, or in memory
        return None
    return found if stat.S_ISREG(found.st_mode) else None
