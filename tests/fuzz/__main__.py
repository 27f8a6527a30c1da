"""Run every module of this folder for a share of the time, and print what each has counted."""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path


def until(end: float) -> Iterator[None]:
    """Rounds, at least one, until the clock shows `end`."""
    yield
    while time.monotonic() < end:
        yield


def main() -> int:
    fuzzer_names = sorted(
        path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")
    )
    options = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    options.add_argument(
        "names", nargs="*", metavar="NAME", help=f"what to run, of: {', '.join(fuzzer_names)}"
    )
    options.add_argument(
        "--minutes", type=float, default=10.0, help="for all together (default: 10)"
    )
    options.add_argument(
        "--seed", type=int, help="to repeat a run (default: another one each time)"
    )
    arguments = options.parse_args()
    if unknown := set(arguments.names) - set(fuzzer_names):
        options.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(fuzzer_names)}")
    seed = random.SystemRandom().randrange(2**31) if arguments.seed is None else arguments.seed
    names = arguments.names or fuzzer_names
    failures = 0
    for name in names:
        begin = time.monotonic()
        try:
            rounds = until(begin + 60 * arguments.minutes / len(names))
            counts = importlib.import_module(f"tests.fuzz.test_{name}").run(seed, rounds)
            shown = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.most_common())
        except Exception:
            traceback.print_exc()
            failures += 1
            shown = "FAILED"
        print(f"{name} (seed {seed}, {time.monotonic() - begin:.0f} s): {shown}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
