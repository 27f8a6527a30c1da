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

from arcspan.neural.losses import Gold
from arcspan.runtime.inputs import PieceInputs, WordInputs
from arcspan.training.instances import Indexer, Sentence


@dataclass(frozen=True)
class Example:
    """A sentence looked up once, ready to be put into any batch."""

    sentence: Sentence
    prepared: Any
    cost: int
    labels: np.ndarray
    relations: np.ndarray
    tags: np.ndarray
    upos: np.ndarray


def make_examples(
    sentences: Sequence[Sentence], inputs: PieceInputs | WordInputs, indexer: Indexer
) -> list[Example]:
    """Look words, labels, relations and tags up; a sentence that is repeated is looked up once."""
    unique = list({id(sentence): sentence for sentence in sentences}.values())
    prepared = inputs.prepare([sentence.words for sentence in unique])
    made = {}
    for sentence, ready in zip(unique, prepared, strict=True):
        made[id(sentence)] = Example(sentence, ready, inputs.cost(ready), *indexer(sentence))
    return [made[id(sentence)] for sentence in sentences]


def by_cost(costs: Sequence[int], budget: int, order: Sequence[int]) -> list[list[int]]:
    """Cut `order` into batches whose padded cost (longest times sentences) stays within the budget.

    >>> by_cost([5, 5, 9, 30], 20, [0, 1, 2, 3])
    [[0, 1], [2], [3]]
    """
    batches: list[list[int]] = []
    longest = 0
    for place in order:
        longest = max(longest, costs[place]) if batches else costs[place]
        if not batches or longest * (len(batches[-1]) + 1) > budget:
            batches.append([])
            longest = costs[place]
        batches[-1].append(place)
    return batches


def schedule(costs: Sequence[int], budget: int, seed: int, epoch: int) -> list[list[int]]:
    """The batches of an epoch: like lengths together, ties and the order of the batches shuffled.

    Lengths are blurred a little so that the same sentences do not meet in every epoch.
    """
    random = np.random.default_rng([seed, epoch])
    blurred = np.asarray(costs) * random.uniform(0.95, 1.05, len(costs)) + random.uniform(0, 1, len(costs))
    batches = by_cost(costs, budget, np.argsort(blurred, kind="stable").tolist())
    return [batches[place] for place in random.permutation(len(batches))]


def collate(
    examples: Sequence[Example], inputs: PieceInputs | WordInputs
) -> tuple[dict[str, Tensor], Gold, Tensor]:
    """The encoder's tensors, the gold structures, and gold tags [B, n+2] (0: none) of a batch."""
    arrays = inputs.batch([example.prepared for example in examples])
    lengths = np.asarray([len(example.sentence.words) for example in examples], dtype=np.int64)
    batch = np.arange(len(examples))
    gold = Gold(
        lengths=lengths,
        node_b=np.repeat(batch, 2 * lengths - 1),
        nodes=np.concatenate([example.sentence.nodes for example in examples]),
        labels=np.concatenate([example.labels for example in examples]),
        word_b=np.repeat(batch, lengths),
        word_m=np.concatenate([np.arange(1, n + 1) for n in lengths]),
        heads=np.concatenate([example.sentence.heads for example in examples]),
        relations=np.concatenate([example.relations for example in examples]),
        tags=np.concatenate([example.tags for example in examples]),
        upos=np.concatenate([example.upos for example in examples]),
        joint=np.asarray([example.sentence.joint for example in examples]),
        projective=np.asarray([example.sentence.projective for example in examples]),
        names=[example.sentence.name for example in examples],
    )
    return as_tensors(arrays), gold, tag_tensor([example.tags for example in examples])


def as_tensors(arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    """The same arrays in torch."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def tag_tensor(tags: Sequence[np.ndarray]) -> Tensor:
    """Tag ids shifted by one, [B, n+2]: 0 where there is no tag or an unknown one."""
    out = torch.zeros(len(tags), max(map(len, tags), default=0) + 2, dtype=torch.long)
    for b, ids in enumerate(tags):
        out[b, 1 : len(ids) + 1] = torch.from_numpy(np.maximum(ids + 1, 0))
    return out
