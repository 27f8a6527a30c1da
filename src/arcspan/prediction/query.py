"""The query about a sentence: what to compute, under which constraints.

`parser.parse`, `parser(text)`, `pipe`, the command line, HTTP and the completion of treebanks all
make a `Query`, so that every option exists in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from arcspan.errors import ArcspanError, check_count
from arcspan.prediction.constraints import (
    Constraint,
    Demand,
    Preference,
    read_constraints,
    read_preferences,
)
from arcspan.prediction.outputs import Style


class Options(TypedDict, total=False):
    """The options of every query beside `k`, as users write them."""

    require: Iterable[Any]
    forbid: Iterable[Any]
    prefer: Iterable[Any]
    confidence: bool
    style: str | None
    tags: Sequence[str] | None


@dataclass(frozen=True)
class Query:
    """The options for one sentence; a plain `Query()` stands for its best parse.

    k           the k best parses, best first; None for the best one alone
    require     constituents, arcs, heads, the root and tags that the trees must have: `Span(i, j)`,
                `Span(i, j, label)`, `Arc(head, modifier)`, `Arc(head, modifier, relation)`,
                `Head(i, j, head)`, `Root(word)`, `Tag(word, tag)`. A tuple (i, j, label) is a span,
                and so is (i, j) with i < j; (h, m) with h > m is an arc; ("arc", h, m) says it
    forbid      the same that they must not have
    prefer      the same that they should have, each with a weight: pairs (constraint, weight). A
                pair of trees that meets the constraint is e^weight times as likely as it was;
                negative weights make it less likely
    confidence  compute the probabilities of the parse, and of its parts, at once
    style       whose conventions to follow, by name; None for the model's default
    tags        one part-of-speech tag per word, for a model that was trained to read them
    """

    k: int | None = None
    require: tuple[Constraint, ...] = ()
    forbid: tuple[Constraint, ...] = ()
    prefer: tuple[Preference, ...] = ()
    confidence: bool = False
    style: str | Style | None = None
    tags: tuple[str, ...] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Query:
        """Return the query of options as users write them, checked.

        >>> Query.of({"k": 3, "require": [(0, 2)]}).require
        (Span(i=0, j=2, label=None),)
        """
        names = {field.name for field in fields(cls)}
        for name in options:
            if name not in names:
                raise ArcspanError(
                    f"unknown option {name!r}: choose among {', '.join(sorted(names))}"
                )
        k = options.get("k")
        tags = options.get("tags")
        if isinstance(tags, (str, bytes)) or not isinstance(tags, (Iterable, type(None))):
            raise ArcspanError(f"tags come in a list, one per word, not as {tags!r}")
        return cls(
            k=None if k is None else check_count("k", k),
            require=tuple(read_constraints(options.get("require", ()))),
            forbid=tuple(read_constraints(options.get("forbid", ()))),
            prefer=tuple(read_preferences(options.get("prefer", ()))),
            confidence=bool(options.get("confidence", False)),
            style=options.get("style"),
            tags=None if tags is None else tuple(tags),
        )

    @property
    def constrained(self) -> bool:
        """Return whether anything is required, forbidden or preferred."""
        return bool(self.require or self.forbid or self.prefer)

    @property
    def plain(self) -> bool:
        """Return whether it is for the best parse alone, without constraints."""
        return self.k is None and not self.confidence and not self.constrained

    @property
    def demands(self) -> list[Demand]:
        """Return its constraints, each once: required ones, forbidden ones, preferences."""
        demands = [Demand(constraint, True) for constraint in dict.fromkeys(self.require)]
        demands += [Demand(constraint, False) for constraint in dict.fromkeys(self.forbid)]
        demands += [Demand(constraint, None, weight) for constraint, weight in self.prefer]
        return demands


PLAIN = Query()
