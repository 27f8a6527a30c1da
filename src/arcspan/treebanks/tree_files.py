"""Kinds of treebank files, and their pairs: a bracket file, a CoNLL file, or both side by side.

Kinds are told by names or first lines; this module reads no trees.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from arcspan.errors import ArcspanError, FileError
from arcspan.treebanks.streams import PathLike, read_lines

FileKind = Literal["brackets", "conll"]

_BRACKETS = (".ptb", ".mrg", ".brackets", ".bracket", ".prd", ".tree", ".trees")
_CONLL = (".conllu", ".conllup", ".conll", ".conllx")


class TreeFiles(NamedTuple):
    """The files of one set of trees; one of the two may be missing."""

    brackets: PathLike | None
    conll: PathLike | None

    def __str__(self) -> str:
        return " + ".join(os.fspath(path) for path in self if path is not None)


def named_kind(path: PathLike) -> FileKind | None:
    """Return the kind that a file's name states by its last suffix that states any.

    >>> named_kind("a.ptb.conllu.xz"), named_kind("a.MRG"), named_kind("a.txt")
    ('conll', 'brackets', None)
    """
    for suffix in reversed(Path(path).suffixes):
        if suffix.lower() in _BRACKETS:
            return "brackets"
        if suffix.lower() in _CONLL:
            return "conll"
    return None


def kind_of(path: PathLike) -> FileKind:
    """Return the kind of a file by its name, else by its first line."""
    kind_by_name = named_kind(path)
    if kind_by_name is not None:
        return kind_by_name
    # A look inside a pipe would be lost to the reader.
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise FileError(
            "a pipe is read once: its name must tell what is in it (.ptb or .conllu)", path=path
        )
    for line in read_lines(path):
        if line.strip():
            return "brackets" if line.lstrip().startswith("(") else "conll"
    raise FileError("the file is empty", path=path)


def group_files(paths: Sequence[PathLike]) -> list[TreeFiles]:
    """Group files: all are bracket files, all are CoNLL files, or there is one of each per set."""
    kinds = [kind_of(path) for path in paths]
    if "conll" not in kinds:
        return [TreeFiles(path, None) for path in paths]
    if "brackets" not in kinds:
        return [TreeFiles(None, path) for path in paths]
    if len(paths) % 2:
        raise ArcspanError(
            "files come in pairs, a bracket file and a CoNLL file, or are all of one kind; "
            f"here are {kinds.count('brackets')} bracket files "
            f"and {kinds.count('conll')} CoNLL files"
        )
    groups = []
    for k in range(0, len(paths), 2):
        first, second = paths[k : k + 2]
        if kinds[k] == kinds[k + 1]:
            noun = "bracket" if kinds[k] == "brackets" else "CoNLL"
            raise FileError(
                f"two {noun} files in a row where a bracket file and a CoNLL file should go "
                f"together (with {os.fspath(first)})",
                path=second,
            )
        groups.append(
            TreeFiles(first, second) if kinds[k] == "brackets" else TreeFiles(second, first)
        )
    return groups
