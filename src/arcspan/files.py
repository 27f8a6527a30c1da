"""Writing files completely or not at all, and locking them.

A reader never sees half a file, and a full disk or a kill during writing leaves the previous file
in place.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
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
           process left is then replaced. By default drafts are numbered and locked, and one that
           a killed process left is removed.

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
        with naming(path), open(path, mode, **options) as file:  # type: ignore[call-overload]
            yield file
        return
    # A symbolic link remains one: its target is replaced. A link is left only where links form a
    # loop.
    path = Path(os.path.realpath(path))
    if path.is_symlink():
        raise ArcspanError(f"{path}: symbolic links that form a loop")
    if not path.parent.is_dir():
        raise ArcspanError(f"{path.parent}: no such folder")
    with naming(path):
        draft_file, draft_path = _new_draft(path, draft)
        # An open file cannot be renamed or removed on Windows; elsewhere both are done under its
        # lock, so that the draft is never another process's.
        while_open = os.name != "nt"
        try:
            with open(draft_file, mode, **options) as file:  # type: ignore[call-overload]
                try:
                    with contextlib.suppress(FileNotFoundError):
                        os.chmod(draft_path, path.stat().st_mode & 0o777)
                    yield file
                    # Renaming may reach the disk before the content does: a power cut would leave
                    # an empty file.
                    file.flush()
                    os.fsync(file.fileno())
                    if while_open:
                        os.replace(draft_path, path)
                except BaseException:
                    if while_open:
                        os.unlink(draft_path)
                    raise
            if not while_open:
                os.replace(draft_path, path)
        finally:
            if not while_open:
                draft_path.unlink(missing_ok=True)


# Processes that write to the same file at once have drafts with other numbers, up to this one.
_DRAFTS = 100


def _new_draft(path: Path, name: str | None) -> tuple[int, Path]:
    """Create the draft of a file; return its descriptor and its path.

    A draft that a killed process left has the name that is tried first, and no lock: it is removed.
    """
    if name is not None:
        draft_path = path.with_name(name)
        draft_path.unlink(missing_ok=True)
        return _create(draft_path), draft_path
    for number in range(_DRAFTS if os.name != "nt" else 0):
        draft_path = _numbered_draft(path, number)
        _remove_abandoned(draft_path)
        with contextlib.suppress(FileExistsError):
            draft_file = _create(draft_path)
            # Another process may have taken the new file for an abandoned one. Where nothing can be
            # locked, nothing is taken for abandoned.
            if _lock(draft_file) is not False and _is_at(draft_file, draft_path):
                # Two runs that were killed at once left two drafts.
                _remove_abandoned(_numbered_draft(path, number + 1))
                return draft_file, draft_path
            os.close(draft_file)
    # On Windows, and beside very many other drafts.
    draft_path = path.with_name(short_name(f".{path.name}", f".{secrets.token_hex(4)}.part"))
    return _create(draft_path), draft_path


def _numbered_draft(path: Path, number: int) -> Path:
    return path.with_name(short_name(f".{path.name}", f".{number}.part"))


def _create(path: Path) -> int:
    """Create a file with the permissions of the umask, which cannot be read without a race."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    return os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0), 0o666)


def _remove_abandoned(draft_path: Path) -> None:
    """Remove a draft that no process has locked; leave what is not a file of ours."""
    try:
        # A link or a named pipe in a folder of many users is another's: neither followed nor
        # waited for.
        draft_file = os.open(draft_path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        if stat.S_ISREG(os.fstat(draft_file).st_mode) and _lock(draft_file):
            with contextlib.suppress(OSError):
                if _is_at(draft_file, draft_path):
                    os.unlink(draft_path)
    finally:
        os.close(draft_file)


def _is_at(file: int, path: Path) -> bool:
    """Return whether an open file still has that path."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


_LONGEST_NAME = 255  # bytes, on all common file systems


def short_name(name: str, suffix: str) -> str:
    """Return a name with a suffix, short enough for a file: a checksum stands for what is cut off.

    >>> short_name("a.txt", ".part"), len(short_name("a" * 300, ".part"))
    ('a.txt.part', 255)
    """
    encoded = os.fsencode(name)
    if len(encoded) + len(suffix) <= _LONGEST_NAME:
        return name + suffix
    end = f"-{hashlib.sha256(encoded).hexdigest()[:16]}{suffix}"
    return encoded[: _LONGEST_NAME - len(end)].decode("utf-8", "ignore") + end


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the name of the file to errors of a full disk, which the system reports without it."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            error.filename = os.fspath(path)
        raise


# No space on the disk, in the user's quota, or for so large a file.
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)


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
    # Where the file system has no locks, going on without one is better than not running at all.
    return _lock(file.fileno()) is not False


def _lock(file: int) -> bool | None:
    """Lock an open file; return False if another process has, None if it cannot be locked."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
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
