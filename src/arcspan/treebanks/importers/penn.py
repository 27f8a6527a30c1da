"""The Penn Treebank and the Chinese Treebank, and what all importers share.

The Penn treebanks have constituents only. Their dependencies come from head rules, or from CoNLL files that
another converter made (the paper's Stanford dependencies, for one), given as a folder with a file for each
split.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from arcspan.errors import FileError, TreeError
from arcspan.files import refuse_to_overwrite
from arcspan.treebanks.brackets import parse_lines
from arcspan.treebanks.conll import read_conll
from arcspan.treebanks.files import PathLike
from arcspan.treebanks.pairs import Pair, plain, write_pairs
from arcspan.treebanks.streams import read_lines
from arcspan.trees import ConstituencyTree, DependencyTree, convert
from arcspan.trees.heads import TABLES, HeadRules

HeadTable = PathLike | HeadRules
"""Head rules, or the name or file of their table."""
SPLITS = ("train", "dev", "test")
_PTB = re.compile(r"wsj_(\d\d)\d\d\.mrg", re.IGNORECASE)
_CTB = re.compile(r"chtb_0*(\d+)\.fid", re.IGNORECASE)
# Sections of the Wall Street Journal, and numbers of files as in Zhang & Clark (2008), "A tale of two parsers".
_Ranges = dict[str, tuple[tuple[int, int], ...]]  # both ends are included
_SECTIONS: _Ranges = {"train": ((2, 21),), "dev": ((22, 22),), "test": ((23, 23),)}
_NUMBERS: _Ranges = {
    "train": ((1, 815), (1001, 1136)),
    "dev": ((886, 931), (1148, 1151)),
    "test": ((816, 885), (1137, 1147)),
}
_MARKUP = re.compile(r"</?[A-Za-z][^<>()]*>")


@dataclasses.dataclass
class ImportReport:
    """What an import wrote: sentences by split, and a message for each sentence that was left out."""

    sentences: dict[str, int] = dataclasses.field(default_factory=dict)
    left_out: list[str] = dataclasses.field(default_factory=list)


def import_ptb(
    source: PathLike,
    target: PathLike,
    *,
    rules: HeadTable = "ptb",
    dependencies: PathLike | None = None,
) -> ImportReport:
    """Write the Penn Treebank's (LDC99T42) splits, with dependencies by `rules` or from the folder `dependencies`.

    `source` is any folder above the files wsj_SSNN.mrg (such as treebank_3/parsed/mrg/wsj); sections 02-21
    become train, 22 dev, 23 test, the others are not used.
    """
    files = _split_files(source, "*.mrg", _PTB, _SECTIONS)
    return _import(files, target, lambda path: enumerate(read_lines(path), 1), rules, dependencies)


def import_ctb(
    source: PathLike,
    target: PathLike,
    *,
    rules: HeadTable = "ctb",
    dependencies: PathLike | None = None,
) -> ImportReport:
    """Write the splits of the Chinese Treebank 5.1, with dependencies by `rules` or from the folder `dependencies`.

    `source` is any folder above the files chtb_NNN.fid (such as ctb5.1/data/bracketed), which are in GB18030. Copies
    that were already converted to UTF-8 are read as well.
    """
    return _import(
        _split_files(source, "*.fid", _CTB, _NUMBERS), target, _tree_lines, rules, dependencies
    )


def load_rules(source: PathLike) -> HeadRules:
    """A head table by its name ("ptb", "ctb") or from a file."""
    if source in TABLES:
        return HeadRules.load(str(source))
    path = Path(source)
    try:
        return HeadRules.parse(path.read_text(encoding="utf-8"), name=str(path))
    except OSError as error:
        what = f"no such rules: {error.strerror} (head tables by name: {', '.join(TABLES)})"
        raise FileError(what, path=path) from error
    except UnicodeDecodeError as error:
        raise FileError(f"not a text in UTF-8: {error.reason}", path=path) from error


def _split_files(
    source: PathLike, pattern: str, name: re.Pattern[str], numbers: _Ranges
) -> dict[str, list[Path]]:
    """The files below a folder, in the order of their names, by split; FileError where a split has none."""
    folder = Path(source)
    if not folder.is_dir():
        raise FileError("not a folder: give the one that holds the treebank", path=folder)
    # Old distributions name them in capital letters.
    paths = sorted(folder.rglob("*"), key=lambda path: (path.name.lower(), path))
    named = [
        (match, path) for path in paths if (match := name.fullmatch(path.name)) and path.is_file()
    ]
    splits = {}
    for split, ranges in numbers.items():
        files = [path for match, path in named if any(a <= int(match[1]) <= b for a, b in ranges)]
        if not files:
            raise FileError(
                f"no {pattern} file of the {split} split below this folder", path=folder
            )
        for first, second in itertools.pairwise(files):
            if first.name.lower() == second.name.lower():
                what = f"{second.name} is there twice below {folder}; give the folder of one copy"
                raise FileError(what, path=second)
        splits[split] = files
    return splits


def _tree_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file of the Chinese Treebank that belong to trees, without markup and headers."""
    try:  # GB18030 is never valid UTF-8 by accident for long, while UTF-8 often passes for GB18030
        lines = list(read_lines(path))
    except FileError:
        lines = list(read_lines(path, "gb18030"))
    depth = 0
    for number, line in enumerate(lines, 1):
        line = _MARKUP.sub("", line)
        if depth or line.lstrip().startswith("("):
            depth += line.count("(") - line.count(")")
            yield number, line


