"""Keep the compatible sentences of a pair of files as they stand, comments and all columns included."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from arcspan.treebanks.pairs import Aligned, ReadingReport, read_aligned
from arcspan.treebanks.streams import Source, name_of, open_output
from arcspan.trees import compatible


@dataclasses.dataclass
class FilterReport(ReadingReport):
    """What `filter_pairs` wrote and left out, and why."""

    written: int = 0
    incompatible: int = 0
    wrong_length: int = 0


def filter_pairs(
    brackets_path: Source,
    conll_path: Source,
    brackets_out: Source,
    conll_out: Source,
    *,
    mismatch: Literal["strict", "skip"] = "strict",
    lengths: tuple[int, int | None] = (1, None),
    watch: Callable[[Iterable[Aligned], str], Iterator[Aligned]] | None = None,
) -> FilterReport:
    """Write the sentences whose trees fit each other, with as many words as `lengths` (least, most) allows.

    `watch` wraps the places that are read, for a progress bar.
    """
    report = FilterReport()
    least, most = lengths
    places: Iterable[Aligned] = read_aligned(brackets_path, conll_path)
    if watch is not None:
        places = watch(places, name_of(brackets_path))
    with open_output(brackets_out) as brackets, open_output(conll_out) as conll:
        for place in places:
            if place.pair is None or place.unit is None or place.block is None:
                if mismatch == "strict":
                    raise place.problems[0].error()
                report.skip(place)
                continue
            report.read += 1
            n = len(place.pair.dependencies)
            if n < least or (most is not None and n > most):
                report.wrong_length += 1
            elif not compatible(*place.pair):
                report.incompatible += 1
            else:
                report.written += 1
                # Several lines become one: between brackets all white space is the same.
                brackets.write(" ".join(place.unit.text.split("\n")) + "\n")
                conll.write("\n".join(place.block.lines) + "\n\n")
    return report
