"""The kernels of two checkouts in one run: microseconds per call, and how many times as fast the
second is.

    python benchmarks/versions.py OLD/src NEW/src [--lengths 10 20 40 80 120 200] [--turns 5]
    [--python OLD_PYTHON]

Each version runs in a process of its own, and the two take turns case by case; the best call of
each counts, which other programs disturb least. Scores are random, float32, headed ones packed.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import subprocess
import sys
import time
from typing import Any

KINDS = ("first", "second", "cky", "eisner", "marginals first", "marginals second", "k best")


CALLS: dict[str, Any] = {
    "cky": lambda d, span, arc, lengths, headed, threads: d.cky(span, lengths, threads=threads),
    "eisner": lambda d, span, arc, lengths, headed, threads: d.eisner(
        arc, lengths, threads=threads
    ),
    "first": lambda d, *scores: d.eisner_satta(*scores),
    "second": lambda d, *scores: d.eisner_satta(*scores),
    "marginals": lambda d, *scores: d.marginals(*scores[:4], threads=scores[4]),
    "k": lambda d, span, arc, lengths, headed, threads: d.kbest(
        span, arc, lengths, 10, threads=threads
    ),
}


def serve() -> None:
    """Time the cases that come in, one per line: its kind, words, sentences, threads, seconds."""
    import numpy as np

    from arcspan import decoding

    for line in sys.stdin:
        algorithm, n, count, threads, seconds = json.loads(line)
        rng = np.random.default_rng(n)
        span, arc = rng.standard_normal((2, count, n + 1, n + 1), np.float32)
        headed = None
        if "second" in algorithm:
            headed = rng.standard_normal((count, n * (n + 1) // 2, n + 1), np.float32)
        lengths = [n] * count
        call = functools.partial(
            CALLS[algorithm.split()[0]], decoding, span, arc, lengths, headed, threads
        )
        call()
        best, end = float("inf"), time.perf_counter() + seconds
        while time.perf_counter() < end:
            begin = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - begin)
        print(best, flush=True)


def start(source: str, python: str) -> Any:
    command = [python, __file__, "--serve"]
    environment = {**os.environ, "PYTHONPATH": source}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def ask(process: Any, case: list[object]) -> float:
    print(json.dumps(case), file=process.stdin, flush=True)
    return float(process.stdout.readline())


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("old")
    options.add_argument("new")
    options.add_argument("--lengths", type=int, nargs="*", default=[10, 20, 40, 80, 120, 200])
    options.add_argument("--batches", type=int, nargs="*", default=[1, 16])
    options.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    options.add_argument("--kinds", nargs="*", default=["first", "second"], choices=KINDS)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--seconds", type=float, default=0.1, help="of each version in each turn")
    options.add_argument("--python", default=sys.executable, help="for the old version")
    arguments = options.parse_args()
    versions = start(arguments.old, arguments.python), start(arguments.new, sys.executable)
    print(f"{'kind':18}{'n':>5}{'B':>4}{'threads':>8}{'old':>12}{'new':>12}{'times':>8}")
    for algorithm, count, n, threads in itertools.product(
        arguments.kinds, arguments.batches, arguments.lengths, arguments.threads
    ):
        case = [algorithm, n, count, threads, arguments.seconds]
        times = [[ask(version, case) for version in versions] for _ in range(arguments.turns)]
        old, new = (1e6 * min(column) for column in zip(*times, strict=True))
        print(
            f"{algorithm:18}{n:>5}{count:>4}{threads:>8}{old:>12.1f}{new:>12.1f}{old / new:>8.2f}",
            flush=True,
        )
    for version in versions:
        version.stdin.close()
        version.wait()


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
