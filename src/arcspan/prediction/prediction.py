"""From the structures that a search found to predictions, and from predictions to trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from arcspan.decoding import Decoded
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.label_rules import Labelling
from arcspan.prediction.lemmas import lemma_of
from arcspan.prediction.outputs import LAYERS, NAMED_OUTPUTS, WORD_OUTPUTS, Inventories, Style
from arcspan.prediction.scores import Scorer, Scores
from arcspan.trees import ConstituencyTree, DependencyTree

WRAPPER = "TOP"
_NOWHERE = (np.zeros(0, dtype=np.int64),) * 3


@dataclass(frozen=True)
class Prediction:
    """One sentence, in numbers of the inventories; what the model does not predict is None or left out.

    nodes      int64 (2n-1, 4): i, j, head word (0 where the model has none), label; pre-order
    heads      int64 (n,), and relations likewise
    words      everything else that is said of words, by output: int64 (n,)
    score      of the best structure
    approximate   whether the sentence was too long for the exact search (`prediction.long_sentences`)
    error      why there is no prediction, where there is none
    """

    nodes: np.ndarray | None = None
    heads: np.ndarray | None = None
    relations: np.ndarray | None = None
    words: Mapping[str, np.ndarray] = field(default_factory=dict)
    score: float = 0.0
    approximate: bool = False
    error: str | None = None


def word_places(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every word of a batch: its sentence and its position 1..n."""
    b = np.repeat(np.arange(len(lengths)), lengths)
    begins = np.cumsum(lengths) - lengths
    return b, np.arange(len(b)) - begins[b] + 1


def whole_is_constituent(labels: np.ndarray, i: np.ndarray, j: np.ndarray, n: np.ndarray | int) -> np.ndarray:
    """Scores of labels [K, labels] at spans (i, j) of sentences of n words, changed in place.

    A sentence of several words has a constituent over all of them, whatever its label: "none" is forbidden there.
    """
    labels[(i == 0) & (j == n) & (j > 1), 0] = -np.inf
    return labels


def label(
    scorer: Scorer,
    scores: Scores,
    decoded: Decoded,
    lengths: np.ndarray,
    inventories: Inventories,
    styles: Sequence[Style],
    labelling: Labelling | None = None,
    guidelines: Guidelines | None = None,
) -> list[Prediction]:
    """Label what the search found: all sentences of a batch at once."""
    b, m = word_places(lengths)
    nodes: Sequence[np.ndarray] = _NOWHERE
    words: Sequence[np.ndarray] = _NOWHERE
    if decoded.spans is not None:
        found = np.concatenate(decoded.spans)
        nodes = [np.repeat(np.arange(len(lengths)), 2 * lengths - 1), found[:, 0], found[:, 1]]
    if decoded.heads is not None:
        words = [b, m, decoded.heads[b, m]]
    labels, relations = scorer.label(scores.hidden, nodes, words)
    of_words = {name: part[b, m] for name, part in scores.words.items()}
    of = np.asarray(styles, dtype=np.int64).reshape(-1, len(LAYERS))
    if labels is not None:
        whole_is_constituent(labels, nodes[1], nodes[2], lengths[nodes[0]])
        inventories.forbid_unused("label", labels, of[nodes[0], 0])
    if relations is not None:
        inventories.forbid_unused("relation", relations, of[b, 1])
    said = {
        name: inventories.forbid_unused(name, part, of[b, 1]).argmax(1) for name, part in of_words.items()
    }
    return assemble(decoded, lengths, labels, relations, said, labelling, guidelines)


