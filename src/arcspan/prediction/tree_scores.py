"""How likely given trees are: the log-probability of a pair, of one layer, and of one layer given the other.

A model gives each lexicalized tree a probability, in proportion to exp(score / temperature). Given the tree, each of
its spans has a label, or is no constituent, and each of its arcs a relation, independently. The user sees a pair of it:
constituents and arcs. So the probability of a pair is the sum over all lexicalized trees that have its arcs, and its
constituents among their spans, of the tree's probability times that of all labels and relations, "no constituent" for
the other spans included. For one layer the sum runs over all trees of the other layer as well. All pairs together have
the probability 1. Guidelines (`prediction.guidelines`), which choose relations, have no part in it.
"""

from __future__ import annotations

import numpy as np

from arcspan import decoding
from arcspan.errors import ArcspanError, ScoreError
from arcspan.prediction.confidence import log_softmax
from arcspan.prediction.scores import divided
from arcspan.prediction.sentence_scores import SentenceScores
from arcspan.trees import ConstituencyTree, DependencyTree


class LogProbability(float):
    """The log-probability of all trees that were given; -inf for what the model cannot predict.

    constituency, dependencies   those of each layer alone, None for a layer that was not given
    """

    constituency: float | None
    dependencies: float | None

    def __new__(
        cls, value: float, constituency: float | None = None, dependencies: float | None = None
    ) -> LogProbability:
        """A number with those of its layers."""
        found = super().__new__(cls, value)
        found.constituency, found.dependencies = constituency, dependencies
        return found

    @property
    def constituency_given_dependencies(self) -> float | None:
        """That of the constituency tree if the dependency tree is right."""
        return _less(self, self.dependencies) if self.constituency is not None else None

    @property
    def dependencies_given_constituency(self) -> float | None:
        """That of the dependency tree if the constituency tree is right."""
        return _less(self, self.constituency) if self.dependencies is not None else None


def _less(both: float, given: float | None) -> float | None:
    return None if given is None else float("-inf") if both == float("-inf") else min(0.0, both - given)


def score_trees(
    scores: SentenceScores, constituency: ConstituencyTree | None, dependencies: DependencyTree | None
) -> LogProbability:
    """The log-probability of trees over the words of a sentence, at the model's temperatures.

    Labels count, and relations where they are named; heads of -1 are not known, and summed over.
    """
    n, inventories = scores.n, scores.predictor.inventories
    for name, tree, output in (("constituency", constituency, "span"), ("dependency", dependencies, "arc")):
        if tree is not None and len(tree.words) != n:
            raise ArcspanError(f"the {name} tree has {len(tree.words)} words, the sentence has {n}")
        if tree is not None and output not in scores.predictor.outputs:
            raise ArcspanError(f"this model does not predict {name} trees")
    labelled = None if constituency is None else _labelled_spans(scores, constituency, inventories.labels)
    attached = None if dependencies is None else _named_arcs(scores, dependencies, inventories.relations)
    everything = _total(scores, None, None)
    alone = [
        None if part is None else _total(scores, *given) - everything
        for part, given in ((labelled, (labelled, None)), (attached, (None, attached)))
    ]
    if labelled is None or attached is None:
        (value,) = (one for one in alone if one is not None)
        return LogProbability(value, *alone)
    return LogProbability(_total(scores, labelled, attached) - everything, *alone)


def _total(scores: SentenceScores, labelled: np.ndarray | None, attached: np.ndarray | None) -> float:
    """The logarithm of the sum over all trees, with log-probabilities added to their spans and arcs."""
    temperature = scores.predictor.calibration.structure_temperature
    total = 0.0
    for one in scores.parts:
        span, arc, headed = divided(one, temperature)
        if span is not None and labelled is not None:
            span = span + labelled[None]
        if arc is not None and attached is not None:
            arc = arc + attached[None]
        try:
            total += float(decoding.log_partition(span, arc, [scores.n], headed, threads=1)[0])
        except ScoreError:
            return float("-inf")
    return total


def _labelled_spans(
    scores: SentenceScores, tree: ConstituencyTree, inventory: tuple[tuple[str, ...], ...]
) -> np.ndarray:
    """What spans (i, j) add to the log-probability: their labels', "no constituent" for those that the tree lacks."""
    n = scores.n
    i, j = np.triu_indices(n + 1, 1)
    chances = np.full((n + 1, n + 1, len(inventory)), -np.inf)
    chances[i, j] = log_softmax(scores.labels(i, j), scores.predictor.calibration.label_temperature)
    found = chances[:, :, 0].copy()
    chains: dict[tuple[int, int], tuple[str, ...]] = {}
    for begin, end, label in tree.without_wrapper().spans:
        chains[begin, end] = (*chains.get((begin, end), ()), label)
    numbers = {chain: number for number, chain in enumerate(inventory)}
    for (begin, end), chain in chains.items():
        found[:begin, begin + 1 : end] = found[begin + 1 : end, end + 1 :] = -np.inf  # what crosses it
        found[begin, end] = chances[begin, end, numbers[chain]] if chain in numbers else -np.inf
    return found


def _named_arcs(scores: SentenceScores, tree: DependencyTree, inventory: tuple[str, ...]) -> np.ndarray:
    """What arcs [modifier, head] add to the log-probability: their relations', -inf where the tree has another head."""
    heads = np.asarray(tree.heads)
    m = np.flatnonzero(heads >= 0)
    found = np.zeros((scores.n + 1, scores.n + 1))
    found[m + 1] = -np.inf
    found[m + 1, heads[m]] = 0.0
    named = [word for word in m.tolist() if tree.relations[word] not in ("", "_")]
    if named and "relation" in scores.predictor.outputs:
        rows = scores.relations(np.maximum(heads, 0))
        chances = log_softmax(rows, scores.predictor.calibration.relation_temperature)
        numbers = {name: number for number, name in enumerate(inventory)}
        for word in named:
            number = numbers.get(tree.relations[word])
            found[word + 1, heads[word]] = -np.inf if number is None else chances[word, number]
    return found
