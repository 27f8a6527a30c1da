"""Calibrated probabilities of a parse and its parts.

Scores that were trained with a margin rank trees but are no log-probabilities. Divided by a
temperature that was fitted on held-out sentences they are, as far as one number can make them so:
of the arcs with a probability of 0.8, about 80% are right (`studies/calibration`). The bundle's
configuration keeps the temperatures. `prediction.probability` computes the probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Calibration:
    """The temperatures by which scores are divided before they become probabilities; 1 leaves them.

    structure        for trees
    label, relation  for labels given their spans, relations given their arcs

    Together they make one distribution over labelled trees, and its mode is what the search finds:
    the lower the temperature of the structure, the less labels and relations weigh beside it.
    """

    structure_temperature: float = 1.0
    label_temperature: float = 1.0
    relation_temperature: float = 1.0

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Calibration:
        """Return the calibration of a bundle's configuration, which was checked; all 1 where it has
        none.

        >>> Calibration.from_config({"calibration": {"label_temperature": 2}}).label_temperature
        2.0
        """
        settings = config.get("calibration") or {}
        temperatures = {
            field.name: float(settings[field.name])
            for field in fields(cls)
            if field.name in settings
        }
        # Bundles of version 0.1 call it so.
        if "arc_temperature" in settings:
            temperatures["structure_temperature"] = float(settings["arc_temperature"])
        # Earlier bundles weigh labels and relations beside the structure, at its temperature.
        if "label_weight" in settings:
            relation_weight = float(settings.get("relation_weight", 1))
            weight = (float(settings["label_weight"]) + relation_weight) / 2
            temperature = weight * temperatures.get("structure_temperature", 1.0)
            temperatures["structure_temperature"] = temperature
        return cls(**temperatures)

    def to_json(self) -> dict[str, float]:
        """Return plain numbers."""
        return asdict(self)


class Alternatives(NamedTuple):
    """Parts with a probability of at least 1% that the parse does not have, the likeliest first.

    heads      for each word: (head, probability) of other heads
    relations  for each word: (relation, probability) of other relations, if the head is right
    spans      for each constituent (i, j): (i, j, probability) of constituents that cross it
    labels     for each constituent (i, j): (chain of labels, probability) of others, if it is a
               constituent
    """

    heads: tuple[tuple[tuple[int, float], ...], ...] = ()
    relations: tuple[tuple[tuple[str, float], ...], ...] = ()
    spans: Mapping[tuple[int, int], tuple[tuple[int, int, float], ...]] = {}
    labels: Mapping[tuple[int, int], tuple[tuple[tuple[str, ...], float], ...]] = {}


@dataclass(frozen=True)
class Confidence:
    """Probabilities of the parts of one parse.

    spans      (i, j) -> that these words are a constituent, for each constituent of the tree
    labels     (i, j) -> that the constituent, if it is one, has its label (its chain of labels)
    arcs       for each word: that its head is the one the tree gives it
    relations  for each word: that the relation is right, if the head is
    sentence   that all of it is right: that of the labelled lexicalized tree which holds both trees
    constituency   that the whole constituency tree is right, with its labels; 1 where there is none
    dependency     that the whole dependency tree is right, with its relations; 1 where there is
                   none
    alternatives   other heads, relations, constituents and labels, with their probabilities
    entropies  for each word: how uncertain its head is, in nats
    entropy    how uncertain the trees of the sentence are, in nats, whatever their labels and
               relations

    Where constraints were given, all are probabilities under these constraints.
    """

    spans: Mapping[tuple[int, int], float]
    labels: Mapping[tuple[int, int], float]
    arcs: tuple[float, ...]
    relations: tuple[float, ...]
    sentence: float
    constituency: float = 1.0
    dependency: float = 1.0
    alternatives: Alternatives = field(default=Alternatives(), repr=False)
    entropies: tuple[float, ...] = field(default=(), repr=False)
    entropy: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: spans as [i, j, probability, probability of the label]."""
        return {
            "sentence": self.sentence,
            "constituency": self.constituency,
            "dependency": self.dependency,
            "spans": [[i, j, p, self.labels[i, j]] for (i, j), p in self.spans.items()],
            "arcs": list(self.arcs),
            "relations": list(self.relations),
        }


def log_softmax(scores: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Return log-probabilities along the last axis, float64.

    >>> np.exp(log_softmax(np.zeros((1, 4)))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    scaled = np.asarray(scores, np.float64) / temperature
    # The exponentials of large scores would overflow.
    scaled = scaled - scaled.max(-1, keepdims=True)
    return scaled - np.log(np.exp(scaled).sum(-1, keepdims=True))
