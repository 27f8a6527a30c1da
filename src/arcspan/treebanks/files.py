"""Which files hold a treebank: a bracket file, a CoNLL file, both side by side, or one CoNLL-U file with both trees."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from arcspan.errors import ArcspanError, FileError
from arcspan.treebanks.streams import read_lines

PathLike = str | os.PathLike[str]

Kind = Literal["brackets", "conll"]
_BRACKETS = (".ptb", ".mrg", ".brackets", ".bracket", ".prd", ".tree", ".trees")
_CONLL = (".conllu", ".conllup", ".conll", ".conllx")
_KINDS: dict[str, Kind] = {**dict.fromkeys(_BRACKETS, "brackets"), **dict.fromkeys(_CONLL, "conll")}


class TreeFiles(NamedTuple):
    """The files of one set of trees; one of the two may be missing."""

    brackets: PathLike | None
    conll: PathLike | None

    def __str__(self) -> str:
        return " + ".join(os.fspath(path) for path in self if path is not None)


def named_kind(path: PathLike) -> Kind | None:
    """What a file's name says of its content, by its last suffix that says anything.

    >>> named_kind("a.ptb.conllu.xz"), named_kind("a.MRG"), named_kind("a.txt")
    ('conll', 'brackets', None)
    """
    found = (
        _KINDS[suffix.lower()]
        for suffix in reversed(Path(path).suffixes)
        if suffix.lower() in _KINDS
    )
    return next(found, None)


def kind_of(path: PathLike) -> Kind:
    """Whether a file holds bracketed trees or CoNLL columns: by its name, else by its first line."""
    if (named := named_kind(path)) is not None:
        return named
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
    """The files of a command line as sets of trees: all bracket files, all CoNLL files, or one of each per set."""
    kinds = [kind_of(path) for path in paths]
    if len(set(kinds)) == 1:
        return [
            TreeFiles(path, None) if kinds[0] == "brackets" else TreeFiles(None, path)
            for path in paths
        ]
    if len(paths) % 2:
        here = f"{kinds.count('brackets')} bracket files and {kinds.count('conll')} CoNLL files"
        what = "files come in pairs, a bracket file and a CoNLL file, or are all of one kind"
        raise ArcspanError(f"{what}; here are {here}")
    groups = []
    for k in range(0, len(paths), 2):
        first, second = paths[k : k + 2]
        if kinds[k] == kinds[k + 1]:
            what = f"two {'bracket' if kinds[k] == 'brackets' else 'CoNLL'} files in a row"
            how = f"where a bracket file and a CoNLL file should go together (with {os.fspath(first)})"
            raise FileError(f"{what} {how}", path=second)
        groups.append(
            TreeFiles(first, second) if kinds[k] == "brackets" else TreeFiles(second, first)
        )
    return groups
