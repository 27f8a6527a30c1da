"""Heads that fit a constituency tree although its dependency tree does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.trees import ConstituencyTree, DependencyTree, compatible
from arcspan.trees.compatible_heads import compatible_heads
from tests.trees.examples import arbitrary_heads, constituency_trees, figure_1, projective_heads


@st.composite
def both_trees(draw):
    c = draw(constituency_trees())
    heads = draw(st.one_of(projective_heads(len(c)), arbitrary_heads(len(c))))
    return c, DependencyTree(heads, ["x"] * len(c))


@given(both_trees())
def test_fitting_heads_always_fit_and_are_the_given_ones_where_those_do(pair):
    c, d = pair
    heads = compatible_heads(c, d)
    assert compatible(c, DependencyTree(heads, d.relations))
    if compatible(c, d):
        assert heads == d.heads


def test_only_the_arcs_that_clash_change():
    c, d = figure_1()
    wrong = DependencyTree(
        [2, 0, 2, 5, 2, 2], d.relations
    )  # "a" attaches to "plays", out of its noun phrase
    assert compatible_heads(c, wrong) == d.heads


def test_of_two_candidates_the_one_nearest_to_its_head_becomes_the_head():
    c = ConstituencyTree.from_brackets("(S (VB see) (NP (DT a) (NN dog)))")
    assert compatible_heads(c, DependencyTree([0, 1, 1], ["root", "x", "x"])) == (0, 1, 2)


@pytest.mark.parametrize(
    ("brackets", "given", "expected", "decided_by"),
    [
        (
            "(S (X (B b) (C c)) (A a) (D d))",
            (0, 1, 2, 3),
            (0, 1, 1, 3),
            "a head outside before dependents",
        ),
        (
            "(S (A a) (NP (B b) (C c) (D d)))",
            (2, 0, 1, 3),
            (0, 3, 1, 3),
            "dependents before the root",
        ),
        (
            "(S (A a) (NP (B b) (C c)))",
            (3, 1, 0),
            (3, 3, 0),
            "the root before nearness to the head",
        ),
        (
            "(S (NP (B b) (C c) (D d)) (A a))",
            (4, 4, 4, 0),
            (3, 3, 4, 0),
            "nearness before the first",
        ),
    ],
)
def test_the_head_child_is_chosen_in_this_order(brackets, given, expected, decided_by):
    """Two reasons that point to different children: the order of the reasons was mutated without a
    test failing.
    """
    c = ConstituencyTree.from_brackets(brackets)
    assert compatible_heads(c, DependencyTree(given, ["x"] * len(c))) == expected, decided_by


def test_a_tree_a_thousand_levels_deep_is_fitted():
    n = 1000
    c = ConstituencyTree(["w"] * n, None, [(k, n, "X") for k in range(n)])
    assert compatible_heads(c, DependencyTree(range(n), ["x"] * n)) == tuple(range(n))
