"""Read a paired treebank with arcspan, and with nltk and conllu, in turns on the same files.

    python benchmarks/read_pairs.py TREEBANKS/craft/train.ptb.xz TREEBANKS/craft/train.conllu.xz

Exit code 1 when arcspan takes more than a third of the others' time (--at-most). Both sides end
with the trees of every sentence in hand; arcspan also checks them and compares the words.
"""

from __future__ import annotations

import argparse
import gc
import json
import lzma
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import conllu
import nltk

from arcspan.treebanks import read_pairs


def read_with_arcspan(brackets: Path, conll: Path) -> int:
    return sum(1 for _ in read_pairs(brackets, conll))


def read_with_peers(brackets: Path, conll: Path) -> int:
    trees = sentences = 0
    with lzma.open(brackets, "rt", encoding="utf-8") as file:
        for line in file:
            nltk.Tree.fromstring(line)
            trees += 1
    with lzma.open(conll, "rt", encoding="utf-8") as file:
        for _ in conllu.parse_incr(file):
            sentences += 1
    assert trees == sentences
    return trees


def seconds(read: Callable[[Path, Path], int], brackets: Path, conll: Path) -> tuple[float, int]:
    gc.collect()
    start = time.process_time()
    count = read(brackets, conll)
    return time.process_time() - start, count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("brackets", type=Path, help="an .xz bracket file, one tree per line")
    parser.add_argument("conll", type=Path, help="an .xz CoNLL-U file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--at-most", type=float, default=1 / 3, help="the part of the others' time that is allowed"
    )
    arguments = parser.parse_args()
    ours, theirs, count = [], [], 0
    for _ in range(arguments.rounds):
        time_of_ours, count = seconds(read_with_arcspan, arguments.brackets, arguments.conll)
        time_of_theirs, other = seconds(read_with_peers, arguments.brackets, arguments.conll)
        assert count == other
        ours.append(time_of_ours)
        theirs.append(time_of_theirs)
    ratio = statistics.median(ours) / statistics.median(theirs)
    result = {
        "sentences": count,
        "arcspan_seconds": round(statistics.median(ours), 2),
        "nltk_and_conllu_seconds": round(statistics.median(theirs), 2),
        "ratio": round(ratio, 3),
        "nltk": version("nltk"),
        "conllu": version("conllu"),
    }
    print(json.dumps(result, indent=2))
    return int(ratio > arguments.at_most)


if __name__ == "__main__":
    sys.exit(main())
