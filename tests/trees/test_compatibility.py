"""Compatibility: against its definition, and with the right constituent and words to blame."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arcspan.trees import ConstituencyTree, DependencyTree, compatible, why_incompatible
from tests.trees.examples import arbitrary_heads, constituency_trees, figure_1, projective_heads


def fits(c, d) -> bool:
    """The definition, word for word."""
    arcs = [tuple(sorted(arc)) for arc in enumerate(d.heads, start=1)]
    if any(a < x < b < y for a, b in arcs for x, y in arcs):
        return False
    for i, j, _ in c.spans:
        inside = range(i + 1, j + 1)
        outgoing = [m for m in inside if d.heads[m - 1] not in inside]
        if len(outgoing) != 1:
            return False
        if any(
            h in inside and m not in inside and h != outgoing[0]
            for m, h in enumerate(d.heads, start=1)
        ):
            return False
    return True


@st.composite
def both_trees(draw):
    c = draw(constituency_trees())
    heads = draw(st.one_of(projective_heads(len(c)), arbitrary_heads(len(c))))
    return c, DependencyTree(heads, ["x"] * len(c))


@given(both_trees())
def test_compatibility_agrees_with_its_definition_and_every_clash_has_a_cause(pair):
    c, d = pair
    cause = why_incompatible(c, d)
    assert compatible(c, d) == fits(c, d) == (cause is None)
    if cause is None:
        return
    if cause.kind == "crossing":
        assert not d.is_projective
        h, outside = cause.words
        path = {outside}
        while d.heads[outside - 1]:
            outside = d.heads[outside - 1]
            path.add(outside)
        assert h not in path
    else:
        i, j, label = cause.span  # type: ignore[misc]
        assert (i, j, label) in c.spans
        if cause.kind == "heads":
            assert len(cause.words) > 1
            assert all(i < m <= j and not i < d.heads[m - 1] <= j for m in cause.words)
        else:
            outside, inside = cause.words
            assert cause.kind == "attachment" and d.heads[outside - 1] == inside
            assert i < inside <= j and not i < outside <= j and i < d.heads[inside - 1] <= j


def test_the_trees_of_figure_1_fit():
    assert compatible(*figure_1())


def test_a_constituent_with_two_heads_is_named_with_both():
    c = ConstituencyTree.from_brackets("(S (NP (DT a) (NN dog)) (VP (VB barks)))")
    cause = why_incompatible(c, DependencyTree([3, 3, 0], ["det", "nsubj", "root"]))
    assert (cause.kind, cause.span, cause.words) == ("heads", (0, 2, "NP"), (1, 2))
    assert (
        str(cause)
        == "constituent NP (0, 2) has more than one word with its head outside: 'a' (1), 'dog' (2)"
    )


def test_a_word_that_attaches_below_a_constituents_head_is_named_with_its_target():
    c = ConstituencyTree.from_brackets("(S (NP (NN dog) (NN house)) (NN x) (VB barks))")
    cause = why_incompatible(c, DependencyTree([2, 4, 1, 0], ["x"] * 4))
    assert cause.kind == "crossing"
    c = ConstituencyTree.from_brackets("(S (NP (NN x) (NN y)) (NN z))")
    cause = why_incompatible(c, DependencyTree([0, 1, 2], ["root", "x", "x"]))
    assert (cause.kind, cause.span, cause.words) == ("attachment", (0, 2, "NP"), (3, 2))
    assert str(cause) == (
        "'z' (3) outside constituent NP (0, 2) attaches to 'y' (2) inside, not to its head 'x' (1)"
    )


def test_a_tree_that_is_not_projective_fits_nothing():
    c = ConstituencyTree.from_brackets("(S (A a) (B b) (C c) (D d))")
    d = DependencyTree([3, 4, 0, 3], ["x"] * 4)
    assert not compatible(c, d)
    assert str(why_incompatible(c, d)) == (
        "the dependency tree is not projective: 'c' (3) stands among the words that depend on 'd' (4) "
        "but does not depend on it"
    )


def test_trees_of_different_lengths_do_not_fit():
    c = ConstituencyTree.from_brackets("(S (A a) (B b))")
    d = DependencyTree([0], ["root"])
    assert not compatible(c, d)
    assert str(why_incompatible(c, d)) == "the constituency tree has 2 words, the dependency tree 1"


def test_the_smallest_constituent_is_blamed():
    c = ConstituencyTree.from_brackets("(S (VP (NP (DT a) (NN dog)) (VB see)) (VB go))")
    cause = why_incompatible(c, DependencyTree([4, 4, 4, 0], ["x"] * 4))
    assert cause.span == (0, 2, "NP")
