"""Noun phrases: base phrases without overlap, whole phrases with all modifiers, or the outermost
ones.

The dependency tree decides which words head noun phrases and where base ones end. The constituency
tree decides how far whole ones reach; the dependency tree does that, too, for a head without such a
constituent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from arcspan.errors import ArcspanError
from arcspan.syntax.coordination import Coordination
from arcspan.syntax.sentence import Phrase, TreeIndex

Kind = Literal["base", "maximal", "all"]

# Relations of words in a base noun phrase, before and after its head.
_LEFT = {"det", "amod", "nummod", "nmod", "compound", "flat", "poss", "predet", "advmod", "clf"}
_RIGHT = {"flat", "fixed", "goeswith", "compound", "nummod"}
# Relations of nouns that are parts of another word's phrase, or of no phrase.
_WITHIN = {
    "compound",
    "flat",
    "fixed",
    "goeswith",
    "det",
    "clf",
    "expl",
    "nummod",
    "discourse",
    "cc",
}


def noun_phrases(
    s: TreeIndex, coordinations: Sequence[Coordination], selection: Kind
) -> list[Phrase]:
    """Return the noun phrases of a sentence from left to right, larger ones first."""
    if selection not in get_args(Kind):
        raise ArcspanError(
            f"noun phrases are of the kind 'base', 'maximal' or 'all', not {selection!r}"
        )
    if selection == "base":
        return _base_phrases(s)
    heads = {s.noun_phrase(h): h for h in range(1, s.n + 1) if _heads_phrase(s, h)}
    for coordination in coordinations:
        for conjunct in coordination.conjuncts:
            if coordination.kind == "NP" and conjunct.position in heads.values():
                heads.setdefault(conjunct.span, conjunct.position)
    phrases: list[Phrase] = []
    end = 0
    for span in sorted(heads, key=lambda span: (span[0], -span[1])):
        if selection == "all" or span[1] > end:
            phrases.append(Phrase(s, span, heads[span]))
            end = span[1]
    return phrases


def _heads_phrase(s: TreeIndex, h: int) -> bool:
    # "sort of", "because of": the noun is a function word.
    if not s.is_noun(h) or s.relations[h] in ("advmod", "case", "mark"):
        return False
    return s.relations[s.first_conjunct(h)] not in _WITHIN and s.tags[h] not in ("PRP$", "WP$")


def _base_phrases(s: TreeIndex) -> list[Phrase]:
    """Return each noun with what belongs to it on its left, and the end of a name on its right."""
    phrases: list[Phrase] = []
    end = 0
    for h in range(1, s.n + 1):
        if h <= end or not _heads_phrase(s, h) or _is_part(s, h):
            continue
        i, j = s.trim(_left_edge(s, h), _right_edge(s, h), h)
        # Phrases inside what belongs to this noun are no base phrases of their own.
        while phrases and phrases[-1].span[0] >= i:
            phrases.pop()
        if phrases:
            i = max(i, phrases[-1].span[1])
        end = j
        phrases.append(Phrase(s, (i, j), h))
    return phrases


def _left_edge(s: TreeIndex, h: int) -> int:
    # Adverbs before a predicate belong to its clause.
    relations = _LEFT - {"advmod"} if s.with_relation(h, "cop") else _LEFT
    i = h - 1
    for m in s.left_dependents(h):
        if s.relations[m] in relations and not _has_preposition(s, m):
            i = s.left[m]
        elif not s.is_interruption(m):
            break
    return i


def _right_edge(s: TreeIndex, h: int) -> int:
    j = h
    for m in s.right_dependents(h):
        # A case marker right after the noun is the 's of a possessor.
        if s.relations[m] not in _RIGHT and not (s.relations[m] == "case" and m == h + 1):
            break
        j = s.right[m]
    return j


def _has_preposition(s: TreeIndex, m: int) -> bool:
    """Return True if a case marker stands before a modifier; the 's of a possessor stands behind
    it.
    """
    return any(marker < m for marker in s.with_relation(m, "case"))


def _is_part(s: TreeIndex, h: int) -> bool:
    """Return True if a noun belongs to the base phrase of the noun that it depends on."""
    first = s.first_conjunct(h)
    is_possessor = s.relations[first] in ("nmod", "poss") and first < s.heads[first]
    return is_possessor and not _has_preposition(s, first)
