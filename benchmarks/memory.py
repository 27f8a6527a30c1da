"""The most memory that parsing takes: ordinary sentences, one long sentence, one that must be
parsed in pieces.

    python benchmarks/memory.py ../shared/treebanks/gum/dev.conllu.xz

Each in a process of its own, whose peak resident size the system reports.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import time

from arcspan.parser import Parser
from arcspan.treebanks import read_conll

CASES = {"1000 sentences": 250, "500 words": 2000, "3000 words": 2000}  # the most, in MB


def measure(case: str, treebank: str, model: str | None) -> None:
    sentences = (tree.words for tree in read_conll(treebank))
    count, unit = case.split()
    if unit == "sentences":
        inputs = list(itertools.islice(sentences, int(count)))
    else:
        inputs = [tuple(itertools.islice(itertools.chain.from_iterable(sentences), int(count)))]
    start, used = time.perf_counter(), time.process_time()
    parses = list(Parser(model).pipe(inputs))
    elapsed, used = time.perf_counter() - start, time.process_time() - used
    for parse in parses:
        assert len(parse.constituency) == len(parse.dependencies) == len(parse.words)
        assert parse.error is None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    how = "in pieces" if parses[0].approximate else "exactly"
    print(
        f"{case:15} {peak:6.0f} MB  (limit {CASES[case]})  {elapsed:6.1f} s, CPU {used:5.1f} s, parsed {how}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("treebank", help="a CoNLL-U file")
    options.add_argument("--model", help="a bundle; default: the English model inside")
    options.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.case:
        measure(arguments.case, arguments.treebank, arguments.model)
        return
    for case in CASES:
        subprocess.run([sys.executable, *sys.argv, "--case", case], check=True)


if __name__ == "__main__":
    main()
