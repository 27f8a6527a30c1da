"""A file that is written over hours: what is done survives an interruption, and a later run goes on.

While it grows, the output stands in `OUT.part`, and `OUT.part.json` says how much input it covers. The note is
written after the output has reached the disk, so whatever happens, the output up to the noted length is good.
`OUT` itself appears when all is done.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, cast

from arcspan.cli.reading import Item
from arcspan.errors import ArcspanError
from arcspan.files import atomic_write

_SECONDS = 2.0  # between notes


class Resumable:
    """Output to `path`, item after item; `settings` must be the same in a run that goes on.

    Use it as a context manager. `remaining` passes on the items that no earlier run has covered; each of them
    is then to be written, in order, by one call of `write`.
    """

    def __init__(self, path: str, settings: dict[str, Any], *, resume: bool) -> None:
        self.path, self.settings = Path(path), settings
        self.part, self._note = Path(f"{path}.part"), Path(f"{path}.part.json")
        if not self.path.parent.is_dir():
            raise ArcspanError(f"{self.path.parent}: no such folder")
        if self.path.is_dir():
            raise ArcspanError(f"{self.path}: is a folder")
        self._covered = _Covered(0, 0, 0, 0)
        if resume and self._note.is_file() and self.part.is_file():
            self._covered = self._read_note()
        self._ahead: deque[int] = deque()  # checksums of the input up to each item that is under way
        self._file = open(self.part, "r+b" if self._covered.length else "wb")  # noqa: SIM115
        self._file.truncate(self._covered.length)
        self._file.seek(self._covered.length)
        self._saved = time.monotonic()

    @property
    def sentences(self) -> int:
        """How many sentences stand in the output."""
        return self._covered.sentences

    def _read_note(self) -> _Covered:
        try:
            noted = json.loads(self._note.read_text(encoding="utf-8"))
            then, covered = noted["settings"], _Covered(*map(int, noted["covered"]))
            if covered.length > self.part.stat().st_size:
                raise ValueError("it says more than the output holds")
        except (ValueError, KeyError, TypeError) as error:
            raise ArcspanError(f"{self._note}: damaged ({error}): delete it and begin again") from None
        if then != self.settings:
            changed = ", ".join(key for key in self.settings if then.get(key) != self.settings[key])
            raise ArcspanError(
                f"{self.part}: made with other settings ({changed}): delete it, or use the same"
            )
        return covered

    def remaining(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items that are still to be written; ArcspanError where the others are not what they were."""
        checksum, before = 0, self._covered
        for number, item in enumerate(items, 1):
            checksum = zlib.crc32(repr(item.content).encode("utf-8", "surrogatepass"), checksum)
            if number == before.items and checksum != before.checksum:
                raise ArcspanError(f"{self.part}: the input has changed since: delete it and begin again")
            if number > before.items:
                self._ahead.append(checksum)
                yield item

    def write(self, text: str, sentences: int) -> None:
        """Add what was made of the next item."""
        self._file.write(text.encode("utf-8", "replace"))
        before = self._covered
        self._covered = _Covered(
            before.items + 1, before.sentences + sentences, self._file.tell(), self._ahead.popleft()
        )
        if time.monotonic() - self._saved > _SECONDS:
            self._save()

    def _save(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        with atomic_write(self._note) as file:
            json.dump({"settings": self.settings, "covered": self._covered}, cast(IO[str], file))
        self._saved = time.monotonic()

    def __enter__(self) -> Resumable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._file.flush()
            os.fsync(self._file.fileno())
        else:
            self._save()
        self._file.close()
        if kind is None:
            shutil.move(self.part, os.path.realpath(self.path))  # a link stays one
            self._note.unlink(missing_ok=True)


class _Covered(NamedTuple):
    """How much is done: items of the input, sentences, bytes of the output, checksum of the input so far."""

    items: int
    sentences: int
    length: int
    checksum: int
