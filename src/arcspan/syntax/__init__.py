"""Analyses of trees: clauses, coordinations and phrases, measures, and queries over both trees."""

from __future__ import annotations

import warnings
from typing import Any

from arcspan.lazy import lazy
from arcspan.syntax.clauses import Clause, Clauses, VerbGroup
from arcspan.syntax.coordination import Coordination, coordinations
from arcspan.syntax.phrases import Kind, noun_phrases
from arcspan.syntax.sentence import Phrase, TreeIndex, Word, plain
from arcspan.syntax.tree_query import Match, TreeQuery, compiled

__all__ = [
    "Clause",
    "Coordination",
    "Match",
    "Phrase",
    "Syntax",
    "TreeQuery",
    "VerbGroup",
    "Word",
    "compiled",
]


def __getattr__(name: str) -> Any:
    if name != "Query":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    message = "arcspan.syntax.Query is called TreeQuery now; the old name will go in 0.4"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return TreeQuery


class Syntax(TreeIndex):
    """The clauses, coordinations and phrases of a sentence; each is computed at first use.

    >>> from arcspan.trees import ConstituencyTree, DependencyTree
    >>> c = ConstituencyTree.from_brackets("(S (NP (JJ Old) (NNS men) (CC and) (NNS women)) (VP (VBP sing)))")
    >>> d = DependencyTree([2, 5, 4, 2, 0], ["amod", "nsubj", "cc", "conj", "root"], c.words, c.tags)
    >>> syntax = Syntax(c, d)
    >>> (joined,) = syntax.coordinations
    >>> joined.conjuncts, joined.coordinator.text, joined.shared
    ([Phrase('men'), Phrase('women')], 'and', [Phrase('Old')])
    >>> syntax.clauses[0].subject
    Phrase('Old men and women')
    """

    def __repr__(self) -> str:
        return f"Syntax({' '.join(self.words[1:])!r})"

    @lazy
    def coordinations(self) -> list[Coordination]:
        """Return what is joined by "and" and the like, from left to right."""
        return coordinations(self)

    @lazy
    def _clauses(self) -> Clauses:
        return Clauses(self, self.coordinations)

    @property
    def clauses(self) -> list[Clause]:
        """Return the clauses in the order in which they begin, larger ones first."""
        return self._clauses.all

    @property
    def verb_groups(self) -> list[VerbGroup]:
        """Return the verbs of the clauses with their auxiliaries, from left to right."""
        return sorted((clause.verb for clause in self.clauses), key=lambda verb: verb.span)

    def noun_phrases(self, kind: Kind = "base") -> list[Phrase]:
        """Return noun phrases: "base" ones do not overlap, "maximal" ones are in no other, or
        "all".
        """
        return noun_phrases(self, self.coordinations, kind)

    def subject_of(self, position: int) -> Phrase | None:
        """Return the subject of the verb or predicate at this position.

        Control and relative pronouns are resolved.
        """
        return self._clauses.subject(position)

    def objects_of(self, position: int) -> list[Phrase]:
        """Return the objects of the verb at this position, antecedents instead of relative
        pronouns.
        """
        return self._clauses.resolved_objects(position)

    def conjuncts(self, position: int) -> list[int]:
        """Return the words that a word is coordinated with, from left to right, without itself."""
        first = self.first_conjunct(position)
        words = range(1, self.n + 1)
        return [m for m in words if m != position and self.first_conjunct(m) == first]

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Return all analyses as plain data, ready for JSON; spans (i, j) cover the words i+1..j."""
        phrases = {
            "clauses": self.clauses,
            "coordinations": self.coordinations,
            "noun_phrases": self.noun_phrases("all"),
            "verb_groups": self.verb_groups,
        }
        return {name: plain(phrases[name], probabilities) for name in phrases}
