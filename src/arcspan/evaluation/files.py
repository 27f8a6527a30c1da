"""Predictions of any parser, from files: bracket files, CoNLL files, both side by side, or one file with both trees.

Heads with several roots or a cycle do not form a tree, but they can be scored: some treebanks have them, and some
parsers write them. Every gold sentence counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from arcspan.errors import ArcspanError, FileError
from arcspan.evaluation.breakdown import Breakdown, breakdown
from arcspan.evaluation.report import Report, make_report
from arcspan.evaluation.scoring import Scoring
from arcspan.treebanks import Pair, read_pairs
from arcspan.treebanks.files import TreeFiles


def read_files(files: TreeFiles) -> Iterator[Pair]:
    """The trees of files, streamed; empty elements (-NONE-) are left out, and heads need not form trees."""
    return read_pairs(*files, heads="any", empties="strip")


def evaluate_files(gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None) -> Report:
    """Score files; a difference between them is a FileError that names the prediction and the first place."""
    with _named(predicted):
        return make_report(read_files(gold), read_files(predicted), scoring or Scoring())


def breakdown_files(gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None) -> Breakdown:
    """The breakdown of files; see `evaluate_files`."""
    with _named(predicted):
        return breakdown(read_files(gold), read_files(predicted), scoring)


@contextlib.contextmanager
def _named(predicted: TreeFiles) -> Iterator[None]:
    """Say which prediction an error is about."""
    try:
        yield
    except FileError:
        raise
    except ArcspanError as error:
        raise FileError(str(error), path=str(predicted)) from None
