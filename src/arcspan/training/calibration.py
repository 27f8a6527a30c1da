"""Temperatures that turn a bundle's scores into probabilities, fitted on held-out sentences.

Each temperature is the one under which the gold answers are most likely: labels and relations by
their cross-entropy where the span or arc is right; the one of the trees by whether the spans, the
arcs and the pairs that the parser predicts are right, each of the three with the same weight.
Sentences are parsed once; the likelihood is measured on a grid of temperatures and interpolated
between its best points.
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
from arcspan.prediction.search import best as best_parses
from arcspan.runtime.bundle import update_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.treebanks import Pair

GRID = tuple(2.0 ** (k / 2) for k in range(-6, 8))  # 1/8 to 11.3


@dataclass
class Observed:
    """The predictions for one sentence, at every temperature of the grid, and which are right.

    spans             [T, constituents]: marginal probabilities
    span_labels       [constituents, labels]: scores of their labels
    arcs              [T, words]
    node_labels       [2n-1, labels];  node_gold: -1 where the span is no gold constituent
    word_relations    [n, relations];  word_gold: -1 where the head is wrong
    node_predicted, word_predicted   numbers of the predicted labels and relations
    tree_log_chances  [T]: log-probability of the tree without its names
    right             whether the pair is the gold one
    """

    spans: np.ndarray
    span_labels: np.ndarray
    span_right: np.ndarray
    arcs: np.ndarray
    arc_right: np.ndarray
    node_labels: np.ndarray = field(repr=False)
    node_gold: np.ndarray
    word_relations: np.ndarray = field(repr=False)
    word_gold: np.ndarray
    node_predicted: np.ndarray
    word_predicted: np.ndarray
    tree_log_chances: np.ndarray
    right: bool


def observe(predictor: Predictor, pair: Pair, style: str | None = None) -> Observed | None:
    """Parse a gold sentence and note what calibration needs; None for one that is too long."""
    inventories, calibration = predictor.model.inventories, predictor.model.calibration
    gold_constituents = pair.constituency.without_wrapper().chains()
    try:
        query = Query(style=style, tags=pair.constituency.tags)
        scores = predictor.distribution(pair.dependencies.words, query)
    except ArcspanError:
        return None
    (best,) = best_parses(scores.charts)
    # A parser of one layer has no nodes or no heads.
    nodes = best.nodes if best.nodes is not None else np.zeros((0, 4), np.int64)
    heads = best.heads if best.heads is not None else np.zeros(0, np.int64)
    i, j, _, node_predicted = nodes.T
    node_labels = scores.labels(i, j) if best.nodes is not None else np.zeros((0, 1))
    word_relations = scores.relations(heads) if best.heads is not None else np.zeros((0, 1))
    # Not the relations of the parse: guidelines may have changed those.
    word_predicted = word_relations.argmax(1)

    label_ids: dict[Any, int] = {label: id for id, label in enumerate(inventories.labels)}
    spans = list(zip(i.tolist(), j.tolist(), strict=True))
    node_gold = []
    for a, b in spans:
        # A word without a constituent of its own has the empty label.
        chain = gold_constituents.get((a, b), () if b - a == 1 else None)
        node_gold.append(label_ids.get(chain, -1))
    is_gold_span = np.asarray([span in gold_constituents for span in spans], np.bool_)
    is_constituent = node_predicted != 0

    relation_ids = {relation: id for id, relation in enumerate(inventories.relations)}
    gold_relations = [relation_ids.get(name, -1) for name in pair.dependencies.relations]
    arc_right = heads == np.asarray(pair.dependencies.heads)[: len(heads)]
    words = np.arange(1, len(heads) + 1)

    structure = best.score
    if predictor.model.labelled:
        # The score of a labelled pair includes the log-probabilities of its names.
        label_part = _log_chances(node_labels, node_predicted, calibration.label_temperature)
        relation_part = _log_chances(
            word_relations, word_predicted, calibration.relation_temperature
        )
        structure -= calibration.structure_temperature * label_part
        structure -= calibration.structure_temperature * relation_part
    right = True
    if best.nodes is not None:
        constituents = {}
        for span, label in zip(spans, node_predicted.tolist(), strict=True):
            if label:
                constituents[span] = inventories.labels[label]
        right = constituents == gold_constituents
    if best.relations is not None:
        right &= bool(arc_right.all()) and best.relations.tolist() == gold_relations

    span_chances, arc_chances = [], []
    for temperature in GRID:
        marginals = scores.marginals(temperature)
        if marginals.spans is not None:
            span_chances.append(marginals.spans[i[is_constituent], j[is_constituent]])
        else:
            span_chances.append(i[:0])
        arc_chances.append(
            marginals.arcs[words, heads] if marginals.arcs is not None else words[:0]
        )
    return Observed(
        spans=np.stack(span_chances),
        span_labels=node_labels[is_constituent],
        span_right=is_gold_span[is_constituent],
        arcs=np.stack(arc_chances),
        arc_right=arc_right,
        node_labels=node_labels,
        node_gold=np.asarray(node_gold, np.int64),
        word_relations=word_relations,
        word_gold=np.where(arc_right, np.asarray(gold_relations, np.int64)[: len(arc_right)], -1),
        node_predicted=node_predicted,
        word_predicted=word_predicted,
        tree_log_chances=np.asarray([structure / t - scores.partition(t) for t in GRID]),
        right=right,
    )


def fit(observed: Sequence[Observed]) -> Calibration:
    """Return the temperatures under which the observed answers are most likely."""
    labels, gold_labels = _answerable(
        (sentence.node_labels, sentence.node_gold) for sentence in observed
    )
    relations, gold_relations = _answerable(
        (sentence.word_relations, sentence.word_gold) for sentence in observed
    )
    label = _least_of([_cross_entropy(labels, gold_labels, t) for t in GRID])
    relation = _least_of([_cross_entropy(relations, gold_relations, t) for t in GRID])

    # A span is a constituent if the tree has it, and its label is not the empty one (0).
    spans = np.concatenate([sentence.spans for sentence in observed], 1)
    span_labels = np.concatenate([sentence.span_labels for sentence in observed])
    if len(span_labels):
        spans = spans * -np.expm1(log_softmax(span_labels, label)[:, 0])
    span_right = np.concatenate([sentence.span_right for sentence in observed])

    arcs = np.concatenate([sentence.arcs for sentence in observed], 1)
    arc_right = np.concatenate([sentence.arc_right for sentence in observed])

    name_log_chances = [
        _log_chances(sentence.node_labels, sentence.node_predicted, label)
        + _log_chances(sentence.word_relations, sentence.word_predicted, relation)
        for sentence in observed
    ]
    tree_log_chances = np.stack([sentence.tree_log_chances for sentence in observed], 1)
    pairs = np.exp(tree_log_chances + np.asarray(name_log_chances))
    pair_right = np.asarray([sentence.right for sentence in observed])

    structure_losses = []
    for t in range(len(GRID)):
        total = 0.0
        for chances, right in ((spans, span_right), (arcs, arc_right), (pairs, pair_right)):
            if len(right):
                total += log_loss(chances[t], right)
        structure_losses.append(total)
    return Calibration(
        structure_temperature=_least_of(structure_losses),
        label_temperature=label,
        relation_temperature=relation,
    )


def log_loss(probabilities: np.ndarray, right: np.ndarray) -> float:
    """Return the mean of -log p of the truth: p where a part is right, 1 - p where it is wrong."""
    # Clipped, since a single part predicted with certainty and wrong would make it infinite.
    p = np.clip(np.asarray(probabilities, np.float64), 1e-9, 1 - 1e-9)
    return float(-np.where(right, np.log(p), np.log1p(-p)).mean())


def _log_chances(scores: np.ndarray, names: np.ndarray, temperature: float) -> float:
    """Return the log-probability of all these names, one for each row of scores."""
    if not len(names):
        return 0.0
    return float(log_softmax(scores, temperature)[np.arange(len(names)), names].sum())


def _answerable(rows: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of scores whose gold answer is annotated (not -1) and can be predicted."""
    all_scores, all_gold = [], []
    for scores, gold in rows:
        if (gold >= 0).any():
            all_scores.append(scores[gold >= 0])
            all_gold.append(gold[gold >= 0])
    if not all_gold:
        return np.zeros((0, 1)), np.zeros(0, np.int64)
    scores, gold = np.concatenate(all_scores), np.concatenate(all_gold)
    # Names that the style does not use have scores of -inf.
    possible = np.isfinite(scores[np.arange(len(gold)), gold])
    return scores[possible], gold[possible]


