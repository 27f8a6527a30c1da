"""Sentences that are right as a whole (the paper's Table 8), and sentences whose two trees fit each other.

A complete match is labelled: every constituent, every dependency, or both. What counts is what the other
scores
count: brackets after EVALB's deletions, words that are no punctuation. The share is taken over all sentences;
    a sentence that EVALB refuses is no match.
"""

from __future__ import annotations

from typing import NamedTuple

from arcspan.evaluation.attachment import Arcs, SentenceAttachment
from arcspan.evaluation.brackets import SentenceBrackets
from arcspan.trees import ConstituencyTree, DependencyTree, compatible


class CompleteMatch(NamedTuple):
    """Which of the trees of one sentence are completely right; None where there is no such tree."""

    constituency: bool | None
    dependencies: bool | None

    @property
    def both(self) -> bool:
        """Whether both trees are right (LCM con+dep)."""
        return bool(self.constituency and self.dependencies)


def complete_match(brackets: SentenceBrackets | None, attachment: SentenceAttachment | None) -> CompleteMatch:
    """Complete match from the counts of a sentence.

    >>> complete_match(SentenceBrackets(0, 3, gold=2, predicted=2, matched=2), SentenceAttachment(3, 3, 2, 2))
    CompleteMatch(constituency=True, dependencies=False)
    """
    return CompleteMatch(
        None if brackets is None else brackets.complete,
        None if attachment is None else attachment.complete,
    )


def trees_fit(constituency: ConstituencyTree, dependencies: Arcs) -> bool:
    """Whether two predicted trees are compatible; heads that form no tree fit nothing.

    >>> c = ConstituencyTree.from_brackets("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> trees_fit(c, DependencyTree([3, 3, 0], ["det", "nsubj", "root"]))
    False
    """
    return isinstance(dependencies, DependencyTree) and compatible(constituency, dependencies)
