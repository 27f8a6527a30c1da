"""What a user knows about a sentence: constituents, arcs, heads and tags that its trees must, must not, or should have.

These are constraints on the trees that the user sees. `decoding.constraints` speaks of binary trees, whose spans
include those that binarization made; here a span is a constituent with a label. So a forbidden constituent forbids
labels: its words may still stand together inside a larger one. What is about names (of labels, relations, tags) becomes
a bonus for each name, -inf where it is ruled out (`name_bonuses`); what is about structure becomes masks over the
scores (`structure_masks`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from arcspan.decoding import constraints as binary
from arcspan.decoding.constraints import Head as Head
from arcspan.decoding.constraints import Masks, check_range, constrain
from arcspan.errors import ArcspanError
from arcspan.prediction.outputs import Inventories
from arcspan.trees import WRAPPERS

if TYPE_CHECKING:
    from arcspan.prediction.query import Query

MOST_WEIGHT = 1_000_000_000  # of a preference: the sums of many still are numbers


@dataclass(frozen=True)
class Span(binary.Span):
    """The words i+1..j are a constituent; with a label, one that has it (alone or in a unary chain).

    >>> str(Span(2, 5, "NP"))
    'span (2, 5) NP'
    """

    label: str | None = None

    def __str__(self) -> str:
        return super().__str__() + (f" {self.label}" if self.label is not None else "")


@dataclass(frozen=True)
class Arc(binary.Arc):
    """The head of the word `modifier` is the word `head`, 0 for the root; with a relation, by that relation.

    >>> str(Arc(2, 1, "nsubj"))
    'arc (2, 1) nsubj'
    """

    relation: str | None = None

    def __str__(self) -> str:
        return super().__str__() + (f" {self.relation}" if self.relation is not None else "")


@dataclass(frozen=True)
class Tag:
    """The word has the tag: one of the treebank's own set, or a universal one."""

    word: int
    tag: str

    def __str__(self) -> str:
        return f"tag {self.tag} of word {self.word}"


def Root(word: int) -> Arc:
    """The word is the root of the dependency tree.

    >>> str(Root(2))
    'root 2'
    """
    return Arc(0, word)


Constraint: TypeAlias = Span | Arc | Head | Tag
Preference: TypeAlias = tuple[Constraint, float]
Chain: TypeAlias = tuple[str, ...]
Bonuses: TypeAlias = dict[str, dict[tuple[int, ...], np.ndarray]]

_HELP = (
    "write Span(i, j), Span(i, j, label), Arc(head, modifier), Arc(head, modifier, relation), Head(i, j, head), "
    "Root(word) or Tag(word, tag), or the tuples ('span', i, j), ('span', i, j, label), ('arc', head, modifier), "
    "('arc', head, modifier, relation), ('head', i, j, head), ('root', word), ('tag', word, tag)"
)


