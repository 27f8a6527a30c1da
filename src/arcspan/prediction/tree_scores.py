"""How likely given trees are: the log-probability of a pair, of one layer, and of one layer given the other.

The sum runs over all labelled trees that look like the pair (`SentenceScores.log_probability`); for one layer over all
trees of the other layer as well. All pairs together have the probability 1. Guidelines (`prediction.guidelines`), which
choose relations, have no part in it.
"""

from __future__ import annotations

import numpy as np

from arcspan.errors import ArcspanError, ScoreError
from arcspan.prediction.prediction import Prediction
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
    return (
        None
        if given is None
        else float("-inf")
        if both == float("-inf")
        else min(0.0, both - given)
    )


def score_trees(
    scores: SentenceScores,
    constituency: ConstituencyTree | None,
    dependencies: DependencyTree | None,
) -> LogProbability:
    """The log-probability of trees over the words of a sentence, at the model's temperatures.

    Labels count, and relations where they are named; heads of -1 are not known, and summed over.
    """
    outputs = scores.predictor.outputs
    for tree, kind in ((constituency, ConstituencyTree), (dependencies, DependencyTree)):
        if not isinstance(tree, (kind, type(None))):
            raise ArcspanError(f"a {kind.__name__} is needed, not {type(tree).__name__}: {tree!r}")
    for name, tree, output in (
        ("constituency", constituency, "span"),
        ("dependency", dependencies, "arc"),
    ):
        if tree is not None and len(tree.words) != scores.n:
            raise ArcspanError(
                f"the {name} tree has {len(tree.words)} words, the sentence has {scores.n}"
            )
        if tree is not None and output not in outputs:
            raise ArcspanError(f"this model does not predict {name} trees")
    inventories = scores.predictor.inventories
    nodes = heads = relations = None
    known = [True, True]  # whether the model has all names of each layer
    if constituency is not None:
        numbers = {chain: number for number, chain in enumerate(inventories.labels)}
        chains = constituency.without_wrapper().chains()
        rows = [(i, j, 0, numbers.get(chain, -1)) for (i, j), chain in chains.items()]
        nodes = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
        known[0] = bool((nodes[:, 3] >= 0).all())
    if dependencies is not None:
        heads = np.asarray(dependencies.heads, dtype=np.int64)
        of_name = {name: number for number, name in enumerate(inventories.relations)} | {
            "": -1,
            "_": -1,
        }
        named = np.asarray(
            [of_name.get(name, -2) for name in dependencies.relations], dtype=np.int64
        )
        known[1] = bool((named >= -1).all())
        relations = named if "relation" in outputs else None

    def log_probability(prediction: Prediction, possible: bool) -> float:
        try:
            return scores.log_probability(prediction) if possible else float("-inf")
        except ScoreError:
            return float("-inf")

    return LogProbability(
        log_probability(Prediction(nodes, heads, relations), all(known)),
        None if nodes is None else log_probability(Prediction(nodes), known[0]),
        None if heads is None else log_probability(Prediction(None, heads, relations), known[1]),
    )
