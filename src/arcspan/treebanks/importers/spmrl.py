"""Importer of the SPMRL 2013/2014 shared task: `.ptb` and `.conll` files of one language.

The `.ptb` files hold constituents, the `.conll` files dependencies. The tags of the `.ptb` files
carry features (`NC##g=m|n=s##`), which are cut off together with function tags. A sentence whose
files have different words is left out and reported. One whose heads do not form a tree (several
roots, a cycle) cannot be learnt from and is left out of train; in dev and test it is kept, so that
every sentence is in the scores.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from arcspan.errors import FileError
from arcspan.treebanks.importers.penn import SPLITS, ImportReport, clean, write_split
from arcspan.treebanks.pairs import Pair, ReadingReport, read_pairs
from arcspan.treebanks.streams import PathLike

_FILE = re.compile(
    r"(?P<split>train5k|train|dev|test)\.(?P<language>[^.]+)\."
    r"(?:gold\.)?(?P<suffix>ptb|conll)(?:\.gz|\.xz)?",
    re.IGNORECASE,
)
# Of a label or tag; a lemma among the features may be a bracket.
_FEATURES = re.compile(r"(?P<label>\([^\s()#]*)##\S*?##(?=\s)")


def import_spmrl(
    source: PathLike,
    target: PathLike,
    *,
    language: str | None = None,
    size: Literal["full", "5k"] = "full",
) -> ImportReport:
    """Write one language's splits from the gold files below `source` (such as FRENCH_SPMRL/gold).

    `language` is needed if there are files of several languages; `size` "5k" takes train5k instead
    of train, which is also taken if there is no other.
    """
    files = find_files(source, language=language, size=size)
    imported = ImportReport()
    for split in SPLITS:
        brackets, conll = files[split]
        report = ReadingReport()
        pairs = read_pairs(
            brackets,
            conll,
            mismatch="skip",
            report=report,
            heads="tree" if split == "train" else "any",
            empties="strip",
            edit=without_features,
        )
        write_split((Pair(clean(tree), arcs) for tree, arcs in pairs), target, split, imported)
        imported.left_out += report.problems
        unreported = report.skipped - len(report.problems)
        if unreported > 0:
            imported.left_out.append(f"{brackets}: {unreported} more sentences")
    return imported


def find_files(
    source: PathLike, *, language: str | None = None, size: Literal["full", "5k"] = "full"
) -> dict[str, tuple[Path, Path]]:
    """Return the `.ptb` and the `.conll` file of each split."""
    folder = Path(source)
    if not folder.is_dir():
        raise FileError("not a folder: give the one that holds a language's files", path=folder)
    files: dict[tuple[str, str], Path] = {}
    languages: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        match = _FILE.fullmatch(path.name)
        # Files with predicted tags have the same names.
        if match is None or "pred" in path.relative_to(folder).parts:
            continue
        name = match["language"]
        if language and name.lower() != language.lower():
            continue
        languages[name.lower()] = name
        key = (match["split"].lower(), match["suffix"].lower())
        if key in files and len(languages) == 1:
            message = f"there is also {files[key]}; give the folder of one of them"
            raise FileError(message, path=path)
        files[key] = path
    if len(languages) > 1:
        names = ", ".join(sorted(languages.values()))
        message = f"several languages are below this folder ({names}); choose one"
        raise FileError(message, path=folder)
    has_full_train = ("train", "ptb") in files
    splits = {}
    for split in SPLITS:
        name = split
        if split == "train" and (size == "5k" or not has_full_train):
            name = "train5k"
        for suffix in ("ptb", "conll"):
            if (name, suffix) not in files:
                raise FileError(f"no {name}.LANGUAGE.gold.{suffix} below this folder", path=folder)
        splits[split] = files[name, "ptb"], files[name, "conll"]
    return splits


def without_features(line: str) -> str:
    """Remove the features of labels and tags from a line of a bracket file.

    >>> without_features("(PONCT##s=w|lem=(## -LRB-)")
    '(PONCT -LRB-)'
    """
    return _FEATURES.sub(r"\g<label>", line)
