"""Noun phrases: base ones that do not overlap, whole ones with all that modifies them, or only the outermost.

The dependency tree decides which words head noun phrases and where base ones end; the constituency tree decides how
far whole ones reach, and where it has no noun phrase with that head, the dependency tree does that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from arcspan.errors import ArcspanError
from arcspan.syntax.coordination import Coordination
from arcspan.syntax.sentence import Phrase, TreeIndex

Kind = Literal["base", "maximal", "all"]

_LEFT = frozenset(
    {"det", "amod", "nummod", "nmod", "compound", "flat", "poss", "predet", "advmod", "clf"}
)
_RIGHT = frozenset({"flat", "fixed", "goeswith", "compound", "nummod"})
_WITHIN = frozenset(
    {"compound", "flat", "fixed", "goeswith", "det", "clf", "expl", "nummod", "discourse", "cc"}
)


def noun_phrases(s: TreeIndex, coordinations: Sequence[Coordination], kind: Kind) -> list[Phrase]:
    """The noun phrases of a sentence from left to right, larger ones first."""
    if kind not in get_args(Kind):
        raise ArcspanError(f"noun phrases are of the kind 'base', 'maximal' or 'all', not {kind!r}")
    if kind == "base":
        return _base(s)
    found = {s.noun_phrase(h): h for h in range(1, s.n + 1) if _heads_phrase(s, h)}
    for conjunct in (
        one for joined in coordinations if joined.kind == "NP" for one in joined.conjuncts
    ):
        if conjunct.position in found.values():
            found.setdefault(conjunct.span, conjunct.position)
    phrases: list[Phrase] = []
    end = 0
    for span in sorted(found, key=lambda span: (span[0], -span[1])):
        if kind == "all" or span[1] > end:
            phrases.append(Phrase(s, span, found[span]))
            end = span[1]
    return phrases


def _heads_phrase(s: TreeIndex, h: int) -> bool:
    if not s.is_noun(h) or s.relations[h] in ("advmod", "case", "mark"):  # "sort of"
        return False
    return s.relations[s.first_conjunct(h)] not in _WITHIN and s.tags[h] not in ("PRP$", "WP$")


def _base(s: TreeIndex) -> list[Phrase]:
    """A noun with what belongs to it on its left, and the rest of a name on its right."""
    found: list[Phrase] = []
    end = 0
    for h in range(1, s.n + 1):
        if h <= end or not _heads_phrase(s, h) or _is_part(s, h):
            continue
        i = h - 1
        left = _LEFT - {"advmod"} if s.with_relation(h, "cop") else _LEFT
        for m in reversed([m for m in s.children[h] if m < h]):
            if s.relations[m] in left and not _has_case(s, m):
                i = s.left[m]
            elif s.relations[m] != "punct":
                break
        j = h
        for m in (m for m in s.children[h] if m > h):
            if s.relations[m] not in _RIGHT and not (s.relations[m] == "case" and m == h + 1):
                break
            j = s.right[m]
        i, j = s.trim(i, j)
        while found and found[-1].span[0] >= i:  # inside what belongs to this noun
            found.pop()
        i, end = max(i, found[-1].span[1] if found else 0), j
        found.append(Phrase(s, (i, j), h))
    return found


def _has_case(s: TreeIndex, m: int) -> bool:
    """Whether a preposition is before a modifier; the 's of a possessor is behind it."""
    return any(below < m for below in s.with_relation(m, "case"))


def _is_part(s: TreeIndex, h: int) -> bool:
    """Whether a noun belongs to the base phrase of the noun that it depends on."""
    first = s.first_conjunct(h)
    return (
        s.relations[first] in ("nmod", "poss")
        and first < s.heads[first]
        and not _has_case(s, first)
    )
