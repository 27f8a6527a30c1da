"""Constraints: parts that a sentence's trees must have, must not have, or should have.

These are constraints on the trees that users see. `decoding.constraints` has those on binary trees,
whose spans include the ones that binarization made; here a span is a constituent with a label. So a
forbidden constituent forbids labels: its words may still stand together inside a larger one. The
effect of a constraint on names (labels, relations, tags) becomes a bonus for each name, -inf where
it is ruled out (`name_bonuses`); its effect on structure becomes masks over the scores
(`structure_masks`).

Each type of constraint is described once: its class has its effects, its entry in `FORMS` the way
it is written. Python, the command line and HTTP read constraints by that table, and their help
texts come from it. To add a type, write a class and add its entry.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from arcspan.decoding import constraints as binary
from arcspan.decoding.constraints import Masks, check_range, constrain
from arcspan.errors import ArcspanError
from arcspan.prediction.outputs import Inventories
from arcspan.trees import WRAPPERS

# The largest weight of a preference: sums of many such weights are still finite.
MOST_WEIGHT = 1_000_000_000
# Digits of a number on the command line: it fits 64 bits.
MOST_DIGITS = 18

Part: TypeAlias = binary.SpanConstraint | binary.ArcConstraint | binary.HeadConstraint
"""A part of a binary lexicalized tree."""

Slot: TypeAlias = tuple[str, tuple[int, ...]]
"""An output and where it is predicted: (i, j) of a label, (modifier, head) of a relation, (word,)
of a tag.
"""

Bonuses: TypeAlias = dict[str, dict[tuple[int, ...], np.ndarray]]
"""By output and indices: the log-weight of each name, -inf for a name that is ruled out."""


class Constraint:
    """A property that trees have or do not have; the base of all types.

    needs  outputs that the model must have
    """

    needs: ClassVar[tuple[str, ...]] = ()

    @property
    def is_structural(self) -> bool:
        """Return whether forbidding or preferring it acts on structure, and not on names."""
        return False

    def check(self, demand: Demand, n: int, inventories: Inventories) -> None:
        """Raise ArcspanError, with the demand's text, where no sentence of n words can have it."""
        if isinstance(self, Part):
            check_range(n, self, demand)

    def slots(self, inventories: Inventories) -> Sequence[Slot]:
        """Return where names are predicted that it is about."""
        return []

    def accepts(self, name: Any) -> bool:
        """Return whether a name (a chain of labels, a relation, a tag) in a slot meets it."""
        raise NotImplementedError

    def structure(self, n: int, required: bool) -> tuple[Sequence[Part], Sequence[Part]]:
        """Return the parts that trees must have, and those that they must not have.

        `required` is False where the constraint is forbidden.
        """
        parts: list[Part] = [self] if isinstance(self, Part) else []
        if required:
            return parts, []
        return [], parts if self.is_structural else []

    def preferred_parts(self, n: int) -> Sequence[Part]:
        """Return the parts whose scores change by the weight of a preference."""
        return [self] if self.is_structural and isinstance(self, Part) else []


@dataclass(frozen=True)
class Span(binary.SpanConstraint, Constraint):
    """The words i+1..j are a constituent; with a label, one that has it (alone or in a unary
    chain).

    >>> str(Span(2, 5, "NP"))
    'span (2, 5) NP'
    """

    label: str | None = None
    needs: ClassVar[tuple[str, ...]] = ("span",)

    def __str__(self) -> str:
        return super().__str__() + (f" {self.label}" if self.label is not None else "")

    def check(self, demand: Demand, n: int, inventories: Inventories) -> None:
        """Refuse unknown labels, and a required wrapper that is not around the whole sentence."""
        super().check(demand, n, inventories)
        if self.label is None:
            return
        labels = {label for chain in inventories.labels for label in chain}
        if self.label not in labels:
            names = ", ".join(sorted(labels))
            raise ArcspanError(f"{demand}: this model has no label {self.label!r}; it has {names}")
        if demand.required and self.label in WRAPPERS and self.j - self.i < n:
            raise ArcspanError(f"{demand}: {self.label} stands only around the whole sentence")

    def slots(self, inventories: Inventories) -> Sequence[Slot]:
        """Return the span, as one that is labelled."""
        return [("label", (self.i, self.j))]

    def accepts(self, name: Any) -> bool:
        """Return whether a chain has the label; without one, whether it is a constituent."""
        return name != () if self.label is None else self.label in name


