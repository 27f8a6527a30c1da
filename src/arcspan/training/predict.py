"""Words to pairs of trees with a torch model: what dev scores and studies are computed from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from arcspan.neural.model import Model, Prediction
from arcspan.neural.settings import Inventories
from arcspan.runtime.inputs import PieceInputs, WordInputs
from arcspan.training.batches import as_tensors, by_cost, tag_tensor
from arcspan.training.instances import to_pair
from arcspan.treebanks import Pair


def predict(
    model: Model,
    inputs: PieceInputs | WordInputs,
    sentences: Sequence[Sequence[str]],
    *,
    tags: Sequence[Sequence[str]] | None = None,
    budget: int = 4000,
    apart: bool = False,
) -> list[Prediction]:
    """Predictions in the order of the sentences; `tags` are gold tags, for a model that reads them."""
    prepared = inputs.prepare(sentences)
    costs = [inputs.cost(ready) for ready in prepared]
    order = np.argsort(costs, kind="stable").tolist()
    out: list[Prediction | None] = [None] * len(sentences)
    device = next(model.parameters()).device
    ids = {tag: id for id, tag in enumerate(model.inventories.tags)}
    was_training = model.training
    model.eval()
    for places in by_cost(costs, budget, order):
        arrays = as_tensors(inputs.batch([prepared[place] for place in places]))
        gold_tags = None
        if model.tag_input is not None and tags is not None:
            gold_tags = tag_tensor(
                [np.asarray([ids.get(tag, -1) for tag in tags[place]], dtype=np.int64) for place in places]
            )
            gold_tags = gold_tags.to(device)
        lengths = np.asarray([len(sentences[place]) for place in places], dtype=np.int64)
        with torch.no_grad():
            found = model.predict(
                {name: array.to(device) for name, array in arrays.items()}, lengths, gold_tags, apart
            )
        for place, prediction in zip(places, found, strict=True):
            out[place] = prediction
    model.train(was_training)
    return out  # type: ignore[return-value]


def as_pairs(
    sentences: Sequence[Sequence[str]],
    inventories: Inventories,
    spans: Sequence[Prediction] | None,
    arcs: Sequence[Prediction] | None,
) -> list[Pair]:
    """Pairs of trees from predictions; `spans` and `arcs` are the same list but for a SEP parser's two models."""
    out = []
    for place, words in enumerate(sentences):
        constituents = spans[place] if spans is not None else None
        dependencies = arcs[place] if arcs is not None else None
        tagger = constituents if constituents is not None and constituents.tags is not None else dependencies
        nodes = heads = relations = None
        if constituents is not None and constituents.nodes is not None:
            nodes = [(int(i), int(j), inventories.labels[label]) for i, j, _, label in constituents.nodes]
        if dependencies is not None and dependencies.heads is not None and dependencies.relations is not None:
            heads = [int(head) for head in dependencies.heads]
            relations = [inventories.relations[relation] for relation in dependencies.relations]
        tags = upos = ("",) * len(words)
        if tagger is not None and tagger.tags is not None:
            tags = tuple(inventories.tags[tag] for tag in tagger.tags)
        if tagger is not None and tagger.upos is not None:
            upos = tuple(inventories.upos[tag] for tag in tagger.upos)
        out.append(to_pair(words, tags, upos, nodes, heads, relations))
    return out
