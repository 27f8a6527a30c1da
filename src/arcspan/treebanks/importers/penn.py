"""Importers of the Penn Treebank and the Chinese Treebank, and functions that all importers share.

The Penn treebanks have constituents only. Their dependencies come from head rules, or from CoNLL
files that another converter made (the paper's Stanford dependencies, for one), in a folder with a
file for each split.
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
from arcspan.treebanks.pairs import Pair, plain, write_pairs
from arcspan.treebanks.streams import PathLike, read_lines
from arcspan.trees import ConstituencyTree, DependencyTree, convert
from arcspan.trees.heads import TABLES, HeadRules

HeadTable = PathLike | HeadRules
"""Head rules, or the name or file of their table."""
LineReader = Callable[[Path], Iterable[tuple[int, str]]]
"""A function from a file to the numbered lines of its trees."""

SPLITS = ("train", "dev", "test")
_MARKUP = re.compile(r"</?[A-Za-z][^<>()]*>")

_PTB = re.compile(r"wsj_(?P<number>\d\d)\d\d\.mrg", re.IGNORECASE)
_CTB = re.compile(r"chtb_0*(?P<number>\d+)\.fid", re.IGNORECASE)
_Ranges = dict[str, tuple[tuple[int, int], ...]]
"""Ranges of the numbers in file names by split; both ends are included."""
# Sections of the Wall Street Journal.
_SECTIONS: _Ranges = {"train": ((2, 21),), "dev": ((22, 22),), "test": ((23, 23),)}
# As in Zhang & Clark (2008), "A tale of two parsers".
_NUMBERS: _Ranges = {
    "train": ((1, 815), (1001, 1136)),
    "dev": ((886, 931), (1148, 1151)),
    "test": ((816, 885), (1137, 1147)),
}


@dataclasses.dataclass
class ImportReport:
    """Numbers of imported sentences by split, and a message for each sentence that was left out."""

    sentences: dict[str, int] = dataclasses.field(default_factory=dict)
    left_out: list[str] = dataclasses.field(default_factory=list)


def import_ptb(
    source: PathLike,
    target: PathLike,
    *,
    rules: HeadTable = "ptb",
    dependencies: PathLike | None = None,
) -> ImportReport:
    """Write the splits of the Penn Treebank (LDC99T42); dependencies by `rules` or from files.

    `source` is any folder above the files wsj_SSNN.mrg (such as treebank_3/parsed/mrg/wsj);
    sections 02-21 become train, 22 dev, 23 test, the others are not used.
    """
    splits = _split_files(source, "*.mrg", _PTB, _SECTIONS)

    def numbered_lines(path: Path) -> Iterable[tuple[int, str]]:
        return enumerate(read_lines(path), 1)

    return _import(splits, target, numbered_lines, rules, dependencies)


def import_ctb(
    source: PathLike,
    target: PathLike,
    *,
    rules: HeadTable = "ctb",
    dependencies: PathLike | None = None,
) -> ImportReport:
    """Write the splits of the Chinese Treebank 5.1; dependencies by `rules` or from files.

    `source` is any folder above the files chtb_NNN.fid (such as ctb5.1/data/bracketed), which are
    in GB18030. Copies that were already converted to UTF-8 are read as well.
    """
    splits = _split_files(source, "*.fid", _CTB, _NUMBERS)
    return _import(splits, target, _tree_lines, rules, dependencies)


def load_rules(source: PathLike) -> HeadRules:
    """Load a head table by its name ("ptb", "ctb") or from a file."""
    if source in TABLES:
        return HeadRules.load(str(source))
    path = Path(source)
    try:
        return HeadRules.parse(path.read_text(encoding="utf-8"), name=str(path))
    except OSError as error:
        message = f"no such rules: {error.strerror} (head tables by name: {', '.join(TABLES)})"
        raise FileError(message, path=path) from error
    except UnicodeDecodeError as error:
        raise FileError(f"not a text in UTF-8: {error.reason}", path=path) from error


def _split_files(
    source: PathLike, pattern: str, name: re.Pattern[str], numbers: _Ranges
) -> dict[str, list[Path]]:
    """Return the files below a folder by split, in the order of their names."""
    folder = Path(source)
    if not folder.is_dir():
        raise FileError("not a folder: give the one that holds the treebank", path=folder)
    numbered_paths = []
    # Old distributions have names in capital letters.
    for path in sorted(folder.rglob("*"), key=lambda path: (path.name.lower(), path)):
        match = name.fullmatch(path.name)
        if match and path.is_file():
            numbered_paths.append((int(match["number"]), path))
    splits: dict[str, list[Path]] = {}
    for split, ranges in numbers.items():
        paths = splits[split] = []
        for number, path in numbered_paths:
            if any(least <= number <= most for least, most in ranges):
                paths.append(path)
        if not paths:
            raise FileError(
                f"no {pattern} file of the {split} split below this folder", path=folder
            )
        for first, second in itertools.pairwise(paths):
            if first.name.lower() == second.name.lower():
                message = f"{second.name} is there twice below {folder}"
                raise FileError(f"{message}; give the folder of one copy", path=second)
    return splits


def _tree_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a Chinese Treebank file's trees, without markup and headers."""
    try:
        # GB18030 is never valid UTF-8 by accident for long, while UTF-8 often passes for GB18030.
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
    lines_of: LineReader,
    rules: HeadTable,
    dependencies: PathLike | None,
) -> ImportReport:
    """Write the splits of a treebank of constituents."""
    report = ImportReport()
    # A wrong name of rules is reported before anything is written.
    table = rules if isinstance(rules, HeadRules) else load_rules(rules)
    for split, files in splits.items():
        trees = _read_trees(files, lines_of, report)
        if dependencies is None:
            pairs = _converted(trees, table)
        else:
            conll = _conll_file(Path(dependencies), split)
            refuse_to_overwrite(Path(target, f"{split}.conllu"), conll)
            pairs = joined(trees, conll)
        write_split(pairs, target, split, report)
    return report


