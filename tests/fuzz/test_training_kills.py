"""Kills of training at any moment: what is resumed ends with the bytes, and the losses, of a run never killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.fuzz.test_output_kills import in_a_fork
from tests.toy import toy_pairs


def run(seed: int, rounds: Iterable[object], kills: int = 20) -> Counter[str]:
    counts = Counter[str]()
    for number, _ in enumerate(rounds):
        # In a process of its own, which forks before torch has any threads: nothing is imported twice.
        command = [sys.executable, "-m", __name__, str(seed + number), str(kills)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        counts.update(json.loads(done.stdout))
    return counts


def train_in_a_fork(config: Any, alarm: float) -> int:
    """The wait status of a process that trains, and dies after so many seconds (0: lives) wherever it is."""
    from arcspan.training import train

    return in_a_fork(lambda: train(config, resume=True, say=lambda line: None, bars=False), alarm)


def result(folder: Path) -> dict[str, Any]:
    """What must not depend on kills: the bytes of the last state and the best model, and the losses of the log."""
    compared: dict[str, Any] = {}
    for name in ("last", "best"):
        checkpoint = folder / json.loads((folder / f"{name}.json").read_text())["folder"]
        compared |= {f"{name}/{file.name}": file.read_bytes() for file in checkpoint.iterdir()}
        assert [checkpoint] == list(checkpoint.parent.iterdir()), (
            "folders that no pointer names are left"
        )
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    timed = ("time", "seconds", "words_per_second", "structure_share")
    compared["log"] = [{name: line[name] for name in line if name not in timed} for line in lines]
    return compared


def main(seed: int, kills: int) -> Counter[str]:
    import accelerate  # noqa: F401

    from arcspan.training import read_config
    from tests.training.test_training import configure

    rng, counts = random.Random(seed), Counter[str]()
    pairs = toy_pairs(12, seed=seed)

    def config(folder: Path) -> Any:
        folder.mkdir()
        # Saved after each update and after each epoch.
        changes = {"training__checkpoint_minutes": 0, "encoder__word_dropout": 0.3}
        return read_config(configure(folder, pairs, training__epochs=2, **changes))

    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        begin = time.monotonic()
        assert train_in_a_fork(config(work / "quiet"), 0) == 0
        took = time.monotonic() - begin
        expected = result(work / "quiet" / "run")
        while counts["kills"] < kills:
            folder = work / f"killed-{counts['runs']}"
            training_config = config(folder)
            for _ in range(rng.randrange(2, 6)):
                status = train_in_a_fork(training_config, rng.uniform(0.05, 1) * took)
                assert status in (0, signal.SIGALRM), (
                    f"a resumed run failed: {status} (seed {seed})"
                )
                counts["kills" if status else "runs that were done before"] += 1
            assert train_in_a_fork(training_config, 0) == 0
            assert result(folder / "run") == expected, f"another result after kills (seed {seed})"
            counts["runs"] += 1
    return counts


def test_training_killed_at_random_times_ends_with_the_same_bytes_and_losses() -> None:
    assert run(seed=1, rounds=range(1), kills=4)["kills"] >= 4


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
