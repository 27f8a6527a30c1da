"""Sentences to batches: a budget of pieces each, neighbours of like length, an order that depends on the seed only.

Every process of a run computes the same schedule and takes its own share of each update, so nothing has to
be sent, and a resumed run finds its place by counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from arcspan.neural.losses import IGNORE, Gold
from arcspan.prediction.inputs import Inputs
from arcspan.prediction.outputs import Inventories, Style
from arcspan.training.instances import Indexer, Sentence, style_number


@dataclass(frozen=True)
class Example:
    """A sentence looked up once, ready to be put into any batch."""

    sentence: Sentence
    prepared: Any
    cost: int
    style: Style
    labels: np.ndarray
    chains: dict[tuple[int, int], int] | None
    relations: np.ndarray
    answers: dict[str, np.ndarray]


def make_examples(
    sentences: Sequence[Sentence], inputs: Inputs, inventories: Inventories
) -> list[Example]:
    """Look words, labels, relations and tags up; a sentence that is repeated is looked up once."""
    unique = list({id(sentence): sentence for sentence in sentences}.values())
    prepared = inputs.prepare([sentence.words for sentence in unique])
    made, indexer = {}, Indexer(inventories)
    for sentence, ready in zip(unique, prepared, strict=True):
        style = style_number(sentence.style, inventories)
        made[id(sentence)] = Example(sentence, ready, ready.cost, style, **indexer(sentence))
    return [made[id(sentence)] for sentence in sentences]


def by_cost(
    costs: Sequence[int], budget: int, order: Sequence[int], *, padded: bool = True
) -> list[list[int]]:
    """Cut `order` into batches whose cost stays within the budget: their sum, or padded, longest times sentences.

    >>> by_cost([5, 5, 9, 30], 20, [0, 1, 2, 3])
    [[0, 1], [2], [3]]
    >>> by_cost([5, 5, 9, 30], 20, [0, 1, 2, 3], padded=False)
    [[0, 1, 2], [3]]
    """
    batches: list[list[int]] = []
    longest = total = 0
    for place in order:
        longest, total = max(longest, costs[place]), total + costs[place]
        if not batches or (longest * (len(batches[-1]) + 1) if padded else total) > budget:
            batches.append([])
            longest = total = costs[place]
        batches[-1].append(place)
    return batches


def schedule(
    costs: Sequence[int], budget: int, seed: int, epoch: int, *, padded: bool = True
) -> list[list[int]]:
    """The batches of an epoch: like lengths together, ties and the order of the batches shuffled.

    Lengths are blurred a little so that the same sentences do not meet in every epoch.
    """
    random = np.random.default_rng([seed, epoch])
    blurred = np.asarray(costs) * random.uniform(0.95, 1.05, len(costs)) + random.uniform(
        0, 1, len(costs)
    )
    batches = by_cost(costs, budget, np.argsort(blurred, kind="stable").tolist(), padded=padded)
    return [batches[place] for place in random.permutation(len(batches))]


def collate(examples: Sequence[Example], inputs: Inputs) -> tuple[dict[str, Tensor], Gold]:
    """The encoder's tensors, `gold_tags` [B, n+2] (0: none) among them, and the gold structures of a batch."""
    arrays = inputs.batch([example.prepared for example in examples])
    lengths = np.asarray([len(example.sentence.words) for example in examples], dtype=np.int64)
    batch = np.arange(len(examples))
    sentences = [example.sentence for example in examples]
    known = zip(lengths, sentences, strict=True)
    heads = [np.zeros(n, np.int64) if one.heads is None else one.heads for n, one in known]
    fixed = [b for b, sentence in enumerate(sentences) if sentence.nodes is not None]
    nothing = np.zeros((0, 3), dtype=np.int64)
    gold = Gold(
        lengths=lengths,
        node_b=np.repeat(fixed, 2 * lengths[fixed] - 1).astype(np.int64),
        nodes=np.concatenate([nothing, *(sentences[b].nodes for b in fixed)]),
        labels=np.concatenate([nothing[:, 0], *(examples[b].labels for b in fixed)]),
        word_b=np.repeat(batch, lengths),
        word_m=np.concatenate([np.arange(1, n + 1) for n in lengths]),
        heads=np.concatenate(heads),
        relations=np.concatenate([example.relations for example in examples]),
        answers={
            name: np.concatenate([example.answers[name] for example in examples])
            for name in examples[0].answers
        },
        chains=[example.chains for example in examples],
        unlabelled=np.asarray(
            [IGNORE if one.some_spans else 0 for one in sentences], dtype=np.int64
        ),
        joint=np.asarray([one.joint for one in sentences]),
        hidden=np.asarray([one.hidden for one in sentences]),
        has_arcs=np.asarray([one.heads is not None for one in sentences]),
        projective=np.asarray([one.projective for one in sentences]),
        weights=np.asarray([one.weight for one in sentences], dtype=np.float32),
        names=[one.name for one in sentences],
    )
    arrays["styles"] = np.asarray([example.style for example in examples], dtype=np.int64)
    tags = arrays["gold_tags"] = np.zeros((len(examples), lengths.max() + 2), dtype=np.int64)
    tags[gold.word_b, gold.word_m] = np.maximum(
        gold.answers["tag"] + 1, 0
    )  # 0 for an unknown one, too
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, gold