def _whole(value: Any) -> int:
    """A whole number, numpy's too; True is not one."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError
    return operator.index(value)


def _name(value: Any) -> str | None:
    if not (value is None or isinstance(value, str)):
        raise TypeError
    return value


_NAMED: dict[str, Callable[..., Constraint]] = {
    "span": lambda i, j, label=None: Span(_whole(i), _whole(j), _name(label)),
    "arc": lambda head, modifier, relation=None: Arc(
        _whole(head), _whole(modifier), _name(relation)
    ),
    "head": lambda i, j, head: Head(_whole(i), _whole(j), _whole(head)),
    "root": lambda word: Root(_whole(word)),
    "tag": lambda word, tag: Tag(_whole(word), str(_name(tag))),
}


def read_constraints(given: Iterable[Any]) -> list[Constraint]:
    """Constraints as objects; tuples and lists are read as follows.

    A tuple that begins with a name is what it says. Without one, (i, j, label) is a span, and so is (i, j) with i < j;
    (h, m) with h > m can only be an arc, and is one. An arc whose head comes first needs its name: Arc(h, m).

    >>> [str(one) for one in read_constraints([(0, 2), (0, 2, "NP"), (3, 1), ("arc", 1, 3), ("root", 3)])]
    ['span (0, 2)', 'span (0, 2) NP', 'arc (3, 1)', 'arc (1, 3)', 'root 3']
    """
    if isinstance(given, (str, bytes, Mapping, *_OBJECTS)) or not isinstance(given, Iterable):
        raise ArcspanError(f"constraints come in a list, not as {given!r}: {_HELP}")
    return [_read(one) for one in given]


def read_preferences(given: Iterable[Any]) -> list[Preference]:
    """Constraints with weights, pairs (constraint, log-weight); the constraints are read as above.

    >>> read_preferences([(Span(0, 2), 2), (("arc", 1, 3), -1.5)])[1]
    (Arc(head=1, modifier=3, relation=None), -1.5)
    """
    found = []
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise ArcspanError(
            f"preferences come in a list, not as {given!r}: write [(constraint, weight), ...]"
        )
    for one in given:
        try:
            what, given_weight = one
            weight = float("nan" if isinstance(given_weight, (str, bytes, bool)) else given_weight)
            if not -MOST_WEIGHT <= weight <= MOST_WEIGHT:
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise ArcspanError(
                f"{one!r} is not a preference: write (constraint, weight), the weight a number of at most "
                f"{MOST_WEIGHT:,}: {_HELP}"
            ) from None
        found.append((_read(what), weight))
    return found


_OBJECTS = {binary.Span: "span", binary.Arc: "arc", Head: "head", Tag: "tag"}


def _read(one: Any) -> Constraint:
    # An object may have been made of anything: it is read as the tuple that says the same.
    named = (name for kind, name in _OBJECTS.items() if isinstance(one, kind))
    parts = next(((name, *vars(one).values()) for name in named), one)
    if isinstance(parts, (tuple, list)):
        try:
            if parts and isinstance(parts[0], str):
                return _NAMED[parts[0]](*parts[1:])
            if len(parts) == 2 and parts[0] >= parts[1]:
                return _NAMED["arc"](*parts)
            return _NAMED["span"](*parts)
        except (KeyError, TypeError):
            pass
    raise ArcspanError(f"{one!r} is not a constraint: {_HELP}")


_KINDS = {True: "required", False: "forbidden", None: "preferred"}


class _Demand(NamedTuple):
    """A constraint that is required (True), forbidden (False), or preferred by a weight."""

    what: Constraint
    required: bool | None
    weight: float = 0.0

    def __str__(self) -> str:
        return f"{_KINDS[self.required]} {self.what}"

    def meets(self, name: Any) -> bool:
        """Whether a name (a chain of labels, () for no constituent; a relation; a tag) is the one in question."""
        if isinstance(self.what, Tag):
            return bool(name == self.what.tag)
        if isinstance(self.what, Arc):
            return bool(name == self.what.relation)
        label = self.what.label if isinstance(self.what, Span) else None
        return name != () if label is None else label in name

    def bonuses(self, names: Sequence[Any]) -> np.ndarray:
        """What each name is worth by this demand: 0, the weight, or -inf."""
        meets = np.asarray([self.meets(name) for name in names])
        if self.required is None:
            return np.where(meets & (not isinstance(self.what, Head)), self.weight, 0.0)
        if not self.required and isinstance(self.what, Head):  # to forbid a head forbids no label
            return np.zeros(len(names))
        return np.where(meets == self.required, 0.0, -np.inf)


def name_bonuses(n: int, query: Query, known: Inventories) -> Bonuses:
    """For each output and place that a constraint names: what each name is worth there, -inf for what is ruled out.

    Places are (i, j) of labels, (modifier, head) of relations, (word,) of tags. The first label is (), no constituent;
    a sentence of several words is always one.

    >>> from arcspan.prediction.query import Query
    >>> known = Inventories(((), ("NP",), ("S", "NP"), ("VP",)), ("root",), ("NN",), ())
    >>> name_bonuses(3, Query(require=(Span(0, 2, "NP"),)), known)["label"][0, 2].tolist()
    [-inf, 0.0, 0.0, -inf]
    """
    demands: dict[tuple[str, tuple[int, ...]], list[_Demand]] = {}
    every = dict.fromkeys(_Demand(one, True) for one in query.require)
    every |= dict.fromkeys(_Demand(one, False) for one in query.forbid)
    for demand in [*every, *(_Demand(one, None, weight) for one, weight in query.prefer)]:
        for output, place in _places(demand, n, known):
            demands.setdefault((output, place), []).append(demand)
    found: Bonuses = {}
    for (output, place), own in demands.items():
        names = _names(known, output)
        whole = output == "label" and place == (0, n) and n > 1
        bonuses = np.asarray([demand.bonuses(names) for demand in own])
        if whole:
            bonuses[:, 0] = -np.inf
        total = bonuses.sum(0)
        if np.isneginf(total).all():
            hard = [demand for demand in own if demand.required is not None]
            allowed = np.asarray([~np.isneginf(row) for row in bonuses[: len(hard)]])
            raise ArcspanError(_explain(hard, whole, allowed))
        found.setdefault(output, {})[place] = total
    return found


def _names(known: Inventories, output: str) -> Sequence[Any]:
    return {
        "label": known.labels,
        "relation": known.relations,
        "tag": known.tags,
        "upos": known.upos,
    }[output]


def _places(demand: _Demand, n: int, known: Inventories) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Where a demand is about names: outputs and places; ArcspanError where there is none such."""
    what = demand.what
    if isinstance(what, Tag):
        outputs = [output for output in ("tag", "upos") if what.tag in _names(known, output)]
        if not 1 <= what.word <= n:
            raise ArcspanError(f"{demand}: a sentence of {n} words has the words 1 to {n}")
        if not outputs:
            raise ArcspanError(f"{demand}: this model has no tag {what.tag!r}")
        yield from ((output, (what.word,)) for output in outputs)
        return
    check_range(n, what, demand)
    if isinstance(what, Arc):
        if what.relation is not None:
            if what.relation not in known.relations:
                names = ", ".join(known.relations)
                raise ArcspanError(
                    f"{demand}: this model has no relation {what.relation!r}; it has {names}"
                )
            yield "relation", (what.modifier, what.head)
    else:
        label = what.label if isinstance(what, Span) else None
        if label is not None and not any(label in chain for chain in known.labels):
            names = ", ".join(sorted({name for chain in known.labels for name in chain}))
            raise ArcspanError(f"{demand}: this model has no label {label!r}; it has {names}")
        if demand.required and label in WRAPPERS and what.j - what.i < n:
            raise ArcspanError(f"{demand}: {label} stands only around the whole sentence")
        yield "label", (what.i, what.j)