def write_split(pairs: Iterable[Pair], target: PathLike, split: str, report: ImportReport) -> None:
    """Write the two files of a split into the folder `target` and count its sentences."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    report.sentences[split] = write_pairs(
        pairs, folder / f"{split}.ptb", folder / f"{split}.conllu"
    )


def _read_trees(
    files: Iterable[Path], lines_of: LineReader, report: ImportReport
) -> Iterator[tuple[str, ConstituencyTree]]:
    """Yield trees without traces, with their files and lines; report empty ones."""
    for path in files:
        for unit in parse_lines(lines_of(path), empties="strip"):
            if unit.tree is None:
                raise FileError(unit.problem or "", path=path, line=unit.line)
            if unit.tree.words:
                yield f"{path}:{unit.line}", unit.tree
            else:
                report.left_out.append(f"{path}:{unit.line}: a tree of empty elements only")


def clean(tree: ConstituencyTree) -> ConstituencyTree:
    """Remove function tags and features, also of tags (NR-SHORT), and put the tree below TOP."""
    return tree.without_functions(tags=True).with_wrapper("TOP")


def _converted(trees: Iterable[tuple[str, ConstituencyTree]], rules: HeadRules) -> Iterator[Pair]:
    """Yield pairs with the dependencies that head rules give."""
    for position, tree in trees:
        try:
            # Before function tags are removed: they decide on relations.
            arcs = convert(tree, rules)
            tree = clean(tree)
            yield Pair(tree, DependencyTree(arcs.heads, arcs.relations, tree.words, tree.tags))
        except TreeError as error:
            raise FileError(str(error), path=position) from None


def joined(trees: Iterable[tuple[str, ConstituencyTree]], conll: Path) -> Iterator[Pair]:
    """Yield pairs with the dependencies that another converter made of the same trees."""
    sentences = read_conll(conll)
    number = 0
    for number, (position, tree) in enumerate(trees, 1):
        arcs: DependencyTree | None = next(sentences, None)
        if arcs is None:
            message = f"{conll} ends after {number - 1} sentences, before this tree"
            raise FileError(message, path=position)
        if list(map(plain, tree.words)) != list(map(plain, arcs.words)):
            words = f"{' '.join(tree.words)!r} here, {' '.join(arcs.words)!r} there"
            message = f"not the words of sentence {number} in {conll}: {words}"
            raise FileError(message, path=position)
        arcs = DependencyTree(arcs.heads, arcs.relations, tree.words, arcs.tags, arcs.upos)
        yield Pair(clean(tree), arcs)
    # Otherwise the files may be of different treebanks.
    if next(sentences, None) is not None:
        raise FileError(f"more sentences than the treebank has trees ({number})", path=conll)


def _conll_file(folder: Path, split: str) -> Path:
    """Return the CoNLL file of a split, which may be compressed."""
    for suffix in (".conllu", ".conll", ".conllx"):
        for compression in ("", ".gz", ".xz"):
            path = folder / f"{split}{suffix}{compression}"
            if path.is_file():
                return path
    raise FileError(f"no {split}.conllu or {split}.conll in this folder", path=folder)
