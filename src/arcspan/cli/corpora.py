"""Files of trees for commands that read any: bracket files, CoNLL-U, or both side by side.

A bracket file and a CoNLL-U file that differ in the ending of their names alone (a.ptb, a.conllu) are read together.
In CoNLL-U, the comment `# constituency = (TOP ...)` gives the other tree, and consecutive sentences with `# rank = 1`,
`# rank = 2` ... are the best parses of one sentence, weighed by the exponentials of their scores.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from arcspan.errors import ArcspanError, FileError
from arcspan.trees import ConstituencyTree, DependencyTree


class Alternative(NamedTuple):
    """One pair of trees of a sentence, and its share of what is known of the sentence: 1 where it is the only one."""

    weight: float
    constituency: ConstituencyTree | None
    dependencies: DependencyTree | None

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the sentence."""
        tree = self.constituency or self.dependencies
        return () if tree is None else tree.words


class Corpus(NamedTuple):
    """A file of trees, two with the same sentences, or an empty one."""

    brackets: str | None
    conllu: str | None
    name: str

    def sentences(self) -> Iterator[list[Alternative]]:
        """The sentences in order, each with its best parse or its k best."""
        from arcspan.treebanks import read_brackets, read_pairs

        if self.brackets is not None and self.conllu is not None:
            for c, d in read_pairs(self.brackets, self.conllu):
                yield [Alternative(1.0, c, d)]
        elif self.brackets is not None:
            for tree in read_brackets(self.brackets):
                yield [Alternative(1.0, tree, None)]
        elif self.conllu is not None:
            yield from _grouped(_read_conllu(self.conllu))


def corpora(paths: Sequence[str], *, standard_input: str = "brackets") -> list[Corpus]:
    """The files of a command line; `standard_input`: what - holds, "brackets" or "conll"."""
    from arcspan.evaluation.files import kind_of
    from arcspan.treebanks.streams import read_lines

    found: dict[str, Corpus] = {}
    for path in paths:
        if path != "-" and not os.path.exists(path):
            raise FileError("no such file", path=path)
        empty = os.path.isfile(path) and not any(line.strip() for line in read_lines(path))
        if empty:
            found[path] = Corpus(None, None, path)
            continue
        kind = standard_input if path == "-" else kind_of(path)
        stem = str(Path(path).parent / Path(path).name.split(".")[0])
        slot = "conllu" if kind == "conll" else "brackets"
        known = found.get(stem, Corpus(None, None, path))
        if getattr(known, slot) is not None:  # a name that only looks like the same
            stem, known = path, Corpus(None, None, path)
        found[stem] = known._replace(**{slot: path})
    return list(found.values())


def _read_conllu(path: str) -> Iterator[tuple[int | None, float, Alternative]]:
    """Rank, score and trees of every sentence."""
    from arcspan.treebanks.conll import ConlluSentence, parse_block, read_blocks

    for block in read_blocks(path):
        rank, score, tree = None, 0.0, None
        if block.lines[0].startswith("#"):
            comment = ConlluSentence(block.lines).comment
            brackets, place = comment("constituency"), comment("rank")
            try:
                tree = None if brackets is None else ConstituencyTree.from_brackets(brackets)
                rank, score = (None, 0.0) if place is None else (int(place), float(comment("score") or 0))
            except (ArcspanError, ValueError) as error:
                raise FileError(str(error), path=path, line=block.line) from None
        yield rank, score, Alternative(1.0, tree, parse_block(block, path))


def _grouped(ranked: Iterable[tuple[int | None, float, Alternative]]) -> Iterator[list[Alternative]]:
    """The best parses of each sentence together, with weights that sum to one."""
    group: list[tuple[float, Alternative]] = []
    for rank, score, trees in ranked:
        if group and (rank is None or rank == 1):
            yield _weighed(group)
            group = []
        group.append((score, trees))
    if group:
        yield _weighed(group)


def _weighed(group: list[tuple[float, Alternative]]) -> list[Alternative]:
    best = max(score for score, _ in group)
    weights = [math.exp(score - best) for score, _ in group]
    return [
        trees._replace(weight=weight / sum(weights))
        for weight, (_, trees) in zip(weights, group, strict=True)
    ]
