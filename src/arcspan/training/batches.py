"""Batches of training sentences: a budget of pieces each, like lengths together, a repeatable
order.

The order depends on the seed alone. Every process of a run computes the same schedule and takes its
own share of each update, so nothing has to be sent, and a resumed run continues by counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from arcspan.neural.losses import Gold
from arcspan.prediction.inputs import Inputs
from arcspan.prediction.outputs import Inventories, Style
from arcspan.training.instances import Indexer, TrainingSentence, style_number


@dataclass(frozen=True)
class Example:
    """A sentence whose words and names have been looked up, for any batch.

    prepared   its words as `inputs.batch` takes them;  cost: their size in a batch
    labels, chains, relations, answers   as `Indexer` returns them
    """

    sentence: TrainingSentence
    prepared: Any
    cost: int
    style: Style
    labels: np.ndarray
    chains: dict[tuple[int, int], int] | None
    relations: np.ndarray
    answers: dict[str, np.ndarray]


def make_examples(
    sentences: Sequence[TrainingSentence], inputs: Inputs, inventories: Inventories
) -> list[Example]:
    """Look words, labels, relations and tags up; a sentence that is repeated is looked up once."""
    unique = list({id(sentence): sentence for sentence in sentences}.values())
    indexer = Indexer(inventories)
    examples = {}
    all_prepared = inputs.prepare([sentence.words for sentence in unique])
    for sentence, prepared in zip(unique, all_prepared, strict=True):
        style = style_number(sentence.style, inventories)
        examples[id(sentence)] = Example(
            sentence, prepared, prepared.cost, style, **indexer(sentence)
        )
    return [examples[id(sentence)] for sentence in sentences]


def by_cost(
    costs: Sequence[int], budget: int, order: Sequence[int], *, padded: bool = True
) -> list[list[int]]:
    """Cut `order` into batches whose cost stays within the budget.

    The cost of a batch is the sum of its costs or, padded, the longest times the sentences.

    >>> by_cost([5, 5, 9, 30], 20, [0, 1, 2, 3])
    [[0, 1], [2], [3]]
    >>> by_cost([5, 5, 9, 30], 20, [0, 1, 2, 3], padded=False)
    [[0, 1, 2], [3]]
    """
    batches: list[list[int]] = []
    longest = total = 0
    for index in order:
        longest = max(longest, costs[index])
        total += costs[index]
        if not batches or (longest * (len(batches[-1]) + 1) if padded else total) > budget:
            batches.append([])
            longest = total = costs[index]
        batches[-1].append(index)
    return batches


def schedule(
    costs: Sequence[int], budget: int, seed: int, epoch: int, *, padded: bool = True
) -> list[list[int]]:
    """Return the batches of an epoch: like lengths together, ties and batches in random order."""
    random = np.random.default_rng([seed, epoch])
    # Lengths are blurred a little, so that not the same sentences meet in every epoch.
    stretched = np.asarray(costs) * random.uniform(0.95, 1.05, len(costs))
    blurred = stretched + random.uniform(0, 1, len(costs))
    batches = by_cost(costs, budget, np.argsort(blurred, kind="stable").tolist(), padded=padded)
    return [batches[index] for index in random.permutation(len(batches))]


def collate(examples: Sequence[Example], inputs: Inputs) -> tuple[dict[str, Tensor], Gold]:
    """Return the encoder's tensors and the gold structures of a batch.

    Among the tensors are `styles` [B, 2] and `gold_tags` [B, n+2], 0 for no tag or an unknown one.
    """
    sentences = [example.sentence for example in examples]
    lengths = np.asarray([len(sentence.words) for sentence in sentences], dtype=np.int64)
    heads = []
    for n, sentence in zip(lengths, sentences, strict=True):
        heads.append(np.zeros(n, np.int64) if sentence.heads is None else sentence.heads)
    with_nodes = [b for b, sentence in enumerate(sentences) if sentence.nodes is not None]
    # Put first, so that a batch in which all trees are hidden can be concatenated, too.
    no_nodes = np.zeros((0, 3), dtype=np.int64)
    gold = Gold(
        lengths=lengths,
        # A binary tree over n words has 2n - 1 nodes.
        node_b=np.repeat(with_nodes, 2 * lengths[with_nodes] - 1).astype(np.int64),
        nodes=np.concatenate([no_nodes, *(sentences[b].nodes for b in with_nodes)]),
        labels=np.concatenate([no_nodes[:, 0], *(examples[b].labels for b in with_nodes)]),
        word_b=np.repeat(np.arange(len(examples)), lengths),
        word_m=np.concatenate([np.arange(1, n + 1) for n in lengths]),
        heads=np.concatenate(heads),
        relations=np.concatenate([example.relations for example in examples]),
        answers={
            name: np.concatenate([example.answers[name] for example in examples])
            for name in examples[0].answers
        },
        chains=[example.chains for example in examples],
        unlabelled=np.asarray([sentence.unlabelled for sentence in sentences], dtype=np.int64),
        joint=np.asarray([sentence.joint for sentence in sentences]),
        hidden=np.asarray([sentence.hidden for sentence in sentences]),
        has_arcs=np.asarray([sentence.heads is not None for sentence in sentences]),
        projective=np.asarray([sentence.projective for sentence in sentences]),
        weights=np.asarray([sentence.weight for sentence in sentences], dtype=np.float32),
        names=[sentence.name for sentence in sentences],
    )
    gold_tags = np.zeros((len(examples), lengths.max() + 2), dtype=np.int64)
    # Tags are counted from 1; IGNORE, of an unknown tag, becomes 0.
    gold_tags[gold.word_b, gold.word_m] = np.maximum(gold.answers["tag"] + 1, 0)
    arrays = inputs.batch([example.prepared for example in examples])
    arrays["styles"] = np.asarray([example.style for example in examples], dtype=np.int64)
    arrays["gold_tags"] = gold_tags
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, gold
