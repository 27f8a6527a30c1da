"""Noun phrases: base ones that do not overlap, whole ones with all that modifies them, or only the outermost.

The dependency tree decides which words head noun phrases and where base ones end; the constituency tree decides how
far whole ones reach, and where it has no noun phrase with that head, the dependency tree does that too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from arcspan.errors import ArcspanError
from arcspan.syntax.coordination import Coordination
from arcspan.syntax.sentence import Phrase, Sentence

Kind = Literal["base", "maximal", "all"]

_LEFT = frozenset({"det", "amod", "nummod", "nmod", "compound", "flat", "poss", "predet", "advmod", "clf"})
_RIGHT = frozenset({"flat", "fixed", "goeswith", "compound", "nummod"})
_WITHIN = frozenset(
    {"compound", "flat", "fixed", "goeswith", "det", "clf", "expl", "nummod", "discourse", "cc"}
)


def noun_phrases(s: Sentence, coordinations: Sequence[Coordination], kind: Kind) -> list[Phrase]:
    """The noun phrases of a sentence from left to right, larger ones first."""
    if kind not in get_args(Kind):
        raise ArcspanError(f"noun phrases are of the kind 'base', 'maximal' or 'all', not {kind!r}")
    if kind == "base":
        return _base(s)
    found = {}
    for h in range(1, s.n + 1):
        if (
            s.is_noun(h)
            and s.relations[s.first_conjunct(h)] not in _WITHIN
            and s.tags[h] not in ("PRP$", "WP$")
        ):
            found[s.noun_phrase(h)] = h
    for joined in coordinations:
        for conjunct in joined.conjuncts:
            if joined.kind == "NP" and conjunct.position in found.values():
                found.setdefault(conjunct.span, conjunct.position)
    spans = sorted(found, key=lambda span: (span[0], -span[1]))
    if kind == "maximal":
        outer: list[tuple[int, int]] = []
        for span in spans:
            if not outer or span[1] > outer[-1][1]:
                outer.append(span)
        spans = outer
    return [Phrase(s, span, found[span]) for span in spans]


def _base(s: Sentence) -> list[Phrase]:
    """A noun with what belongs to it on its left, and the rest of a name on its right."""
    found: list[Phrase] = []
    end = 0
    for h in range(1, s.n + 1):
        if h <= end or not s.is_noun(h) or _is_part(s, h):
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


def _has_case(s: Sentence, m: int) -> bool:
    """Whether a preposition is before a modifier; the 's of a possessor is behind it."""
    return any(below < m for below in s.with_relation(m, "case"))


def _is_part(s: Sentence, h: int) -> bool:
    """Whether a noun belongs to the base phrase of the noun that it depends on."""
    first = s.first_conjunct(h)
    is_before = s.relations[first] in ("nmod", "poss") and first < s.heads[first] and not _has_case(s, first)
    return is_before or s.relations[first] in _WITHIN
