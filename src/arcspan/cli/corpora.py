"""Input of the commands that read any trees: bracket files, CoNLL-U files, pairs, and texts.

A bracket file and a CoNLL-U file that differ in the ending of their names alone (a.ptb, a.conllu)
are read together. In CoNLL-U, consecutive sentences with `# rank = 1`, `# rank = 2` ... are the
best parses of one sentence, weighted by the probabilities that `# score` and `# temperature` give.
Texts are parsed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arcspan.cli.reading import Reader
from arcspan.errors import FileError
from arcspan.treebanks import ConlluSentence, Pair
from arcspan.treebanks.pairs import read_entries
from arcspan.treebanks.streams import read_lines
from arcspan.treebanks.tree_files import kind_of

if TYPE_CHECKING:
    from arcspan.parser import Parser

Alternative = tuple[float, Pair]
"""One pair of trees of a sentence, and its share of all that are known: 1 for the only one."""


class RankedPair(NamedTuple):
    """A pair of trees, with its rank among the parses of its sentence and its log-probability.

    The latter is up to a constant of the sentence: its score, divided by the model's temperature.
    """

    rank: int | None
    log_weight: float
    pair: Pair


class Corpus(NamedTuple):
    """A file of trees, two with the same sentences, or an empty one."""

    brackets: str | None
    conllu: str | None
    name: str

    def sentences(self) -> Iterator[list[Alternative]]:
        """Yield the sentences in order, each with its best parse or its k best."""
        if self.brackets or self.conllu:
            yield from _grouped(self._ranked_pairs())

    def _ranked_pairs(self) -> Iterator[RankedPair]:
        for entry in read_entries(self.brackets, self.conllu):
            rank, log_weight = None, 0.0
            # Bracket files have no ranks, so a pair of files has one parse per sentence.
            if self.brackets is None and entry.sentence is not None:
                rank, log_weight = _rank_and_log_weight(entry.sentence)
            yield RankedPair(rank, log_weight, entry.checked())


def _rank_and_log_weight(sentence: ConlluSentence) -> tuple[int | None, float]:
    """Read the comments `# rank`, `# score` and `# temperature`; (None, 0.0) without rank or score."""
    try:
        rank = int(sentence.comment("rank") or "")
        score = float(sentence.comment("score") or "")
    except ValueError:  # no such comments, or another program's
        return None, 0.0
    if not math.isfinite(score):
        return None, 0.0
    return rank, score / sentence.temperature


def corpora(paths: Sequence[str], *, standard_input: str = "brackets") -> list[Corpus]:
    """Return the corpora of a command line; "-" holds `standard_input`, "brackets" or "conll"."""
    by_stem: dict[str, Corpus] = {}
    for path in paths:
        if path != "-" and not os.path.exists(path):
            raise FileError("no such file", path=path)
        if os.path.isfile(path) and not any(line.strip() for line in read_lines(path)):
            by_stem[path] = Corpus(None, None, path)
            continue
        layout = standard_input if path == "-" else kind_of(path)
        slot = "conllu" if layout == "conll" else "brackets"
        stem = str(Path(path).parent / Path(path).name.split(".")[0])
        corpus = by_stem.get(stem, Corpus(None, None, path))
        # Two files of the same layout whose names only look like a pair.
        if getattr(corpus, slot) is not None:
            stem = path
            corpus = Corpus(None, None, path)
        by_stem[stem] = corpus._replace(**{slot: path})
    return list(by_stem.values())


def parsed(path: str, parser: Parser, k: int | None) -> Iterator[list[Alternative]]:
    """Yield the sentences of a text with their best parses, or the k best."""
    _, items = Reader("text").read(parser, path)
    parses = parser.pipe((item.content for item in items), k=k)
    return _grouped(
        RankedPair(parse.rank, parse.score / parse.temperature, Pair(*parse.trees))  # type: ignore[arg-type]
        for parse in parses
    )


def _grouped(ranked: Iterable[RankedPair]) -> Iterator[list[Alternative]]:
    """Yield the parses of each sentence together, with weights that sum to one."""
    group: list[RankedPair] = []
    for parse in ranked:
        # Rank 1, or none, begins another sentence.
        if group and parse.rank in (None, 1):
            yield _weighted(group)
            group = []
        group.append(parse)
    if group:
        yield _weighted(group)


def _weighted(group: Sequence[RankedPair]) -> list[Alternative]:
    # Subtracting the highest keeps the exponentials in range.
    highest = max(parse.log_weight for parse in group)
    weights = [math.exp(parse.log_weight - highest) for parse in group]
    total = sum(weights)
    return [(weight / total, parse.pair) for weight, parse in zip(weights, group, strict=True)]
