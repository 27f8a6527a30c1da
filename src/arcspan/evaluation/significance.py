"""Significance tests of the difference between two systems.

Both tests work on the counts of each sentence, and compute every figure from summed counts like the
report.

- Paired bootstrap (Efron and Tibshirani 1993; Berg-Kirkpatrick et al. 2012): draw as many sentences
with replacement, the same for both systems. The middle 95% of the figures are their confidence
intervals; the p-value is the share of draws whose difference lies at least as far from the observed
one as that lies from zero. - Approximate randomization (Noreen 1989; Yeh 2000): were the systems
equally good, their outputs for a sentence could change places. The p-value is the share of such
exchanges, by fair coins, that give at least the observed difference.

Both p-values are two-sided and count the observed outcome among the draws, so that none is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcspan.errors import ArcspanError
from arcspan.evaluation.metrics import METRICS, Metric
from arcspan.evaluation.report import Report, check_comparable
from arcspan.evaluation.tables import Printable, blocks, columns

Array = NDArray[np.float64]
Interval = tuple[float, float]

# Numbers in a block of draws: 32 MB.
_CELLS = 4_000_000


class Difference(NamedTuple):
    """A figure of both systems: values, difference (A - B), confidence intervals, p-values."""

    a: float
    b: float
    difference: float
    interval: Interval
    a_interval: Interval
    b_interval: Interval
    p_bootstrap: float
    p_randomization: float


@dataclass(frozen=True)
class Comparison(Printable):
    """The figures that both reports have, with the outcome of the tests."""

    differences: dict[str, Difference]
    signatures: dict[str, str]
    sentences: int
    samples: int
    seed: int
    confidence: float
    names: tuple[str, str] = ("A", "B")

    def __getitem__(self, name: str) -> Difference:
        return self.differences[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for machines."""
        return {
            "names": self.names,
            "sentences": self.sentences,
            "samples": self.samples,
            "seed": self.seed,
            "confidence": self.confidence,
            "signatures": self.signatures,
            "figures": {name: figure._asdict() for name, figure in self.differences.items()},
        }

    def __str__(self) -> str:
        """Return a table; stars mark p-values of both tests below 0.05, 0.01 and 0.001."""
        interval = f"{100 * self.confidence:g}% interval"
        header = ["", *self.names, " - ".join(self.names), interval]
        rows = [[*header, "p (bootstrap)", "p (randomization)", ""]]
        for name, figure in self.differences.items():
            low, high = figure.interval
            highest_p = max(figure.p_bootstrap, figure.p_randomization)
            row = [
                METRICS[name].title,
                f"{figure.a:.2f}",
                f"{figure.b:.2f}",
                f"{figure.difference:+.2f}",
                f"[{low:+.2f}, {high:+.2f}]",
                f"{figure.p_bootstrap:.4f}",
                f"{figure.p_randomization:.4f}",
                "*" * sum(highest_p < level for level in (0.05, 0.01, 0.001)),
            ]
            rows.append(row)
        head = f"{self.sentences} sentences, {self.samples} draws, seed {self.seed}"
        foot = "* p < 0.05, ** p < 0.01, *** p < 0.001 in both tests"
        signatures = [f"{title}: {rules}" for title, rules, _ in blocks(self.signatures)]
        return "\n\n".join([head, columns(rows), foot, "\n".join(signatures)])


