"""Sentences per second of queries over files of trees, on one core.

    python benchmarks/queries.py                       GUM's training part from $ARCSPAN_TREEBANKS
    python benchmarks/queries.py a.ptb a.conllu        your own files

For each query: over trees in memory, and with reading the file.
"""

from __future__ import annotations

import lzma
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from arcspan.syntax import TreeQuery
from arcspan.treebanks import read_brackets, read_conll

BRACKETS = (
    "NP < PP",
    "NP < (PP < (IN < of))",
    "S < (NP $. VP)",
    "VP << /^VB/",
    "VP=v < NP=n",
    "VP <# MD",
    "NP",
)
WORDS = ("{lemma:see} >obj {}", "{upos:VERB} >nsubj {}=who >obj {}=what", "{} >>nsubj:pass {}")


def speed(work: Callable[[], int]) -> tuple[int, float]:
    """What it gives, and the CPU time that it takes, the best of three."""
    best = 1e9
    for _ in range(3):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return result, best


def main() -> None:
    """Print a table."""
    files = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        if not files:
            gum = Path(os.environ.get("ARCSPAN_TREEBANKS", "../shared/treebanks")) / "gum"
            for suffix in ("ptb", "conllu"):
                files.append(f"{folder}/gum.{suffix}")
                Path(files[-1]).write_bytes(
                    lzma.decompress((gum / f"train.{suffix}.xz").read_bytes())
                )
        print(
            f"{'query':42} {'matches':>8} {'in memory':>10} {'from file':>10}  (sentences per second)"
        )
        readers: tuple[Callable[[str], Iterable[Any]], ...] = (read_brackets, read_conll)
        for path, reader, patterns in zip(files, readers, (BRACKETS, WORDS), strict=True):
            trees = list(reader(path))
            for pattern in patterns:
                query = TreeQuery(pattern)
                matches, memory = speed(lambda: sum(len(query.find(tree)) for tree in trees))  # noqa: B023
                _, file = speed(lambda: sum(len(query.find(tree)) for tree in reader(path)))  # noqa: B023
                print(
                    f"{pattern:42} {matches:8} {len(trees) / memory:10.0f} {len(trees) / file:10.0f}"
                )


if __name__ == "__main__":
    main()
