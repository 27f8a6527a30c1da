"""Significance tests against exact enumeration, and on systems whose order is known."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

from arcspan.errors import ArcspanError
from arcspan.evaluation import Report, compare, evaluate, significance
from tests.evaluation.samples import DOGS, GOLD, PREDICTED


def report(right: list[int], words: list[int]) -> Report:
    """A report on sentences with so many words, of which so many heads are right."""
    any_report = evaluate([DOGS], [DOGS])
    counts = {name: np.zeros(len(right), dtype=np.int64) for name in any_report.counts}
    counts |= {"arcs": np.array(words), "right_heads": np.array(right)}
    return dataclasses.replace(any_report, counts=counts)


WORDS = [5, 9, 4, 12, 7, 6, 3, 8]
A = [5, 8, 4, 11, 7, 5, 3, 8]
B = [4, 8, 2, 11, 5, 6, 2, 7]


def test_randomization_agrees_with_the_enumeration_of_all_exchanges() -> None:
    observed = abs(sum(A) - sum(B)) / sum(WORDS)
    outcomes = [
        abs(sum((a - b) if keep else (b - a) for a, b, keep in zip(A, B, signs, strict=True)))
        / sum(WORDS)
        for signs in itertools.product([True, False], repeat=len(A))
    ]
    exact = sum(outcome >= observed - 1e-12 for outcome in outcomes) / len(outcomes)
    figure = compare(report(A, WORDS), report(B, WORDS), samples=20_000)["uas"]
    assert figure.difference == pytest.approx(100 * (sum(A) - sum(B)) / sum(WORDS))
    assert figure.p_randomization == pytest.approx(exact, abs=0.02)


def test_the_bootstrap_agrees_with_one_written_with_loops() -> None:
    rng = np.random.default_rng(3)
    observed = 100 * (sum(A) - sum(B)) / sum(WORDS)
    draws = []
    for _ in range(5000):
        drawn = rng.integers(0, len(A), len(A))
        draws.append(100 * sum(A[k] - B[k] for k in drawn) / sum(WORDS[k] for k in drawn))
    figure = compare(report(A, WORDS), report(B, WORDS), samples=20_000)["uas"]
    assert figure.interval == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=1.0)
    p = np.mean([abs(draw - observed) >= abs(observed) for draw in draws])
    assert figure.p_bootstrap == pytest.approx(p, abs=0.02)
    low, high = figure.a_interval
    assert low < figure.a < high


def test_a_system_does_not_differ_from_itself() -> None:
    for figure in compare(
        evaluate(GOLD, PREDICTED), evaluate(GOLD, PREDICTED), samples=100
    ).differences.values():
        assert (figure.difference, figure.p_bootstrap, figure.p_randomization) == (
            0.0,
            1.0,
            1.0,
        )


def test_a_clear_difference_is_significant_and_a_chance_one_is_not() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(5, 30, 400)
    better, worse, other = (rng.binomial(words, p) for p in (0.95, 0.90, 0.90))
    clear = compare(
        report(list(better), list(words)), report(list(worse), list(words)), samples=999
    )["uas"]
    assert clear.p_bootstrap == clear.p_randomization == 0.001
    assert clear.interval[0] > 0
    chance = compare(
        report(list(other), list(words)), report(list(worse), list(words)), samples=999
    )["uas"]
    assert chance.p_bootstrap > 0.05 and chance.p_randomization > 0.05
    assert chance.interval[0] < 0 < chance.interval[1]


def test_under_equality_p_values_are_spread_evenly() -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(5, 30, 60)
    values = []
    for _ in range(120):
        a, b = (report(list(rng.binomial(words, 0.9)), list(words)) for _ in range(2))
        values.append(compare(a, b, samples=200)["uas"].p_randomization)
    assert 0.01 < np.mean(np.array(values) < 0.1) < 0.2
    assert 0.4 < np.mean(values) < 0.6


def test_the_same_seed_gives_the_same_answer_whatever_the_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = compare(report(A, WORDS), report(B, WORDS), samples=50, seed=4)
    assert first == compare(report(A, WORDS), report(B, WORDS), samples=50, seed=4)
    assert first["uas"] != compare(report(A, WORDS), report(B, WORDS), samples=50, seed=5)["uas"]
    monkeypatch.setattr(significance, "_CELLS", 7 * len(A))
    in_blocks = compare(report(A, WORDS), report(B, WORDS), samples=50, seed=4)["uas"]
    assert in_blocks.interval == first["uas"].interval


def test_every_shared_figure_is_tested() -> None:
    result = compare(
        evaluate(GOLD, GOLD), evaluate(GOLD, PREDICTED), samples=200, names=("good", "bad")
    )
    assert set(result.differences) == set(evaluate(GOLD, GOLD).figures())
    assert result["f1"].difference == pytest.approx(100 - 100 * 12 / 13)
    text = str(result)
    assert "good - bad" in text and "LCM con+dep" in text and "rules:COLLINS" in text
    read = json.loads(result.to_json())
    assert read["figures"]["f1"]["difference"] == result["f1"].difference
    assert read["signatures"]["f1"].startswith("f1|rules:COLLINS")


def test_what_cannot_be_compared_is_refused() -> None:
    report_a = evaluate(GOLD, GOLD)
    with pytest.raises(ArcspanError, match="system A has 2 sentences, system B has 1"):
        compare(report_a, evaluate([DOGS], [DOGS]))
    with pytest.raises(ArcspanError, match="no sentences"):
        compare(evaluate([], []), evaluate([], []))
    with pytest.raises(ArcspanError, match=r"system A has uas\|punctuation:upos"):
        compare(report_a, evaluate(GOLD, GOLD, punctuation="none"))
    for samples in (0, 10**21):
        with pytest.raises(ArcspanError, match=f"between 1 and ten million, not {samples}$"):
            compare(report_a, report_a, samples=samples)
    with pytest.raises(ArcspanError, match="between 0 and 1"):
        compare(report_a, report_a, confidence=95)
