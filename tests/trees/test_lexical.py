"""Lexicalized trees: the paper's figures, join and split, and the shared treebanks."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given

from arcspan.errors import TreeError
from arcspan.trees import (
    ConstituencyTree,
    DependencyTree,
    LexicalNode,
    LexicalTree,
    binarize,
    unbinarize,
)
from tests.trees.examples import FIGURE_1_HEADS, FIGURE_1_RELATIONS, WORDS, figure_1
from tests.trees.test_binarize import compatible_pairs


def test_figure_2_every_bracket_carries_its_head_word():
    tree = LexicalTree.join(*figure_1())
    assert tree.nodes == (
        LexicalNode(0, 6, 2, ("S",)),
        LexicalNode(0, 1, 1, ("NP",)),
        LexicalNode(1, 6, 2, ("VP",)),
        LexicalNode(1, 5, 2, ()),
        LexicalNode(1, 2, 2, ()),
        LexicalNode(2, 5, 5, ("NP",)),
        LexicalNode(2, 3, 3, ()),
        LexicalNode(3, 5, 5, ()),
        LexicalNode(3, 4, 4, ()),
        LexicalNode(4, 5, 5, ()),
        LexicalNode(5, 6, 6, ("ADVP",)),
    )
    assert tree.heads == FIGURE_1_HEADS and tree.relations == FIGURE_1_RELATIONS
    assert tree.words == tuple(WORDS)


def test_split_gives_back_both_trees_with_all_they_hold():
    c = ConstituencyTree.from_brackets("(TOP (NP (-LRB- -LSB-) (NN a) (NNS b)))")
    d = DependencyTree(
        [3, 3, 0], ["punct", "x", "root"], ["-LSB-", "a", "b"], ["X", "Y", "Z"], ["P", "N", "N"]
    )
    c2, d2 = LexicalTree.join(c, d).split()
    assert (c2, d2) == (c, d)
    assert c2.brackets() == c.brackets() and d2.words == d.words and d2.tags == d.tags


@given(compatible_pairs())
def test_join_then_split_gives_back_any_compatible_pair(pair):
    tree = LexicalTree.join(*pair)
    assert tree.split() == pair
    # The nodes alone determine the dependencies.
    assert LexicalTree(tree.words, tree.nodes, tree.relations, tree.tags) == tree
    assert LexicalTree(tree.words, tree.nodes).heads == pair[1].heads
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_join_refuses_incompatible_trees_and_says_why():
    c, _ = figure_1()
    with pytest.raises(
        TreeError, match=r"constituent NP \(2, 5\) has more .*: 'a' \(3\), 'role' \(5\)"
    ):
        LexicalTree.join(c, DependencyTree([2, 0, 2, 5, 2, 2], FIGURE_1_RELATIONS))
    with pytest.raises(TreeError, match="not projective"):
        LexicalTree.join(c, DependencyTree([4, 0, 5, 5, 2, 2], FIGURE_1_RELATIONS))
    with pytest.raises(TreeError, match="6 words, the dependency tree 1"):
        LexicalTree.join(c, DependencyTree([0], ["root"]))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([(0, 2, 1, "S"), (0, 1, 1, ())], "2 nodes over 2 words: a binary tree has 3"),
        ([(0, 2, 1, ()), (0, 1, 1, ()), (1, 2, 2, ())], "the root has no label"),
        ([(0, 1, 1, "S"), (0, 1, 1, ()), (1, 2, 2, ())], "not the whole sentence"),
        ([(0, 2, 3, "S"), (0, 1, 1, ()), (1, 2, 2, ())], "head word 3, which lies outside"),
        ([(0, 2, 1, "S"), (1, 2, 2, ()), (0, 1, 1, ())], "is not followed by its two parts"),
        ([(0, 2, 1, "S"), (0, 2, 1, ()), (1, 2, 2, ())], "is not followed by its two parts"),
        (
            [(0, 3, 2, "S"), (0, 2, 1, ()), (0, 1, 1, ()), (1, 2, 2, ()), (2, 3, 3, ())],
            "head word 2, which heads no part of it",
        ),
    ],
)
def test_nodes_that_are_no_lexicalized_tree_are_refused(nodes, message):
    with pytest.raises(TreeError, match=message):
        LexicalTree("abc"[: (len(nodes) + 2) // 2], nodes)


def test_trees_ten_thousand_levels_deep_are_joined_and_split():
    n = 10_001
    c = ConstituencyTree(["w"] * n, None, [(k, n, "X") for k in range(n)])
    d = DependencyTree(range(n), ["x"] * n, c.words)
    tree = LexicalTree.join(c, d)
    assert tree.split() == (c, d)
    assert LexicalTree(tree.words, tree.nodes, tree.relations) == tree
    crossed = DependencyTree([0, 4, 1, 1, *range(4, n)], ["x"] * n)
    assert LexicalTree.why_incompatible(c, crossed).kind == "crossing"


@pytest.mark.treebanks
@pytest.mark.parametrize(
    "name", ["craft", "craft-ud", "gum", "gum-ud", "sequoia", "sinica", "icepahc"]
)
def test_every_compatible_sentence_survives_join_and_every_sentence_binarization(treebanks, name):
    from arcspan.treebanks import read_pairs

    expected = {
        "craft": 100.0,
        "craft-ud": 98.6,
        "gum": 71.8,
        "gum-ud": 96.8,
        "sequoia": 94.4,
        "sinica": 100.0,
        "icepahc": 96.7,
    }
    for part in ("train", "dev", "test"):
        brackets = treebanks / name / f"{part}.ptb.xz"
        if not brackets.exists():
            continue
        count = fitting = 0
        for c, d in read_pairs(brackets, treebanks / name / f"{part}.conllu.xz"):
            count += 1
            for kind in ("left", "right"):
                assert unbinarize(c.words, c.tags, binarize(c, kind)) == c
            if LexicalTree.compatible(c, d):
                fitting += 1
                tree = LexicalTree.join(c, d)
                assert tree.split() == (c, d)
                if part != "train":  # the nodes alone determine the heads
                    assert LexicalTree(tree.words, tree.nodes).heads == d.heads
                assert unbinarize(c.words, c.tags, binarize(c, "head", d.heads)) == c
        if part == "train":
            assert round(100 * fitting / count, 1) == expected[name]


def test_lemmas_and_features_survive_join_and_split():
    c = ConstituencyTree.from_brackets("(S (NP (NNS dogs)) (VP (VBP bark)))")
    d = DependencyTree(
        [2, 0],
        ["nsubj", "root"],
        c.words,
        c.tags,
        None,
        ["dog", "bark"],
        ["Number=Plur", "Mood=Ind"],
    )
    assert LexicalTree.join(c, d).split() == (c, d)


def test_the_repr_of_a_tree_of_many_nodes_is_shortened() -> None:
    tree = LexicalTree.join(*figure_1())
    assert len(tree.nodes) > 8
    assert repr(tree).endswith(" ...)")
