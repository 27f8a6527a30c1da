"""What else the trees of a sentence could be: other heads, relations, constituents and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arcspan.prediction.confidence import Alternatives, Calibration, log_softmax
from arcspan.prediction.prediction import Prediction

if TYPE_CHECKING:
    from arcspan.prediction.sentence_scores import SentenceScores

LEAST = 0.01  # what is less likely is left out

Place = tuple[int, int]


def find_alternatives(
    scores: SentenceScores, prediction: Prediction, calibration: Calibration
) -> Alternatives:
    """The alternatives to a prediction at the temperatures of a calibration."""
    inventories = scores.predictor.inventories
    spans, arcs = scores.probabilities(calibration.structure_temperature)
    found = Alternatives()
    if prediction.heads is not None and arcs is not None:
        found = found._replace(heads=_others(arcs[1:], prediction.heads, range(scores.n + 1)))
        if prediction.relations is not None:
            rows = scores.relations(prediction.heads)
            chances = np.exp(log_softmax(rows, calibration.relation_temperature))
            found = found._replace(relations=_others(chances, prediction.relations, inventories.relations))
    if prediction.nodes is not None and spans is not None:
        i, j, _, label = prediction.nodes[prediction.nodes[:, 3] > 0].T
        places = list(zip(i.tolist(), j.tolist(), strict=True))
        chances = np.exp(log_softmax(scores.labels(i, j)[:, 1:], calibration.label_temperature))
        labels = _others(chances, label - 1, inventories.labels[1:])
        rivals = _rivals(scores, spans, set(places), calibration)
        found = found._replace(
            labels=dict(zip(places, labels, strict=True)),
            spans={place: tuple(one for one in rivals if _cross(place, one)) for place in places},
        )
    return found


def head_entropies(arcs: np.ndarray) -> tuple[float, ...]:
    """The entropy of each word's head, in nats, of probabilities [n+1, n+1].

    >>> head_entropies(np.array([[0, 0, 0], [0.5, 0, 0.5], [0.5, 0.5, 0]]))[0].__round__(3)
    0.693
    """
    chances = arcs[1:].astype(np.float64)
    logarithms = np.log(chances, where=chances > 0, out=np.zeros_like(chances))
    return tuple(np.maximum(-(chances * logarithms).sum(1), 0).tolist())


def _others(chances: np.ndarray, chosen: np.ndarray, names: Sequence[Any]) -> tuple[Any, ...]:
    """For each row: (name, probability) of what is likely and not chosen."""
    likely = chances >= LEAST
    likely[np.arange(len(chosen)), chosen] = False
    rows, columns = np.nonzero(likely)
    values = chances[rows, columns]
    order = np.lexsort((columns, -values))
    found: list[list[tuple[Any, float]]] = [[] for _ in chosen]
    for row, column, value in zip(*(part[order].tolist() for part in (rows, columns, values)), strict=True):
        found[row].append((names[column], value))
    return tuple(map(tuple, found))


def _rivals(
    scores: SentenceScores, spans: np.ndarray, known: set[Place], calibration: Calibration
) -> list[tuple[int, int, float]]:
    """Likely constituents that the parse does not have."""
    i, j = np.nonzero(np.triu(spans, 1) >= LEAST)
    nothing = np.exp(log_softmax(scores.labels(i, j), calibration.label_temperature))[:, 0]
    chances = spans[i, j] * (1 - nothing)
    order = np.argsort(-chances, kind="stable")
    rows = zip(i[order].tolist(), j[order].tolist(), chances[order].tolist(), strict=True)
    return [(a, b, p) for a, b, p in rows if p >= LEAST and (a, b) not in known]


def _cross(place: Place, other: tuple[int, int, float]) -> bool:
    (i, j), (a, b, _) = place, other
    return a < i < b < j or i < a < j < b
