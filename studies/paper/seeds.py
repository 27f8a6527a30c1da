"""Is row A better than row B, given that both the test sentences and the seeds are a sample?

A row's figure is the mean over its seeds, and the difference of two rows is the difference of these
means, wherever it is shown. The test is a hierarchical bootstrap: a draw takes as many test
sentences with replacement, the same for all models, and for each row as many of its seeds with
replacement. The middle 95% of the differences are the interval; the p-value is the share of draws
whose difference lies at least as far from the observed one as that lies from zero, the observed
outcome included, so that none is zero. Of one seed, the test knows the luck of the sentences alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arcspan.evaluation import METRICS

Counts = Mapping[str, np.ndarray]
BLOCK = 400  # draws at once


def compare_seeds(
    a: Sequence[Counts], b: Sequence[Counts], metrics: Sequence[str], samples: int, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """The difference of every figure, with its interval and p-value.

    a, b: for each seed of a row what was counted, [sentences] by name. The sentences are the same
    throughout.

    >>> good, bad = ({"right_arcs": np.full(50, n), "arcs": np.full(50, 4)} for n in (4, 3))
    >>> one = compare_seeds([good, good], [bad, bad], ["las"], 200)["las"]
    >>> one["difference"], one["interval"], one["p"] < 0.01
    (25.0, [25.0, 25.0], True)
    """
    rng = np.random.default_rng(seed)
    names = sorted({name for metric in metrics for name in _counted(metric)})
    models = [*a, *b]
    n = len(models[0][names[0]])
    table = np.stack([counts[name] for counts in models for name in names], axis=1).astype(
        np.float64
    )
    first = np.arange(len(models)) < len(a)

    def figures(sums: np.ndarray) -> dict[str, np.ndarray]:
        """Figures [draws, models] from summed counts [draws, models * names]."""
        by_name = dict(
            zip(
                names,
                np.moveaxis(sums.reshape(len(sums), len(models), len(names)), 2, 0),
                strict=True,
            )
        )
        return {metric: np.asarray(METRICS[metric].value(by_name)) for metric in metrics}

    draws: dict[str, list[np.ndarray]] = {metric: [] for metric in metrics}
    for begin in range(0, samples, BLOCK):
        size = min(BLOCK, samples - begin)
        drawn = (
            rng.integers(0, n, size=(size, n), dtype=np.int32)
            + np.arange(size, dtype=np.int32)[:, None] * n
        )
        times = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        drawn_figures = figures(times.astype(np.float64) @ table)
        weights = [_weights(rng, size, int(of_seeds.sum())) for of_seeds in (first, ~first)]
        for metric, values in drawn_figures.items():
            first_mean, second_mean = (
                (values[:, of_seeds] * w).sum(1)
                for of_seeds, w in zip((first, ~first), weights, strict=True)
            )
            draws[metric].append(first_mean - second_mean)
    observed = figures(table.sum(0, keepdims=True))
    return {
        metric: _tested(
            *(float(observed[metric][0, of_seeds].mean()) for of_seeds in (first, ~first)),
            np.concatenate(spread),
        )
        for metric, spread in draws.items()
    }


def _counted(metric: str) -> set[str]:
    """The counts that a figure is made of."""
    definition = METRICS[metric]
    return {
        name
        for part in (definition.numerator, definition.denominator)
        for name in (_counted(part) if part in METRICS else {part})
    }


def _weights(rng: np.random.Generator, draws: int, seeds: int) -> np.ndarray:
    """How much each seed counts in each draw, [draws, seeds]: seeds are drawn with replacement."""
    return rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=draws) / seeds


def _tested(a: float, b: float, spread: np.ndarray) -> dict[str, Any]:
    gain = a - b
    extreme = int(np.count_nonzero(np.abs(spread - gain) >= abs(gain) - 1e-9))
    low, high = np.quantile(spread, [0.025, 0.975])
    p = (1 + extreme) / (1 + len(spread))
    return {"a": a, "b": b, "difference": gain, "interval": [float(low), float(high)], "p": p}
