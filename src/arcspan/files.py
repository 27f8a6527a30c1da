"""Writing files completely or not at all, and locking them.

A reader never sees half a file, and a full disk or a kill during writing leaves the previous file
in place.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from arcspan.errors import ArcspanError


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "w", *, draft: str | None = None
) -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`, which replaces `path` when the block ends without error.

    draft  name of the temporary file, for callers that are its only writers: a draft that a killed
           process left is then replaced. By default the name is random.

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
    # A symbolic link remains one: its target is replaced. A link is left only where links form a
    # loop.
    path = Path(os.path.realpath(path))
    if path.is_symlink():
        raise ArcspanError(f"{path}: symbolic links that form a loop")
    draft_path = path.with_name(draft or f".{path.name}.{secrets.token_hex(4)}.part")
    if draft is not None:
        draft_path.unlink(missing_ok=True)
    try:
        # The system gives a new file its permissions by the umask, which cannot be read here
        # without a race.
        creating = mode.replace("w", "x")
        with open(draft_path, creating, **options) as file:  # type: ignore[call-overload]
            with contextlib.suppress(FileNotFoundError):
                os.chmod(draft_path, path.stat().st_mode & 0o777)
            yield file
            # Renaming may reach the disk before the content does: a power cut would leave an empty
            # file.
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft_path, path)
    except FileNotFoundError as error:
        if error.filename == str(draft_path) and not path.parent.is_dir():
            raise ArcspanError(f"{path.parent}: no such folder") from None
        raise
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft_path)


# Control and format characters, halves of surrogate pairs, separators of lines and paragraphs.
_UNPRINTABLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable_name(name: str) -> str:
    r"""Return the name of a file as it may be shown and written: what misleads readers as %XX.

    A line break in a name would add lines to a file of lines, an escape character would change a
    terminal, and a character that reverses the text's direction would hide a suffix.

    >>> printable_name("d\nir/caf\u00e9\u202e.txt")
    'd%0Air/café%E2%80%AE.txt'
    """
    if name.isascii() and name.isprintable():
        return name
    return "".join(
        "".join(f"%{byte:02X}" for byte in os.fsencode(character))
        if unicodedata.category(character) in _UNPRINTABLE
        else character
        for character in name
    )


def dump(data: Any) -> str:
    """Return the JSON text that files of checkpoints and bundles hold."""
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def lock(file: IO[Any]) -> bool:
    """Lock an open file until it is closed or its process ends; return False if another process
    holds the lock.
    """
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
        # The file system has no locks: going on without one is better than not running at all.
        pass
    return True


def refuse_to_overwrite(
    output: str | os.PathLike[str] | None, *inputs: str | os.PathLike[str] | None
) -> None:
    """Raise ArcspanError if the output is one of the inputs; the input "-" is standard input."""
    output_status = _regular_file_status(output or "-")
    for path in inputs:
        input_status = _regular_file_status(path, sys.stdin) if path else None
        if output_status and input_status and os.path.samestat(output_status, input_status):
            raise ArcspanError(
                f"{output}: is also the input, which would be lost; choose another output"
            )


def _regular_file_status(path: str | os.PathLike[str], stream: Any = None) -> os.stat_result | None:
    """Return the status of a file, of the one behind `stream` for "-"; None for pipes, devices and
    no file.
    """
    try:
        status = os.stat(stream.fileno() if stream and os.fspath(path) == "-" else path)
    except (OSError, ValueError):  # a stream may be closed, or in memory
        return None
    return status if stat.S_ISREG(status.st_mode) else None
