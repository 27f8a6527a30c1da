"""`arcspan benchmark`: measure on this machine what the documentation claims.

Contestants take turns within one run, call by call, so that a busy machine slows all of them alike; what is
printed is the best turn of each, which other programs disturb least. Trust ratios within a table more than
numbers across tables.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np

from arcspan import decoding
from arcspan.cli.progress import note, progress
from arcspan.errors import MissingExtraError

Batch = tuple[Any, ...]  # span, arc, lengths, headed


@dataclass(frozen=True)
class Contestant:
    """One program of the race: its name, how it is called on a batch, and the power of n that its time grows with."""

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
    times: dict[str, list[float]] = field(default_factory=dict)

    def run(self, skip: Iterable[str] = ()) -> None:
        """Go round until everyone has run at least three times and `seconds` long, or once if that is very long."""
        arrays = self.batches
        tensors = [_as_tensors(batch) for batch in arrays] if any(c.tensors for c in self.contestants) else []
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
        """Sentences a second in the best turn; None for who did not run."""
        if name not in self.times:
            return None
        return sum(len(batch[2]) for batch in self.batches) / min(self.times[name])


def _as_tensors(batch: Batch) -> Batch:
    torch = decoding.batched.torch
    return tuple(torch.from_numpy(part) for part in batch)


def kernels(threads: int | None) -> list[Contestant]:
    """The compiled searches."""
    return [
        Contestant("cky", lambda b: decoding.cky(b[0], b[2], threads=threads), 3),
        Contestant("eisner", lambda b: decoding.eisner(b[1], b[2], threads=threads), 3),
        Contestant("eisner_satta", lambda b: decoding.eisner_satta(b[0], b[1], b[2], threads=threads), 4),
        Contestant("eisner_satta 2nd order", lambda b: decoding.eisner_satta(*b, threads=threads), 4),
    ]


def rivals(threads: int | None, with_torch: bool) -> list[Contestant]:
    """The O(n^5) search and the torch version, where torch is installed."""
    found = [
        Contestant("naive", lambda b: decoding.naive(b[0], b[1], b[2], threads=threads), 5),
        Contestant("naive 2nd order", lambda b: decoding.naive(*b, threads=threads), 5),
    ]
    if with_torch:
        batched = decoding.batched
        found += [
            Contestant("batched cky", lambda b: batched.cky(b[0], b[2]), 3, True),
            Contestant("batched eisner", lambda b: batched.eisner(b[1], b[2]), 3, True),
            Contestant("batched eisner_satta", lambda b: batched.eisner_satta(*b[:3]), 4, True),
            Contestant("batched eisner_satta 2nd order", lambda b: batched.eisner_satta(*b), 4, True),
        ]
    return found


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
            (rng.standard_normal(cells, np.float32), rng.standard_normal(cells, np.float32), part, headed)
        )
    return batches


def mixture(count: int, seed: int = 0) -> list[int]:
    """Lengths as in the Penn Treebank: mean 23.5, standard deviation 11, at most 120."""
    shape = (23.5 / 11) ** 2
    drawn = np.random.default_rng(seed).gamma(shape, 23.5 / shape, count)
    return np.clip(np.rint(drawn), 1, 120).astype(int).tolist()


def peak_memory(call: Callable[[], object]) -> int | None:
    """Bytes of resident memory that a call adds at its peak; None where the system does not tell (not Linux)."""
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


def table(title: str, columns: list[str], rows: dict[str, list[str]]) -> str:
    """Aligned text."""
    names = max(len(name) for name in rows)
    widths = [max(len(column), *(len(row[c]) for row in rows.values())) for c, column in enumerate(columns)]
    lines = [title, " " * names + "".join(f"  {c:>{w}}" for c, w in zip(columns, widths, strict=True))]
    lines += [
        f"{n:<{names}}" + "".join(f"  {v:>{w}}" for v, w in zip(r, widths, strict=True))
        for n, r in rows.items()
    ]
    return "\n".join(lines)


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
        found = [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"whole numbers with commas between them, not {value!r}") from None
    if min(found) < 1:
        raise click.BadParameter("at least 1")
    return found


@contextlib.contextmanager
def _one_torch_thread(with_torch: bool, threads: int) -> Iterator[None]:
    if not with_torch:
        yield
        return
    torch = decoding.batched.torch
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@click.group()
def command() -> None:
    """Measure the search on this machine."""


@command.command()
@click.option(
    "--lengths", default="10,20,40,80,120,200", callback=_whole_numbers, help="Sentence lengths of the table."
)
@click.option(
    "--growth",
    default="20,40,80,120,200,300,376",
    callback=_whole_numbers,
    help="Lengths of the growth table.",
)
@click.option("--batch", "sizes", default="1,16", callback=_whole_numbers, help="Batch sizes of the mixture.")
@click.option(
    "--sentences", default=64, show_default=True, type=click.IntRange(1), help="Sentences of the mixture."
)
@click.option("--seconds", default=0.5, show_default=True, help="Time for each cell of a table.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1), help="Threads for everyone.")
@click.option(
    "--rivals/--no-rivals", "with_rivals", default=True, help="The O(n^5) search and torch as well."
)
@click.option("--json", "as_json", is_flag=True, help="All numbers as one JSON object.")
def decode(
    lengths: list[int],
    growth: list[int],
    sizes: list[int],
    sentences: int,
    seconds: float,
    threads: int,
    with_rivals: bool,
    as_json: bool,
) -> None:
    """Every search, kernels against torch against the O(n^5) search, in sentences a second and chart memory."""
    with_torch = with_rivals
    if with_rivals:
        try:
            decoding.batched  # noqa: B018
        except MissingExtraError:
            with_torch = False
            note("torch is not installed: no `batched` in the tables")
    racers = kernels(threads) + (rivals(threads, with_torch) if with_rivals else [])
    steps = len(sizes) + len(lengths) + 1 + len(growth)
    result: dict[str, Any] = {"threads": threads, "mixture": {}, "lengths": {}, "growth": {}}
    with _one_torch_thread(with_torch, threads), progress(steps, unit="table column") as bar:
        drawn = mixture(sentences)
        columns, cells = [], {c.name: [] for c in racers}
        for size in sizes:
            race = Race(racers, make_batches(drawn, size), seconds)
            race.run()
            columns.append(f"B={size}")
            for c in racers:
                cells[c.name].append(_number(race.rate(c.name)))
            result["mixture"][size] = {c.name: race.rate(c.name) for c in racers}
            bar.update()
        title = (
            f"\nPTB-like mixture, mean length {np.mean(drawn):.1f}, {threads} thread(s): sentences a second"
        )
        parts = [table(title, columns, cells)]

        columns, cells = [], {c.name: [] for c in racers}
        memory: dict[str, list[str]] = {c.name: [] for c in racers}
        slow: dict[str, tuple[int, float]] = {}
        for n in sorted(lengths):
            # Who would need more than half a minute for one sentence stays at home.
            skip = [
                c.name
                for c in racers
                if c.name in slow and slow[c.name][1] * (n / slow[c.name][0]) ** c.power > 30
            ]
            race = Race(racers, make_batches([n] * max(1, min(16, 2_000_000 // n**3)), 16), seconds)
            race.run(skip)
            alone = make_batches([n], 1)[0]
            columns.append(f"n={n}")
            result["lengths"][n] = {}
            for c in racers:
                rate = race.rate(c.name)
                peak = None
                if rate is not None:
                    slow[c.name] = (n, 1 / rate)
                    given = _as_tensors(alone) if c.tensors else alone
                    peak = peak_memory(lambda c=c, given=given: c.search(given))  # type: ignore[misc]
                cells[c.name].append(_number(rate))
                memory[c.name].append(_megabytes(peak, n))
                result["lengths"][n][c.name] = {"sentences_per_second": rate, "peak_bytes": peak}
            bar.update()
        parts.append(
            table(
                f"\nOne length, batches of 16 at most, {threads} thread(s): sentences a second",
                columns,
                cells,
            )
        )
        title = "\nMemory at the peak beside the scores, one sentence: MiB (float32 cubes of (n+1)^3)"
        parts.append(table(title, columns, memory))

        most = decoding.available_threads()
        if most > 1:
            counts = sorted({1, 2, most})
            race = Race(
                [Contestant(f"{name} x {t}", search, 4) for t in counts for name, search in _threaded(t)],
                make_batches(drawn * 4, 64),
                seconds,
            )
            race.run()
            rows = {
                name: [_number(race.rate(f"{name} x {t}")) for t in counts]
                + [f"{(race.rate(f'{name} x {most}') or 0) / (race.rate(f'{name} x 1') or 1):.2f}"]
                for name, _ in _threaded(1)
            }
            result["threading"] = {c.name: race.rate(c.name) for c in race.contestants}
            heading = [f"{t} thread(s)" for t in counts] + ["gain"]
            parts.append(table("\nThreads, the mixture in batches of 64: sentences a second", heading, rows))
        bar.update()

        rows = {}
        for n in sorted(growth):
            first, second = kernels(1)[2:]
            batches = make_batches([n], 1)
            race = Race([first, second], batches, seconds)
            race.run()
            row: list[str] = []
            result["growth"][n] = {}
            for c in (first, second):
                took = min(race.times[c.name])
                peak = peak_memory(lambda c=c, batches=batches: c.search(batches[0]))  # type: ignore[misc]
                row += [f"{1e3 * took:,.3g}", f"{1e12 * took / n**4:.3g}", _megabytes(peak, n)]
                result["growth"][n][c.name] = {"seconds": took, "peak_bytes": peak}
            rows[f"n={n}"] = row
            bar.update()
        heading = ["ms", "ps / n^4", "MiB (cubes)", "2nd: ms", "ps / n^4", "MiB (cubes)"]
        parts.append(table("\nGrowth of eisner_satta, one sentence, one thread", heading, rows))
    click.echo(json.dumps(result, indent=1) if as_json else "\n".join(parts).lstrip())


def _threaded(threads: int) -> list[tuple[str, Callable[[Batch], object]]]:
    return [(c.name, c.search) for c in kernels(threads)[2:]]
