"""Whole sentences: complete match and compatibility."""

from __future__ import annotations

from arcspan.evaluation.attachment import LooseArcs, SentenceAttachment
from arcspan.evaluation.brackets import ERROR, OK, SentenceBrackets
from arcspan.evaluation.complete_match import complete_match, trees_fit
from arcspan.trees import DependencyTree
from tests.evaluation.samples import CATS, WRONG_CATS

ALL_BRACKETS = SentenceBrackets(OK, 3, gold=2, predicted=2, matched=2)
ALL_ARCS = SentenceAttachment(3, 3, 3, 3)


def test_both_trees_must_be_right_for_both() -> None:
    assert complete_match(ALL_BRACKETS, ALL_ARCS).both
    assert not complete_match(ALL_BRACKETS, SentenceAttachment(3, 3, 2, 2)).both
    assert not complete_match(SentenceBrackets(OK, 3, gold=2, predicted=3, matched=2), ALL_ARCS).both
    assert not complete_match(SentenceBrackets(OK, 3, gold=3, predicted=2, matched=2), ALL_ARCS).both


def test_a_sentence_that_evalb_leaves_out_is_no_match() -> None:
    assert complete_match(SentenceBrackets(ERROR, 3), ALL_ARCS) == (False, True)


def test_one_kind_of_trees_is_judged_alone() -> None:
    assert complete_match(None, ALL_ARCS) == (None, True)
    assert complete_match(ALL_BRACKETS, None) == (True, None)


def test_predicted_trees_fit_or_do_not() -> None:
    assert trees_fit(CATS.constituency, CATS.dependencies)
    assert trees_fit(WRONG_CATS.constituency, WRONG_CATS.dependencies)
    # In the gold constituents "the" may not hang on the verb.
    assert not trees_fit(CATS.constituency, WRONG_CATS.dependencies)


def test_heads_that_are_no_tree_fit_nothing() -> None:
    d: DependencyTree = CATS.dependencies
    loose = LooseArcs(d.words, (0, 0, 4, 5, 0, 5), d.relations, d.tags, d.upos)
    assert not trees_fit(CATS.constituency, loose)
