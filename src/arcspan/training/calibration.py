"""Temperatures that turn a bundle's scores into probabilities, fitted on held-out sentences.

So are the weights of labels and relations in the search for the best labelled trees, by LAS + F1. Each temperature
is the one under which what happened is most likely: labels and relations by their
cross-entropy where the span or arc is right; the one of the trees by whether the spans and arcs that the parser
predicts are in the gold trees. Temperatures do not change which parse is best, so sentences are parsed
once, and the likelihood is measured on a grid of temperatures and interpolated between its best points.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from arcspan.errors import ArcspanError
from arcspan.evaluation import evaluate
from arcspan.evaluation.calibration import log_loss
from arcspan.prediction.confidence import Calibration, log_softmax
from arcspan.prediction.prediction import to_pair
from arcspan.prediction.predictor import Predictor
from arcspan.prediction.query import Query
from arcspan.runtime.bundle import update_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.treebanks import Pair

WEIGHTS = (1.0, 0.75, 0.5, 0.25)
GRID = tuple(2.0 ** (k / 2) for k in range(-6, 8))  # 1/8 to 11.3


@dataclass
class Observed:
    """What was predicted for one sentence, at every temperature of the grid, and whether it is right.

    spans    [T, constituents]: marginal probabilities; span_labels [constituents, labels]: scores of their labels
    arcs     [T, words]
    """

    spans: np.ndarray
    span_labels: np.ndarray
    span_right: np.ndarray
    arcs: np.ndarray
    arc_right: np.ndarray
    node_labels: np.ndarray = field(repr=False)  # [2n-1, labels]
    node_gold: np.ndarray  # -1 where the span is no gold constituent
    word_relations: np.ndarray = field(repr=False)
    word_gold: np.ndarray  # -1 where the head is wrong


def observe(predictor: Predictor, pair: Pair) -> Observed | None:
    """Parse a gold sentence and note what calibration needs; None for one that is too long."""
    known = predictor.inventories
    chains = pair.constituency.without_wrapper().chains()
    try:
        scores = predictor.scores(pair.dependencies.words, Query(tags=pair.constituency.tags))
    except ArcspanError:
        return None
    found = scores.best()
    nodes = found.nodes if found.nodes is not None else np.zeros((0, 4), np.int64)
    heads = found.heads if found.heads is not None else np.zeros(0, np.int64)
    i, j, _, chosen = nodes.T
    labels = scores.labels(i, j) if found.nodes is not None else np.zeros((0, 1))
    relations = scores.relations(heads) if found.heads is not None else None
    label_ids = {chain: number for number, chain in enumerate(known.labels)}
    relation_ids = {relation: number for number, relation in enumerate(known.relations)}
    places = list(zip(i.tolist(), j.tolist(), strict=True))
    is_gold = np.asarray([place in chains for place in places], np.bool_)
    shown = chosen != 0
    right = heads == np.asarray(pair.dependencies.heads)[: len(heads)]
    words = np.arange(1, len(heads) + 1)
    measured = [scores.probabilities(temperature) for temperature in GRID]
    return Observed(
        spans=np.stack(
            [one.spans[i[shown], j[shown]] if one.spans is not None else i[:0] for one in measured]
        ),
        span_labels=labels[shown],
        span_right=is_gold[shown],
        arcs=np.stack([one.arcs[words, heads] if one.arcs is not None else words[:0] for one in measured]),
        arc_right=right,
        node_labels=labels,
        node_gold=np.asarray(
            [
                label_ids.get(chains.get((a, b), ()), -1) if (a, b) in chains or b - a == 1 else -1
                for a, b in places
            ],
            np.int64,
        ),
        word_relations=relations if relations is not None else np.zeros((0, 1)),
        word_gold=np.asarray(
            [
                relation_ids.get(relation, -1) if good else -1
                for relation, good in zip(pair.dependencies.relations, right.tolist(), strict=False)
            ],
            np.int64,
        ),
    )


def fit(observed: Sequence[Observed]) -> Calibration:
    """The temperatures under which what was observed is most likely."""
    labels, gold_labels = _known([(one.node_labels, one.node_gold) for one in observed])
    relations, gold_relations = _known([(one.word_relations, one.word_gold) for one in observed])
    label = _least(lambda t: _cross_entropy(labels, gold_labels, t))
    relation = _least(lambda t: _cross_entropy(relations, gold_relations, t))
    shown = np.concatenate([one.span_labels for one in observed])
    spans, arcs = (np.concatenate([getattr(one, name) for one in observed], 1) for name in ("spans", "arcs"))
    span_right, arc_right = (
        np.concatenate([getattr(one, name) for one in observed]) for name in ("span_right", "arc_right")
    )
    constituent = -np.expm1(log_softmax(shown, label)[:, 0]) if len(shown) else np.zeros(0)
    tree = [
        log_loss(np.clip(spans[t] * constituent, 0, 1), span_right) * len(span_right)
        + log_loss(np.clip(arcs[t], 0, 1), arc_right) * len(arc_right)
        for t in range(len(GRID))
    ]
    return Calibration(
        structure_temperature=_least_of(tree), label_temperature=label, relation_temperature=relation
    )


def _known(rows: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose gold answer is known, and can be given."""
    kept = [(scores[gold >= 0], gold[gold >= 0]) for scores, gold in rows if (gold >= 0).any()]
    if not kept:
        return np.zeros((0, 1)), np.zeros(0, np.int64)
    scores, gold = (np.concatenate(part) for part in zip(*kept, strict=True))
    possible = np.isfinite(scores[np.arange(len(gold)), gold])
    return scores[possible], gold[possible]