def _import(
    splits: dict[str, list[Path]],
    target: PathLike,
    lines_of: Callable[[Path], Iterable[tuple[int, str]]],
    rules: HeadTable,
    dependencies: PathLike | None,
) -> ImportReport:
    """Write the splits of a treebank of constituents; `lines_of` a file are the numbered lines of its trees."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    report = ImportReport()
    table = rules if isinstance(rules, HeadRules) else load_rules(rules)
    for split, files in splits.items():
        trees = _read_trees(files, lines_of, report)
        if dependencies is None:
            pairs = _converted(trees, table)
        else:
            rows = _conll_file(Path(dependencies), split)
            refuse_to_overwrite(folder / f"{split}.conllu", rows)
            pairs = joined(trees, rows)
        report.sentences[split] = write_pairs(
            pairs, folder / f"{split}.ptb", folder / f"{split}.conllu"
        )
    return report


def _read_trees(
    files: Iterable[Path],
    lines_of: Callable[[Path], Iterable[tuple[int, str]]],
    report: ImportReport,
) -> Iterator[tuple[str, ConstituencyTree]]:
    """The trees of Penn-style files without traces, each with its place; a tree of traces only is reported."""
    for path in files:
        for unit in parse_lines(lines_of(path), empties="strip"):
            if unit.tree is None:
                raise FileError(unit.problem or "", path=path, line=unit.line)
            if unit.tree.words:
                yield f"{path}:{unit.line}", unit.tree
            else:
                report.left_out.append(f"{path}:{unit.line}: a tree of empty elements only")


def clean(tree: ConstituencyTree) -> ConstituencyTree:
    """A tree without function tags and features, on labels or on tags (NR-SHORT), below TOP."""
    return tree.without_functions(tags=True).with_wrapper("TOP")


def _converted(trees: Iterable[tuple[str, ConstituencyTree]], rules: HeadRules) -> Iterator[Pair]:
    for place, tree in trees:
        try:
            made, tree = convert(tree, rules), clean(tree)  # function tags decide on relations
            yield Pair(tree, DependencyTree(made.heads, made.relations, tree.words, tree.tags))
        except TreeError as error:
            raise FileError(str(error), path=place) from None


def joined(trees: Iterable[tuple[str, ConstituencyTree]], conll: Path) -> Iterator[Pair]:
    """Trees with the dependencies that another converter made of the same trees in the same order."""
    sentences = read_conll(conll)
    for number, (place, tree) in enumerate(trees, 1):
        found: DependencyTree | None = next(sentences, None)
        if found is None:
            raise FileError(
                f"{conll} ends after {number - 1} sentences, before this tree", path=place
            )
        if list(map(plain, tree.words)) != list(map(plain, found.words)):
            words = f"{' '.join(tree.words)!r} here, {' '.join(found.words)!r} there"
            raise FileError(f"not the words of sentence {number} in {conll}: {words}", path=place)
        arcs = DependencyTree(found.heads, found.relations, tree.words, found.tags, found.upos)
        yield Pair(clean(tree), arcs)
    if next(sentences, None) is not None:
        raise FileError(f"more sentences than the treebank has trees ({number})", path=conll)


def _conll_file(folder: Path, split: str) -> Path:
    endings = itertools.product((".conllu", ".conll", ".conllx"), ("", ".gz", ".xz"))
    paths = (folder / f"{split}{kind}{packed}" for kind, packed in endings)
    if path := next(filter(Path.is_file, paths), None):
        return path
    raise FileError(f"no {split}.conllu or {split}.conll in this folder", path=folder)
