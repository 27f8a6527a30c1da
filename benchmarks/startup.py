"""How long `arcspan parse "..."` takes from the shell, beside importing torch and transformers.

    python benchmarks/startup.py [--with PYTHON]

Both take turns, after one round that is not counted (the first parse on a machine compiles the search). PYTHON is an
interpreter whose environment has torch and transformers, by default this one.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

TEXT = "Logic plays a maximal role here."
IMPORTS = "import torch; from transformers import AutoModel, AutoTokenizer"


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--with", dest="python", default=sys.executable)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--model", help="a bundle; default: the English model inside")
    given = options.parse_args()
    model = ["--model", given.model] if given.model else []
    commands = {
        f'arcspan parse "{TEXT}"': [sys.executable, "-m", "arcspan", "parse", *model, TEXT],
        f"python -c '{IMPORTS}'": [given.python, "-c", IMPORTS],
        "python -c pass": [given.python, "-c", "pass"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(given.rounds + 1):
        for name, command in commands.items():
            found = seconds(command)
            if turn:
                times[name].append(found)
    medians = [statistics.median(values) for values in times.values()]
    for (name, values), median in zip(times.items(), medians, strict=True):
        print(f"{median:6.2f} s  ({min(values):.2f} to {max(values):.2f})  {name}")
    print(f"ratio of the medians: {medians[0] / medians[1]:.2f} (at most 0.5 is asked for)")


if __name__ == "__main__":
    main()
