"""Temperatures that turn a bundle's scores into probabilities, fitted on held-out sentences.

Each temperature is the one under which what happened is most likely: labels and relations by their cross-entropy where
the span or arc is right; the one of the trees by whether the spans, the arcs and the pairs that the parser predicts are
right, each of the three kinds with the same weight. Sentences are parsed once; the likelihood is measured on a grid of
temperatures and interpolated between its best points.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.errors import ArcspanError
from arcspan.prediction.confidence import Calibration, log_softmax
from arcspan.prediction.query import Query
from arcspan.prediction.runner import Predictor
from arcspan.prediction.search import best
from arcspan.runtime.bundle import update_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.treebanks import Pair

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
    node_found: np.ndarray  # what was predicted, as numbers
    word_found: np.ndarray
    whole: np.ndarray  # [T]: log-probability of the tree without its names
    right: bool  # whether the pair is the gold one


def observe(predictor: Predictor, pair: Pair, style: str | None = None) -> Observed | None:
    """Parse a gold sentence and note what calibration needs; None for one that is too long."""
    known, own = predictor.model.inventories, predictor.model.calibration
    chains = pair.constituency.without_wrapper().chains()
    try:
        query = Query(style=style, tags=pair.constituency.tags)
        scores = predictor.distribution(pair.dependencies.words, query)
    except ArcspanError:
        return None
    (found,) = best(scores.charts)
    nodes = found.nodes if found.nodes is not None else np.zeros((0, 4), np.int64)
    heads = found.heads if found.heads is not None else np.zeros(0, np.int64)
    i, j, _, chosen = nodes.T
    labels = scores.labels(i, j) if found.nodes is not None else np.zeros((0, 1))
    relations = scores.relations(heads) if found.heads is not None else np.zeros((0, 1))
    label_ids: dict[Any, int] = {chain: number for number, chain in enumerate(known.labels)}
    relation_ids = {relation: number for number, relation in enumerate(known.relations)}
    places = list(zip(i.tolist(), j.tolist(), strict=True))
    is_gold = np.asarray([place in chains for place in places], np.bool_)
    gold_chains = (chains.get((a, b), () if b - a == 1 else None) for a, b in places)
    shown = chosen != 0
    right = heads == np.asarray(pair.dependencies.heads)[: len(heads)]
    words = np.arange(1, len(heads) + 1)
    named = relations.argmax(1)  # before guidelines
    structure = found.score
    if predictor.model.labelled:
        structure -= own.structure_temperature * _log_chances(labels, chosen, own.label_temperature)
        structure -= own.structure_temperature * _log_chances(
            relations, named, own.relation_temperature
        )
    labelled = zip(places, chosen.tolist(), strict=True)
    constituents = {place: known.labels[label] for place, label in labelled if label}
    good = found.nodes is None or constituents == chains
    gold = [relation_ids.get(relation, -1) for relation in pair.dependencies.relations]
    if found.relations is not None:
        good &= bool(right.all()) and found.relations.tolist() == gold
    measured = [scores.marginals(temperature) for temperature in GRID]
    return Observed(
        spans=np.stack(
            [one.spans[i[shown], j[shown]] if one.spans is not None else i[:0] for one in measured]
        ),
        span_labels=labels[shown],
        span_right=is_gold[shown],
        arcs=np.stack(
            [one.arcs[words, heads] if one.arcs is not None else words[:0] for one in measured]
        ),
        arc_right=right,
        node_labels=labels,
        node_gold=np.asarray([label_ids.get(chain, -1) for chain in gold_chains], np.int64),
        word_relations=relations,
        word_gold=np.where(right, np.asarray(gold, np.int64)[: len(right)], -1),
        node_found=chosen,
        word_found=named,
        whole=np.asarray([structure / t - scores.partition(t) for t in GRID]),
        right=good,
    )


def fit(observed: Sequence[Observed]) -> Calibration:
    """The temperatures under which what was observed is most likely."""
    labels, gold_labels = _known([(one.node_labels, one.node_gold) for one in observed])
    relations, gold_relations = _known([(one.word_relations, one.word_gold) for one in observed])
    label = _least_of([_cross_entropy(labels, gold_labels, t) for t in GRID])
    relation = _least_of([_cross_entropy(relations, gold_relations, t) for t in GRID])
    shown = np.concatenate([one.span_labels for one in observed])
    spans, arcs = (
        np.concatenate([getattr(one, name) for one in observed], 1) for name in ("spans", "arcs")
    )
    span_right = np.concatenate([one.span_right for one in observed])
    arc_right = np.concatenate([one.arc_right for one in observed])
    constituent = -np.expm1(log_softmax(shown, label)[:, 0]) if len(shown) else np.zeros(0)
    names = np.asarray(
        [
            _log_chances(one.node_labels, one.node_found, label)
            + _log_chances(one.word_relations, one.word_found, relation)
            for one in observed
        ]
    )
    whole = np.exp(np.stack([one.whole for one in observed], 1) + names)
    right = np.asarray([one.right for one in observed])
    kinds = ((spans * constituent, span_right), (arcs, arc_right), (whole, right))
    tree = [
        sum(log_loss(chances[t], came) for chances, came in kinds if len(came))
        for t in range(len(GRID))
    ]
    return Calibration(
        structure_temperature=_least_of(tree),
        label_temperature=label,
        relation_temperature=relation,
    )


def log_loss(probabilities: np.ndarray, right: np.ndarray) -> float:
    """The mean of -log p of what happened: p where the part is right, 1 - p where it is wrong."""
    p = np.clip(np.asarray(probabilities, np.float64), 1e-9, 1 - 1e-9)
    return float(-np.where(right, np.log(p), np.log1p(-p)).mean())


def _log_chances(scores: np.ndarray, chosen: np.ndarray, temperature: float) -> float:
    """The log-probability of all the names that were chosen."""
    return (
        float(log_softmax(scores, temperature)[np.arange(len(chosen)), chosen].sum())
        if len(chosen)
        else 0.0
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
    return (
        float(-log_softmax(scores, temperature)[np.arange(len(gold)), gold].mean())
        if len(gold)
        else 0.0
    )


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
    kept = [
        pair for pair in pairs if len(pair.dependencies.words) and "" not in pair.dependencies.words
    ]
    if limit and len(kept) > limit:
        kept = [kept[place] for place in np.linspace(0, len(kept) - 1, limit).astype(int).tolist()]
    return kept


def calibrate(
    bundle: str | os.PathLike[str],
    pairs: Sequence[Pair],
    *,
    style: str | None = None,
    limit: int = 1000,
) -> Calibration:
    """Fit a bundle's temperatures on held-out pairs of a style, and keep them in its configuration."""
    predictor, _ = load_predictor(bundle)
    predictor.model.style_of(style)  # an unknown one is an error at once
    observed = [
        one
        for one in (observe(predictor, pair, style) for pair in sample(pairs, limit))
        if one is not None
    ]
    if not observed:
        raise ArcspanError("no sentence to calibrate on")
    found = rounded(fit(observed))
    update_bundle(Path(bundle), {"calibration": {**found.to_json(), "sentences": len(observed)}})
    return found


def rounded(calibration: Calibration) -> Calibration:
    """Temperatures with four digits: more are noise."""
    return replace(
        calibration, **{name: round(value, 4) for name, value in calibration.to_json().items()}
    )
