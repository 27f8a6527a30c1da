"""A corpus in shards: which files are read, what is written for each, and what a later run still has to do.

A shard is a file. What is made of it is one file too, which appears whole or not at all and is given the time stamp
of its source, so the files that are there say what is done: a run that was stopped is simply started again.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from arcspan.errors import ArcspanError
from arcspan.files import atomic_write
from arcspan.parser import Parser

NOTE = "_arcspan.json"  # in the output folder: the settings that made it
TRIES = 3
_COMPRESSED = (".gz", ".xz")


class Shard(NamedTuple):
    """A file to read and the file to write."""

    source: str
    target: str


class Done(NamedTuple):
    """What was made of a shard; `error` says why nothing was."""

    shard: Shard
    sentences: int = 0
    failures: int = 0
    error: str | None = None


Work = Callable[[Parser, Shard], Done]


def find_shards(source: str, output: str | os.PathLike[str], suffix: str) -> list[Shard]:
    """The shards of a file, a folder (with the folders inside it) or a pattern such as "corpus/*.txt".

    Each is written under its own name with another suffix, in the same folders below `output`. Names that begin
    with a dot or an underscore are left alone.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("b.txt", "a.txt.gz", "_SUCCESS"):
    ...     (folder / name).touch()
    >>> [os.path.basename(shard.target) for shard in find_shards(str(folder), "out", ".conllu")]
    ['a.conllu', 'b.conllu']
    """
    root, paths = _files(source)
    if not paths:
        raise ArcspanError(f"{source}: no file to parse there")
    shards: dict[str, Shard] = {}
    for path in sorted(paths):
        place = path.relative_to(root)
        name = place.with_suffix("") if place.suffix in _COMPRESSED else place
        target = os.path.join(os.path.abspath(output), name.with_suffix(suffix))
        if target in shards:
            raise ArcspanError(f"{path} and {shards[target].source} would both be written to {target}")
        shards[target] = Shard(os.path.abspath(path), target)
    return list(shards.values())


def _files(source: str) -> tuple[Path, list[Path]]:
    """The folder that names are relative to, and the files."""
    path = Path(source)
    if path.is_file():
        return path.parent, [path]
    if path.is_dir():
        root, found = path, list(path.rglob("*"))
    else:
        # The names below the last folder that has no wildcard in it.
        root, found = Path(*_fixed_parts(path)), [Path(name) for name in glob.glob(source, recursive=True)]
    hidden = (".", "_")
    found = [
        one
        for one in found
        if one.is_file() and not any(part.startswith(hidden) for part in one.relative_to(root).parts)
    ]
    return root, found


def _fixed_parts(path: Path) -> list[str]:
    parts = []
    for part in path.parts[:-1]:
        if glob.has_magic(part):
            break
        parts.append(part)
    return parts


def remaining(shards: Iterable[Shard]) -> list[Shard]:
    """The shards that are still to do: nothing is written for them, or it was made of a file of another time."""
    return [shard for shard in shards if not _is_done(shard)]


def _is_done(shard: Shard) -> bool:
    try:
        return os.stat(shard.target).st_mtime_ns == os.stat(shard.source).st_mtime_ns
    except FileNotFoundError:
        return False


def prepare(shards: Sequence[Shard], output: str | os.PathLike[str], settings: dict[str, Any]) -> None:
    """Make the folders; ArcspanError where `output` has shards that were made with other settings."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise ArcspanError(f"{folder}: is a file; shards are written to a folder")
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / NOTE
    if note.is_file():
        try:
            then = json.loads(note.read_text(encoding="utf-8"))
            changed = [key for key in settings if then.get(key) != settings[key]]
        except (ValueError, AttributeError):
            raise ArcspanError(f"{note}: damaged: delete the folder and begin again") from None
        if changed:
            names = ", ".join(changed)
            raise ArcspanError(
                f"{folder}: made with other settings ({names}): use the same, or another folder"
            )
    else:
        with atomic_write(note) as file:
            json.dump(settings, file, indent=1, sort_keys=True)
    for parent in {os.path.dirname(shard.target) for shard in shards}:
        os.makedirs(parent, exist_ok=True)


def sweep(shards: Iterable[Shard]) -> None:
    """Remove what workers that were killed left behind; only while no other run writes to the same folder."""
    for shard in shards:
        for left in _left_behind(shard):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left)


def _left_behind(shard: Shard) -> list[str]:
    """Beginnings of the target whose writers did not live to finish or to clean up (`atomic_write`)."""
    folder, name = os.path.split(shard.target)
    return glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.part"))


def attempt(work: Work, parser: Parser, shard: Shard) -> Done:
    """Work on a shard; an error that its content caused is told and does not stop the others.

    A shard that killed `TRIES` workers (of memory, most likely) is given up, so that it cannot kill them all.
    """
    if len(_left_behind(shard)) >= TRIES:
        return Done(shard, error=f"{shard.source}: {TRIES} workers died while they parsed it; given up")
    try:
        time = os.stat(shard.source).st_mtime_ns
        done = work(parser, shard)
    except (ArcspanError, FileNotFoundError) as error:
        return Done(shard, error=str(error))
    if done.error is None:
        os.utime(shard.target, ns=(time, time))
    return done
