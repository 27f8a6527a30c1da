"""What is predicted for a sentence, in numbers and in names, and the trees that are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from arcspan.prediction.confidence import Confidence
from arcspan.prediction.lemmas import lemma_of
from arcspan.prediction.outputs import NAMED_OUTPUTS, WORD_OUTPUTS, Inventories
from arcspan.trees import ConstituencyTree, DependencyTree

WRAPPER = "TOP"


@dataclass(frozen=True)
class Prediction:
    """One sentence, in numbers of the inventories; what the model does not predict is None or left out.

    nodes      int64 (2n-1, 4): i, j, head word (0 where the model has none), label; pre-order
    heads      int64 (n,), and relations likewise
    words      everything else that is said of words, by output: int64 (n,)
    score      of the best structure
    approximate   whether it was too long for the exact search (`prediction.long_sentences`), or that was cut short
    error      why there is no prediction, where there is none
    confidence   its probabilities, where they were asked for
    """

    nodes: np.ndarray | None = None
    heads: np.ndarray | None = None
    relations: np.ndarray | None = None
    words: Mapping[str, np.ndarray] = field(default_factory=dict)
    score: float = 0.0
    approximate: bool = False
    error: str | None = None
    confidence: Confidence | None = None


def merge(predictions: Sequence[Prediction]) -> Prediction:
    """One prediction from those of the two models of SEP.

    What both say of a word is taken from the model of the tree that it belongs to (`Output.layer`).
    """
    of = {
        "constituency": next((one for one in predictions if one.nodes is not None), predictions[0]),
        "dependency": next((one for one in predictions if one.heads is not None), predictions[-1]),
    }
    words = {
        output.name: one.words[output.name]
        for output in WORD_OUTPUTS
        for one in (*predictions, of[output.layer])  # the last one that has it wins
        if output.name in one.words
    }
    return replace(
        of["constituency"],
        heads=of["dependency"].heads,
        relations=of["dependency"].relations,
        words=words,
        score=sum(one.score for one in predictions),
        approximate=any(one.approximate for one in predictions),
        error=next((one.error for one in predictions if one.error), None),
    )


class Content(NamedTuple):
    """What a model predicted of a sentence, in names.

    nodes   (i, j, head, chain) in pre-order, 2n-1 of them; the head is 0 where the model has none, the chain of
            labels is () where there is no constituent. None from a model without constituents.
    heads   one for each word, and relations; None from a model without dependencies
    tags    one for each word, and upos, lemmas, features likewise; () from a model without them
    """

    nodes: tuple[tuple[int, int, int, tuple[str, ...]], ...] | None = None
    heads: tuple[int, ...] | None = None
    relations: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    upos: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    def constituency(self, words: tuple[str, ...]) -> ConstituencyTree | None:
        """The c-tree, with the wrapper TOP around it."""
        if self.nodes is None:
            return None
        spans = tuple([(i, j, label) for i, j, _, chain in self.nodes for label in chain])
        tags = self.tags or ("",) * len(words)
        return ConstituencyTree._trusted(
            tuple(word or "_" for word in words), tags, spans
        ).with_wrapper(WRAPPER)

    def dependencies(self, words: tuple[str, ...]) -> DependencyTree | None:
        """The d-tree."""
        if self.heads is None or self.relations is None:
            return None
        none = ("",) * len(words)
        columns = (column or none for column in (self.tags, self.upos, self.lemmas, self.features))
        return DependencyTree._trusted(self.heads, self.relations, words, *columns)


def content(words: Sequence[str], prediction: Prediction, inventories: Inventories) -> Content:
    """A prediction in names."""
    found: dict[str, Any] = {}
    for output in NAMED_OUTPUTS:
        ids = prediction.relations if output.of == "arcs" else prediction.words.get(output.name)
        if ids is not None:
            known = getattr(inventories, output.names)
            found[output.names] = tuple([known[number] for number in ids.tolist()])
    if "lemmas" in found:
        tags = found.get("tags") or found.get("upos") or ("",) * len(words)
        seen = inventories.seen_lemmas
        found["lemmas"] = tuple(
            lemma_of(seen.get(tag, {}).get(word, edit), word)
            for word, tag, edit in zip(words, tags, found["lemmas"], strict=True)
        )
    if "features" in found:
        found["features"] = tuple("" if one == "_" else one for one in found["features"])
    if prediction.nodes is not None:
        labels = inventories.labels
        found["nodes"] = tuple(
            [(i, j, h, labels[label]) for i, j, h, label in prediction.nodes.tolist()]
        )
    if prediction.heads is not None:
        found["heads"] = tuple(prediction.heads.tolist())
    return Content(**found)


def to_pair(
    words: Sequence[str], prediction: Prediction, inventories: Inventories
) -> tuple[ConstituencyTree | None, DependencyTree | None]:
    """Both trees as a user sees them."""
    said, own = content(words, prediction, inventories), tuple(words)
    return said.constituency(own), said.dependencies(own)