@dataclass(frozen=True)
class Arc(binary.ArcConstraint, Constraint):
    """The head of the word `modifier` is the word `head`, 0 for the root; with a relation, by that
    relation.

    >>> str(Arc(2, 1, "nsubj"))
    'arc (2, 1) nsubj'
    """

    relation: str | None = None
    needs: ClassVar[tuple[str, ...]] = ("arc",)

    def __str__(self) -> str:
        return super().__str__() + (f" {self.relation}" if self.relation is not None else "")

    @property
    def is_structural(self) -> bool:
        """Return whether it has no relation: to forbid a relation leaves the arc allowed."""
        return self.relation is None

    def check(self, demand: Demand, n: int, inventories: Inventories) -> None:
        """Refuse unknown relations."""
        super().check(demand, n, inventories)
        if self.relation is not None and self.relation not in inventories.relations:
            names = ", ".join(inventories.relations)
            raise ArcspanError(
                f"{demand}: this model has no relation {self.relation!r}; it has {names}"
            )

    def slots(self, inventories: Inventories) -> Sequence[Slot]:
        """Return the arc where it has a relation."""
        return [] if self.relation is None else [("relation", (self.modifier, self.head))]

    def accepts(self, name: Any) -> bool:
        """Return whether a relation is the one."""
        return bool(name == self.relation)


@dataclass(frozen=True)
class Head(binary.HeadConstraint, Constraint):
    """The words i+1..j are a constituent whose head is the word `head`.

    Forbidden, it allows the constituent another head, and these words with this head where they are
    no constituent; so it acts on labels for a head (`head_bonuses`).
    """

    needs: ClassVar[tuple[str, ...]] = ("arc", "span")

    @property
    def is_structural(self) -> bool:
        """Return True: a constituent with another head is allowed."""
        return True

    def slots(self, inventories: Inventories) -> Sequence[Slot]:
        """Return the span: a required head requires a constituent."""
        return [("label", (self.i, self.j))]

    def accepts(self, name: Any) -> bool:
        """Return whether a chain makes the span a constituent."""
        return bool(name != ())

    def preferred_parts(self, n: int) -> Sequence[Part]:
        """Return nothing: the weight counts for constituents, not for any span with this head."""
        return []


@dataclass(frozen=True)
class Tag(Constraint):
    """The word has the tag: one of the treebank's own set, or a universal one."""

    word: int
    tag: str

    def __str__(self) -> str:
        return f"tag {self.tag} of word {self.word}"

    def check(self, demand: Demand, n: int, inventories: Inventories) -> None:
        """Refuse words that the sentence does not have, and unknown tags."""
        if not 1 <= self.word <= n:
            raise ArcspanError(f"{demand}: a sentence of {n} words has the words 1 to {n}")
        if not self.slots(inventories):
            raise ArcspanError(f"{demand}: this model has no tag {self.tag!r}")

    def slots(self, inventories: Inventories) -> Sequence[Slot]:
        """Return the word in each of the two tag sets that have the tag."""
        outputs = [output for output in ("tag", "upos") if self.tag in inventories.names(output)]
        return [(output, (self.word,)) for output in outputs]

    def accepts(self, name: Any) -> bool:
        """Return whether a tag is the one."""
        return bool(name == self.tag)


def Root(word: int) -> Arc:
    """Return the constraint that the word is the root of the dependency tree.

    >>> str(Root(2))
    'root 2'
    """
    return Arc(0, word)


Preference: TypeAlias = tuple[Constraint, float]


