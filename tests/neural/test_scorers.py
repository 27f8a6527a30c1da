"""Scorers against the formulas that they stand for, written out for one place at a time."""

from __future__ import annotations

import pytest
import torch

from arcspan.neural.scorers import (
    BiaffineLabeller,
    HeadedScorer,
    MlpLabeller,
    PairScorer,
    SharedDropout,
    fenceposts,
)

N, D, SIZE, LABELS = 5, 8, 6, 3


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(1)


def shaken(module: torch.nn.Module) -> torch.nn.Module:
    """The module with random weights everywhere: some begin as zeros."""
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.eval()


def test_a_fencepost_is_read_from_the_left_and_from_the_right() -> None:
    hidden = torch.randn(2, N + 2, D)
    posts = fenceposts(hidden)
    assert posts.shape == (2, N + 1, D)
    assert torch.equal(posts[1, 3], torch.cat([hidden[1, 3, : D // 2], hidden[1, 4, D // 2 :]]))


def test_pairs_are_scored_by_a_form_with_a_constant_in_front() -> None:
    scorer, x = shaken(PairScorer(D, SIZE, 0.0)), torch.randn(1, N, D)
    scores = scorer(x)
    for p in range(N):
        for q in range(N):
            first_with_constant = torch.cat([scorer.first(x)[0, p], torch.ones(1)])
            form = torch.cat([scorer.weight.weight.T, scorer.weight.bias.unsqueeze(0)])
            torch.testing.assert_close(
                scores[0, p, q], first_with_constant @ form @ scorer.second(x)[0, q]
            )


@pytest.mark.parametrize("separate", [False, True])
def test_headed_spans_are_scored_at_their_pairs(separate: bool) -> None:
    scorer = shaken(HeadedScorer(D, SIZE, 0.0, separate))
    words, posts = torch.randn(1, N + 1, D), torch.randn(1, N + 1, D)
    i, j = torch.triu_indices(N + 1, N + 1, 1)
    scores = scorer(words, posts, i, j)
    assert scores.shape == (1, N * (N + 1) // 2, N + 1)
    for row, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        span = torch.cat([scorer.activation(scorer.post(posts[0, a] - posts[0, b])), torch.ones(1)])
        for h in range(N + 1):
            form = scorer.weight if not separate or a < h <= b else scorer.hooked
            torch.testing.assert_close(scores[0, row, h], form(scorer.word(words)[0, h]) @ span)


def test_labels_are_scored_at_chosen_places() -> None:
    x, positions = (
        torch.randn(2, N, D),
        [torch.tensor(indices) for indices in ([0, 1], [2, 0], [3, 4])],
    )
    biaffine = shaken(BiaffineLabeller(D, SIZE, LABELS, 0.0))
    mlp = shaken(MlpLabeller(D, SIZE, LABELS, 0.0))
    constant = torch.ones(1)
    for row, (b, p, q) in enumerate(zip(*(part.tolist() for part in positions), strict=True)):
        first = torch.cat([biaffine.first(x)[b, p], constant])
        second = torch.cat([biaffine.second(x)[b, q], constant])
        for label in range(LABELS):
            expected = first @ biaffine.weight[label] @ second
            torch.testing.assert_close(
                biaffine(x, *positions)[row, label], expected, atol=1e-4, rtol=1e-4
            )
        hidden = mlp.activation(mlp.first(x[b, p]) + mlp.second(x[b, q]))
        torch.testing.assert_close(mlp(x, *positions)[row], mlp.out(hidden))


def test_shared_dropout_hides_the_same_dimensions_at_all_positions_of_a_sentence() -> None:
    dropout, x = SharedDropout(0.5), torch.ones(3, N, 64)
    dropped = dropout(x)
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert not torch.equal(dropped[0], dropped[1])
    assert torch.equal(dropout.eval()(x), x)


def test_scorers_work_on_meta_tensors() -> None:
    """Shapes without numbers, as tools that count memory ask for: autocast does not know that
    device.
    """
    with torch.device("meta"):
        scorer, words = PairScorer(8, 4, 0.0), torch.zeros(2, 5, 8)
    assert scorer(words).shape == (2, 5, 5)
