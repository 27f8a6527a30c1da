"""What the importers share: cleaning a tree, pairing it with its dependencies, writing a split.

The Penn treebanks have constituents only. Their dependencies come from head rules, or from CoNLL files that
another converter made (the paper's Stanford dependencies, for one), given as a folder with a file for each
split.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from arcspan.errors import FileError, TreeError
from arcspan.treebanks.brackets import parse_lines
from arcspan.treebanks.conll import read_conll
from arcspan.treebanks.pairs import Pair, plain, write_pairs
from arcspan.treebanks.rules import load_rules
from arcspan.trees import ConstituencyTree, DependencyTree, convert

SPLITS = ("train", "dev", "test")


@dataclasses.dataclass
class ImportReport:
    """What an import wrote: sentences by split, and a message for each sentence that was left out."""

    sentences: dict[str, int] = dataclasses.field(default_factory=dict)
    left_out: list[str] = dataclasses.field(default_factory=list)


def split_files(
    source: str | os.PathLike[str], pattern: str, split_of: Callable[[Path], str | None]
) -> dict[str, list[Path]]:
    """The files below a folder, in the order of their names, by split; FileError where a split has none.

    Old distributions name them in capital letters.
    """
    folder = Path(source)
    if not folder.is_dir():
        raise FileError("not a folder: give the one that holds the treebank", path=folder)
    splits: dict[str, list[Path]] = {split: [] for split in SPLITS}
    for path in sorted(folder.rglob("*"), key=lambda path: (path.name.lower(), path)):
        split = split_of(path)
        if split is not None and path.is_file():
            splits[split].append(path)
    for split, files in splits.items():
        if not files:
            raise FileError(f"no {pattern} file of the {split} split below this folder", path=folder)
        twice = [
            second for first, second in itertools.pairwise(files) if first.name.lower() == second.name.lower()
        ]
        if twice:
            raise FileError(
                f"{twice[0].name} is there twice below {folder}; give the folder of one copy", path=twice[0]
            )
    return splits


def import_penn(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    pattern: str,
    split_of: Callable[[Path], str | None],
    lines_of: Callable[[Path], Iterable[tuple[int, str]]],
    *,
    rules: Any,
    dependencies: str | os.PathLike[str] | None,
) -> ImportReport:
    """Write the splits of a treebank of constituents, with dependencies by `rules` or from a folder.

    `split_of` a file is "train", "dev", "test" or None; `lines_of` a file are the numbered lines of its trees.
    """
    splits = split_files(source, pattern, split_of)
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    report = ImportReport()
    if isinstance(rules, str | os.PathLike):
        rules = load_rules(rules)
    for split, files in splits.items():
        trees = _read_trees(files, lines_of, report)
        if dependencies is None:
            pairs = _converted(trees, rules)
        else:
            pairs = joined(trees, _conll_file(Path(dependencies), split))
        report.sentences[split] = write_pairs(pairs, folder / f"{split}.ptb", folder / f"{split}.conllu")
    return report


def _read_trees(
    files: Iterable[Path], lines_of: Callable[[Path], Iterable[tuple[int, str]]], report: ImportReport
) -> Iterator[tuple[str, ConstituencyTree]]:
    """The trees of Penn-style files, without traces, each with its place.

    A tree of traces only is left out and reported; anything that is not a tree is an error.
    """
    for path in files:
        for unit, tree in parse_lines(lines_of(path), empties="strip"):
            if tree is None:
                raise FileError(unit.problem or "", path=path, line=unit.line)
            if tree.words:
                yield f"{path}:{unit.line}", tree
            else:
                report.left_out.append(f"{path}:{unit.line}: a tree of empty elements only")


def clean(tree: ConstituencyTree) -> ConstituencyTree:
    """A tree without function tags and features, on labels or on tags (NR-SHORT), below TOP."""
    return tree.without_functions(tags=True).with_wrapper("TOP")


def _converted(trees: Iterable[tuple[str, ConstituencyTree]], rules: Any) -> Iterator[Pair]:
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
            raise FileError(f"{conll} ends after {number - 1} sentences, before this tree", path=place)
        if list(map(plain, tree.words)) != list(map(plain, found.words)):
            raise FileError(
                f"not the words of sentence {number} in {conll}: {' '.join(tree.words)!r} here, "
                f"{' '.join(found.words)!r} there",
                path=place,
            )
        yield Pair(
            clean(tree), DependencyTree(found.heads, found.relations, tree.words, found.tags, found.upos)
        )
    if next(sentences, None) is not None:
        raise FileError(f"more sentences than the treebank has trees ({number})", path=conll)


def _conll_file(folder: Path, split: str) -> Path:
    for kind, packed in itertools.product((".conllu", ".conll", ".conllx"), ("", ".gz", ".xz")):
        path = folder / f"{split}{kind}{packed}"
        if path.is_file():
            return path
    raise FileError(f"no {split}.conllu or {split}.conll in this folder", path=folder)