class Form(NamedTuple):
    """The written form of a type of constraint: its keyword in `FORMS`, then its fields in order.

    make      makes the constraint of the values of the fields
    fields    their names and types, int or str
    optional  how many of the last ones may be left out
    examples  one for each field, for the command line's help
    """

    make: Callable[..., Constraint]
    fields: Mapping[str, type]
    examples: str
    optional: int = 0

    def read(self, values: Sequence[Any]) -> Constraint:
        """Return the constraint with these values; raise TypeError where they do not fit the
        fields.
        """
        required = len(self.fields) - self.optional
        if not required <= len(values) <= len(self.fields):
            raise TypeError
        checked: list[Any] = []
        for index, (value, field_type) in enumerate(
            zip(values, self.fields.values(), strict=False)
        ):
            if value is None and index >= required:
                checked.append(None)
            elif field_type is int and not isinstance(value, (bool, np.bool_)):
                # Takes the integers of numpy as well, and raises TypeError for anything else.
                checked.append(operator.index(value))
            elif field_type is str and isinstance(value, str):
                checked.append(value)
            else:
                raise TypeError
        return self.make(*checked)

    def variants(self, fields: Iterable[str]) -> list[list[str]]:
        """Return `fields` without the optional ones, with the first of them, and so on."""
        names = list(fields)
        return [names[:end] for end in range(len(names) - self.optional, len(names) + 1)]


FORMS: dict[str, Form] = {
    "span": Form(Span, {"i": int, "j": int, "label": str}, "2,6,NP", optional=1),
    "arc": Form(
        Arc, {"head": int, "modifier": int, "relation": str}, "HEAD,WORD,nsubj", optional=1
    ),
    "head": Form(Head, {"i": int, "j": int, "head": int}, "2,6,WORD"),
    "root": Form(Root, {"word": int}, "WORD"),
    "tag": Form(Tag, {"word": int, "tag": str}, "WORD,NN"),
}
"""Every type of constraint, by the keyword with which tuples, JSON and the command line begin."""


def list_forms(style: str) -> str:
    """Return all ways to write a constraint, as "python", "json" or the command line ("text") has
    them.

    >>> list_forms("json")[:44]
    '["span", i, j], ["span", i, j, label], ["arc'
    """
    ways = []
    for keyword, form in FORMS.items():
        if style == "text":
            examples = form.variants(form.examples.split(","))
            ways += [f"'{','.join([keyword, *values])}'" for values in examples]
            continue
        for names in form.variants(form.fields):
            arguments = ", ".join(names)
            if style == "json":
                ways.append(f'["{keyword}", {arguments}]')
            else:
                ways.append(f"{form.make.__name__}({arguments})")
    return f"{', '.join(ways[:-1])} or {ways[-1]}"


def _ways_to_write() -> str:
    tuples = list_forms("json").replace("[", "(").replace("]", ")").replace('"', "'")
    return f"write {list_forms('python')}, or a tuple: {tuples}"


def read_text(text: str) -> list[int | str]:
    """Return the list that means the same as a constraint of the command line.

    >>> read_text("span, 2, 6, NP"), read_text("2,6")
    (['span', 2, 6, 'NP'], [2, 6])
    """
    # Blanks are allowed after the commas, and no name has any.
    compact = "".join(text.split())
    pieces = compact.split(",")
    keyword = pieces[:1] if pieces[0] in FORMS else []
    form = FORMS[keyword[0] if keyword else "span"]
    values: list[int | str] = []
    try:
        # A piece too many is refused by `read`.
        for piece, field_type in zip(
            pieces[len(keyword) :], [*form.fields.values(), str], strict=False
        ):
            is_number = piece.isdecimal() and len(piece) <= MOST_DIGITS
            if not piece or (field_type is int and not is_number):
                raise TypeError
            values.append(int(piece) if field_type is int else piece)
        form.read(values)
    except TypeError:
        raise ArcspanError(f"{compact!r} is not {list_forms('text')}") from None
    return [*keyword, *values]


def read_constraints(items: Iterable[Any]) -> list[Constraint]:
    """Return constraints as objects; tuples and lists are read as follows.

    One that begins with a keyword has that form. Without a keyword, (i, j, label) is a span, and so
    is (i, j) with i < j; (h, m) with h > m can only be an arc. An arc whose head comes first needs
    its keyword, or an object: Arc(h, m).

    >>> read = read_constraints([(0, 2), (0, 2, "NP"), (3, 1), ("arc", 1, 3), ("root", 3)])
    >>> [str(constraint) for constraint in read]
    ['span (0, 2)', 'span (0, 2) NP', 'arc (3, 1)', 'arc (1, 3)', 'root 3']
    """
    is_single = _keyword_of(items) is not None
    if is_single or isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise ArcspanError(f"constraints come in a list, not as {items!r}: {_ways_to_write()}")
    return [_read(item) for item in items]


