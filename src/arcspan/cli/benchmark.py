"""`arcspan benchmark`: how fast this machine parses. `benchmarks/` has scripts for everything else."""

from __future__ import annotations

import time
from collections.abc import Callable

import click
import numpy as np

from arcspan import decoding, load
from arcspan.cli.options import MODEL
from arcspan.cli.progress import progress
from arcspan.evaluation.tables import columns

TEXT = (
    "Logic plays a maximal role here. The dog that chased the cat across the garden was never seen again. "
    "She said that nobody had told her what to expect, and left. Prices rose by four percent in the second quarter."
)


def best(call: Callable[[], object], seconds: float) -> float:
    """The shortest of all calls within that time, in seconds."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


@click.command()
@MODEL
@click.option("--sentences", default=256, type=click.IntRange(4), help="Sentences per call.")
@click.option("--words", default=24, type=click.IntRange(1, 300), help="Length for the search.")
@click.option("--seconds", default=2.0, help="Time for each figure.")
def command(model: str | None, sentences: int, words: int, seconds: float) -> None:
    """Measure parsing and search on this machine: the best call of each, on one thread and on all."""
    rng, n = np.random.default_rng(0), words + 1
    span, arc = rng.standard_normal((2, sentences, n, n), np.float32)
    lengths = np.full(sentences, words)
    counts = sorted({1, decoding.available_threads()})
    titles = (f"{threads} thread{'s'[: threads - 1]}" for threads in counts)
    rows = [["sentences (words) per second", *titles]]
    named: dict[str, Callable[[int], tuple[Callable[[], object], int]]] = {
        f"search, first order, {words} words": lambda threads: (
            lambda: decoding.eisner_satta(span, arc, lengths, threads=threads),
            sentences * words,
        ),
        "parse, words to both trees": lambda threads: _parsing(model, sentences, threads),
    }
    with progress(len(named) * len(counts), unit="figure") as bar:
        for name, make in named.items():
            rates = []
            for threads in counts:
                call, size = make(threads)
                taken = best(call, seconds)
                rates.append(f"{sentences / taken:,.0f} ({size / taken:,.0f})")
                bar.update()
            rows.append([name, *rates])
    click.echo(columns(rows))


def _parsing(model: str | None, sentences: int, threads: int) -> tuple[Callable[[], object], int]:
    parser = load(model, threads=threads)
    words = [sentence.words for sentence in parser.split(TEXT)]
    items = [words[k % len(words)] for k in range(sentences)]
    return lambda: list(parser.pipe(items)), sum(map(len, items))
