"""Predictions of any parser, from files: bracket files, CoNLL files, or both side by side.

Heads with several roots or a cycle do not form a tree, but they can be scored: some treebanks have them, and some
parsers write them. Every gold sentence counts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from arcspan.errors import ArcspanError, FileError
from arcspan.evaluation.attachment import Arcs, LooseArcs
from arcspan.evaluation.breakdown import Breakdown, breakdown
from arcspan.evaluation.report import Report, make_report
from arcspan.evaluation.scoring import Parts, Scoring, score_all
from arcspan.treebanks import read_brackets
from arcspan.treebanks.conll import Block, block_columns, parse_block, read_blocks
from arcspan.treebanks.pairs import Aligned, plain, read_aligned
from arcspan.treebanks.streams import read_lines
from arcspan.trees import ConstituencyTree

PathLike = str | os.PathLike[str]

_BRACKET_NAMES = {".ptb", ".mrg", ".brackets", ".bracket", ".prd", ".tree", ".trees"}
_CONLL_NAMES = {".conllu", ".conll", ".conllx"}


class TreeFiles(NamedTuple):
    """The files of one set of trees; one of the two may be missing."""

    brackets: PathLike | None
    conll: PathLike | None

    def __str__(self) -> str:
        return " + ".join(os.fspath(path) for path in self if path is not None)


def named_kind(path: PathLike) -> Literal["brackets", "conll"] | None:
    """What a file's name says of its content, by its last suffix that says anything.

    >>> named_kind("a.ptb.conllu.xz"), named_kind("a.MRG"), named_kind("a.txt")
    ('conll', 'brackets', None)
    """
    for suffix in reversed(Path(path).suffixes):
        if suffix.lower() in _BRACKET_NAMES:
            return "brackets"
        if suffix.lower() in _CONLL_NAMES:
            return "conll"
    return None


def kind_of(path: PathLike) -> Literal["brackets", "conll"]:
    """Whether a file holds bracketed trees or CoNLL columns: by its name, else by its first line.

    >>> kind_of("test.ptb.xz"), kind_of("test.conllu")
    ('brackets', 'conll')
    """
    if (named := named_kind(path)) is not None:
        return named
    if Path(path).exists() and not Path(path).is_file():  # a look inside would be lost to the reader
        raise FileError("a pipe is read once: its name must tell what is in it (.ptb or .conllu)", path=path)
    for line in read_lines(path):
        if line.strip():
            return "brackets" if line.lstrip().startswith("(") else "conll"
    raise FileError("the file is empty", path=path)


def group_files(paths: Sequence[PathLike]) -> list[TreeFiles]:
    """The files of a command line as sets of trees: all bracket files, all CoNLL files, or one of each per set.

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


def read_parts(files: TreeFiles) -> Iterator[Parts]:
    """The trees of files, streamed; empty elements (-NONE-) are left out, and heads need not form trees."""
    if files.brackets is not None and files.conll is not None:
        for place in read_aligned(files.brackets, files.conll, empties="strip"):
            yield Parts(*place.pair) if place.pair is not None else _loose_pair(place, files)
    elif files.brackets is not None:
        yield from (Parts(tree, None) for tree in read_brackets(files.brackets, empties="strip"))
    elif files.conll is not None:
        yield from (Parts(None, _arcs(block, files.conll)) for block in read_blocks(files.conll))


def _loose_pair(place: Aligned, files: TreeFiles) -> Parts:
    """A pair whose heads do not form a tree; an error where that is not all that is wrong with it."""
    if place.unit is None or place.block is None or [one.kind for one in place.problems] != ["columns"]:
        raise place.problems[0].error()
    constituency = ConstituencyTree.from_brackets(place.unit.text, empties="strip")
    arcs = _arcs(place.block, str(files.conll))
    if [*map(plain, constituency.words)] != [*map(plain, arcs.words)]:
        what = f"the words are not those of the tree at {os.fspath(files.brackets or '')}:{place.unit.line}"
        raise FileError(what, path=files.conll, line=place.block.line)
    return Parts(constituency, arcs)


def _arcs(block: Block, path: PathLike) -> Arcs:
    """The tree of a block, or its columns where the heads do not form one."""
    try:
        return parse_block(block, path)
    except FileError:
        heads, relations, words, tags, upos, lemmas, features = block_columns(block, path)
        if max(heads, default=0) > len(heads):
            raise
        return LooseArcs(words, heads, relations, tags, upos, lemmas, features)


def evaluate_files(gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None) -> Report:
    """Score files; a difference between them is a FileError that names the prediction and the first place."""
    scoring = scoring or Scoring()
    with _named(predicted):
        return make_report(score_all(read_parts(gold), read_parts(predicted), scoring), scoring)


def breakdown_files(gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None) -> Breakdown:
    """The breakdown of files; see `evaluate_files`."""
    with _named(predicted):
        return breakdown(read_parts(gold), read_parts(predicted), scoring)


@contextlib.contextmanager
def _named(predicted: TreeFiles) -> Iterator[None]:
    """Say which prediction an error is about."""
    try:
        yield
    except FileError:
        raise
    except ArcspanError as error:
        raise FileError(str(error), path=str(predicted)) from None
