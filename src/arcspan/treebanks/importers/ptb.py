"""The Penn Treebank (LDC99T42): the Wall Street Journal's `.mrg` files, sections 02-21, 22 and 23."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arcspan.treebanks.importers.penn import ImportReport, import_penn
from arcspan.treebanks.streams import read_lines

_FILE = re.compile(r"wsj_(\d\d)\d\d\.mrg", re.IGNORECASE)


def import_ptb(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    rules: Any = "ptb",
    dependencies: str | os.PathLike[str] | None = None,
) -> ImportReport:
    """Write the Penn Treebank's splits, with dependencies by `rules` or from the folder `dependencies`.

    `source` is any folder above the files wsj_SSNN.mrg (such as treebank_3/parsed/mrg/wsj); sections 02-21
    become train, 22 dev, 23 test, the others are not used.
    """
    return import_penn(source, target, "*.mrg", split_of, _lines, rules=rules, dependencies=dependencies)


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


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    return enumerate(read_lines(path), 1)
