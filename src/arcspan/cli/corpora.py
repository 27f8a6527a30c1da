"""Files of trees for commands that read any: bracket files, CoNLL-U, or both side by side; and texts, which are parsed.

A bracket file and a CoNLL-U file that differ in the ending of their names alone (a.ptb, a.conllu) are read together. In
CoNLL-U, consecutive sentences with `# rank = 1`, `# rank = 2` ... are the best parses of one sentence, weighed by the
exponentials of their scores.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arcspan.cli.reading import Reader
from arcspan.errors import FileError
from arcspan.treebanks import Pair
from arcspan.treebanks.files import kind_of
from arcspan.treebanks.pairs import read_places
from arcspan.treebanks.streams import read_lines

if TYPE_CHECKING:
    from arcspan.parser import Parser

Alternative = tuple[float, Pair]
"""One pair of trees of a sentence, and its share of what is known of the sentence: 1 where it is the only one."""


class Corpus(NamedTuple):
    """A file of trees, two with the same sentences, or an empty one."""

    brackets: str | None
    conllu: str | None
    name: str

    def sentences(self) -> Iterator[list[Alternative]]:
        """The sentences in order, each with its best parse or its k best."""

        def ranked() -> Iterator[tuple[int | None, float, Pair]]:
            for place in read_places(self.brackets, self.conllu):
                rank, score = None, 0.0
                if self.brackets is None and place.sentence is not None:
                    with contextlib.suppress(ValueError):  # no such comments, or another program's
                        said = (place.sentence.comment(name) or "" for name in ("rank", "score"))
                        numbers = int(next(said)), float(next(said))
                        if math.isfinite(numbers[1]):
                            rank, score = numbers
                yield rank, score, place.checked()

        return _grouped(ranked()) if self.brackets or self.conllu else iter(())


def corpora(paths: Sequence[str], *, standard_input: str = "brackets") -> list[Corpus]:
    """The files of a command line; `standard_input`: what - holds, "brackets" or "conll"."""
    found: dict[str, Corpus] = {}
    for path in paths:
        if path != "-" and not os.path.exists(path):
            raise FileError("no such file", path=path)
        if os.path.isfile(path) and not any(line.strip() for line in read_lines(path)):
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


def parsed(path: str, parser: Parser, k: int | None) -> Iterator[list[Alternative]]:
    """The sentences of a text with their best parses, or the k best."""
    _, items = Reader("text").read(parser, path)
    found = parser.pipe((item.content for item in items), k=k)
    return _grouped((parse.rank, parse.score, Pair(*parse.trees)) for parse in found)  # type: ignore[arg-type]


def _grouped(ranked: Iterable[tuple[int | None, float, Pair]]) -> Iterator[list[Alternative]]:
    """The best parses of each sentence together, with weights that sum to one."""
    begun = 0

    def number(one: tuple[int | None, float, Pair]) -> int:
        """Which sentence it is of: rank 1, or none, begins another."""
        nonlocal begun
        begun += one[0] in (None, 1)
        return begun

    for _, group in itertools.groupby(ranked, number):
        _, scores, pairs = zip(*group, strict=True)
        weights = [math.exp(score - max(scores)) for score in scores]
        yield [(own / sum(weights), pair) for own, pair in zip(weights, pairs, strict=True)]