def _cross_entropy(scores: np.ndarray, gold: np.ndarray, temperature: float) -> float:
    return float(-log_softmax(scores, temperature)[np.arange(len(gold)), gold].mean()) if len(gold) else 0.0


def _least(loss: Callable[[float], float]) -> float:
    return _least_of([loss(temperature) for temperature in GRID])


def _least_of(losses: Sequence[float]) -> float:
    """The temperature with the least loss: the vertex of the parabola, in log temperature, through the best
    point of the grid and its neighbours.

    >>> round(_least_of([(np.log(t) - 0.3) ** 2 for t in GRID]), 3) == round(float(np.exp(0.3)), 3)
    True
    """
    best = int(np.argmin(losses))
    if np.ptp(losses) == 0:
        return 1.0
    if best in (0, len(losses) - 1):
        return GRID[best]
    left, middle, right = losses[best - 1 : best + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(GRID[best] * (GRID[1] / GRID[0]) ** shift)


def sample(pairs: Sequence[Pair], limit: int) -> list[Pair]:
    """At most `limit` sentences with words, evenly spread."""
    kept = [pair for pair in pairs if len(pair.dependencies.words) and "" not in pair.dependencies.words]
    if limit and len(kept) > limit:
        kept = [kept[place] for place in np.linspace(0, len(kept) - 1, limit).astype(int).tolist()]
    return kept


def in_style(predictor: Predictor, style: str | None) -> Predictor:
    """The predictor with another default style, by name; None for its own."""
    if style is not None:
        if style not in predictor.styles:
            known = ", ".join(predictor.styles) or "only one, without a name"
            raise ArcspanError(f"this model has no style {style!r}: it has {known}")
        predictor.style = predictor.styles[style]
    return predictor


def calibrate(
    bundle: str | os.PathLike[str],
    pairs: Sequence[Pair],
    *,
    style: str | None = None,
    limit: int = 1000,
    write: bool = True,
) -> Calibration:
    """Fit a bundle's temperatures on held-out pairs of a style, and keep them in its configuration."""
    predictor = in_style(load_predictor(bundle)[0], style)
    observed = [one for one in (observe(predictor, pair) for pair in sample(pairs, limit)) if one is not None]
    if not observed:
        raise ArcspanError("no sentence to calibrate on")
    predictor.calibration = rounded(fit(observed))
    found = fit_weights(predictor, sample(pairs, limit))
    if write:
        update_bundle(Path(bundle), {"calibration": {**found.to_json(), "sentences": len(observed)}})
    return found


def fit_weights(predictor: Predictor, pairs: Sequence[Pair]) -> Calibration:
    """The predictor's temperatures with the weights of labels and relations that are best by LAS + F1.

    First both alike, then that of relations beside the label weight found.
    """
    temperatures = predictor.calibration
    if not predictor.labelled or not predictor.joint:
        return temperatures
    words = [pair.words for pair in pairs]
    tags = [Query(tags=pair.constituency.tags) for pair in pairs]

    def score(weights: Calibration) -> float:
        predictor.calibration = weights
        found = predictor.predict(words, tags)
        made = [Pair(*to_pair(*one, predictor.inventories)) for one in zip(words, found, strict=True)]  # type: ignore[arg-type]
        figures = evaluate(pairs, made).figures()
        return figures["las"] + figures["f1"]

    alike = [replace(temperatures, label_weight=weight, relation_weight=weight) for weight in WEIGHTS]
    best = max(alike, key=score)
    return max((replace(best, relation_weight=weight) for weight in WEIGHTS), key=score)


def rounded(calibration: Calibration) -> Calibration:
    """Temperatures with four digits: more are noise."""
    return replace(calibration, **{name: round(value, 4) for name, value in calibration.to_json().items()})