def read_preferences(items: Iterable[Any]) -> list[Preference]:
    """Return pairs (constraint, log-weight); the constraints are read as in `read_constraints`.

    >>> read_preferences([(Span(0, 2), 2), (("arc", 1, 3), -1.5)])[1]
    (Arc(head=1, modifier=3, relation=None), -1.5)
    """
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise ArcspanError(
            f"preferences come in a list, not as {items!r}: write [(constraint, weight), ...]"
        )
    preferences = []
    for item in items:
        try:
            constraint, number = item
            # float() would read these, too, and nobody means a weight by them.
            weight = float("nan" if isinstance(number, (str, bytes, bool)) else number)
            if not -MOST_WEIGHT <= weight <= MOST_WEIGHT:
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise ArcspanError(
                f"{item!r} is not a preference: write (constraint, weight), the weight a number of "
                f"at most {MOST_WEIGHT:,}: {_ways_to_write()}"
            ) from None
        preferences.append((_read(constraint), weight))
    return preferences


def _keyword_of(item: Any) -> str | None:
    """Return the keyword of an object that is a constraint, also of one of
    `decoding.constraints`.
    """
    if isinstance(item, (Constraint, Part)):
        for keyword, form in FORMS.items():
            if isinstance(form.make, type) and (
                isinstance(item, form.make) or issubclass(form.make, type(item))
            ):
                return keyword
    return None


def _read(item: Any) -> Constraint:
    # An object may have been made of anything: it is read as the tuple that means the same.
    keyword = _keyword_of(item)
    values = item if keyword is None else (keyword, *vars(item).values())
    if isinstance(values, (tuple, list)):
        try:
            if values and isinstance(values[0], str):
                return FORMS[values[0]].read(values[1:])
            is_arc = len(values) == 2 and values[0] >= values[1]
            return FORMS["arc" if is_arc else "span"].read(values)
        except (KeyError, TypeError):
            pass
    raise ArcspanError(f"{item!r} is not a constraint: {_ways_to_write()}")


_VERBS = {True: "required", False: "forbidden", None: "preferred"}


class Demand(NamedTuple):
    """A constraint that is required (True), forbidden (False), or preferred by a weight (None)."""

    constraint: Constraint
    required: bool | None
    weight: float = 0.0

    def __str__(self) -> str:
        return f"{_VERBS[self.required]} {self.constraint}"

    def bonuses(self, names: Sequence[Any]) -> np.ndarray:
        """Return the bonus of each name of a slot: 0, the weight, or -inf."""
        if not self.required and self.constraint.is_structural:
            return np.zeros(len(names))
        is_accepted = np.asarray([self.constraint.accepts(name) for name in names])
        if self.required is None:
            return np.where(is_accepted, self.weight, 0.0)
        return np.where(is_accepted == self.required, 0.0, -np.inf)


def check_outputs(demands: Sequence[Demand], outputs: frozenset[str], joint: bool) -> None:
    """Raise ArcspanError for the first demand that a model of these outputs cannot meet.

    joint  whether one search finds both trees
    """
    for demand in demands:
        for output, trees in (("arc", "dependencies"), ("span", "constituents")):
            if output in demand.constraint.needs and output not in outputs:
                raise ArcspanError(f"{demand.constraint}: this model predicts no {trees}")
    if not joint and any(changes_heads(demand) for demand in demands):
        raise ArcspanError(
            "a head of a span can be forbidden or preferred only where one model finds both trees"
        )


def changes_heads(demand: Demand) -> bool:
    """Return whether it forbids or prefers a head, which takes a search of second order."""
    return not demand.required and isinstance(demand.constraint, Head)


