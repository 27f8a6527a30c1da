"""Several models as one: their scores are averaged before the one search.

Each model's scores are divided by its own temperatures first, so that the average is the logarithm
of the geometric mean of the models' probabilities: of trees, of labels and relations, of tags.
Models may cut words into other pieces and number names in another order, but they must have the
same outputs and the same labels, relations, tags and styles. Lemmas and features are those of the
first model where another has other ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from arcspan.errors import BundleError
from arcspan.prediction.confidence import Calibration
from arcspan.prediction.inputs import Arrays, Encoding, InputEncoder
from arcspan.prediction.model import ParserModel
from arcspan.prediction.outputs import NAMED_OUTPUTS, Indices, Scorer, Scores

_MAY_DIFFER = ("lemma", "feature")

NameOrder = Mapping[str, np.ndarray]
"""By output, and for "styles": the number that each name of the first model has in a member.
Outputs whose names differ are left out.
"""


def combine(models: Sequence[ParserModel]) -> ParserModel:
    """Return several models as one, with all that is not averaged from the first."""
    first = models[0]
    for model in models:
        outputs = [scorer.outputs for scorer in model.scorers]
        if outputs != [scorer.outputs for scorer in first.scorers]:
            listed = "; ".join(", ".join(sorted(names)) for names in outputs)
            raise BundleError(f"{model.name}: its outputs are not those of {first.name}: {listed}")
        if any(scorer.reads_tags for scorer in model.scorers):
            raise BundleError(
                f"{model.name}: a model that reads tags cannot be part of an ensemble"
            )
    orders = [_order_names(first, model) for model in models]
    calibrations = [model.calibration for model in models]
    return replace(
        first,
        scorers=[
            Ensemble(scorers, orders, calibrations)
            for scorers in zip(*(model.scorers for model in models), strict=True)
        ],
        inputs=EnsembleInputs([model.inputs for model in models]),
        calibration=Calibration(),
    )


def _order_names(first: ParserModel, model: ParserModel) -> NameOrder:
    orders: dict[str, np.ndarray] = {}
    fields = {output.name: output.names for output in NAMED_OUTPUTS}
    fields["styles"] = "styles"
    for output, field in fields.items():
        names = getattr(first.inventories, field)
        member_names = getattr(model.inventories, field)
        if set(names) == set(member_names):
            numbers = {name: number for number, name in enumerate(member_names)}
            orders[output] = np.asarray([numbers[name] for name in names], np.int64)
        elif output not in _MAY_DIFFER:
            example = sorted(set(names) ^ set(member_names), key=str)[0]
            owner = "only the first" if example in names else "only the second"
            raise BundleError(
                f"{first.name} and {model.name} cannot be one ensemble, which needs models with the "
                f"same names: of their {field}, {owner} has {example!r} (models that one recipe "
                "trains on the same data with other seeds have the same)"
            )
    return orders


class EnsembleEncoding(NamedTuple):
    """The encodings of a sentence by all members; it costs as much as the longest."""

    members: tuple[Encoding, ...]
    cost: int
    shape_class: tuple[Any, ...]


class EnsembleInputs:
    """The inputs of all members side by side; names of arrays begin with the number of the
    member.
    """

    def __init__(self, members: Sequence[InputEncoder]) -> None:
        self._members = members

    def prepare(self, sentences: Sequence[Sequence[str]]) -> list[EnsembleEncoding]:
        """Look every word up in all members."""
        encodings = []
        for members in zip(*(member.prepare(sentences) for member in self._members), strict=True):
            cost = max(encoding.cost for encoding in members)
            shape_class = tuple([encoding.shape_class for encoding in members])
            encodings.append(EnsembleEncoding(members, cost, shape_class))
        return encodings

    def batch(self, encodings: Sequence[EnsembleEncoding]) -> Arrays:
        """Return the arrays of all members."""
        arrays: Arrays = {}
        for number, member in enumerate(self._members):
            of_member = [encoding.members[number] for encoding in encodings]
            for name, array in member.batch(of_member).items():
                arrays[f"{number}.{name}"] = array
        return arrays


class Ensemble:
    """A scorer that averages those of its members; each has its order of names and its
    temperatures.
    """

    reads_tags = False

    def __init__(
        self,
        scorers: Sequence[Scorer],
        orders: Sequence[NameOrder],
        calibrations: Sequence[Calibration],
    ) -> None:
        self.outputs = scorers[0].outputs
        self._members = list(zip(scorers, orders, calibrations, strict=True))

    def score(self, arrays: Arrays, *, headed: bool = True) -> Scores:
        """Return the mean of all members' scores; `hidden` is a list of theirs."""
        scores = []
        for number, (scorer, order, _) in enumerate(self._members):
            prefix = f"{number}."
            of_member = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            if "styles" in arrays:
                of_member["styles"] = order["styles"][arrays["styles"]]
            scores.append(scorer.score(of_member, headed=headed))
        return Scores(
            hidden=[of_member.hidden for of_member in scores],
            span=self._mean_structure([of_member.span for of_member in scores]),
            arc=self._mean_structure([of_member.arc for of_member in scores]),
            headed=self._mean_structure([of_member.headed for of_member in scores]),
            words={
                output: self._mean_names(output, [of_member.words[output] for of_member in scores])
                for output in scores[0].words
            },
        )

    def label(
        self, hidden: Any, nodes: Indices, words: Indices
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the mean of all members' scores of labels, and of relations."""
        labels = []
        relations = []
        for (scorer, _, _), vectors in zip(self._members, hidden, strict=True):
            of_nodes, of_words = scorer.label(vectors, nodes, words)
            labels.append(of_nodes)
            relations.append(of_words)
        return self._mean_names("label", labels), self._mean_names("relation", relations)

    def reset_after_fork(self) -> None:
        """Drop what a forked process cannot use."""
        for scorer, _, _ in self._members:
            scorer.reset_after_fork()

    def _mean_structure(self, scores: Sequence[Any]) -> Any:
        if scores[0] is None:
            return None
        divided = [
            of_member / calibration.structure_temperature
            for of_member, (_, _, calibration) in zip(scores, self._members, strict=True)
        ]
        return np.mean(divided, axis=0, dtype=np.float32)

    def _mean_names(self, output: str, scores: Sequence[Any]) -> Any:
        """Return the mean of the scores of an output's names, in the order of the first member."""
        if scores[0] is None:
            return None
        divided = []
        for of_member, (_, order, calibration) in zip(scores, self._members, strict=True):
            if output in order:
                # Only labels and relations have temperatures of their own.
                temperature = getattr(calibration, f"{output}_temperature", 1.0)
                divided.append(of_member[..., order[output]] / temperature)
        return np.mean(divided, axis=0, dtype=np.float32)
