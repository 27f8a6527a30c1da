"""Table 7: how fast the searches are, alone on random scores and inside a parser from words to trees.

Contestants take turns, so that a busy machine slows all of them alike; the best turn of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from arcspan import decoding
from arcspan.cli.benchmark import Contestant, Race, kernels, make_batches, mixture, rivals
from arcspan.neural.model import Model
from arcspan.prediction.predictor import Predictor
from arcspan.prediction.scores import Scores
from arcspan.prediction.scores import search as search_scores
from arcspan.training.checkpoint import load_parts
from arcspan.training.scoring import BUDGET

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
    named = {one.name: one for one in contestants}
    cky, eisner = named.pop(f"{prefix}cky"), named.pop(f"{prefix}eisner")
    both = Contestant(f"{prefix}cky + eisner", lambda b: (cky.search(b), eisner.search(b)), 3, cky.tensors)
    return [both, *named.values()]


def parsing_rates(folders: dict[str, Path], words: Sequence[Sequence[str]], rounds: int) -> dict[str, float]:
    """Sentences a second from words to labelled trees in torch, by the models of MTL and Joint2o.

    `folders` has the runs "mtl" and "joint2o". The searches take each other's place within the MTL model.
    """
    models = {name: load_parts(folder)["both"][:2] for name, folder in folders.items()}
    contestants: dict[str, Callable[[], object]] = {}
    for title, (name, search) in _PARSERS.items():
        contestants[title] = partial(_parse, *models[name], words, search)
    for run in contestants.values():
        run()
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for title, run in contestants.items():
            begin = time.perf_counter()
            run()
            best[title] = min(best[title], time.perf_counter() - begin)
    return {title: len(words) / seconds for title, seconds in best.items()}


def _parse(model: Model, inputs: Any, words: Sequence[Sequence[str]], search: Search | None) -> None:
    predictor = Predictor([model], inputs, model.inventories, BUDGET)
    if search is not None:
        predictor.search = search  # type: ignore
    predictor.predict(words)


def _naive(scores: Scores, lengths: np.ndarray) -> decoding.Decoded:
    assert scores.span is not None and scores.arc is not None
    return decoding.naive(scores.span, scores.arc, lengths)


def _apart(scores: Scores, lengths: np.ndarray) -> decoding.Decoded:
    return search_scores(scores, lengths, apart=True)


def _batched(scores: Scores, lengths: np.ndarray) -> decoding.Decoded:
    headed = None if scores.headed is None else torch.from_numpy(scores.headed)
    span, arc, where = (torch.from_numpy(part) for part in (scores.span, scores.arc, lengths))
    found: decoding.Decoded = decoding.batched.eisner_satta(span, arc, where, headed)
    return found


# None: the model's own search, Eisner-Satta in the kernels.
_PARSERS: dict[str, tuple[str, Search | None]] = {
    "naive": ("mtl", _naive),
    "cky + eisner": ("mtl", _apart),
    "eisner_satta": ("mtl", None),
    "eisner_satta 2nd order": ("joint2o", None),
    "batched eisner_satta": ("mtl", _batched),
    "batched eisner_satta 2nd order": ("joint2o", _batched),
}
