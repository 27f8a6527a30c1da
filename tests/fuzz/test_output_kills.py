"""Kills of commands that write several files: `treebank complete`, and `export` over an existing bundle.

At any moment each file, or the bundle, is the old one or the new one, whole; and whoever tries again succeeds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.toy import toy_pairs, write_toy

TOY = Path(__file__).parents[1] / "bundles" / "toy"
OLD = "what was here before\n"


def run(seed: int, rounds: Iterable[object], kills: int = 20) -> Counter[str]:
    counts = Counter[str]()
    for number, _ in enumerate(rounds):
        # In a process of its own, which forks before torch has any threads: nothing is imported twice.
        command = [sys.executable, "-m", __name__, str(seed + number), str(kills)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        counts.update(json.loads(done.stdout))
    return counts


def in_a_fork(work: Callable[[], object], alarm: float) -> int:
    """The wait status of a process that works, and dies after so many seconds (0: lives) wherever it is."""
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, alarm)  # whose signal nobody handles
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def kill_again_and_again(
    name: str, work: Callable[[], object], check: Callable[[], str], rng: random.Random, kills: int
) -> Counter[str]:
    """Kill the work so many times, wherever it is; `check` names the state that a kill leaves, if it is a good one."""
    counts = Counter[str]()
    begin = time.monotonic()
    assert in_a_fork(work, 0) == 0
    took = time.monotonic() - begin
    assert check() == "new"
    while counts[f"kills of {name}"] < kills:
        # Half of them near the end, where files take their places.
        status = in_a_fork(
            work, took * (rng.uniform(0.01, 1) if rng.random() < 0.5 else rng.uniform(0.9, 1.05))
        )
        assert status in (0, signal.SIGALRM), f"{name} failed: {status}"
        counts[f"kills of {name}" if status else f"{name} that was done before"] += 1
        counts[f"{name}: {check()}"] += 1
    assert in_a_fork(work, 0) == 0
    assert check() == "new"
    return counts


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def main(seed: int, kills: int) -> Counter[str]:
    import accelerate  # noqa: F401

    from arcspan.cli import run as arcspan
    from arcspan.training import read_config, train
    from arcspan.training.export import export
    from tests.training.test_training import configure

    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        pairs = toy_pairs(60, seed=seed)
        source, outputs = (
            write_toy(work, "toy", pairs)["conll"],
            (work / "new.ptb", work / "new.conllu"),
        )
        call = [
            "-q",
            "treebank",
            "complete",
            "-m",
            str(TOY),
            source,
            *map(str, outputs),
            "--threads",
            "1",
        ]
        new_contents: list[str] = []

        def complete() -> None:
            assert arcspan(call) == 0

        def check_files() -> str:
            contents_after = [file.read_text() for file in outputs]
            new_contents.extend(contents_after if not new_contents else [])
            for text, new, file in zip(contents_after, new_contents, outputs, strict=True):
                assert text in (OLD, new), f"{file.name} is neither the old one nor the new one"
                file.write_text(OLD)
            return {0: "old", 1: "one of the two", 2: "new"}[
                len(contents_after) - contents_after.count(OLD)
            ]

        counts = kill_again_and_again("complete", complete, check_files, rng, kills)

        bundle, new = work / "bundle", dict[str, bytes]()
        config = read_config(configure(work, pairs[:12], training__epochs=1))
        assert in_a_fork(lambda: train(config, say=lambda line: None, bars=False), 0) == 0
        shutil.copytree(TOY, bundle)

        def check_bundle() -> str:
            aside = [
                folder / "bundle"
                for folder in work.glob(".bundle.*")
                if (folder / "bundle").is_dir()
            ]
            contents_after, state = contents(bundle if bundle.is_dir() else aside[0]), "old"
            if contents_after != contents(TOY):
                new.update(new or contents_after)
                assert contents_after == new, "the bundle is neither the old one nor the new one"
                state = "new"
            for folder in (bundle, *work.glob(".bundle.*")):
                shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(TOY, bundle)
            return state

        def replace() -> None:
            export(work / "run", bundle, replace=True)

        return counts + kill_again_and_again("export", replace, check_bundle, rng, kills)


def test_outputs_that_are_killed_are_the_old_ones_or_the_new_ones() -> None:
    counts = run(seed=1, rounds=range(1), kills=1)
    assert counts["kills of complete"] == counts["kills of export"] == 1


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