def _cross_entropy(scores: np.ndarray, gold: np.ndarray, temperature: float) -> float:
    if not len(gold):
        return 0.0
    return float(-log_softmax(scores, temperature)[np.arange(len(gold)), gold].mean())


def _least_of(losses: Sequence[float]) -> float:
    """Return the temperature with the least loss, by the best point of the grid and its neighbours.

    It is the vertex of the parabola through these three, in log temperature.

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
    """Return at most `limit` sentences with words, evenly spread."""
    usable = []
    for pair in pairs:
        words = pair.dependencies.words
        if len(words) and "" not in words:
            usable.append(pair)
    if limit and len(usable) > limit:
        indices = np.linspace(0, len(usable) - 1, limit).astype(int).tolist()
        usable = [usable[index] for index in indices]
    return usable


def calibrate(
    bundle: str | os.PathLike[str],
    pairs: Sequence[Pair],
    *,
    style: str | None = None,
    limit: int = 1000,
) -> Calibration:
    """Fit a bundle's temperatures on held-out pairs of a style, and write them into the bundle."""
    predictor, _ = load_predictor(bundle)
    predictor.model.style_of(style)  # raises the error of an unknown style before anything long
    observed = []
    for pair in sample(pairs, limit):
        observation = observe(predictor, pair, style)
        if observation is not None:
            observed.append(observation)
    if not observed:
        raise ArcspanError("no sentence to calibrate on")
    calibration = rounded(fit(observed))
    entry = {**calibration.to_json(), "sentences": len(observed)}
    update_bundle(Path(bundle), {"calibration": entry})
    return calibration


def rounded(calibration: Calibration) -> Calibration:
    """Round temperatures to four digits: more are noise."""
    digits = {name: round(number, 4) for name, number in calibration.to_json().items()}
    return replace(calibration, **digits)
