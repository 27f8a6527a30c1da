"""Several models as one: their scores are averaged before the one search.

Each model's scores are divided by its own temperatures first, so that the average is the logarithm of the geometric
mean of the models' probabilities: of trees, of labels and relations, of tags. Models may cut words into other pieces
and number names in another order, but they must have the same outputs and know the same labels, relations, tags and
styles. Lemmas and features are those of the first model where another knows other ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from arcspan.errors import BundleError
from arcspan.prediction.confidence import Calibration
from arcspan.prediction.inputs import Arrays, PieceInputs, WordInputs
from arcspan.prediction.outputs import NAMED_OUTPUTS, Inventories
from arcspan.prediction.scores import Places, Scorer, Scores

_MAY_DIFFER = ("lemma", "feature")


class Member(NamedTuple):
    """A model of an ensemble; `name` is what errors call it."""

    name: str
    scorers: list[Scorer]
    inputs: PieceInputs | WordInputs | EnsembleInputs
    inventories: Inventories
    calibration: Calibration


def combine(members: Sequence[Member]) -> Member:
    """The members as one model, with the inventories of the first."""
    first = members[0]
    orders = [_order(first, member) for member in members]
    for member in members:
        outputs, wanted = ([scorer.outputs for scorer in one.scorers] for one in (member, first))
        if outputs != wanted:
            listed = "; ".join(", ".join(sorted(own)) for own in outputs)
            raise BundleError(f"{member.name}: its outputs are not those of {first.name}: {listed}")
        if any(scorer.reads_tags for scorer in member.scorers):
            raise BundleError(
                f"{member.name}: a model that reads tags cannot be part of an ensemble"
            )
    scorers: list[Scorer] = [
        Ensemble(
            [member.scorers[place] for member in members],
            orders,
            [one.calibration for one in members],
        )
        for place in range(len(first.scorers))
    ]
    inputs = EnsembleInputs([member.inputs for member in members])
    return Member(first.name, scorers, inputs, first.inventories, Calibration())


def _order(first: Member, member: Member) -> dict[str, np.ndarray]:
    """By output, and for "styles": where the first model's names stand among the member's; without what differs."""
    found = {}
    fields = {output.name: output.names for output in NAMED_OUTPUTS} | {"styles": "styles"}
    for output, field in fields.items():
        wanted, own = (getattr(one.inventories, field) for one in (first, member))
        if set(wanted) == set(own):
            place = {name: number for number, name in enumerate(own)}
            found[output] = np.asarray([place[name] for name in wanted], np.int64)
        elif output not in _MAY_DIFFER:
            odd = sorted(set(wanted) ^ set(own), key=str)[0]
            which = "only the first" if odd in wanted else "only the second"
            raise BundleError(
                f"{first.name} and {member.name} cannot be one ensemble, which needs models with the same names: "
                f"of their {field}, {which} has {odd!r}"
            )
    return found


class EnsembleInputs:
    """The inputs of all members side by side; names of arrays begin with the number of the member."""

    kind = "ensemble"

    def __init__(self, members: Sequence[Any]) -> None:
        self._members = members

    def prepare(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        """For each sentence: what every member makes of it."""
        return list(zip(*(member.prepare(sentences) for member in self._members), strict=True))

    def cost(self, prepared: Any) -> int:
        """That of the member with the most to read."""
        return max(member.cost(own) for member, own in zip(self._members, prepared, strict=True))

    def shape_class(self, prepared: Any) -> tuple[Any, ...]:
        """Those of all members."""
        return tuple(
            member.shape_class(own) for member, own in zip(self._members, prepared, strict=True)
        )

    def batch(self, prepared: Sequence[Any]) -> Arrays:
        """The arrays of all members."""
        members = zip(self._members, zip(*prepared, strict=True), strict=True)
        return {
            f"{number}.{name}": array
            for number, (member, own) in enumerate(members)
            for name, array in member.batch(own).items()
        }


class Ensemble:
    """A scorer that averages those of its members; each has its order of names and its temperatures."""

    reads_tags = False

    def __init__(
        self,
        scorers: Sequence[Scorer],
        orders: Sequence[dict[str, np.ndarray]],
        calibrations: Sequence[Calibration],
    ) -> None:
        self.outputs = scorers[0].outputs
        self._members = list(zip(scorers, orders, calibrations, strict=True))

    def score(self, arrays: Arrays, *, headed: bool = True) -> Scores:
        """The mean of all members' scores; `hidden` is a list of theirs."""
        found = []
        for number, (scorer, order, _) in enumerate(self._members):
            mine = f"{number}."
            own = {
                name.removeprefix(mine): array
                for name, array in arrays.items()
                if name.startswith(mine)
            }
            if "styles" in arrays:
                own["styles"] = order["styles"][arrays["styles"]]
            found.append(scorer.score(own, headed=headed))
        units = [calibration.structure_temperature for _, _, calibration in self._members]
        structure = {}
        for name in ("span", "arc", "headed"):
            parts = zip((getattr(one, name) for one in found), units, strict=True)
            structure[name] = self._mean(
                [None if part is None else part / unit for part, unit in parts]
            )
        words = {
            name: self._names(name, [one.words[name] for one in found]) for name in found[0].words
        }
        return Scores([one.hidden for one in found], **structure, words=words)

    def label(
        self, hidden: Any, nodes: Places, words: Places
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The mean of all members' scores of labels, and of relations."""
        members = zip(self._members, hidden, strict=True)
        found = (scorer.label(own, nodes, words) for (scorer, _, _), own in members)
        labels, relations = zip(*found, strict=True)
        return self._names("label", labels), self._names("relation", relations)

    def reset_after_fork(self) -> None:
        """Begin anew in a forked process."""
        for scorer, _, _ in self._members:
            scorer.reset_after_fork()

    def _names(self, output: str, scores: Sequence[Any]) -> Any:
        """The mean of the scores of an output's names, in the order of the first member."""
        parts = []
        for own, (_, order, calibration) in zip(scores, self._members, strict=True):
            if output in order:
                unit = getattr(calibration, f"{output}_temperature", 1.0)
                parts.append(None if own is None else own[..., order[output]] / unit)
        return self._mean(parts)

    @staticmethod
    def _mean(parts: Sequence[Any]) -> Any:
        if parts[0] is None:
            return None
        return np.mean(parts, axis=0, dtype=np.float32)
