"""Dependency trees: what they hold, what is refused, and projectivity."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.errors import TreeError
from arcspan.trees import DependencyTree
from tests.trees.examples import FIGURE_1_HEADS, arbitrary_heads, figure_1, projective_heads


def tree_of(heads):
    return DependencyTree(heads, ["x"] * len(heads))


def crosses(heads) -> bool:
    """Projectivity by its definition: two arcs, the root's included, whose ends alternate."""
    arcs = [tuple(sorted(arc)) for arc in enumerate(heads, start=1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)


def test_the_tree_of_figure_1():
    _, d = figure_1()
    assert d.heads == FIGURE_1_HEADS
    assert d.root == 2
    assert d.is_projective
    assert len(d) == 6
    assert d.tags == d.upos == ("",) * 6


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1, 0], "cycle: 1 -> 2 -> 1"),
        ([0, 3, 4, 2], "cycle: 2 -> 3 -> 4 -> 2"),
        ([0, 2], "cycle: 2 -> 2"),
        ([2, 1], "cycle"),
        ([0, 0, 1], "2 roots .words 1, 2."),
        ([0, 4, 1], "word 2 has head 4, which is not among 0..3"),
        ([0, -1], "word 2 has head -1"),
    ],
)
def test_heads_that_are_no_tree_are_refused_with_the_words_to_blame(heads, message):
    with pytest.raises(TreeError, match=message):
        tree_of(heads)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(TreeError, match="2 words, but 1 relations"):
        DependencyTree([0, 1], ["root"])
    with pytest.raises(TreeError, match="3 words"):
        DependencyTree([0, 1], ["root", "x"], ["a", "b", "c"])


def test_crossing_arcs_are_not_projective_and_neither_is_a_word_over_the_root():
    assert not tree_of([3, 4, 0, 3]).is_projective
    assert not tree_of([3, 0, 2, 1]).is_projective
    assert not tree_of([3, 0, 2]).is_projective  # the arc 3 -> 1 covers the root


@given(st.integers(1, 8).flatmap(arbitrary_heads))
def test_projectivity_agrees_with_its_definition(heads):
    assert tree_of(heads).is_projective == (not crosses(heads))


@given(st.integers(1, 12).flatmap(projective_heads))
def test_trees_built_from_nested_spans_are_projective(heads):
    assert tree_of(heads).is_projective


def test_trees_are_values_that_do_not_change():
    _, d = figure_1()
    _, copy = figure_1()
    assert d == copy and hash(d) == hash(copy) and pickle.loads(pickle.dumps(d)) == d
    assert d != tree_of(FIGURE_1_HEADS)
    with pytest.raises(AttributeError, match="does not change"):
        d.heads = ()


def test_a_chain_of_ten_thousand_words_is_a_tree():
    n = 10_000
    d = tree_of(range(n))
    assert d.root == 1 and d.is_projective
    with pytest.raises(TreeError, match="cycle"):
        tree_of([0, *range(3, n + 1), 2])


def test_a_sentence_without_words_is_a_tree_without_root():
    d = tree_of([])
    assert len(d) == 0 and d.root == 0 and d.is_projective
