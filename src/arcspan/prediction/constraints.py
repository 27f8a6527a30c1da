"""What a user knows about a sentence: constituents, arcs and heads that must, or must not, be in its trees.

These are constraints on the trees that the user sees. `decoding.constraints` speaks of binary trees, whose spans
include those that binarization made; here a span is a constituent with a label. So a forbidden constituent forbids
labels: its words may still stand together inside a larger one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arcspan.decoding import constraints as binary
from arcspan.decoding.constraints import Arc, Masks, Root, constrain
from arcspan.decoding.constraints import HeadOf as Head
from arcspan.errors import ArcspanError
from arcspan.trees import WRAPPERS

__all__ = [
    "Arc",
    "Constraint",
    "Head",
    "Root",
    "Span",
    "allowed_labels",
    "read_constraints",
    "structure_masks",
]

Chain: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Span(binary.Span):
    """The words i+1..j are a constituent; with a label, one that has it (alone or in a unary chain).

    >>> str(Span(2, 5, "NP"))
    'span (2, 5) NP'
    """

    label: str | None = None

    def __str__(self) -> str:
        return super().__str__() + (f" {self.label}" if self.label is not None else "")


Constraint: TypeAlias = Span | Arc | Head

_HELP = (
    "write Span(i, j), Span(i, j, label), Arc(head, modifier), Head(i, j, head) or Root(word), or the tuples "
    "('span', i, j), ('span', i, j, label), ('arc', head, modifier), ('head', i, j, head), ('root', word)"
)


def _whole(value: Any) -> int:
    """A whole number, numpy's too; True is not one."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError
    return operator.index(value)


def _span(i: Any, j: Any, label: Any = None) -> Span:
    if not (label is None or isinstance(label, str)):
        raise TypeError
    return Span(_whole(i), _whole(j), label)


_NAMED: dict[str, Callable[..., Constraint]] = {
    "span": _span,
    "arc": lambda head, modifier: Arc(_whole(head), _whole(modifier)),
    "head": lambda i, j, head: Head(_whole(i), _whole(j), _whole(head)),
    "root": lambda word: Root(_whole(word)),
}


def read_constraints(given: Iterable[Any]) -> list[Constraint]:
    """Constraints as objects; tuples and lists are read as follows.

    A tuple that begins with a name is what it says. Without one, (i, j, label) is a span, and so is (i, j) with i < j;
    (h, m) with h > m can only be an arc, and is one. An arc whose head comes first needs its name: Arc(h, m).

    >>> [str(one) for one in read_constraints([(0, 2), (0, 2, "NP"), (3, 1), ("arc", 1, 3), ("root", 3)])]
    ['span (0, 2)', 'span (0, 2) NP', 'arc (3, 1)', 'arc (1, 3)', 'root 3']
    """
    if isinstance(given, (str, bytes, Mapping, Span, Arc, Head)) or not isinstance(given, Iterable):
        raise ArcspanError(f"constraints come in a list, not as {given!r}: {_HELP}")
    return [_read(one) for one in given]


def _read(one: Any) -> Constraint:
    if isinstance(one, (Span, Arc, Head)):
        return one
    if isinstance(one, binary.Span):
        return Span(one.i, one.j)
    if isinstance(one, (tuple, list)):
        try:
            if one and isinstance(one[0], str):
                return _NAMED[one[0]](*one[1:])
            if len(one) == 2 and one[0] >= one[1]:
                return _NAMED["arc"](*one)
            return _span(*one)
        except (KeyError, TypeError):
            pass
    raise ArcspanError(f"{one!r} is no constraint: {_HELP}")


class _Demand(NamedTuple):
    required: bool
    what: Constraint

    def __str__(self) -> str:
        return f"{'required' if self.required else 'forbidden'} {self.what}"

    def allows(self, chain: Chain) -> bool:
        """Whether a constituent over the words in question may have this chain of labels; () is none."""
        label = self.what.label if isinstance(self.what, Span) else None
        has = chain != () if label is None else label in chain
        # To forbid a head forbids no label.
        return has if self.required else isinstance(self.what, Head) or not has


def allowed_labels(
    n: int, require: Sequence[Constraint], forbid: Sequence[Constraint], chains: Sequence[Chain]
) -> dict[tuple[int, int], np.ndarray]:
    """For each span that a constraint names: which chains its label may be, bool [chains].

    The first chain is (), no constituent. A sentence of several words is always a constituent.

    >>> found = allowed_labels(3, [Span(0, 2, "NP")], [], [(), ("NP",), ("S", "NP"), ("VP",)])
    >>> found[0, 2].tolist()
    [False, True, True, False]
    """
    demands: dict[tuple[int, int], list[_Demand]] = {}
    for demand in [*(_Demand(True, one) for one in require), *(_Demand(False, one) for one in forbid)]:
        what = demand.what
        if isinstance(what, Arc):
            continue
        if not 0 <= what.i < what.j <= n:
            raise ArcspanError(f"{demand}: a span (i, j) of {n} words has 0 <= i < j <= {n}")
        if isinstance(what, Span) and what.label is not None and not any(what.label in c for c in chains):
            known = ", ".join(sorted({label for chain in chains for label in chain}))
            raise ArcspanError(f"{demand}: this model has no label {what.label!r}; it has {known}")
        if demand.required and isinstance(what, Span) and what.label in WRAPPERS and what.j - what.i < n:
            raise ArcspanError(f"{demand}: {what.label} stands only around the whole sentence")
        demands.setdefault((what.i, what.j), []).append(demand)
    found: dict[tuple[int, int], np.ndarray] = {}
    for place, own in demands.items():
        whole = place == (0, n) and n > 1
        own = list(dict.fromkeys(own))
        allowed = np.asarray([[demand.allows(chain) for chain in chains] for demand in own])
        if whole:
            allowed &= np.asarray([chain != () for chain in chains])
        found[place] = np.all(allowed, axis=0)
        if not found[place].any():
            raise ArcspanError(_explain(own, whole, allowed))
    return found


def _explain(demands: list[_Demand], whole: bool, allowed: np.ndarray) -> str:
    """Names constraints on one span that contradict each other, and no more of them than it takes.

    allowed  bool [demands, chains]: which chains of labels each of them allows
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
        return f"{names[0]} cannot hold: no label of this model meets it"
    same = {demand.what for demand in needed}
    if len(same) == 1:
        text = str(needed[0].what)
        return f"{text[0].upper()}{text[1:]} is both required and forbidden"
    both = "both" if len(names) == 2 else "all"
    return (
        f"{', '.join(names[:-1])} and {names[-1]} cannot {both} hold: no label (or chain of labels) "
        "of this model meets them"
    )


def structure_masks(
    n: int, require: Sequence[Constraint], forbid: Sequence[Constraint], visible: np.ndarray | None
) -> Masks:
    """The masks of what is left to the search once labels are settled; contradictions are named in the error.

    visible  bool [n+1, n+1]: the spans that are constituents if they are in the tree. Others have no head to forbid.
    """
    banned = [
        one
        for one in forbid
        if isinstance(one, Arc) or (isinstance(one, Head) and (visible is None or visible[one.i, one.j]))
    ]
    return constrain(n, require, banned)