def compare(
    a: Report,
    b: Report,
    *,
    samples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
    names: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """Test every figure that two reports over the same gold sentences share.

    >>> from arcspan.evaluation import evaluate
    >>> from arcspan.trees import DependencyTree
    >>> right = (None, DependencyTree([2, 0], ["nsubj", "root"]))
    >>> wrong = (None, DependencyTree([0, 1], ["root", "obj"]))
    >>> gold = [right] * 20
    >>> good = evaluate(gold, gold, punctuation="none")
    >>> bad = evaluate(gold, [wrong] * 20, punctuation="none")
    >>> las = compare(good, bad, samples=999)["las"]
    >>> las.difference, las.interval, las.p_randomization < 0.01
    (100.0, (100.0, 100.0), True)
    """
    metrics = check_comparable({"system A": a, "system B": b})
    if not a.sentences:
        raise ArcspanError("no sentences to compare")
    if not 1 <= samples <= 10_000_000:
        raise ArcspanError(f"the number of draws lies between 1 and ten million, not {samples}")
    if not 0 < confidence < 1:
        raise ArcspanError(f"the confidence lies between 0 and 1 (0.95), not {confidence}")
    names_of_counts = [name for name in a.counts if name in b.counts]
    # Counts [sentences, counts] of both systems.
    counts_a = np.array([a.counts[name] for name in names_of_counts], np.float64).T
    counts_b = np.array([b.counts[name] for name in names_of_counts], np.float64).T
    # Each test has a random generator, so that it does not depend on the other one.
    draws = _bootstrap(counts_a, counts_b, samples, np.random.default_rng([seed, 0]))
    exchanges = _randomize(counts_a, counts_b, samples, np.random.default_rng([seed, 1]))
    differences = {}
    for name in metrics:

        def figure(sums: Array, metric: Metric = METRICS[name]) -> Array:
            values: Array = metric.value(dict(zip(names_of_counts, sums.T, strict=True)))
            return values

        observed_a = getattr(a, name)
        observed_b = getattr(b, name)
        observed = observed_a - observed_b
        drawn_a, drawn_b = map(figure, draws)
        swapped_a, swapped_b = map(figure, exchanges)
        differences[name] = Difference(
            observed_a,
            observed_b,
            observed,
            _interval(drawn_a - drawn_b, confidence),
            _interval(drawn_a, confidence),
            _interval(drawn_b, confidence),
            _p_value(drawn_a - drawn_b - observed, observed),
            _p_value(swapped_a - swapped_b, observed),
        )
    # Those of b are the same, as `check_comparable` has shown.
    signatures = {name: a.signature(name) for name in metrics}
    return Comparison(differences, signatures, a.sentences, samples, seed, confidence, names)


def _interval(values: Array, confidence: float) -> Interval:
    """Return the bounds of the middle `confidence` of the values."""
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _p_value(under_null: Array, observed: float) -> float:
    """Return the share of values that lie as far from 0 as the observed difference."""
    # Differences that are equal on paper may differ in the last bit.
    extreme = np.count_nonzero(np.abs(under_null) >= abs(observed) - 1e-9)
    # The observed outcome is one of the draws.
    return (1 + int(extreme)) / (1 + len(under_null))


def _bootstrap(a: Array, b: Array, samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return counts [samples, counts] summed over sentences drawn with replacement."""
    n, width = a.shape

    def times(rows: int) -> NDArray[Any]:
        """Return how often each sentence is drawn."""
        drawn = rng.integers(0, n, size=(rows, n), dtype=np.int32)
        # Numbers of its own for each row, so that one call counts all rows.
        drawn += (np.arange(rows, dtype=np.int32) * n)[:, None]
        return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)

    total = _sums(times, np.hstack([a, b]), samples)
    return total[:, :width], total[:, width:]


def _randomize(a: Array, b: Array, samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return counts [samples, counts] after exchanging the outputs for random sentences."""

    def times(rows: int) -> NDArray[Any]:
        """Return 1 for each sentence whose outputs change places, else 0."""
        return rng.integers(0, 2, size=(rows, len(a)), dtype=np.int8)

    moved = _sums(times, b - a, samples)
    return a.sum(axis=0) + moved, b.sum(axis=0) - moved


def _sums(times: Callable[[int], NDArray[Any]], counts: Array, samples: int) -> Array:
    """Return counts summed over sentences, each as often as `times` says."""
    # In blocks, so that the matrix of draws stays small.
    most = max(1, _CELLS // len(counts))
    sizes = [min(most, samples - start) for start in range(0, samples, most)]
    return np.vstack([times(rows).astype(np.float64) @ counts for rows in sizes])
