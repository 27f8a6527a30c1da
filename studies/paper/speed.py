"""Table 7: how fast the searches are, alone on random scores and inside a parser from words to
trees.

Contestants take turns, so that a busy machine slows all of them alike; the best turn of each
counts. With batches of a given size (the paper has 100 sentences), the mean of the turns counts, as
in the paper.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState

from arcspan import decoding
from arcspan.neural.model import Model
from arcspan.prediction import search as prediction_search
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.model import ParserModel
from arcspan.prediction.outputs import Scores, on_host
from arcspan.prediction.runner import Predictor, Request
from arcspan.prediction.search import best_structures
from arcspan.training.checkpoint import load_parts
from arcspan.training.dev_scores import BUDGET
from benchmarks.decoding import Contestant, Race, kernels, make_batches, mixture, rivals

Search = Callable[[Scores, np.ndarray], decoding.Decoded]


def decoding_rates(sentences: int, batch: int, seconds: float) -> dict[str, float | None]:
    """Sentences a second of every search, one thread each, on random scores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        racers = [*_both(kernels(1)), *_both(rivals(1, with_torch=True), "batched ")]
        race = Race(racers, make_batches(mixture(sentences), batch), seconds)
        race.run()
    finally:
        torch.set_num_threads(before)
    return {racer.name: race.rate(racer.name) for racer in racers}


def _both(contestants: list[Contestant], prefix: str = "") -> list[Contestant]:
    """CKY and Eisner as one contestant, one after the other."""
    by_name = {contestant.name: contestant for contestant in contestants}
    cky, eisner = by_name.pop(f"{prefix}cky"), by_name.pop(f"{prefix}eisner")
    one_after_the_other = Contestant(
        f"{prefix}cky + eisner", lambda b: (cky.search(b), eisner.search(b)), 3, cky.tensors
    )
    return [one_after_the_other, *by_name.values()]


def device_name() -> str:
    """Where models are run: an accelerator where there is one."""
    device_type: str = PartialState().device.type
    return str(torch.cuda.get_device_name()) if device_type == "cuda" else device_type.upper()


def parsing_rates(
    folders: dict[str, Path], words: Sequence[Sequence[str]], rounds: int, batch: int | None = None
) -> dict[str, float]:
    """Sentences a second from words to labelled trees in torch, by the models of MTL and Joint2o.

    `folders` has the runs "mtl" and "joint2o". The searches take each other's place within the MTL
    model. With `batch`, so many sentences of like length are parsed at once.
    """
    device = PartialState().device
    models = {name: load_parts(folder)["both"][:2] for name, folder in folders.items()}
    contestants: dict[str, Callable[[], object]] = {}
    for title, (name, search) in _PARSERS.items():
        model, inputs = models[name]
        contestants[title] = partial(_parse, model.to(device), inputs, words, search, batch)
    for run in contestants.values():
        run()
    turns: dict[str, list[float]] = {title: [] for title in contestants}
    for _ in range(rounds):
        for title, run in contestants.items():
            begin = time.perf_counter()
            run()
            turns[title].append(time.perf_counter() - begin)
    seconds = {
        title: statistics.fmean(laps) if batch else min(laps) for title, laps in turns.items()
    }
    return {title: len(words) / laps for title, laps in seconds.items()}


def _parse(
    model: Model,
    inputs: Any,
    words: Sequence[Sequence[str]],
    search: Search | None,
    batch: int | None,
) -> None:
    inventories = model.inventories
    guidelines = Guidelines.of(inventories)
    predictor = _Batches(ParserModel([model], inputs, inventories, guidelines=guidelines), BUDGET)
    predictor.batch = batch
    # Labelled trees are searched with either: a decoder would find trees and label those.
    if search is not None:
        prediction_search.best_structures = lambda scores, lengths, *, apart: search(
            scores, lengths
        )
    try:
        predictor.predict(words)
    finally:
        # Whatever is parsed later in this process takes the package's own search again.
        prediction_search.best_structures = best_structures


class _Batches(Predictor):
    """A predictor whose batches have so many sentences of like length, where a number is given."""

    batch: int | None = None

    def make_batches(self, items: dict[int, Request]) -> Iterator[list[int]]:
        if self.batch is None:
            yield from super().make_batches(items)
            return
        order = sorted(items, key=lambda index: items[index].n)
        yield from (order[begin : begin + self.batch] for begin in range(0, len(order), self.batch))


def _naive(scores: Scores, lengths: np.ndarray) -> decoding.Decoded:
    return decoding.naive(on_host(scores.span), on_host(scores.arc), lengths)


def _apart(scores: Scores, lengths: np.ndarray) -> decoding.Decoded:
    return best_structures(scores, lengths, apart=True)


def _batched(scores: Scores, lengths: np.ndarray) -> decoding.Decoded:
    span, arc = torch.as_tensor(scores.span), torch.as_tensor(scores.arc)
    headed = None if scores.headed is None else torch.as_tensor(scores.headed)
    decoded: decoding.Decoded = decoding.batched.eisner_satta(
        span, arc, torch.as_tensor(lengths), headed
    )
    return decoded


def _batched_apart(scores: Scores, lengths: np.ndarray) -> decoding.Decoded:
    where = torch.as_tensor(lengths)
    spans = decoding.batched.cky(torch.as_tensor(scores.span), where)
    arcs = decoding.batched.eisner(torch.as_tensor(scores.arc), where)
    return decoding.Decoded(heads=arcs.heads, spans=spans.spans, scores=spans.scores + arcs.scores)


# None: the model's own search, Eisner-Satta in the kernels.
_PARSERS: dict[str, tuple[str, Search | None]] = {
    "naive": ("mtl", _naive),
    "cky + eisner": ("mtl", _apart),
    "eisner_satta": ("mtl", None),
    "eisner_satta 2nd order": ("joint2o", None),
    "batched cky + eisner": ("mtl", _batched_apart),
    "batched eisner_satta": ("mtl", _batched),
    "batched eisner_satta 2nd order": ("joint2o", _batched),
}
