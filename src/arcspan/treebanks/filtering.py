"""Keep some sentences of a treebank as they stand, comments and all columns included."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from arcspan.treebanks.pairs import Pair, Place, ReadingReport, read_places
from arcspan.treebanks.streams import Source, name_of, open_outputs
from arcspan.trees import compatible


@dataclasses.dataclass
class FilterReport(ReadingReport):
    """What `filter_pairs` wrote and left out, and why."""

    written: int = 0
    incompatible: int = 0
    wrong_length: int = 0
    other_documents: int = 0


def filter_pairs(
    brackets: Source | None,
    conll: Source | None,
    brackets_out: Source | None,
    conll_out: Source | None,
    *,
    mismatch: Literal["strict", "skip"] = "strict",
    lengths: tuple[int, int | None] = (1, None),
    incompatible: bool = False,
    keep: Callable[[Sequence[str]], bool] | None = None,
    watch: Callable[[Iterable[Place], str], Iterator[Place]] | None = None,
) -> FilterReport:
    """Write the sentences of a pair of files, or of a single file, that pass.

    mismatch      what to do with a sentence that is not a pair
    lengths       the least and the most words
    incompatible  keep also sentences whose trees do not fit each other
    keep          asked about each sentence's lines in the CoNLL file (see `DocumentFilter`)
    watch         wraps the places that are read, for a progress bar
    """
    report = FilterReport()
    least, most = lengths
    places: Iterable[Place] = read_places(brackets, conll)
    if watch is not None:
        places = watch(places, name_of(brackets or conll or ""))
    with open_outputs(brackets_out, conll_out) as (trees, rows):
        for place in places:
            if keep is not None and place.block is not None and not keep(place.block.lines):
                report.other_documents += 1
                continue
            if place.pair is None:
                if mismatch == "strict":
                    raise place.problems[0].error()
                report.skip(place)
                continue
            report.read += 1
            n = len(place.pair.words)
            if n < least or (most is not None and n > most):
                report.wrong_length += 1
                continue
            if not incompatible and not _fits(place.pair):
                report.incompatible += 1
                continue
            report.written += 1
            if trees is not None and place.unit is not None:
                # Several lines become one: between brackets all white space is the same.
                trees.write(" ".join(place.unit.text.split("\n")) + "\n")
            if rows is not None and place.block is not None:
                rows.write("\n".join(place.block.lines) + "\n\n")
    return report


def _fits(pair: Pair) -> bool:
    """Whether the two trees are compatible, where there are two."""
    return pair.constituency is None or pair.dependencies is None or compatible(*pair)
