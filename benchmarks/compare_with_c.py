"""`eisner_satta` of first order against C on the same scores, one thread, in turns.

    python benchmarks/compare_with_c.py [lengths ...]

The C functions of eisner_satta.c compute values only; ours is the public call: checks, search and the tree.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from arcspan import decoding

SOURCE = Path(__file__).with_name("eisner_satta.c")
NAMES = ("textbook", "cube", "tiled")


def compiled(folder: str) -> ctypes.CDLL:
    library = Path(folder) / "eisner_satta.so"
    options = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC"]
    subprocess.run(["cc", *options, str(SOURCE), "-o", str(library), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    for name in NAMES:
        getattr(loaded, name).restype = ctypes.c_float
    return loaded


def ours(span: np.ndarray, arc: np.ndarray, n: int) -> float:
    return float(decoding.eisner_satta(span, arc, [n], threads=1).scores[0])


def main() -> None:
    lengths = [int(argument) for argument in sys.argv[1:]] or [20, 40, 80, 120, 200]
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(folder)
        print("microseconds a sentence (best of many turns), and ours over C")
        print(f"{'n':>4} {'arcspan':>10}" + "".join(f"{'C ' + name:>12}{'ratio':>7}" for name in NAMES))
        for n in lengths:
            span, arc = rng.standard_normal((2, 1, n + 1, n + 1), np.float32)
            arguments = n, span.ctypes.data_as(ctypes.c_void_p), arc.ctypes.data_as(ctypes.c_void_p)
            calls = {"arcspan": functools.partial(ours, span, arc, n)}
            for name in NAMES:
                calls[name] = functools.partial(getattr(library, name), *arguments)
            scores = {name: call() for name, call in calls.items()}
            assert np.allclose(list(scores.values()), scores["arcspan"], rtol=1e-4), scores
            times: dict[str, list[float]] = {name: [] for name in calls}
            begin = time.perf_counter()
            while time.perf_counter() - begin < 2 or len(times["arcspan"]) < 5:
                for name, call in calls.items():
                    start = time.perf_counter()
                    call()
                    times[name].append(time.perf_counter() - start)
            medians = {name: 1e6 * min(values) for name, values in times.items()}
            print(
                f"{n:>4} {medians['arcspan']:>10.1f}"
                + "".join(
                    f"{medians[name]:>12.1f}{medians['arcspan'] / medians[name]:>7.2f}" for name in NAMES
                )
            )


if __name__ == "__main__":
    main()
