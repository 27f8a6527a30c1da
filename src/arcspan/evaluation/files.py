"""Predictions of any parser, from files: bracket files, CoNLL files, or both side by side.

Gold files must hold trees. A prediction is read with more patience: heads with several roots or a cycle are
no tree, but they can be scored, and other parsers do write them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple

from arcspan.errors import ArcspanError, FileError
from arcspan.evaluation.attachment import Arcs, LooseArcs
from arcspan.evaluation.breakdown import Breakdown, breakdown
from arcspan.evaluation.report import Parts, Report, Scoring, make_report, same_words, score_all
from arcspan.treebanks import read_brackets, read_pairs
from arcspan.treebanks.conll import Block, parse_block, read_blocks
from arcspan.treebanks.streams import read_lines

PathLike = str | os.PathLike[str]

_BRACKET_NAMES = {".ptb", ".mrg", ".brackets", ".bracket", ".prd", ".tree", ".trees"}
_CONLL_NAMES = {".conllu", ".conll", ".conllx"}


class TreeFiles(NamedTuple):
    """The files of one set of trees; one of both may be missing."""

    brackets: PathLike | None
    conll: PathLike | None

    def __str__(self) -> str:
        return " + ".join(os.fspath(path) for path in self if path is not None)


def kind_of(path: PathLike) -> Literal["brackets", "conll"]:
    """Whether a file holds bracketed trees or CoNLL columns: by its name, else by its first line.

    >>> kind_of("test.ptb.xz"), kind_of("test.conllu")
    ('brackets', 'conll')
    """
    suffixes = set(Path(path).suffixes)
    if suffixes & _BRACKET_NAMES:
        return "brackets"
    if suffixes & _CONLL_NAMES:
        return "conll"
    for line in read_lines(path):
        if line.strip():
            return "brackets" if line.lstrip().startswith("(") else "conll"
    raise FileError("the file is empty", path=path)


def group_files(paths: Sequence[PathLike]) -> list[TreeFiles]:
    """The files of a command line as sets of trees: all bracket files, all CoNLL files, or one of each a set.

    >>> group_files(["g.ptb", "g.conllu", "p.ptb", "p.conllu"])[1].conll
    'p.conllu'
    >>> len(group_files(["g.ptb", "p.ptb"]))
    2
    """
    kinds = [kind_of(path) for path in paths]
    if len(set(kinds)) == 1:
        return [TreeFiles(path, None) if kinds[0] == "brackets" else TreeFiles(None, path) for path in paths]
    if len(paths) % 2:
        raise ArcspanError(
            "files come in pairs, a bracket file and a CoNLL file, or are all of one kind; "
            f"here are {kinds.count('brackets')} bracket files and {kinds.count('conll')} CoNLL files"
        )
    groups = []
    for k in range(0, len(paths), 2):
        if kinds[k] == kinds[k + 1]:
            raise FileError(
                f"two {'bracket' if kinds[k] == 'brackets' else 'CoNLL'} files in a row where a bracket file "
                f"and a CoNLL file should go together (with {os.fspath(paths[k])})",
                path=paths[k + 1],
            )
        first, second = paths[k : k + 2] if kinds[k] == "brackets" else (paths[k + 1], paths[k])
        groups.append(TreeFiles(first, second))
    return groups


def read_gold(files: TreeFiles) -> Iterator[Parts]:
    """Gold trees, streamed; empty elements (-NONE-) are left out."""
    if files.brackets is not None and files.conll is not None:
        for pair in read_pairs(files.brackets, files.conll, empties="strip"):
            yield Parts(*pair)
    elif files.brackets is not None:
        for tree in read_brackets(files.brackets, empties="strip"):
            yield Parts(tree, None)
    elif files.conll is not None:
        for block in read_blocks(files.conll):
            yield Parts(None, parse_block(block, files.conll))


def read_predicted(files: TreeFiles) -> Iterator[Parts]:
    """Predicted trees, streamed; heads need not form trees."""
    if files.conll is None:
        yield from read_gold(files)
        return
    arcs = (_arcs(block, files.conll) for block in read_blocks(files.conll))
    if files.brackets is None:
        yield from (Parts(None, one) for one in arcs)
        return
    trees = read_brackets(files.brackets, empties="strip")
    for number, (c, d) in enumerate(zip_longest(trees, arcs), 1):
        if c is None or d is None:
            short, long = (files.brackets, files.conll) if c is None else (files.conll, files.brackets)
            raise FileError(f"sentence {number} has no partner: {os.fspath(short)} ends before it", path=long)
        try:
            same_words(c.words, d.words, number, ("the bracket file", "the CoNLL file"))
        except ArcspanError as error:
            raise FileError(str(error), path=str(files)) from None
        yield Parts(c, d)


def _arcs(block: Block, path: PathLike) -> Arcs:
    """The tree of a block, or its columns where the heads form none."""
    try:
        return parse_block(block, path)
    except FileError:
        rows = [line.split("\t") for line in block.lines if not line.startswith("#")]
        rows = [row for row in rows if row[0].isdecimal()]
        if any(len(row) != 10 or not row[6].isdecimal() for row in rows):
            raise
        if [int(row[0]) for row in rows] != list(range(1, len(rows) + 1)):
            raise
        heads = tuple(int(row[6]) for row in rows)
        if max(heads, default=0) > len(rows):
            raise
        bare = [["" if cell == "_" else cell for cell in row] for row in rows]
        return LooseArcs(
            words=tuple(row[1] for row in rows),
            heads=heads,
            relations=tuple(row[7] for row in rows),
            tags=tuple(row[4] for row in bare),
            upos=tuple(row[3] for row in bare),
        )


def evaluate_files(gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None) -> Report:
    """Score files; a difference between them is a FileError that names the prediction and the first place."""
    scoring = scoring or Scoring()
    with _named(predicted):
        return make_report(score_all(read_gold(gold), read_predicted(predicted), scoring), scoring)


def breakdown_files(gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None) -> Breakdown:
    """The breakdown of files; see `evaluate_files`."""
    with _named(predicted):
        return breakdown(read_gold(gold), read_predicted(predicted), scoring)


@contextlib.contextmanager
def _named(predicted: TreeFiles) -> Iterator[None]:
    """Say which prediction an error is about."""
    try:
        yield
    except FileError:
        raise
    except ArcspanError as error:
        raise FileError(str(error), path=str(predicted)) from None
