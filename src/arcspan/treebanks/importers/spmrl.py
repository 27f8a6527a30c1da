"""The SPMRL 2013/2014 shared task: `.ptb` and `.conll` files of one language, split as distributed.

Constituents and dependencies are both given. The tags of the `.ptb` files carry features (`NC##g=m|n=s##`),
which are cut off together with function tags. A sentence whose files have different words is left out and reported.
One whose heads do not form a tree (several roots, a cycle) cannot be learnt from and is left out of train; in dev and
test it stays as it is, so that every sentence is in the scores.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from arcspan.errors import FileError
from arcspan.treebanks.conll import Heads
from arcspan.treebanks.files import PathLike
from arcspan.treebanks.importers.penn import SPLITS, ImportReport, clean
from arcspan.treebanks.pairs import Pair, ReadingReport, read_pairs, write_pairs

_FILE = re.compile(
    r"(train5k|train|dev|test)\.([^.]+)\.(?:gold\.)?(ptb|conll)(?:\.gz|\.xz)?", re.IGNORECASE
)
# Of a label or tag; a lemma among them may be a bracket.
_FEATURES = re.compile(r"(\([^\s()#]*)##\S*?##(?=\s)")


def import_spmrl(
    source: PathLike,
    target: PathLike,
    *,
    language: str | None = None,
    size: Literal["full", "5k"] = "full",
) -> ImportReport:
    """Write one language's splits from the gold files below `source` (such as FRENCH_SPMRL/gold).

    `language` chooses where several are there; `size` "5k" takes train5k instead of train, which is also
    taken where there is no other.
    """
    files = find_files(source, language=language, size=size)
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    imported = ImportReport()
    for split in SPLITS:
        brackets, conll = files[split]
        report = ReadingReport()
        heads: Heads = "tree" if split == "train" else "any"
        options = {"mismatch": "skip", "heads": heads, "empties": "strip", "edit": without_features}
        pairs = read_pairs(brackets, conll, report=report, **options)  # type: ignore[arg-type]
        cleaned = (Pair(clean(tree), arcs) for tree, arcs in pairs)
        imported.sentences[split] = write_pairs(
            cleaned, folder / f"{split}.ptb", folder / f"{split}.conllu"
        )
        imported.left_out += report.problems
        if report.skipped > len(report.problems):
            imported.left_out.append(
                f"{brackets}: {report.skipped - len(report.problems)} more sentences"
            )
    return imported


def find_files(
    source: PathLike, *, language: str | None = None, size: Literal["full", "5k"] = "full"
) -> dict[str, tuple[Path, Path]]:
    """The `.ptb` and the `.conll` file of each split."""
    folder = Path(source)
    if not folder.is_dir():
        raise FileError("not a folder: give the one that holds a language's files", path=folder)
    found: dict[tuple[str, str], Path] = {}
    languages = {}
    for path in sorted(folder.rglob("*")):
        match = _FILE.fullmatch(path.name)
        if match is None or "pred" in path.relative_to(folder).parts:
            continue
        split, name, kind = match[1].lower(), match[2], match[3].lower()
        if language and name.lower() != language.lower():
            continue
        languages[name.lower()] = name
        if (split, kind) in found and len(languages) == 1:
            raise FileError(
                f"there is also {found[split, kind]}; give the folder of one of them", path=path
            )
        found[split, kind] = path
    if len(languages) > 1:
        names = ", ".join(sorted(languages.values()))
        raise FileError(
            f"several languages are below this folder ({names}); choose one", path=folder
        )
    chosen = {}
    for split in SPLITS:
        name = split
        if split == "train" and (size == "5k" or ("train", "ptb") not in found):
            name = "train5k"
        for kind in ("ptb", "conll"):
            if (name, kind) not in found:
                raise FileError(f"no {name}.LANGUAGE.gold.{kind} below this folder", path=folder)
        chosen[split] = found[name, "ptb"], found[name, "conll"]
    return chosen


def without_features(line: str) -> str:
    """A line of a bracket file without the features of its labels and tags.

    >>> without_features("(PONCT##s=w|lem=(## -LRB-)")
    '(PONCT -LRB-)'
    """
    return _FEATURES.sub(r"\1", line)
