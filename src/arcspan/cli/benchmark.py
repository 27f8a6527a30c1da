"""`arcspan benchmark`: the speed of this machine. `benchmarks/` has scripts for everything else."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import click
import numpy as np

from arcspan import decoding, load
from arcspan.cli.options import MODEL
from arcspan.cli.progress import progress
from arcspan.evaluation.tables import columns
from arcspan.parser import Parser

TEXT = (
    "Logic plays a maximal role here. The dog that chased the cat across the garden was never "
    "seen again. "
    "She said that nobody had told her what to expect, and left. Prices rose by four percent in "
    "the second quarter."
)


def shortest_time(call: Callable[[], object], seconds: float) -> float:
    """Return the shortest time of all calls within `seconds`, at least three."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


@click.command()
@MODEL
@click.option("--sentences", default=256, type=click.IntRange(4), help="Sentences per call.")
@click.option("--words", default=24, type=click.IntRange(1, 300), help="Length for the search.")
@click.option("--seconds", default=2.0, help="Time for each figure.")
def command(model: str | None, sentences: int, words: int, seconds: float) -> None:
    """Measure parsing and search on this machine: the best call, on one thread and on all."""
    rng = np.random.default_rng(0)
    span, arc = rng.standard_normal((2, sentences, words + 1, words + 1), np.float32)
    lengths = np.full(sentences, words)
    thread_counts = sorted({1, decoding.available_threads()})
    # The search is measured before a model is loaded.
    search_rates = []
    parse_rates = []
    with progress(2 * len(thread_counts), unit="figure") as bar:
        for threads in thread_counts:
            search = partial(decoding.eisner_satta, span, arc, lengths, threads=threads)
            duration = shortest_time(search, seconds)
            search_rates.append(_rates(sentences, sentences * words, duration))
            bar.update()
        for threads in thread_counts:
            parser = load(model, threads=threads)
            word_lists = [sentence.words for sentence in parser.split(TEXT)]
            items = [word_lists[k % len(word_lists)] for k in range(sentences)]
            duration = shortest_time(partial(_parse_all, parser, items), seconds)
            parse_rates.append(_rates(sentences, sum(map(len, items)), duration))
            bar.update()
    titles = ["1 thread" if threads == 1 else f"{threads} threads" for threads in thread_counts]
    rows = [
        ["sentences (words) per second", *titles],
        [f"search, first order, {words} words", *search_rates],
        ["parse, words to both trees", *parse_rates],
    ]
    click.echo(columns(rows))


def _parse_all(parser: Parser, items: list[tuple[str, ...]]) -> None:
    for _ in parser.pipe(items):
        pass


def _rates(sentences: int, words: int, duration: float) -> str:
    return f"{sentences / duration:,.0f} ({words / duration:,.0f})"
