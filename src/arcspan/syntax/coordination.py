"""Coordinations: what is joined, by which word, and what belongs to all of it.

The dependency tree says what is joined: a word and its dependents by `conj`. The constituency tree says what the
conjuncts share: whatever depends on the first conjunct but stands outside the smallest constituent around all
conjuncts, or in it beside them, in no constituent with the first alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from arcspan.syntax.sentence import NOUN_PHRASES, Phrase, Range, TreeIndex

# What a conjunct is, by its universal tag, where no constituent says it.
_CATEGORIES = {
    **dict.fromkeys(("NOUN", "PROPN", "PRON", "NUM", "SYM", "DET", "X"), "NP"),
    **dict.fromkeys(("VERB", "AUX"), "VP"),
    **{"ADJ": "ADJP", "ADV": "ADVP", "ADP": "PP"},
}
_CLAUSES = ("S", "SINV", "SQ", "SBARQ")
# Before the first conjunct, without constituents: these are shared unless another conjunct has its own.
_SHARED_LEFT = ("nsubj", "csubj", "expl", "aux", "mark", "case", "cop")


class Coordination(Phrase):
    """Phrases that are joined: "old men and women", "ate and drank wine".

    kind          what is joined: NP, VP, S, ADJP ...; UCP where the conjuncts are of several kinds
    conjuncts     phrases, from left to right
    coordinators  the words that join them, "both" and "either" included
    shared        phrases that belong to every conjunct, with their prepositions
    """

    _before, _after = ("kind",), ("conjuncts", "shared")

    def __init__(
        self, s: TreeIndex, kind: str, conjuncts: list[Phrase], joining: list[int]
    ) -> None:
        super().__init__(s, (conjuncts[0].span[0], conjuncts[-1].span[1]), conjuncts[0].position)
        self.kind, self.conjuncts, self._joining = kind, conjuncts, joining
        self.shared: list[Phrase] = []

    @property
    def coordinators(self) -> list[Any]:
        """The words that join the conjuncts."""
        return [self._sentence.tokens[m - 1] for m in self._joining]

    @property
    def coordinator(self) -> Any:
        """The last word that joins the conjuncts; None where there is none ("old, grey men")."""
        return self.coordinators[-1] if self._joining else None

    def _arcs(self) -> Iterable[int]:
        return [conjunct.position for conjunct in self.conjuncts[1:]]

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return super().to_dict(probabilities=probabilities) | {"coordinators": list(self._joining)}


def coordinations(s: TreeIndex) -> list[Coordination]:
    """The coordinations of a sentence, in the order of their first conjuncts."""
    joined = ((h, s.with_relation(h, "conj")) for h in range(1, s.n + 1))
    return [_coordination(s, h, others) for h, others in joined if others]


def _coordination(s: TreeIndex, h: int, others: list[int]) -> Coordination:
    members = sorted([h, *others])
    if (
        members[0] != h
    ):  # a conjunct before the word it hangs on: nothing is known of what is shared
        ranges, shared = {m: s.reach(m) for m in members}, list[int]()
    else:
        own, shared = _split_dependents(s, h, others)
        ranges = {h: s.grow(h, own), **{m: s.after_coordinator(m) for m in others}}
    joining = sorted(
        m for member in members for m in s.with_relation(member, "cc") if m < members[-1]
    )
    kinds = {_category(s, m, members) for m in members}
    kind = kinds.pop() if len(kinds) == 1 else "UCP"
    found = Coordination(s, kind, [Phrase(s, ranges[m], m) for m in members], joining)
    for m in sorted(shared):
        whole = s.relations[m] in ("obl", "nmod")
        found.shared.append(Phrase(s, s.reach(m), m) if whole else s.phrase_of(m))
    return found


def smallest(s: TreeIndex, words: Iterable[int]) -> Range | None:
    """The smallest constituent around words; None without constituents."""
    low, high = min(words), max(words)
    around = [(i, j) for i, j, _ in s.spans if i < low and high <= j]
    return min(around, key=lambda span: span[1] - span[0]) if around else None


def _split_dependents(s: TreeIndex, first: int, others: list[int]) -> tuple[list[int], list[int]]:
    """The first conjunct's dependents: its own, and those of all conjuncts."""
    own: list[int] = []
    shared: list[int] = []
    around = smallest(s, [first, *others])
    theirs = {s.relations[m] for other in others for m in s.children[other] if m < other}
    skipped = ("conj", "cc", "punct")
    aside = (
        "parataxis",
        "discourse",
        "vocative",
        "reparandum",
        "list",
    )  # the sentence's, not the conjuncts'
    for m in reversed([m for m in s.children[first] if m < first]):
        if s.relations[m] not in (*skipped, *aside):
            is_own = not shared and _is_own(s, first, m, others, around, theirs)
            (own if is_own else shared).append(m)
    after = [m for m in s.children[first] if m > first and s.relations[m] not in skipped]
    own += [m for m in after if m < others[-1]]
    shared += [m for m in after if m > others[-1] and s.relations[m] not in aside]
    return own, shared


def _is_own(
    s: TreeIndex, first: int, m: int, others: list[int], around: Range | None, theirs: set[str]
) -> bool:
    """Whether a word before the first conjunct belongs to it alone."""
    if around is None:
        return s.relations[m] not in _SHARED_LEFT or s.relations[m] in theirs
    if not around[0] < m <= around[1]:
        return False
    together = smallest(s, [m, first]) or around
    return together[1] < others[0] or s.relations[m] in theirs


def _category(s: TreeIndex, m: int, members: list[int]) -> str:
    """What a conjunct is: the label of the largest constituent around it without the others, or by its tag."""
    for i, j, label in s.spans:
        if i < m <= j and not any(i < other <= j for other in members if other != m):
            if label in _CLAUSES:
                return "S"
            return "NP" if label in NOUN_PHRASES or label == "QP" else label
    if s.is_verb(m) and s.with_relation(m, "nsubj") and not s.spans:
        return "S"
    return _CATEGORIES.get(s.upos[m], "X")
