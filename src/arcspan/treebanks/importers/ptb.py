"""The Penn Treebank (LDC99T42): the Wall Street Journal's `.mrg` files, sections 02-21, 22 and 23."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arcspan.treebanks.importers.penn import Imported, clean_trees, split_files, write_converted
from arcspan.treebanks.streams import read_lines
from arcspan.trees import ConstituencyTree

_FILE = re.compile(r"wsj_(\d\d)\d\d\.mrg", re.IGNORECASE)


def import_ptb(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    rules: Any = "ptb",
    dependencies: str | os.PathLike[str] | None = None,
) -> Imported:
    """Write the Penn Treebank's splits, with dependencies by `rules` or from the folder `dependencies`.

    `source` is any folder above the files wsj_SSNN.mrg (such as treebank_3/parsed/mrg/wsj); sections 02-21
    become train, 22 dev, 23 test, the others are not used.
    """
    splits = split_files(source, "*.mrg", split_of)
    return write_converted(
        {split: functools.partial(_read, files) for split, files in splits.items()},
        target,
        rules=rules,
        dependencies=dependencies,
    )


def split_of(path: Path) -> str | None:
    """The split of a file by its section, None for the sections that no split uses.

    >>> split_of(Path("wsj_0201.mrg")), split_of(Path("wsj_2300.mrg")), split_of(Path("wsj_0001.mrg"))
    ('train', 'test', None)
    """
    match = _FILE.fullmatch(path.name)
    section = int(match[1]) if match else -1
    if 2 <= section <= 21:
        return "train"
    return {22: "dev", 23: "test"}.get(section)


def _read(files: list[Path], report: Imported) -> Iterator[tuple[str, ConstituencyTree]]:
    for path in files:
        for unit, tree in clean_trees(path, enumerate(read_lines(path), 1), report):
            yield f"{path}:{unit.line}", tree
