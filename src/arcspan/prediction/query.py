"""What is asked about a sentence: one frozen `Query`, whoever asks and along whichever way.

`parser.parse`, `parser(text)`, `pipe`, the command line, HTTP and the completion of treebanks all make one, and
`Predictor.submit` takes sentences with one each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from arcspan.errors import ArcspanError, check_count
from arcspan.prediction.constraints import (
    Constraint,
    Preference,
    read_constraints,
    read_preferences,
)
from arcspan.prediction.outputs import Style


class Options(TypedDict, total=False):
    """The options of every question beside `k`, as users write them."""

    require: Iterable[Any]
    forbid: Iterable[Any]
    prefer: Iterable[Any]
    confidence: bool
    style: str | None
    tags: Sequence[str] | None


@dataclass(frozen=True)
class Query:
    """What is asked about one sentence; a plain `Query()` asks for its best parse.

    k           the k best parses, best first; None for the best one alone
    require     constituents, arcs, heads, the root and tags that the trees must have: `Span(i, j)`,
                `Span(i, j, label)`, `Arc(head, modifier)`, `Arc(head, modifier, relation)`, `Head(i, j, head)`,
                `Root(word)`, `Tag(word, tag)`. A tuple (i, j, label) is a span, and so is (i, j) with i < j; (h, m)
                with h > m is an arc; ("arc", h, m) says it
    forbid      the same that they must not have
    prefer      the same that they should have, each with a weight: pairs (constraint, weight). A pair of trees that
                meets the constraint is e^weight times as likely as it was; negative weights make it less likely
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
        """The query of options as users write them, checked.

        >>> Query.of({"k": 3, "require": [(0, 2)]})
        Query(k=3, require=(Span(i=0, j=2, label=None),), forbid=(), prefer=(), confidence=False, style=None, tags=None)
        """
        known = {field.name for field in fields(cls)}
        if unknown := [name for name in options if name not in known]:
            raise ArcspanError(
                f"unknown option {unknown[0]!r}: choose among {', '.join(sorted(known))}"
            )
        tags = options.get("tags")
        if isinstance(tags, (str, bytes)) or not isinstance(tags, (Iterable, type(None))):
            raise ArcspanError(f"tags come in a list, one per word, not as {tags!r}")
        return cls(
            None if options.get("k") is None else check_count("k", options["k"]),
            tuple(read_constraints(options.get("require", ()))),
            tuple(read_constraints(options.get("forbid", ()))),
            tuple(read_preferences(options.get("prefer", ()))),
            bool(options.get("confidence", False)),
            options.get("style"),
            None if tags is None else tuple(tags),
        )

    @property
    def constrained(self) -> bool:
        """Whether anything is required, forbidden or preferred."""
        return bool(self.require or self.forbid or self.prefer)

    @property
    def plain(self) -> bool:
        """Whether the best parse alone is asked for, without constraints."""
        return self.k is None and not self.confidence and not self.constrained


PLAIN = Query()
