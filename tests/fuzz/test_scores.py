"""Scores of every kind against all trees of short sentences, and what is not scores at all."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from arcspan import decoding
from arcspan.errors import ScoreError
from tests.decoding.all_trees import scores_of
from tests.decoding.batches import packed

JUNK: list[Any] = [
    None, True, 1.5, "scores", b"", [], [[]], {}, object(), np.float64("nan"), np.zeros(3), np.zeros((0, 0, 0)),
    np.zeros((1, 3, 4)), np.zeros((2, 4, 4)), np.zeros((1, 4, 4), complex), np.full((1, 4, 4), "0"),
    np.full((1, 4, 4), None), [[[0.0], [0.0, 1.0]]], np.zeros((1, 4, 4), "M8[s]"), -3, 2**70,
    np.full((1, 4, 4), np.nan),
]  # fmt: skip


def draw(rng: np.random.Generator) -> tuple[list[int], list[np.ndarray]]:
    """Lengths, and scores of spans, arcs and headed spans: of some size, with masks or ties, in some type."""
    lengths = rng.integers(0, 6, rng.integers(1, 4)).tolist()
    size = max(lengths) + 1 + int(rng.integers(0, 2))
    scale = float(rng.choice([1e-3, 1.0, 1.0, 30.0, 1e6, 1e12, 1e18, 1e30]))
    ties, masked = rng.random() < 0.3, float(rng.choice([0.0, 0.0, 0.1, 0.4]))
    mask = float(rng.choice([-np.inf, -np.inf, -1e30]))
    dtype = rng.choice(["f4", "f8", ">f4"])
    scores = []
    for axes in (2, 2, 3):
        values = rng.normal(size=(len(lengths), *(size,) * axes))
        values = scale * (np.round(values) if ties else values)
        values[rng.random(values.shape) < masked] = mask
        part = values.astype(dtype)
        scores.append(np.asfortranarray(part) if rng.random() < 0.1 else part)
    return lengths, scores


def check(lengths: list[int], scores: list[np.ndarray]) -> str:
    """Compare all searches with all trees; returns what kind of case it was."""
    span, arc, cube = scores
    forbidden = False
    for order in (1, 2):
        headed = None if order == 1 else cube
        second = None if order == 1 else packed(cube)
        trees = []
        for b, n in enumerate(lengths):
            part = None if headed is None else headed[b].astype(np.float64)
            tree_scores = (
                [
                    score
                    for _, score in scores_of(n, span[b].astype("f8"), arc[b].astype("f8"), part)
                ]
                if n
                else [0.0]
            )
            trees.append(np.sort(np.asarray(tree_scores))[::-1])
        if not all(tree_scores[0] > -np.inf for tree_scores in trees):
            forbidden = True
            for search in (decoding.eisner_satta, decoding.marginals, decoding.naive):
                refuses(search, span, arc, lengths, headed)
            refuses(decoding.kbest, span, arc, lengths, 3, headed)
            continue
        best = decoding.eisner_satta(span, arc, lengths, headed)
        half = decoding.eisner_satta(span, arc, lengths, second, threads=2)
        assert best.scores.tolist() == half.scores.tolist(), (lengths, scores)
        assert best.heads.tolist() == half.heads.tolist(), (lengths, scores)
        large = max(float(np.abs(part[np.isfinite(part)]).max(initial=1.0)) for part in scores)
        close: Any = {"rtol": 1e-5, "atol": 2e-5 * large}
        np.testing.assert_allclose(best.scores, [tree_scores[0] for tree_scores in trees], **close)
        for b, tree in enumerate(decoding.kbest(span, arc, lengths, 4, second)):
            np.testing.assert_allclose(tree.scores, trees[b][trees[b] > -np.inf][:4], **close)
        sums = decoding.marginals(span, arc, lengths, second)
        with np.errstate(all="ignore"):
            logs = [
                float(np.log(np.exp(tree_scores - tree_scores[0]).sum()) + tree_scores[0])
                for tree_scores in trees
            ]
        np.testing.assert_allclose(sums.log_partition, logs, **close)
        for b, n in enumerate(lengths):
            assert abs(float(sums.spans[b].sum()) - max(2 * n - 1, 0)) < 1e-3, (lengths, scores)
            assert (abs(sums.arcs[b, 1 : n + 1].sum(1) - 1) < 1e-3).all(), (lengths, scores)
    return "batches without a tree" if forbidden else "batches"


def longer(rng: np.random.Generator) -> None:
    """Sentences of up to 50 words, exactly as large as their arrays: all kernels run, and agree where they must."""
    n = int(rng.integers(1, 51))
    size = n + 1
    scale = float(rng.choice([1.0, 1.0, 20.0, 1e4]))
    span, arc = (scale * rng.normal(size=(2, 2, size, size))).astype("f4")
    headed = (
        (scale * rng.normal(size=(2, n * size // 2, size))).astype("f4")
        if rng.random() < 0.5
        else None
    )
    lengths = [n, int(rng.integers(0, n + 1))]
    best = decoding.eisner_satta(span, arc, lengths, headed, threads=2)
    for b, trees in enumerate(decoding.kbest(span, arc, lengths, 3, headed)):
        np.testing.assert_allclose(trees.scores[0], best.scores[b], rtol=1e-4, atol=1e-3 * scale)
    sums = decoding.marginals(span, arc, lengths, headed, with_headed=True)
    assert (sums.log_partition >= best.scores - 1e-3 * scale * n).all(), (n, scale)
    for trees in decoding.sample(span, arc, lengths, headed, k=2, random=rng):
        assert (trees.scores <= best.scores.max() + 1e-3 * scale * n).all(), (n, scale)
    assert (
        decoding.cky(span, lengths).scores
        <= decoding.log_partition(span, None, lengths) + 1e-3 * scale * n
    ).all()
    assert (
        decoding.eisner(arc, lengths).scores
        <= decoding.log_partition(None, arc, lengths) + 1e-3 * scale * n
    ).all()


def refuses(call: Any, *args: Any) -> None:
    """The call ends in the one error that is promised, and in nothing else."""
    try:
        call(*args)
    except ScoreError:
        return
    raise AssertionError(f"accepted: {call.__name__}{args}")


def odd(rng: np.random.Generator) -> None:
    """One argument that is not what it should be: a result or the one error, and nothing else."""
    zeros = np.zeros((1, 4, 4))
    args: list[Any] = [zeros, zeros, [3], 2]
    args[rng.integers(0, 4)] = JUNK[rng.integers(0, len(JUNK))]
    span, arc, lengths, k = args
    for call in (
        lambda: decoding.cky(span, lengths),
        lambda: decoding.eisner(arc, lengths),
        lambda: decoding.eisner_satta(span, arc, lengths),
        lambda: decoding.eisner_satta(zeros, zeros, lengths, span),
        lambda: decoding.naive(span, arc, lengths),
        lambda: decoding.marginals(span, arc, lengths),
        lambda: decoding.kbest(span, arc, lengths, k),
        lambda: decoding.cky(zeros, [3], threads=k),
    ):
        with contextlib.suppress(ScoreError):
            call()


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    """Batches and odd arguments; counts of both."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    for _ in rounds:
        counts[check(*draw(rng))] += 1
        odd(rng)
        counts["odd arguments"] += 1
        if counts["odd arguments"] % 10 == 0:
            longer(rng)
            counts["longer sentences"] += 1
    return counts


def test_scores_of_every_kind_give_the_best_of_all_trees_or_one_error() -> None:
    assert run(0, range(150))["batches"] >= 1
