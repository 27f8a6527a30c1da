"""How long `arcspan parse "..."` takes from the shell, beside importing torch and transformers, and
on what.

    python benchmarks/startup.py [--with PYTHON]

Both take turns, after one round that is not counted. Python keeps
its bytecode, as `pip` does when it installs. PYTHON is an interpreter whose environment has torch
and transformers, by default this one. The times are CPU seconds, of which other programs take less
away than of the clock's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

TEXT = "Logic plays a maximal role here."
IMPORTS = "import torch; from transformers import AutoModel, AutoTokenizer"
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def seconds(command: list[str]) -> float:
    """CPU seconds of a command."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


def parts(model: str | None) -> None:
    """Print, as JSON, the CPU seconds of every part of a start; the order is such that each part
    pays for itself.
    """
    part_seconds = {"Python": time.process_time()}

    @contextmanager
    def part(name: str) -> Iterator[None]:
        start = time.process_time()
        yield
        part_seconds[name] = time.process_time() - start

    with part("import of numpy"):
        import numpy  # noqa: F401
    with part("import of onnxruntime"):
        import onnxruntime  # noqa: F401
    with part("import of click and arcspan"):
        import arcspan.cli.parse
        import arcspan.cli.resuming
        import arcspan.cli.writing
        import arcspan.parser
        import arcspan.rendering
        from arcspan.runtime.bundle import read_bundle
    folder = model or arcspan.parser.MODELS / "en"
    with part("checksums, which bundles inside the package are spared"):
        read_bundle(folder)
    with part("configuration, tokenizer, sessions of onnxruntime"):
        parser = arcspan.parser.Parser(folder, verify=False)
    with part("splitting the text"):
        parser.split(TEXT)
    with part("first parse"):
        parser(TEXT)
    with part("another, with its drawing"):
        parser(TEXT)[0].draw()
    print(json.dumps(part_seconds))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--with", dest="python", default=sys.executable)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--model", help="a bundle; default: the English model inside")
    options.add_argument("--parts", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.parts:
        parts(arguments.model)
        return
    model = ["--model", arguments.model] if arguments.model else []
    commands = {
        f'arcspan parse "{TEXT}"': [sys.executable, "-m", "arcspan", "parse", *model, TEXT],
        f"python -c '{IMPORTS}'": [arguments.python, "-c", IMPORTS],
        "python -c pass": [arguments.python, "-c", "pass"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    shares = []
    for turn in range(arguments.rounds + 1):
        for name, command in commands.items():
            elapsed = seconds(command)
            if turn:
                times[name].append(elapsed)
        parts_command = [sys.executable, __file__, "--parts", *model]
        shares.append(
            json.loads(
                subprocess.run(
                    parts_command, check=True, stdout=subprocess.PIPE, env=ENVIRONMENT
                ).stdout
            )
        )
    medians = [statistics.median(values) for values in times.values()]
    for (name, values), median in zip(times.items(), medians, strict=True):
        print(f"{median:6.2f} s  ({min(values):.2f} to {max(values):.2f})  {name}")
    print(f"ratio of the medians: {medians[0] / medians[1]:.2f} (at most 0.25 is asked for)")
    print("of which, at best:")
    for name in shares[0]:
        print(f"{1000 * min(share[name] for share in shares):6.0f} ms  {name}")


if __name__ == "__main__":
    main()
