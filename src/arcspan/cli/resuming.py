"""A file that is written over hours: what is done survives an interruption, and a later run continues.

While it grows, the output is in the folder `.arcspan` beside OUT, as `NAME.part`, which is locked; `NAME.json` there
says what it covers: the settings, and checksums of the input and of the output so far. The note is written after the
output has reached the disk, so whatever happens, the output up to the noted length is good. OUT itself appears when
all is done. The note stays where a later run has to know what OUT was made of: after `--resume`, and of every file of
a folder of outputs. Nobody's own files stand in that folder, so none is lost.
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
from arcspan.files import atomic_write, lock
from arcspan.parser import Parser

FOLDER = ".arcspan"
STARTS = 3  # of runs that were killed before they got any further
_SECONDS = 2.0  # between notes


class Note(NamedTuple):
    """What is known of an output: the settings and the source that make it, and how much of both there was so far."""

    settings: dict[str, Any]
    source: list[int] | None  # its size and its time
    done: bool = False
    starts: int = 0  # since the last progress
    items: int = 0  # of the input
    length: int = 0  # bytes of the output
    input: str = ""  # checksums of both
    output: str = ""


class ResumableOutput:
    """Output to `path`, item after item; `settings` must be the same in a run that continues.

    resume  continue a run that was interrupted; otherwise one that has got somewhere is refused
    keep    leave the note behind, so that `is_done` knows the file
    source  the file that the output is made of, where it is one

    It is opened when it is first needed: of a thousand small files only a few may be open at once. `remaining` passes
    on the items that no earlier run has covered; each of them is then to be written, in order, by one call of `write`.
    A file that is `complete` already is not written: all that is left to do is to see that the items are those that
    it was made of. `finish` puts the file into its place, `close` leaves it for a later run.
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
        self._resume, self._keep = resume, keep or resume
        self._note = Note(settings, _stamp(source))
        self.part, self._notes = _places(self.path)
        self._draft = self._notes.with_suffix(
            ".draft"
        )  # a note on its way, under the lock of the output
        self._output = hashlib.sha256()
        self._ahead: deque[str] = (
            deque()
        )  # checksums of the input up to each item that is under way
        self._saved = time.monotonic()
        before = read_note(self.path) if resume else None
        self.complete = before is not None and before.done and not self.part.exists()
        self._file: IO[bytes] | None = None

    def open(self) -> IO[bytes]:
        """Open the output if it is not; ArcspanError where it cannot be continued, or another run writes to it."""
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
        """Lock the output, take over what an earlier run has left, and cut off what no note covers."""
        locked = False
        # A run that has just ended moves the file that it locked.
        with contextlib.suppress(FileNotFoundError):
            locked = self.complete or (lock(file) and os.path.samefile(file.fileno(), self.part))
        if not locked:
            raise ArcspanError(f"{self.path}: another run is writing to it")
        before = read_note(self.path)
        if before is not None and self._resume:
            _compare(before.settings, self._note.settings, self.path)
            self._note = before._replace(source=self._note.source, done=False)
            self._read_output(file)
        elif before is not None and not before.done:
            if before.items:
                raise ArcspanError(
                    f"{self.path}: an interrupted run has left {before.items} sentences: "
                    f"continue it with --resume, or delete {self.part}"
                )
            self._note = self._note._replace(starts=before.starts)
        elif self._resume and self.path.is_file():
            self._remove()
            raise _unknown(self.path, "output")
        if not self.complete:
            file.truncate(self._note.length)
            file.seek(self._note.length)

    def _read_output(self, file: IO[bytes]) -> None:
        file.seek(0)
        left = self._note.length
        while left and (block := file.read(min(left, 1 << 20))):
            self._output.update(block)
            left -= len(block)
        changed = self._note.length and self._output.hexdigest() != self._note.output
        if changed or (self.complete and file.read(1)):
            raise ArcspanError(
                f"{self._place}: changed since it was written: delete it and start again"
            )

    def count_start(self) -> None:
        """Note that a run has begun; ArcspanError where `STARTS` of them were killed without getting any further."""
        self.open()
        if self._note.starts >= STARTS:
            raise ArcspanError(
                f"{self.path}: {STARTS} runs were killed at the same place; given up: delete {self._notes} to try again"
            )
        self._save(starts=self._note.starts + 1)

    @property
    def items(self) -> int:
        """How many items are in the output."""
        return self._note.items

    @property
    def _place(self) -> Path:
        return self.path if self.complete else self.part

    def remaining(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items that are still to be written; ArcspanError where the others are not what they were."""
        seen, number, before = hashlib.sha256(), 0, self._note
        for number, item in enumerate(items, 1):
            seen.update(repr(item).encode("utf-8", "surrogatepass"))
            if number == before.items and seen.hexdigest() != before.input:
                raise ArcspanError(
                    f"{self._place}: made from another input: delete it and start again"
                )
            if number > before.items:
                if self.complete:
                    raise ArcspanError(
                        f"{self.path}: made from a shorter input: delete it and start again"
                    )
                self._ahead.append(seen.hexdigest())
                yield item
        if number < before.items:
            raise ArcspanError(
                f"{self._place}: made from a longer input ({before.items} sentences, now {number}): "
                "delete it and start again"
            )

    def write(self, text: str) -> None:
        """Add what was made of the next item."""
        data = text.encode("utf-8", "replace")
        self.open().write(data)
        self._output.update(data)
        items, length = self.items + 1, self._note.length + len(data)
        self._note = self._note._replace(
            items=items, length=length, input=self._ahead.popleft(), starts=0
        )
        if time.monotonic() - self._saved > _SECONDS:
            self._save()

    def _save(self, **changes: Any) -> None:
        file = self.open()
        file.flush()
        os.fsync(file.fileno())
        self._note = self._note._replace(output=self._output.hexdigest(), **changes)
        with atomic_write(self._notes, draft=self._draft.name) as notes:
            json.dump(self._note._asdict(), cast(IO[str], notes))
        self._saved = time.monotonic()

    def close(self) -> None:
        """Leave the output as it is, for a run that continues it."""
        if self._file is None:
            return
        with self._file:
            if not self.complete and self.items:
                self._save(starts=0)
            elif not self.complete:
                self._remove()

    def _remove(self) -> None:
        """Take away an output that has nothing in it."""
        for file in (self.part, self._notes, self._draft):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.part.parent.rmdir()

    def finish(self) -> None:
        """Put the output into its place."""
        with self.open() as file:
            if self.complete:
                return
            self._save(done=True)
            if os.name == "nt":  # where an open file cannot be moved
                file.close()
            os.replace(self.part, self.path)
        if not self._keep:
            self._notes.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # notes of others are there
            self._notes.parent.rmdir()


def is_done(path: str, settings: dict[str, Any], source: str) -> bool:
    """Whether an output of a folder was made of the source as it is now; ArcspanError where it was made otherwise."""
    note = read_note(target(path))
    if note is None:
        if os.path.lexists(path):
            raise _unknown(path, "folder")
        return False
    _compare(note.settings, settings, path)
    return note.done and os.path.isfile(path) and note.source == _stamp(source)


def _unknown(path: str | os.PathLike[str], what: str) -> ArcspanError:
    reason = f"exists, but no note in {FOLDER} says what it was made of"
    return ArcspanError(f"{path}: {reason}: delete it, or choose another {what}")


def target(path: str | os.PathLike[str]) -> Path:
    """The file that is to be written: that behind a link, which stays one. ArcspanError where there can be none."""
    found = Path(os.path.realpath(path))
    if found.is_symlink():
        raise ArcspanError(f"{path}: symbolic links that form a loop")
    if found.is_dir():
        raise ArcspanError(f"{path}: is a folder")
    return found


def read_note(path: Path) -> Note | None:
    """What is known of an output; None where nothing is."""
    place = _places(path)[1]
    try:
        return Note(**json.loads(place.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, OSError) as error:
        raise ArcspanError(f"{place}: damaged ({error}): delete it and start again") from None


def _places(path: Path) -> tuple[Path, Path]:
    """The unfinished output and the note."""
    folder = path.parent / FOLDER
    return folder / f"{path.name}.part", folder / f"{path.name}.json"


def _open_part(path: Path) -> IO[bytes]:
    """An unfinished output to write, in a folder of our own; never one that is a link to something else."""
    for _ in range(3):
        # Another run may remove the empty folder, or move its file.
        with contextlib.suppress(FileNotFoundError):
            with contextlib.suppress(FileExistsError):
                path.parent.mkdir()
            if path.parent.is_symlink() or path.parent.is_file():
                raise ArcspanError(f"{path.parent}: is a link, or not a folder: delete it")
            file = open(path, "a+b")  # noqa: SIM115
            found = os.fstat(file.fileno())
            if found.st_nlink == 1 and os.path.samestat(found, os.lstat(path)):
                return file
            file.close()
            raise ArcspanError(f"{path}: is a link to another file: delete it")
    raise ArcspanError(f"{path.parent.parent}: no such folder")


def _compare(then: dict[str, Any], now: dict[str, Any], path: str | os.PathLike[str]) -> None:
    if changed := [key for key in {**now, **then} if then.get(key) != now.get(key)]:
        raise ArcspanError(
            f"{path}: made with other settings ({', '.join(changed)}): delete it, or use them again"
        )


def _stamp(source: str | None) -> list[int] | None:
    if source is None or not os.path.isfile(source):
        return None
    found = os.stat(source)
    return [found.st_size, found.st_mtime_ns]


def identity(parser: Parser) -> list[str]:
    """What distinguishes a model from all others: its name, and a checksum over those of its files."""
    sums = (parser.path / "checksums.json").read_bytes()
    return [str(parser.config.get("name")), hashlib.sha256(sums).hexdigest()]