def assemble(
    decoded: Decoded,
    lengths: np.ndarray,
    labels: np.ndarray | None,
    relations: np.ndarray | None,
    words: Mapping[str, np.ndarray],
    labelling: Labelling | None = None,
    guidelines: Guidelines | None = None,
) -> list[Prediction]:
    """Predictions from the structures of a batch, scores of labels at their nodes and of relations at their
    words, and what is said of words; all sentences in one array, one after the other.
    """
    b, m = word_places(lengths)
    nodes = heads = relation_ids = None
    if labels is not None and decoded.spans is not None:
        found = np.concatenate(decoded.spans)
        nodes = np.zeros((len(found), 4), dtype=np.int64)
        nodes[:, : found.shape[1]] = found
        nodes[:, 3] = labels.argmax(1)
    if relations is not None and decoded.heads is not None:
        heads = decoded.heads[b, m]
        rules = None if nodes is None or labels is None else labelling
        if rules is not None and not rules.labels_only:
            relations = _fit(rules, lengths, nodes, heads, labels, relations, words.get("tag"))
        relation_ids = (
            guidelines.choose(relations, heads, lengths, words) if guidelines else relations.argmax(1)
        )
        if rules is not None and rules.labels_only:
            chosen = np.where(np.arange(relations.shape[1]) == relation_ids[:, None], 0.0, -np.inf)
            _fit(rules, lengths, nodes, heads, labels, chosen, words.get("tag"))
    out = []
    for (mine, below), score in zip(_bounds(lengths), decoded.scores.tolist(), strict=True):
        out.append(
            Prediction(
                None if nodes is None else nodes[below],
                None if heads is None else heads[mine],
                None if relation_ids is None else relation_ids[mine],
                {name: ids[mine] for name, ids in words.items()},
                score,
            )
        )
    return out


def _bounds(lengths: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Where the words and the nodes of each sentence stand."""
    word = node = 0
    for n in lengths.tolist():
        yield slice(word, word + n), slice(node, node + 2 * n - 1)
        word, node = word + n, node + 2 * n - 1


def _fit(
    labelling: Labelling,
    lengths: np.ndarray,
    nodes: np.ndarray | None,
    heads: np.ndarray,
    labels: np.ndarray | None,
    relations: np.ndarray,
    tags: np.ndarray | None,
) -> np.ndarray:
    """Put the labels that fit into the nodes, and return the relations' scores beside them."""
    assert nodes is not None and labels is not None
    found = []
    for mine, below in _bounds(lengths):
        nodes[below, 3], scores = labelling.choose(
            nodes[below], heads[mine], labels[below], relations[mine], None if tags is None else tags[mine]
        )
        found.append(scores)
    return np.concatenate(found)


def merge(predictions: Sequence[Prediction]) -> Prediction:
    """One prediction from those of a parser's models: one, or the two of SEP.

    What both say of a word is taken from the model of the tree that it belongs to (`Output.layer`).
    """
    if len(predictions) == 1:
        return predictions[0]
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
        found["nodes"] = tuple([(i, j, h, labels[label]) for i, j, h, label in prediction.nodes.tolist()])
    if prediction.heads is not None:
        found["heads"] = tuple(prediction.heads.tolist())
    return Content(**found)


def constituency_of(words: tuple[str, ...], said: Content) -> ConstituencyTree | None:
    """The c-tree, with the wrapper TOP around it; None from a model without constituents."""
    if said.nodes is None:
        return None
    spans = [(i, j, label) for i, j, _, chain in said.nodes for label in chain]
    tags = said.tags or ("",) * len(words)
    tree = ConstituencyTree._trusted(tuple(word or "_" for word in words), tags, tuple(spans))
    return tree.with_wrapper(WRAPPER)


def dependencies_of(words: tuple[str, ...], said: Content) -> DependencyTree | None:
    """The d-tree; None from a model without dependencies."""
    if said.heads is None or said.relations is None:
        return None
    none = ("",) * len(words)
    columns = (column or none for column in (said.tags, said.upos, said.lemmas, said.features))
    return DependencyTree._trusted(said.heads, said.relations, words, *columns)


def to_pair(
    words: Sequence[str], prediction: Prediction, inventories: Inventories
) -> tuple[ConstituencyTree | None, DependencyTree | None]:
    """Both trees as a user sees them."""
    said, own = content(words, prediction, inventories), tuple(words)
    return constituency_of(own, said), dependencies_of(own, said)
