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
from arcspan.treebanks.brackets import Unit, parse_lines
from arcspan.treebanks.conll import read_conll
from arcspan.treebanks.pairs import Pair, plain, write_pairs
from arcspan.trees import ConstituencyTree, DependencyTree, convert, load_rules
from arcspan.trees.constituency import strip_function

SPLITS = ("train", "dev", "test")


@dataclasses.dataclass
class Imported:
    """What an import wrote: sentences by split, and a message for each sentence that was left out."""

    sentences: dict[str, int] = dataclasses.field(default_factory=dict)
    left_out: list[str] = dataclasses.field(default_factory=list)


def split_files(
    source: str | os.PathLike[str], pattern: str, split_of: Callable[[Path], str | None]
) -> dict[str, list[Path]]:
    """The files below a folder, in the order of their names, by split; FileError where a split has none."""
    folder = Path(source)
    if not folder.is_dir():
        raise FileError("not a folder: give the one that holds the treebank", path=folder)
    splits: dict[str, list[Path]] = {split: [] for split in SPLITS}
    for path in sorted(folder.rglob(pattern), key=lambda path: (path.name, path)):
        split = split_of(path)
        if split is not None:
            splits[split].append(path)
    for split, files in splits.items():
        if not files:
            raise FileError(f"no {pattern} file of the {split} split below this folder", path=folder)
        twice = [second for first, second in itertools.pairwise(files) if first.name == second.name]
        if twice:
            raise FileError(
                f"{twice[0].name} is there twice below {folder}; give the folder of one copy", path=twice[0]
            )
    return splits


def clean_trees(
    path: Path, lines: Iterable[tuple[int, str]], report: Imported, *, clean_tags: bool = False
) -> Iterator[tuple[Unit, ConstituencyTree]]:
    """The trees of a Penn-style file without function tags, traces and features, below TOP.

    A tree of traces only is left out, and told to `report`; anything that is no tree is an error.
    """
    for unit, tree in parse_lines(lines, empties="strip"):
        if tree is None:
            raise FileError(unit.problem or "", path=path, line=unit.line)
        if not tree.words:
            report.left_out.append(f"{path}:{unit.line}: a tree of empty elements only")
            continue
        yield unit, clean(tree, tags=clean_tags)


def clean(tree: ConstituencyTree, *, tags: bool) -> ConstituencyTree:
    """A tree without function tags on its labels (and on its tags, where asked), below TOP."""
    tree = tree.without_functions()
    if tags:
        tree = ConstituencyTree(tree.words, map(strip_function, tree.tags), tree.spans)
    return tree.with_wrapper("TOP")


def write_converted(
    splits: dict[str, Callable[[Imported], Iterator[tuple[str, ConstituencyTree]]]],
    target: str | os.PathLike[str],
    *,
    rules: Any,
    dependencies: str | os.PathLike[str] | None,
) -> Imported:
    """Write every split's trees (with their places, for messages) and their dependencies below `target`."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    report = Imported()
    if isinstance(rules, str | os.PathLike):
        rules = load_rules(rules)
    for split, read in splits.items():
        trees = read(report)
        if dependencies is None:
            pairs = _converted(trees, rules)
        else:
            pairs = _joined(trees, _conll_file(Path(dependencies), split))
        report.sentences[split] = write_pairs(pairs, folder / f"{split}.ptb", folder / f"{split}.conllu")
    return report


def _converted(trees: Iterable[tuple[str, ConstituencyTree]], rules: Any) -> Iterator[Pair]:
    for place, tree in trees:
        try:
            yield Pair(tree, convert(tree, rules))
        except TreeError as error:
            raise FileError(str(error), path=place) from None


def _joined(trees: Iterable[tuple[str, ConstituencyTree]], conll: Path) -> Iterator[Pair]:
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
        yield Pair(tree, DependencyTree(found.heads, found.relations, tree.words, found.tags, found.upos))
    if next(sentences, None) is not None:
        raise FileError(f"more sentences than the treebank has trees ({number})", path=conll)


def _conll_file(folder: Path, split: str) -> Path:
    endings = [
        f"{kind}{packed}" for kind in (".conllu", ".conll", ".conllx") for packed in ("", ".gz", ".xz")
    ]
    for ending in endings:
        path = folder / f"{split}{ending}"
        if path.is_file():
            return path
    raise FileError(f"no {split}.conllu or {split}.conll in this folder", path=folder)
