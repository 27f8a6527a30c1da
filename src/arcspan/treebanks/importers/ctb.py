"""The Chinese Treebank 5.1: `.fid` files in GB18030 with markup, split as in Zhang & Clark (2008)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arcspan.errors import FileError
from arcspan.treebanks.importers.penn import ImportReport, import_penn
from arcspan.treebanks.streams import read_lines

_MARKUP = re.compile(r"</?[A-Za-z][^<>()]*>")
_FILE = re.compile(r"chtb_0*(\d+)\.fid", re.IGNORECASE)

# Zhang & Clark (2008), "A tale of two parsers": ranges of file numbers, both ends included.
_RANGES = {
    "train": ((1, 815), (1001, 1136)),
    "dev": ((886, 931), (1148, 1151)),
    "test": ((816, 885), (1137, 1147)),
}


def import_ctb(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    rules: Any = "ctb",
    dependencies: str | os.PathLike[str] | None = None,
) -> ImportReport:
    """Write the Chinese Treebank's splits, with dependencies by `rules` or from the folder `dependencies`.

    `source` is any folder above the files chtb_NNN.fid (such as ctb5.1/data/bracketed). Copies that were
    already converted to UTF-8 are read as well.
    """
    return import_penn(source, target, "*.fid", split_of, _tree_lines, rules=rules, dependencies=dependencies)


def split_of(path: Path) -> str | None:
    """The split of a file by its number.

    >>> [split_of(Path(f"chtb_{number}.fid")) for number in ("001", "816", "886", "1151", "940")]
    ['train', 'test', 'dev', 'dev', None]
    """
    match = _FILE.fullmatch(path.name)
    number = int(match[1]) if match else 0
    for split, ranges in _RANGES.items():
        if any(first <= number <= last for first, last in ranges):
            return split
    return None


def _tree_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file that belong to trees, without markup and headers."""
    depth = 0
    for number, line in enumerate(_decoded_lines(path), 1):
        line = _MARKUP.sub("", line)
        if not (depth or line.lstrip().startswith("(")):
            continue
        depth += line.count("(") - line.count(")")
        yield number, line


def _decoded_lines(path: Path) -> list[str]:
    """The lines of a file in UTF-8 where it is that, else in GB18030.

    Chinese text in GB18030 is never valid UTF-8 by accident for long, while UTF-8 often passes for GB18030.
    """
    try:
        return list(read_lines(path))
    except FileError:
        return list(read_lines(path, "gb18030"))