def name_bonuses(n: int, demands: Sequence[Demand], inventories: Inventories) -> Bonuses:
    """Return, for each slot that a demand is about, the bonus of each name there.

    `demands` are required ones first, then forbidden, then preferred ones. The first label is (),
    no constituent; a sentence of several words is always one.

    >>> inventories = Inventories(((), ("NP",), ("S", "NP"), ("VP",)), ("root",), ("NN",), ())
    >>> demands = [Demand(Span(0, 2, "NP"), True)]
    >>> name_bonuses(3, demands, inventories)["label"][0, 2].tolist()
    [-inf, 0.0, 0.0, -inf]
    """
    demands_of: dict[Slot, list[Demand]] = {}
    for demand in demands:
        demand.constraint.check(demand, n, inventories)
        for slot in demand.constraint.slots(inventories):
            demands_of.setdefault(slot, []).append(demand)
    bonuses: Bonuses = {}
    for (output, indices), slot_demands in demands_of.items():
        names = inventories.names(output)
        is_whole = output == "label" and indices == (0, n) and n > 1
        rows = np.asarray([demand.bonuses(names) for demand in slot_demands])
        if is_whole:
            rows[:, 0] = -np.inf
        total = rows.sum(0)
        if np.isneginf(total).all():
            # Preferences come last, and rule nothing out.
            hard = [demand for demand in slot_demands if demand.required is not None]
            raise ArcspanError(_explain_conflict(hard, is_whole, ~np.isneginf(rows[: len(hard)])))
        bonuses.setdefault(output, {})[indices] = total
    return bonuses


def _explain_conflict(demands: list[Demand], is_whole: bool, is_allowed: np.ndarray) -> str:
    """Return a message that names a smallest set of demands on one slot that contradict each other.

    is_whole    whether the slot is the label of the whole sentence
    is_allowed  bool [demands, names]: the names that each demand allows
    """
    in_conflict = np.ones(len(demands), np.bool_)
    for index in range(len(demands)):
        # If some name is allowed without this demand, it is part of the conflict.
        in_conflict[index] = False
        in_conflict[index] = bool(is_allowed[in_conflict].all(0).any())
    conflict = [demands[index] for index in np.flatnonzero(in_conflict)]
    names = [str(demand) for demand in conflict]
    if len(names) == 1:
        if is_whole and not conflict[0].required:
            return f"{names[0]}: the whole sentence is always a constituent; forbid a label of it"
        return f"{names[0]} cannot hold: nothing that this model knows meets it"
    if len({demand.constraint for demand in conflict}) == 1:
        text = str(conflict[0].constraint)
        return f"{text[0].upper()}{text[1:]} is both required and forbidden"
    both = "both" if len(names) == 2 else "all"
    return (
        f"{', '.join(names[:-1])} and {names[-1]} cannot {both} hold: "
        "no label of this model meets them"
    )


def head_bonuses(demands: Sequence[Demand]) -> dict[tuple[int, int, int], float]:
    """Return what each label but "no constituent" gains at a span (i, j) if its head is h: by (i,
    j, h), a log-weight, -inf where the head is forbidden.

    >>> head_bonuses([Demand(Head(0, 2, 1), False), Demand(Head(0, 2, 2), None, 1.5)])
    {(0, 2, 1): -inf, (0, 2, 2): 1.5}
    """
    bonuses: dict[tuple[int, int, int], float] = {}
    for demand in demands:
        constraint = demand.constraint
        if isinstance(constraint, Head) and not demand.required:
            slot = (constraint.i, constraint.j, constraint.head)
            weight = float("-inf") if demand.required is False else demand.weight
            bonuses[slot] = bonuses.get(slot, 0.0) + weight
    return bonuses


def structure_masks(n: int, demands: Sequence[Demand]) -> Masks:
    """Return what demands add to scores of structure, -inf or a weight; contradictions are errors.

    A forbidden head is among the masks where its span has to be a constituent, and only there.
    """
    # The whole sentence is always a constituent, unless it is one word.
    constituents = {(0, n)} if n > 1 else set()
    for demand in demands:
        if demand.required and isinstance(demand.constraint, (Span, Head)):
            constituents.add((demand.constraint.i, demand.constraint.j))
    require: list[Any] = []
    forbid: list[Any] = []
    for demand in demands:
        if demand.required is not None:
            present, absent = demand.constraint.structure(n, demand.required)
            require += present
            for part in absent:
                if not isinstance(part, Head) or (part.i, part.j) in constituents:
                    forbid.append(part)
    masks = constrain(n, require, forbid)
    for demand in demands:
        if demand.required is None:
            for part in demand.constraint.preferred_parts(n):
                if isinstance(part, binary.ArcConstraint):
                    masks.arc[part.modifier, part.head] += demand.weight
                else:
                    masks.span[part.i, part.j] += demand.weight
    return masks
