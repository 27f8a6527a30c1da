"""Binarization: the three kinds, their inverses, and the rule of the head kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.errors import TreeError
from arcspan.trees import ConstituencyTree, DependencyTree, binarize, compatible, unbinarize
from tests.trees.examples import FIGURE_1_HEADS, constituency_trees, figure_1, projective_heads

read = ConstituencyTree.from_brackets


def shape(nodes):
    return [(i, j) for i, j, _ in nodes]


def check_binary(nodes, n):
    """2n-1 nodes in pre-order, each wider than a word made of exactly two others."""
    assert len(nodes) == 2 * n - 1
    spans = set(shape(nodes))
    assert len(spans) == 2 * n - 1
    assert shape(nodes) == sorted(spans, key=lambda span: (span[0], -span[1]))
    for i, j in spans:
        assert j - i == 1 or any((i, k) in spans and (k, j) in spans for k in range(i + 1, j))


def test_left_and_right_binarization_branch_to_their_sides():
    flat = read("(X (A a) (B b) (C c) (D d))")
    assert shape(binarize(flat, "left")) == [(0, 4), (0, 3), (0, 2), (0, 1), (1, 2), (2, 3), (3, 4)]
    assert shape(binarize(flat, "right")) == [
        (0, 4),
        (0, 1),
        (1, 4),
        (1, 2),
        (2, 4),
        (2, 3),
        (3, 4),
    ]


def test_figure_2_vp_is_left_binarized_and_np_right_binarized():
    c, d = figure_1()
    assert binarize(c, "head", d.heads) == (
        (0, 6, ("S",)),
        (0, 1, ("NP",)),
        (1, 6, ("VP",)),
        (1, 5, ()),
        (1, 2, ()),
        (2, 5, ("NP",)),
        (2, 3, ()),
        (3, 5, ()),
        (3, 4, ()),
        (4, 5, ()),
        (5, 6, ("ADVP",)),
    )


def test_left_binarization_where_both_are_feasible():
    middle = read("(X (A a) (B b) (C c))")
    assert shape(binarize(middle, "head", [2, 0, 2])) == [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3)]


def test_a_child_that_attaches_to_a_sibling_travels_with_it():
    """In UD "and" attaches to the second conjunct."""
    coordination = read("(NP (NN cats) (CC and) (NN dogs))")
    assert shape(binarize(coordination, "head", [0, 3, 1])) == [
        (0, 3),
        (0, 1),
        (1, 3),
        (1, 2),
        (2, 3),
    ]


def test_unary_chains_collapse_and_come_back():
    c = read("(TOP (S (NP (NP (NN a))) (VP (VB b))))")
    nodes = binarize(c, "head", [2, 0])
    assert nodes == ((0, 2, ("TOP", "S")), (0, 1, ("NP", "NP")), (1, 2, ("VP",)))
    assert unbinarize(c.words, c.tags, nodes) == c


@given(constituency_trees(), st.sampled_from(["left", "right"]))
def test_left_and_right_are_binary_and_undone_exactly(c, direction):
    nodes = binarize(c, direction)
    check_binary(nodes, len(c))
    assert unbinarize(c.words, c.tags, nodes) == c


@st.composite
def compatible_pairs(draw):
    c = draw(constituency_trees())
    heads = draw(projective_heads(len(c)))
    d = DependencyTree(heads, ["x"] * len(c))
    # Keep the constituents that fit, so that many examples have some.
    spans = [
        s
        for s in c.spans
        if compatible(ConstituencyTree(c.words, c.tags, [(0, len(c), "S"), s]), d)
    ]
    return ConstituencyTree(c.words, c.tags, spans), d


def right_most_split(nodes, heads):
    """Every node that binarization split: is it at the right-most place that the definition allows?"""
    spans = {(i, j) for i, j, _ in nodes}
    labelled = {(i, j) for i, j, chain in nodes if chain}

    def head_of(i, j):
        outgoing = [m for m in range(i + 1, j + 1) if not i < heads[m - 1] <= j]
        return outgoing[0] if len(outgoing) == 1 else None

    for i, j in spans:
        if j - i == 1:
            continue
        split = next(k for k in range(i + 1, j) if (i, k) in spans and (k, j) in spans)
        for k in range(split + 1, j):
            a, b = head_of(i, k), head_of(k, j)
            splits_a_child = any(
                x < k < y and i <= x and y <= j and (x, y) != (i, j) for x, y in labelled
            )
            if a and b and not splits_a_child and (heads[a - 1] == b or heads[b - 1] == a):
                return False
        a, b = head_of(i, split), head_of(split, j)
        if not (a and b and (heads[a - 1] == b or heads[b - 1] == a)):
            return False
    return True


@given(compatible_pairs())
def test_head_binarization_splits_at_the_right_most_place_and_is_undone_exactly(pair):
    c, d = pair
    nodes = binarize(c, "head", d.heads)
    check_binary(nodes, len(c))
    assert right_most_split(nodes, d.heads)
    assert unbinarize(c.words, c.tags, nodes) == c


def test_a_flat_constituent_of_thousands_of_children_is_linear_work():
    n = 20_000
    flat = ConstituencyTree(["w"] * n, None, [(0, n, "X")])
    chain = [*range(2, n + 1), 0]
    star = [n // 2] * n
    star[n // 2 - 1] = 0
    for direction, heads in (("left", None), ("right", None), ("head", chain), ("head", star)):
        assert len(binarize(flat, direction, heads)) == 2 * n - 1  # type: ignore[arg-type]


def test_trees_ten_thousand_levels_deep_are_binarized_and_back():
    n = 10_001
    deep = ConstituencyTree(["w"] * n, None, [(k, n, "X") for k in range(n)])
    last = [n] * (n - 1) + [0]
    for direction, heads in (("left", None), ("right", None), ("head", range(n)), ("head", last)):
        nodes = binarize(deep, direction, heads)  # type: ignore[arg-type]
        assert unbinarize(deep.words, deep.tags, nodes) == deep


def test_what_cannot_be_binarized_is_refused():
    c, _ = figure_1()
    with pytest.raises(TreeError, match="needs the heads"):
        binarize(c, "head")
    with pytest.raises(TreeError, match=r"constituent NP \(2, 5\) has more than one word"):
        binarize(c, "head", [2, 0, 2, 5, 2, 2])
    with pytest.raises(TreeError, match="6 words, the dependency tree 2"):
        binarize(c, "head", [0, 1])
    with pytest.raises(ValueError, match="'head', 'left' or 'right'"):
        binarize(c, "middle", FIGURE_1_HEADS)  # type: ignore[arg-type]


def test_a_root_without_label_is_refused_except_over_one_word():
    with pytest.raises(TreeError, match="the root has no label"):
        unbinarize(["a", "b"], None, [(0, 2, ()), (0, 1, ("X",)), (1, 2, ("Y",))])
    with pytest.raises(TreeError, match="the root has no label"):
        unbinarize(["a", "b"], None, [(0, 2, ()), (0, 1, ()), (1, 2, ())])
    assert unbinarize(["a"], ["X"], [(0, 1, ())]) == read("(X a)")


def test_trees_of_one_word_and_of_none():
    assert binarize(read("(NN dog)"), "left") == ((0, 1, ()),)
    assert binarize(read("(NP (NN dog))"), "head", [0]) == ((0, 1, ("NP",)),)
    for direction, heads in (("left", None), ("right", None), ("head", [])):
        assert binarize(ConstituencyTree((), (), ()), direction, heads) == ()  # type: ignore[arg-type]