def _explain(demands: list[_Demand], whole: bool, allowed: np.ndarray) -> str:
    """Names constraints on one place that contradict each other, and no more of them than it takes.

    allowed  bool [demands, names]: which names each of them allows
    """
    kept = np.ones(len(demands), np.bool_)
    for place in range(len(demands)):
        kept[place] = False
        kept[place] = bool(allowed[kept].all(0).any())
    needed = [demand for demand, one in zip(demands, kept.tolist(), strict=True) if one]
    names = [str(demand) for demand in needed]
    if len(names) == 1:
        if whole and not needed[0].required:
            return f"{names[0]}: the whole sentence is always a constituent; forbid a label of it"
        return f"{names[0]} cannot hold: nothing that this model knows meets it"
    if len({demand.what for demand in needed}) == 1:
        text = str(needed[0].what)
        return f"{text[0].upper()}{text[1:]} is both required and forbidden"
    both = "both" if len(names) == 2 else "all"
    return f"{', '.join(names[:-1])} and {names[-1]} cannot {both} hold: no label of this model meets them"


def structure_masks(n: int, query: Query, visible: np.ndarray | None) -> Masks:
    """What is left to the search once names are settled, -inf or a weight; contradictions are named in the error.

    visible  bool [n+1, n+1]: the spans that are constituents if they are in the tree. Others have no head to forbid.
    """
    banned = [
        one
        for one in query.forbid
        if (isinstance(one, Arc) and one.relation is None)
        or (isinstance(one, Head) and (visible is None or visible[one.i, one.j]))
    ]
    masks = constrain(n, [one for one in query.require if not isinstance(one, Tag)], banned)
    headed = masks.headed
    for one, weight in query.prefer:
        if isinstance(one, Arc) and one.relation is None:
            masks.arc[one.modifier, one.head] += weight
        elif isinstance(one, Head) and visible is not None and visible[one.i, one.j]:
            headed = np.zeros((n + 1,) * 3, np.float32) if headed is None else headed
            headed[one.i, one.j, one.head] += weight
    return masks._replace(headed=headed)
