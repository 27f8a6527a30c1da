"""Is system A better than system B, or is the difference due to chance?

Both tests work on the counts of each sentence, and compute every figure from summed counts as the report does.

- Paired bootstrap (Efron and Tibshirani 1993; Berg-Kirkpatrick et al. 2012): draw as many sentences with
  replacement, the same for both systems. The middle 95% of the figures are their confidence intervals; the
  p-value is the share of draws whose difference lies at least as far from the observed one as that lies from
  zero.
- Approximate randomization (Noreen 1989; Yeh 2000): were the systems equally good, their outputs for a sentence
  could change places. The p-value is the share of such exchanges, by fair coins, that give at least the
  observed difference.

Both p-values are two-sided and count the observed outcome among the draws, so that none is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcspan.errors import ArcspanError
from arcspan.evaluation.metrics import METRICS
from arcspan.evaluation.report import Report, check_comparable
from arcspan.evaluation.tables import Printable, blocks, columns

Array = NDArray[np.float64]
Interval = tuple[float, float]

_CELLS = 4_000_000  # numbers in a block of draws: 32 MB


class Difference(NamedTuple):
    """One figure of both systems: values, their difference (A - B), confidence intervals and p-values."""

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
    """Every figure that both reports have, with the tests' outcome."""

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
        """The comparison for machines."""
        names = ("names", "sentences", "samples", "seed", "confidence", "signatures")
        figures = {name: one._asdict() for name, one in self.differences.items()}
        return {**{name: getattr(self, name) for name in names}, "figures": figures}

    def __str__(self) -> str:
        """A table; stars mark p-values of both tests below 0.05, 0.01 and 0.001."""
        share = f"{100 * self.confidence:g}% interval"
        rows = [
            [
                "",
                *self.names,
                " - ".join(self.names),
                share,
                "p (bootstrap)",
                "p (randomization)",
                "",
            ]
        ]
        for name, one in self.differences.items():
            low, high = one.interval
            values = (
                f"{one.a:.2f}",
                f"{one.b:.2f}",
                f"{one.difference:+.2f}",
                f"[{low:+.2f}, {high:+.2f}]",
            )
            chances = one.p_bootstrap, one.p_randomization
            stars = "*" * sum(max(chances) < p for p in (0.05, 0.01, 0.001))
            rows.append([METRICS[name].title, *values, *(f"{p:.4f}" for p in chances), stars])
        head = f"{self.sentences} sentences, {self.samples} draws, seed {self.seed}"
        foot = "* p < 0.05, ** p < 0.01, *** p < 0.001 in both tests"
        how = [f"{title}: {rules}" for title, rules, _ in blocks(self.signatures)]
        return "\n\n".join([head, columns(rows), foot, "\n".join(how)])


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
    >>> good, bad = (evaluate(gold, system, punctuation="none") for system in (gold, [wrong] * 20))
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
    counted = [name for name in a.counts if name in b.counts]
    one, other = (
        np.array([report.counts[name] for name in counted], np.float64).T for report in (a, b)
    )
    draws = _bootstrap(one, other, samples, np.random.default_rng([seed, 0]))
    exchanges = _randomize(one, other, samples, np.random.default_rng([seed, 1]))
    differences = {}
    for name in metrics:
        value = METRICS[name].value
        value_a, value_b = getattr(a, name), getattr(b, name)
        drawn_a, drawn_b = (value(dict(zip(counted, sums.T, strict=True))) for sums in draws)
        swapped_a, swapped_b = (
            value(dict(zip(counted, sums.T, strict=True))) for sums in exchanges
        )
        observed, spread = value_a - value_b, drawn_a - drawn_b
        differences[name] = Difference(
            value_a,
            value_b,
            observed,
            _interval(spread, confidence),
            _interval(drawn_a, confidence),
            _interval(drawn_b, confidence),
            _p_value(spread - observed, observed),
            _p_value(swapped_a - swapped_b, observed),
        )
    signatures = {name: a.signature(name) for name in metrics}
    return Comparison(differences, signatures, a.sentences, samples, seed, confidence, names)


def _interval(values: Array, confidence: float) -> Interval:
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _p_value(under_null: Array, observed: float) -> float:
    # Differences that are equal on paper may differ in the last bit.
    extreme = np.count_nonzero(np.abs(under_null) >= abs(observed) - 1e-9)
    return (1 + int(extreme)) / (1 + len(under_null))


def _bootstrap(a: Array, b: Array, samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Counts of both systems [samples, counts], summed over sentences drawn with replacement."""
    n, width = a.shape

    def times(rows: int) -> NDArray[Any]:
        """How often each sentence is drawn."""
        drawn = rng.integers(0, n, size=(rows, n), dtype=np.int32)
        drawn += (np.arange(rows, dtype=np.int32) * n)[:, None]
        return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)

    total = _sums(times, np.hstack([a, b]), samples)
    return total[:, :width], total[:, width:]


def _randomize(a: Array, b: Array, samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Counts of both systems [samples, counts] after exchanging their outputs for random sentences."""
    moved = _sums(
        lambda rows: rng.integers(0, 2, size=(rows, len(a)), dtype=np.int8), b - a, samples
    )
    return a.sum(axis=0) + moved, b.sum(axis=0) - moved


def _sums(times: Callable[[int], NDArray[Any]], counts: Array, samples: int) -> Array:
    """Counts summed over sentences, each as often as `times` says; in blocks that keep a matrix of draws small."""
    most = max(1, _CELLS // len(counts))
    sizes = [min(most, samples - start) for start in range(0, samples, most)]
    return np.vstack([times(rows).astype(np.float64) @ counts for rows in sizes])
