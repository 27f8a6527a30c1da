"""Outputs that are written over hours: a later run continues where one was interrupted.

While it grows, the output is in the folder `.arcspan` beside OUT, as `NAME.part`, which is locked;
`NAME.json` there is a note of what it covers: the settings, and checksums of the input and of the
output so far. The note is written after the output has reached the disk, so whatever happens, the
output up to the noted length is good. OUT itself appears when all is done. The note stays if a
later run has to know what OUT was made of: after `--resume`, and of every file of a folder of
outputs. No file of a user is in that folder, so none is lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from arcspan.cli.reading import Item
from arcspan.errors import ArcspanError
from arcspan.files import atomic_write, lock, naming, short_name
from arcspan.parser import Parser

FOLDER = ".arcspan"
STARTS = 3  # of runs that were killed before they got any further
_SECONDS = 2.0  # between notes


class Note(NamedTuple):
    """A note on an output.

    settings  with which it is made
    source    the size and the time of the file that it is made of, where it is one
    done      whether it is complete
    starts    how often a run has begun since the last progress
    items     of the input that are covered
    length    bytes of the output
    input     the checksum of the covered items, and `output` that of the output
    """

    settings: dict[str, Any]
    source: list[int] | None
    done: bool = False
    starts: int = 0
    items: int = 0
    length: int = 0
    input: str = ""
    output: str = ""


class ResumableOutput:
    """Output to `path`, item after item; `settings` must be the same in a run that continues.

    resume  continue a run that was interrupted; otherwise one that has results is refused
    keep    leave the note behind, so that `is_done` knows the file
    source  the file that the output is made of, where it is one

    It is opened when it is first needed: of a thousand small files only a few may be open at once.
    `remaining` passes on the items that no earlier run has covered; each of them is then to be
    written, in order, by one call of `write`. A file that is `complete` already is not written: it
    is only checked that the items are those that it was made of. `finish` moves the file to `path`,
    `close` leaves it for a later run.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: dict[str, Any],
        *,
        resume: bool,
        keep: bool = False,
        source: str | None = None,
    ) -> None:
        self.path = target(path)
        self._resume = resume
        self._keep = keep or resume
        self._note = Note(settings, _stamp(source))
        self.part = _part_path(self.path)
        self._note_path = _note_path(self.path)
        # A note while it is written, under the lock of the output.
        self._draft = self._note_path.with_name(short_name(self.path.name, ".draft"))
        self._output_hash = hashlib.sha256()
        # Checksums of the input up to each item that is being parsed.
        self._input_hashes: deque[str] = deque()
        self._save_time = time.monotonic()
        earlier = read_note(self.path) if resume else None
        self.complete = earlier is not None and earlier.done and not self.part.exists()
        self._file: IO[bytes] | None = None

    def open(self) -> IO[bytes]:
        """Open the output if it is not; ArcspanError if it cannot be continued, or is locked."""
        if self._file is None:
            file = open(self.path, "rb") if self.complete else _open_part(self.part)  # noqa: SIM115
            try:
                self._begin(file)
            except BaseException:
                file.close()
                raise
            self._file = file
        return self._file

    def _begin(self, file: IO[bytes]) -> None:
        """Lock the output, continue from the note, and cut off what no note covers."""
        locked = self.complete
        if not locked:
            # A run that has just ended moves the file that it locked.
            with contextlib.suppress(FileNotFoundError):
                locked = lock(file) and os.path.samefile(file.fileno(), self.part)
        if not locked:
            raise ArcspanError(f"{self.path}: another run is writing to it")
        earlier = read_note(self.path)
        if earlier is not None and self._resume:
            _compare(earlier.settings, self._note.settings, self.path)
            self._note = earlier._replace(source=self._note.source, done=False)
            self._check_output(file)
        elif earlier is not None and not earlier.done:
            if earlier.items:
                raise ArcspanError(
                    f"{self.path}: an interrupted run has left {earlier.items} sentences: "
                    f"continue it with --resume, or delete {self.part}"
                )
            self._note = self._note._replace(starts=earlier.starts)
        elif self._resume and self.path.is_file():
            self._remove()
            raise _unknown(self.path, "output")
        if not self.complete:
            file.truncate(self._note.length)
            file.seek(self._note.length)

    def _check_output(self, file: IO[bytes]) -> None:
        """Raise ArcspanError if the output is not the one of the note."""
        file.seek(0)
        unread = self._note.length
        while unread and (block := file.read(min(unread, 1 << 20))):
            self._output_hash.update(block)
            unread -= len(block)
        changed = self._note.length and self._output_hash.hexdigest() != self._note.output
        # A growing output may be longer than its note says; a complete one may not.
        if changed or (self.complete and file.read(1)):
            raise ArcspanError(
                f"{self._current_path}: changed since it was written: delete it and start again"
            )

    def count_start(self) -> None:
        """Note that a run has begun; ArcspanError if `STARTS` were killed without progress."""
        self.open()
        if self._note.starts >= STARTS:
            raise ArcspanError(
                f"{self.path}: {STARTS} runs were killed at the same place; given up: "
                f"delete {self._note_path} to try again"
            )
        self._save(starts=self._note.starts + 1)

    @property
    def items(self) -> int:
        """Return how many items are in the output."""
        return self._note.items

    @property
    def _current_path(self) -> Path:
        return self.path if self.complete else self.part

    def remaining(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items that are still to be written; ArcspanError if the others have changed."""
        earlier = self._note
        input_hash = hashlib.sha256()
        number = 0
        for number, item in enumerate(items, 1):
            input_hash.update(repr(item).encode("utf-8", "surrogatepass"))
            if number == earlier.items and input_hash.hexdigest() != earlier.input:
                raise self._other_input("made from another input")
            if number > earlier.items:
                if self.complete:
                    raise self._other_input("made from a shorter input")
                self._input_hashes.append(input_hash.hexdigest())
                yield item
        if number < earlier.items:
            raise self._other_input(
                f"made from a longer input ({earlier.items} sentences, now {number})"
            )

    def _other_input(self, reason: str) -> ArcspanError:
        return ArcspanError(f"{self._current_path}: {reason}: delete it and start again")

    def write(self, text: str) -> None:
        """Add the text that was made of the next item."""
        data = text.encode("utf-8", "replace")
        with naming(self.path):
            self.open().write(data)
        self._output_hash.update(data)
        self._note = self._note._replace(
            items=self.items + 1,
            length=self._note.length + len(data),
            input=self._input_hashes.popleft(),
            starts=0,
        )
        if time.monotonic() - self._save_time > _SECONDS:
            self._save()

    def _save(self, **changes: Any) -> None:
        """Write the note, after the output has reached the disk."""
        file = self.open()
        with naming(self.path):
            file.flush()
            os.fsync(file.fileno())
        self._note = self._note._replace(output=self._output_hash.hexdigest(), **changes)
        with atomic_write(self._note_path, draft=self._draft.name) as notes:
            json.dump(self._note._asdict(), cast(IO[str], notes))
        self._save_time = time.monotonic()

    def close(self) -> None:
        """Leave the output as it is, for a run that continues it."""
        if self._file is None:
            return
        with self._file:
            if self.complete:
                return
            if self.items:
                self._save(starts=0)
            else:
                self._remove()

    def _remove(self) -> None:
        """Remove an output that has nothing in it."""
        for file in (self.part, self._note_path, self._draft):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.part.parent.rmdir()

    def finish(self) -> None:
        """Move the output to its path."""
        with self.open() as file:
            if self.complete:
                return
            self._save(done=True)
            # An open file cannot be moved on Windows.
            if os.name == "nt":
                file.close()
            os.replace(self.part, self.path)
        if not self._keep:
            self._note_path.unlink(missing_ok=True)
        # The folder stays if it has notes of other outputs.
        with contextlib.suppress(OSError):
            self._note_path.parent.rmdir()


def is_done(path: str, settings: dict[str, Any], source: str) -> bool:
    """Return whether an output of a folder was made of the source as it is now.

    ArcspanError if it was made with other settings, or nothing is known of it.
    """
    note = read_note(target(path))
    if note is None:
        if os.path.lexists(path):
            raise _unknown(path, "folder")
        return False
    _compare(note.settings, settings, path)
    return note.done and os.path.isfile(path) and note.source == _stamp(source)


def _unknown(path: str | os.PathLike[str], choice: str) -> ArcspanError:
    reason = f"exists, but no note in {FOLDER} says what it was made of"
    return ArcspanError(f"{path}: {reason}: delete it, or choose another {choice}")


def target(path: str | os.PathLike[str]) -> Path:
    """Return the file to write: that behind a link, which stays. ArcspanError if it cannot be."""
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise ArcspanError(f"{path}: symbolic links that form a loop")
    if file.is_dir():
        raise ArcspanError(f"{path}: is a folder")
    return file


def read_note(path: Path) -> Note | None:
    """Return the note on an output; None if there is none."""
    note_path = _note_path(path)
    try:
        return Note(**json.loads(note_path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, OSError) as error:
        raise ArcspanError(f"{note_path}: damaged ({error}): delete it and start again") from None


def _part_path(path: Path) -> Path:
    return path.parent / FOLDER / short_name(path.name, ".part")


def _note_path(path: Path) -> Path:
    return path.parent / FOLDER / short_name(path.name, ".json")


def _open_part(path: Path) -> IO[bytes]:
    """Open an unfinished output in its own folder; never one that is a link to another file."""
    for _ in range(3):
        # Another run may remove the empty folder, or move its file.
        with contextlib.suppress(FileNotFoundError):
            with contextlib.suppress(FileExistsError):
                path.parent.mkdir()
            if path.parent.is_symlink() or path.parent.is_file():
                raise ArcspanError(f"{path.parent}: is a link, or not a folder: delete it")
            file = open(path, "a+b")  # noqa: SIM115
            status = os.fstat(file.fileno())
            if status.st_nlink == 1 and os.path.samestat(status, os.lstat(path)):
                return file
            file.close()
            raise ArcspanError(f"{path}: is a link to another file: delete it")
    raise ArcspanError(f"{path.parent.parent}: no such folder")


def _compare(then: dict[str, Any], now: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Raise ArcspanError that names the settings that differ."""
    if changed := [key for key in {**now, **then} if then.get(key) != now.get(key)]:
        raise ArcspanError(
            f"{path}: made with other settings ({', '.join(changed)}): delete it, or use them again"
        )


def _stamp(source: str | None) -> list[int] | None:
    if source is None or not os.path.isfile(source):
        return None
    status = os.stat(source)
    return [status.st_size, status.st_mtime_ns]


def identity(parser: Parser) -> list[str]:
    """Return the name of a model, and a checksum over those of its files."""
    sums = (parser.path / "checksums.json").read_bytes()
    return [str(parser.config.get("name")), hashlib.sha256(sums).hexdigest()]
