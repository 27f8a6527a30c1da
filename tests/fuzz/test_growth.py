"""Characters repeated in any combination: everything that takes text takes time that grows with its length."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from tests.test_growth import ENDS, READERS, UNITS, seconds


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    rng, counts = random.Random(seed), Counter[str]()
    for _ in rounds:
        unit = "".join(
            rng.choice(UNITS) * rng.choice((1, 1, 1, 2, 7)) for _ in range(rng.randrange(2, 5))
        )
        before, after = rng.choice(ENDS)
        name = rng.choice(sorted(READERS))
        short, long = (before + unit * (size // len(unit)) + after for size in (10_000, 40_000))
        if (took := seconds(READERS[name], long)) > 0.5:
            assert took < 10 * seconds(READERS[name], short), (name, before, unit, after, took)
        counts["texts"] += 1
    return counts


def test_combinations_of_repeated_characters() -> None:
    assert run(seed=1, rounds=range(40))["texts"] == 40
