"""Coordinations: what is joined, by which words, and what belongs to all of it.

The dependency tree says what is joined: a word and its dependents by `conj`. The constituency tree
says what the conjuncts share: whatever depends on the first conjunct but stands outside the
smallest constituent around all conjuncts, or in it beside them, in no constituent with the first
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from arcspan.syntax.sentence import NOUN_PHRASES, Phrase, Range, TreeIndex

# Categories of conjuncts that have no constituent, by universal tag.
_CATEGORIES = dict.fromkeys(("NOUN", "PROPN", "PRON", "NUM", "SYM", "DET", "X"), "NP")
_CATEGORIES |= {"VERB": "VP", "AUX": "VP", "ADJ": "ADJP", "ADV": "ADVP", "ADP": "PP"}
_CLAUSES = ("S", "SINV", "SQ", "SBARQ")
# Before the first conjunct, without constituents: these are shared unless another conjunct has its
# own.
_SHARED_LEFT = ("nsubj", "csubj", "expl", "aux", "mark", "case", "cop")
# Dependents that join the conjuncts, and those that belong to the sentence instead of a conjunct.
_JOINING = ("conj", "cc", "punct")
_ASIDE = ("parataxis", "discourse", "vocative", "reparandum", "list")


@dataclass(eq=False, repr=False)
class Coordination(Phrase):
    """Phrases that are joined: "old men and women", "ate and drank wine".

    kind          what is joined: NP, VP, S, ADJP ...; UCP for conjuncts of several kinds
    conjuncts     phrases, from left to right
    coordinators  the words that join them, "both" and "either" included
    shared        phrases that belong to every conjunct, with their prepositions
    """

    _fields_before = ("kind",)
    _fields_after = ("conjuncts", "shared")
    kind: str
    conjuncts: list[Phrase]
    shared: list[Phrase]
    _markers: list[int]

    @property
    def coordinators(self) -> list[Any]:
        """Return the words that join the conjuncts."""
        return [self._sentence.tokens[m - 1] for m in self._markers]

    @property
    def coordinator(self) -> Any:
        """Return the last word that joins the conjuncts; None without one ("old, grey men")."""
        return self.coordinators[-1] if self._markers else None

    def _arcs(self) -> Iterable[int]:
        return [conjunct.position for conjunct in self.conjuncts[1:]]

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return super().to_dict(probabilities=probabilities) | {"coordinators": self._markers}


def coordinations(s: TreeIndex) -> list[Coordination]:
    """Return the coordinations of a sentence, in the order of their first conjuncts, larger ones
    first.
    """
    joined: list[Coordination] = []
    for h in range(1, s.n + 1):
        inner: list[int] = []
        nested = []
        for group in _nested_groups(s, h):
            nested.append(_coordination(s, h, group, inner))
            inner = inner + group
        joined += nested[::-1]
    return joined


def _nested_groups(s: TreeIndex, h: int) -> list[list[int]]:
    """Divide the conjuncts of a word by the constituents around them, the innermost first.

    UD hangs all of "[lived and worked] and [I stayed]" on the first verb.
    """
    groups: dict[Range | None, list[int]] = {}
    others = s.with_relation(h, "conj")
    for m in others:
        # A conjunct before the word it hangs on says nothing about nesting.
        around = None if others[0] < h else _smallest(s, [h, m])
        groups.setdefault(around, []).append(m)
    return list(groups.values())


def _coordination(s: TreeIndex, h: int, others: list[int], inner: list[int]) -> Coordination:
    """Return the coordination of a word with others; `inner` are joined to it more closely."""
    members = sorted([h, *others])
    shared: list[int] = []
    if members[0] == h:
        private, shared = _split_dependents(s, h, others)
        ranges = {m: s.after_coordinator(m) for m in others} | {h: s.grow(h, private + inner)}
    else:
        # With a conjunct before the word it hangs on, nothing is known about what is shared.
        ranges = {m: s.reach(m) for m in members}
    markers = [m for member in others for m in s.with_relation(member, "cc")]
    if not inner:
        # "Both" and the like; the "and" of a conjunct joins it to what comes before.
        before = s.with_relation(h, "cc")
        markers += before[1:] if s.relations[h] == "conj" else before
    markers = sorted(m for m in markers if m < members[-1])
    kinds = {_category(s, m, members) for m in members}
    category = kinds.pop() if len(kinds) == 1 else "UCP"
    conjuncts = [Phrase(s, ranges[m], m) for m in members]
    shared_phrases = []
    for m in sorted(shared):
        # Of obliques the preposition belongs to the phrase.
        is_oblique = s.relations[m] in ("obl", "nmod")
        shared_phrases.append(Phrase(s, s.reach(m), m) if is_oblique else s.phrase_of(m))
    span = (ranges[members[0]][0], ranges[members[-1]][1])
    return Coordination(s, span, members[0], category, conjuncts, shared_phrases, markers)


def _smallest(s: TreeIndex, words: Sequence[int]) -> Range | None:
    """Return the smallest constituent around words, the first of several; None without
    constituents.
    """
    low, high = min(words), max(words)
    around = [(j - i, i, j) for i, j, _ in s.spans if i < low and high <= j]
    # Constituents around a word are nested, so those of the same length are the same span.
    return min(around)[1:] if around else None


def _split_dependents(s: TreeIndex, first: int, others: list[int]) -> tuple[list[int], list[int]]:
    """Divide the dependents of the first conjunct into its own and those of all conjuncts."""
    private: list[int] = []
    shared: list[int] = []
    around = _smallest(s, [first, *others])
    # Another conjunct with a subject of its own, say, does not share that of the first.
    repeated = {s.relations[m] for other in others for m in s.left_dependents(other)}
    for m in s.left_dependents(first):
        if s.relations[m] in _JOINING + _ASIDE:
            continue
        # What precedes a shared word is shared.
        if not shared and _is_private(s, first, m, others, around, repeated):
            private.append(m)
        else:
            shared.append(m)
    for m in s.right_dependents(first):
        if s.relations[m] in _JOINING:
            continue
        if m < others[-1]:
            private.append(m)
        elif s.relations[m] not in _ASIDE:
            shared.append(m)
    return private, shared


def _is_private(
    s: TreeIndex,
    first: int,
    m: int,
    others: list[int],
    around: Range | None,
    repeated: set[str],
) -> bool:
    """Return True if a word before the first conjunct belongs to it alone."""
    if around is None:
        return s.relations[m] not in _SHARED_LEFT or s.relations[m] in repeated
    if not around[0] < m <= around[1]:
        return False
    together = _smallest(s, [m, first]) or around
    return together[1] < others[0] or s.relations[m] in repeated


def _category(s: TreeIndex, m: int, members: list[int]) -> str:
    """Return the label of the largest constituent around one conjunct alone, or a category by its
    tag.
    """
    for i, j, label in s.spans:
        if [member for member in members if i < member <= j] == [m]:
            if label in _CLAUSES:
                return "S"
            return "NP" if label in NOUN_PHRASES or label == "QP" else label
    if s.is_verb(m) and s.with_relation(m, "nsubj") and not s.spans:
        return "S"
    return _CATEGORIES.get(s.upos[m], "X")
