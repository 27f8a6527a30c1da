"""A file that is written over hours: what is done survives an interruption, and a later run continues.

While it grows, the output is in `OUT.part`, which is locked, and `OUT.part.json` says what it covers: the settings,
and checksums of the input and of the output so far. The note is written after the output has reached the disk, so
whatever happens, the output up to the noted length is good. `OUT` itself appears when all is done; of a run with
`resume` the note then stays, as `OUT.done.json`, so that a further run can tell whether it would make the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from arcspan.cli.reading import Item
from arcspan.errors import ArcspanError
from arcspan.files import atomic_write, lock

if TYPE_CHECKING:
    from arcspan.parser import Parser

SUFFIXES = (".part", ".part.json", ".done.json")  # of the files beside OUT
_SECONDS = 2.0  # between notes


class Resumable:
    """Output to `path`, item after item; `settings` must be the same in a run that continues.

    Use it as a context manager. `remaining` passes on the items that no earlier run has covered; each of them
    is then to be written, in order, by one call of `write`. A file that is `complete` already is not written: all that
    is left to do is to see that the items are those that it was made of.
    """

    def __init__(self, path: str, settings: dict[str, Any], *, resume: bool) -> None:
        self.path, self.settings, self._resume = Path(path), settings, resume
        self.part, self._note, self._done = (Path(path + suffix) for suffix in SUFFIXES)
        if self.path.is_dir():
            raise ArcspanError(f"{self.path}: is a folder")
        self._covered, self._output = _Covered(), hashlib.sha256()
        self.complete = resume and self.path.is_file() and not self.part.exists()
        note = self._done if self.complete else self._note if resume and self.part.exists() else None
        self._file = open(self.path if self.complete else self.part, "rb" if self.complete else "a+b")  # noqa: SIM115
        try:
            self._begin(note)
        except BaseException:
            self._file.close()
            raise
        self._ahead: deque[str] = deque()  # checksums of the input up to each item that is under way
        self._saved = time.monotonic()

    def _begin(self, note: Path | None) -> None:
        """Lock the output and cut off what no note covers."""
        if not self.complete and not self._is_ours():
            raise ArcspanError(f"{self.part}: another run is writing to {self.path}")
        if note is not None and note.is_file():
            self._covered = self._read_note(note)
        elif self.complete:
            raise ArcspanError(
                f"{self.path}: exists, but {self._done.name} does not, which would tell what it was made of: "
                "delete it, or choose another output"
            )
        if not self.complete:
            self._file.truncate(self._covered.length)
            if note is None:
                self._note.unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        try:  # a run that has just ended moves the file that it locked
            return lock(self._file) and os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.part))
        except FileNotFoundError:
            return False

    @property
    def sentences(self) -> int:
        """How many sentences are in the output."""
        return self._covered.sentences

    def _read_note(self, note: Path) -> _Covered:
        try:
            noted = json.loads(note.read_text(encoding="utf-8"))
            then, covered = noted["settings"], _Covered(**noted["covered"])
            self._file.seek(0)
            left = covered.length
            while left and (block := self._file.read(min(left, 1 << 20))):
                self._output.update(block)
                left -= len(block)
        except (ValueError, KeyError, TypeError) as error:
            raise ArcspanError(f"{note}: damaged ({error}): delete it and start again") from None
        if self._output.hexdigest() != covered.output or (self.complete and self._file.read(1)):
            raise ArcspanError(f"{self._file.name}: changed since it was written: delete it and start again")
        changed = [key for key in {**self.settings, **then} if then.get(key) != self.settings.get(key)]
        if changed:
            raise ArcspanError(
                f"{self._file.name}: made with other settings ({', '.join(changed)}): delete it, or use them again"
            )
        return covered

    def remaining(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items that are still to be written; ArcspanError where the others are not what they were."""
        seen, number, before = hashlib.sha256(), 0, self._covered
        for number, item in enumerate(items, 1):
            seen.update(repr(item).encode("utf-8", "surrogatepass"))
            if number == before.items and seen.hexdigest() != before.input:
                raise ArcspanError(f"{self._file.name}: made from another input: delete it and start again")
            if number > before.items:
                if self.complete:
                    raise ArcspanError(f"{self.path}: made from a shorter input: delete it and start again")
                self._ahead.append(seen.hexdigest())
                yield item
        if number < before.items:
            raise ArcspanError(
                f"{self._file.name}: made from a longer input ({before.items} items, now {number}): "
                "delete it and start again"
            )

    def write(self, text: str, sentences: int) -> None:
        """Add what was made of the next item."""
        data = text.encode("utf-8", "replace")
        self._file.write(data)
        self._output.update(data)
        before = self._covered
        self._covered = before._replace(
            items=before.items + 1,
            sentences=before.sentences + sentences,
            length=before.length + len(data),
            input=self._ahead.popleft(),
        )
        if time.monotonic() - self._saved > _SECONDS:
            self._save(self._note)

    def _save(self, note: Path) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        covered = self._covered._replace(output=self._output.hexdigest())
        with atomic_write(note) as file:
            json.dump({"settings": self.settings, "covered": covered._asdict()}, cast(IO[str], file))
        self._saved = time.monotonic()

    def __enter__(self) -> Resumable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if self.complete:
                return
            self._save(self._done if kind is None and self._resume else self._note)
            if kind is None:
                if os.name == "nt":  # where an open file cannot be moved
                    self._file.close()
                shutil.move(self.part, os.path.realpath(self.path))  # a link stays one
                self._note.unlink(missing_ok=True)
                if not self._resume:
                    self._done.unlink(missing_ok=True)


def identity(parser: Parser) -> list[str]:
    """What distinguishes a model from all others: its name, and a checksum over those of its files."""
    sums = (parser.path / "checksums.json").read_bytes()
    return [str(parser.config.get("name")), hashlib.sha256(sums).hexdigest()]


class _Covered(NamedTuple):
    """How much is done: items of the input, sentences, bytes of the output; checksums of both so far."""

    items: int = 0
    sentences: int = 0
    length: int = 0
    input: str = ""
    output: str = ""
