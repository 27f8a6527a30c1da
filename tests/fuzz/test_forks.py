"""Forks while threads parse: the child parses what the parent does, and ends; so does the parent."""

from __future__ import annotations

import faulthandler
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TOY = Path(__file__).parents[1] / "bundles" / "toy"
TEXT = "Ada sees every tree. Kurt plays here. The dog sees Ada.\n\nEvery dog plays."
QUESTIONS: list[dict[str, Any]] = [
    {},
    {"k": 3},
    {"confidence": True},
    {"require": [("span", 0, 2)]},
]
SECONDS = 60.0  # that a child may take on a machine that is busy


def run(seed: int, rounds: Iterable[object], forks: int = 20) -> Counter[str]:
    counts = Counter[str]()
    for number, _ in enumerate(rounds):
        # In a process of its own: the forks of one that has other threads would test those.
        command = [sys.executable, "-m", __name__, str(seed + number), str(forks)]
        counts.update(
            json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        )
    return counts


def fork(rng: random.Random, parser: Any) -> int:
    """The wait status of a child that asks something; -1 where it hangs."""
    question = rng.choice(QUESTIONS)
    child = os.fork()
    if child == 0:
        status = 1
        faulthandler.dump_traceback_later(SECONDS - 5)  # where it hangs
        try:
            drawn = [parse.error is None and parse.brackets() for parse in parser(TEXT, **question)]
            status = 0 if all(drawn) else 2
        finally:
            os._exit(status)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


def load(parser: Any, question: dict[str, Any], stopped: threading.Event) -> None:
    while not stopped.is_set():
        assert parser(TEXT, **question)


def main(seed: int, forks: int) -> Counter[str]:
    from arcspan.parser import Parser

    rng, counts, stopped = random.Random(seed), Counter[str](), threading.Event()
    while counts["forks"] < forks:
        parser = Parser(
            TOY, threads=rng.choice((1, 2))
        )  # a new one has not parsed yet, so much is still to be made
        stopped.clear()
        threads = [
            threading.Thread(
                target=load, args=(parser, rng.choice(QUESTIONS), stopped), daemon=True
            )
            for _ in range(rng.randrange(1, 4))
        ]
        for thread in threads:
            thread.start()
        for _ in range(rng.randrange(1, 6)):
            time.sleep(rng.choice((0, 0.001, 0.05)))
            status = fork(rng, parser)
            assert status == 0, f"a child ended with {status}; -1: it hung (seed {seed})"
            counts["forks"] += 1
        stopped.set()
        for thread in threads:
            thread.join(SECONDS)
            assert not thread.is_alive(), f"a thread of the parent hung (seed {seed})"
        counts["parsers"] += 1
    return counts


def test_a_fork_beside_threads_that_parse_can_parse() -> None:
    assert run(seed=1, rounds=range(1), forks=6)["forks"] >= 6


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
