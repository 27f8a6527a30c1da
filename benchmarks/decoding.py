"""Every search on this machine: kernels against torch against the O(n^5) search, sentences per
second and memory.

    python benchmarks/decoding.py [--lengths 10,20,40] [--threads 2] [--no-rivals] [--device cuda]
    [--json]

Contestants take turns within one run, call by call, so that a busy machine slows all of them alike;
what is printed is the best turn of each, which other programs disturb least. Trust ratios within a
table more than numbers across tables.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import click
import numpy as np

from arcspan import decoding
from arcspan.cli.progress import note, progress
from arcspan.errors import MissingExtraError
from arcspan.evaluation.tables import columns as aligned

Batch = tuple[Any, ...]  # span, arc, lengths, headed


@dataclass(frozen=True)
class Contestant:
    """One program of the race: its name, how it is called on a batch, and the power of n that its
    time grows with.
    """

    name: str
    search: Callable[[Batch], object]
    power: int
    tensors: bool = False


@dataclass
class Race:
    """The times of every contestant on one set of batches, in turns."""

    contestants: list[Contestant]
    batches: list[Batch]
    seconds: float
    device: str = "cpu"
    times: dict[str, list[float]] = field(default_factory=dict)

    def run(self, skip: Iterable[str] = ()) -> None:
        """Go round until everyone has run at least three times and `seconds` long, or once if that
        is very long.
        """
        arrays = self.batches
        tensors = (
            [_as_tensors(batch, self.device) for batch in arrays]
            if any(c.tensors for c in self.contestants)
            else []
        )
        racing = [c for c in self.contestants if c.name not in skip]
        for contestant in racing:
            contestant.search((tensors if contestant.tensors else arrays)[0])
        while racing:
            for contestant in list(racing):
                begin = time.perf_counter()
                for batch in tensors if contestant.tensors else arrays:
                    contestant.search(batch)
                times = self.times.setdefault(contestant.name, [])
                times.append(time.perf_counter() - begin)
                if sum(times) > self.seconds * (1 if len(times) >= 3 else 5):
                    racing.remove(contestant)

    def rate(self, name: str) -> float | None:
        """Sentences per second in the best turn; None for a contestant that did not run."""
        if name not in self.times:
            return None
        return sum(len(batch[2]) for batch in self.batches) / min(self.times[name])


def _as_tensors(batch: Batch, device: str) -> Batch:
    torch = decoding.batched.torch  # type: ignore[attr-defined]
    return tuple(torch.from_numpy(part).to(device) for part in batch)


def kernels(threads: int | None) -> list[Contestant]:
    """The compiled searches."""
    return [
        Contestant("cky", lambda b: decoding.cky(b[0], b[2], threads=threads), 3),
        Contestant("eisner", lambda b: decoding.eisner(b[1], b[2], threads=threads), 3),
        Contestant(
            "eisner_satta", lambda b: decoding.eisner_satta(b[0], b[1], b[2], threads=threads), 4
        ),
        Contestant(
            "eisner_satta 2nd order",
            lambda b: decoding.eisner_satta(b[0], b[1], b[2], b[3], threads),
            4,
        ),
    ]


def rivals(threads: int | None, with_torch: bool) -> list[Contestant]:
    """The O(n^5) search and the torch version, where torch is installed."""
    contestants = [
        Contestant("naive", lambda b: decoding.naive(b[0], b[1], b[2], threads=threads), 5),
        Contestant("naive 2nd order", lambda b: decoding.naive(b[0], b[1], b[2], b[3], threads), 5),
    ]
    if with_torch:
        batched = decoding.batched
        contestants += [
            Contestant("batched cky", lambda b: batched.cky(b[0], b[2]), 3, True),
            Contestant("batched eisner", lambda b: batched.eisner(b[1], b[2]), 3, True),
            Contestant("batched eisner_satta", lambda b: batched.eisner_satta(*b[:3]), 4, True),
            Contestant(
                "batched eisner_satta 2nd order", lambda b: batched.eisner_satta(*b), 4, True
            ),
        ]
    return contestants


def make_batches(lengths: list[int], size: int, seed: int = 0) -> list[Batch]:
    """Random scores for sentences of these lengths, in batches of `size` of like length."""
    rng = np.random.default_rng(seed)
    batches = []
    ordered = sorted(lengths)
    for begin in range(0, len(ordered), size):
        part = np.array(ordered[begin : begin + size])
        n = int(part[-1]) + 1
        cells = (len(part), n, n)
        headed = rng.standard_normal((*cells, n), np.float32)
        batches.append(
            (
                rng.standard_normal(cells, np.float32),
                rng.standard_normal(cells, np.float32),
                part,
                headed,
            )
        )
    return batches


def mixture(count: int, seed: int = 0) -> list[int]:
    """Lengths as in the Penn Treebank: mean 23.5, standard deviation 11, at most 120."""
    shape = (23.5 / 11) ** 2
    drawn = np.random.default_rng(seed).gamma(shape, 23.5 / shape, count)
    return [int(n) for n in np.clip(np.rint(drawn), 1, 120)]


def peak_memory(call: Callable[[], object]) -> int | None:
    """Bytes of resident memory that a call adds at its peak; None where the system does not tell
    (not Linux).
    """
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = _status("VmRSS")
        call()
        return max(_status("VmHWM") - before, 0)
    except (OSError, AttributeError):
        return None


def _status(name: str) -> int:
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(name)).split()[1]) * 1024


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _megabytes(size: int | None, n: int) -> str:
    if size is None:
        return "-"
    if size < 2**20:
        return "< 1"
    return f"{size / 2**20:,.0f} ({size / (4 * (n + 1) ** 3):.2g})"


def _whole_numbers(context: click.Context, parameter: click.Parameter, value: str) -> list[int]:
    try:
        numbers = [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"whole numbers with commas between them, not {value!r}") from None
    if min(numbers) < 1:
        raise click.BadParameter("at least 1")
    return numbers


@click.command(help=__doc__)
@click.option(
    "--lengths",
    default="10,20,40,80,120,200,300,376",
    callback=_whole_numbers,
    help="Lengths of sentences searched alone.",
)
@click.option(
    "--batch", "sizes", default="1,16", callback=_whole_numbers, help="Batch sizes of the mixture."
)
@click.option(
    "--sentences",
    default=64,
    show_default=True,
    type=click.IntRange(1),
    help="Sentences of the mixture.",
)
@click.option("--seconds", default=0.5, show_default=True, help="Time for each cell of a table.")
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Threads of every search.",
)
@click.option(
    "--rivals/--no-rivals",
    "with_rivals",
    default=True,
    help="Also measure the O(n^5) search and torch.",
)
@click.option(
    "--device", default="cpu", show_default=True, help="Where torch's scores are: cuda, mps, ..."
)
@click.option("--json", "as_json", is_flag=True, help="All numbers as one JSON object.")
def main(
    lengths: list[int],
    sizes: list[int],
    sentences: int,
    seconds: float,
    threads: int,
    with_rivals: bool,
    device: str,
    as_json: bool,
) -> None:
    """Every search, kernels against torch against the O(n^5) search: sentences per second and
    memory.
    """
    with_torch = with_rivals and _has_torch()
    if with_torch:
        _check_device(device)
        decoding.batched.torch.set_num_threads(threads)  # type: ignore[attr-defined]
    racers = kernels(threads) + (rivals(threads, with_torch) if with_rivals else [])
    drawn = mixture(sentences)
    with progress(len(sizes) + len(lengths) + 1, unit="table column") as bar:
        tables = {
            "mixture": _mixture_table(racers, drawn, sizes, seconds, device, bar),
            "lengths": _length_tables(racers, lengths, seconds, device, bar),
            "threading": _thread_table(drawn, seconds, bar),
        }
    numbers = {"threads": threads} | {name: numbers for name, (_, numbers) in tables.items()}
    click.echo(
        json.dumps(numbers, indent=1)
        if as_json
        else "\n\n".join(text for text, _ in tables.values())
    )


def _check_device(device: str) -> None:
    torch = decoding.batched.torch  # type: ignore[attr-defined]
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch was built without it
        raise click.UsageError(f"--device {device}: {str(error).splitlines()[0]}") from None


def _has_torch() -> bool:
    try:
        return bool(decoding.batched)
    except MissingExtraError:
        note("torch is not installed: no `batched` in the tables")
        return False


def _table(title: str, columns: list[str], rows: dict[str, list[str]]) -> str:
    return f"{title}\n" + aligned([["", *columns], *([name, *row] for name, row in rows.items())])


def _mixture_table(
    racers: list[Contestant],
    drawn: list[int],
    sizes: list[int],
    seconds: float,
    device: str,
    bar: Any,
) -> tuple[str, dict[int, Any]]:
    numbers = {}
    for size in sizes:
        race = Race(racers, make_batches(drawn, size), seconds, device)
        race.run()
        numbers[size] = {c.name: race.rate(c.name) for c in racers}
        bar.update()
    rows = {c.name: [_number(numbers[size][c.name]) for size in sizes] for c in racers}
    title = (
        f"PTB-like mixture, mean length {np.mean(drawn):.1f}: sentences per second by batch size"
    )
    return _table(title, [f"B={size}" for size in sizes], rows), numbers


def _length_tables(
    racers: list[Contestant], lengths: list[int], seconds: float, device: str, bar: Any
) -> tuple[str, dict[int, dict[str, Any]]]:
    numbers: dict[int, dict[str, Any]] = {}
    slow: set[str] = set()  # those that would need more than half a minute for the next length
    for n, longer in itertools.pairwise([*sorted(lengths), max(lengths)]):
        race = Race(racers, make_batches([n], 1), seconds, device)
        race.run(slow)
        numbers[n] = {}
        for c in racers:
            took = peak = None
            if c.name not in slow:
                took = min(race.times[c.name])
                alone = _as_tensors(race.batches[0], device) if c.tensors else race.batches[0]
                peak = peak_memory(functools.partial(c.search, alone))
                if took * (longer / n) ** c.power > 30:
                    slow.add(c.name)
            numbers[n][c.name] = {"milliseconds": took and 1e3 * took, "peak_bytes": peak}
        bar.update()
    columns = [f"n={n}" for n in numbers]
    times = {c.name: [_number(numbers[n][c.name]["milliseconds"]) for n in numbers] for c in racers}
    peaks = {
        c.name: [_megabytes(numbers[n][c.name]["peak_bytes"], n) for n in numbers] for c in racers
    }
    title = "Memory at the peak beside the scores: MiB (float32 cubes of (n+1)^3)"
    text = _table("One sentence of n words: milliseconds", columns, times)
    return text + "\n\n" + _table(title, columns, peaks), numbers


def _thread_table(
    drawn: list[int], seconds: float, bar: Any
) -> tuple[str, dict[int, dict[str, dict[int, float | None]]]]:
    counts = sorted({1, 2, decoding.available_threads()})
    racers = {
        (c.name, t): replace(c, name=f"{c.name} x {t}") for t in counts for c in kernels(t)[2:]
    }
    numbers: dict[int, dict[str, dict[int, float | None]]] = {}
    for size in (16, 64):
        race = Race(list(racers.values()), make_batches(drawn * 4, size), seconds)
        race.run()
        rates = numbers[size] = {}
        for (name, t), racer in racers.items():
            rates.setdefault(name, {})[t] = race.rate(racer.name)
    rows = {
        f"{name}, B={size}": [_number(rates[t]) for t in counts]
        for size, named_rates in numbers.items()
        for name, rates in named_rates.items()
    }
    bar.update()
    title = "The mixture in batches of B: sentences per second by number of threads"
    return _table(title, [str(t) for t in counts], rows), numbers


if __name__ == "__main__":
    main()
