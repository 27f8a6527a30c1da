"""What else the trees of a sentence could be: other heads, relations, constituents and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LEAST = 0.01  # what is less likely is left out


def head_entropies(arcs: np.ndarray) -> tuple[float, ...]:
    """The entropy of each word's head, in nats, of probabilities [n+1, n+1].

    >>> head_entropies(np.array([[0, 0, 0], [0.5, 0, 0.5], [0.5, 0.5, 0]]))[0].__round__(3)
    0.693
    """
    chances = arcs[1:].astype(np.float64)
    logarithms = np.log(chances, where=chances > 0, out=np.zeros_like(chances))
    return tuple(np.maximum(-(chances * logarithms).sum(1), 0).tolist())


def others(chances: np.ndarray, chosen: np.ndarray, names: Sequence[Any]) -> tuple[Any, ...]:
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


def crossing(
    places: Sequence[tuple[int, int]], i: np.ndarray, j: np.ndarray, chances: np.ndarray
) -> dict[tuple[int, int], tuple[tuple[int, int, float], ...]]:
    """Of each place (i, j): those of the spans (i, j, probability) that are likely and cross it."""
    order = np.argsort(-chances, kind="stable")
    rows = zip(*(part[order].tolist() for part in (i, j, chances)), strict=True)
    rivals = [(a, b, p) for a, b, p in rows if p >= LEAST]
    return {
        (c, d): tuple((a, b, p) for a, b, p in rivals if a < c < b < d or c < a < d < b) for c, d in places
    }
