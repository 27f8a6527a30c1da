"""Head tables: the classical ones, the file format, and conversion by them."""

from __future__ import annotations

import pytest
from hypothesis import given

from arcspan.errors import TreeError
from arcspan.trees import ConstituencyTree, HeadRules, compatible, convert
from tests.trees.examples import constituency_trees

read = ConstituencyTree.from_brackets


@pytest.mark.parametrize(
    ("parent", "children", "head"),
    [
        ("S", "NP VP .", "VP"),
        ("VP", "MD RB VP", "MD"),
        ("VP", "VBD NP PP", "VBD"),
        ("PP", "IN NP", "IN"),
        ("NP", "DT JJ NN PP", "NN"),
        ("NP", "NP PP SBAR", "NP"),
        ("NP", "DT NN POS", "POS"),
        ("NP", "$ CD", "$"),
        ("SBAR", "WHNP S", "WHNP"),
        ("QP", "IN CD", "IN"),
        ("ADJP", "RB JJ", "JJ"),
        ("FRAG", "ADVP NP .", "NP"),
    ],
)
def test_the_english_table_finds_the_head_child(parent, children, head):
    labels = children.split()
    assert labels[HeadRules.load("ptb").head_child(parent, labels)] == head


@pytest.mark.parametrize(
    ("parent", "children", "head"),
    [
        ("IP", "NP PU VP PU", "VP"),
        ("VP", "ADVP VV NP", "VV"),
        ("NP", "ADJP NN NN", "NN"),
        ("PP", "P NP", "P"),
        ("DNP", "NP DEG", "DEG"),
        ("DP", "DT CLP", "DT"),
        ("QP", "CD CLP", "CLP"),
        ("CP", "IP DEC", "IP"),
        ("VRD", "VV VV", "VV"),
        ("XYZ", "A B PU", "B"),
        (
            "PRN",
            "NP PU IP PU",
            "PU",
        ),  # "head PRN left PU" never applied: punctuation was left out before
    ],
)
def test_the_chinese_table_finds_the_head_child(parent, children, head):
    labels = children.split()
    assert labels[HeadRules.load("ctb").head_child(parent, labels)] == head


def test_the_rightmost_noun_heads_a_noun_phrase_and_the_left_conjunct_a_coordination():
    rules = HeadRules.load("ptb")
    assert rules.head_child("NP", ["NN", "NN"]) == 1
    assert rules.head_child("NP", ["NN", "CC", "NN"]) == 0
    assert rules.head_child("NP-SBJ-1", ["DT", "NN"]) == 1


def test_punctuation_heads_only_where_there_is_nothing_else():
    rules = HeadRules.load("ptb")
    assert rules.head_child("PRN", ["-LRB-", "NP", "-RRB-"]) == 1
    assert rules.head_child("PRN", [",", ","]) == 0


def test_a_sentence_is_converted_with_heads_and_relations():
    tree = read(
        "(TOP (S (NP (NN Logic)) (VP (VBZ plays) (NP (DT a) (JJ maximal) (NN role)) (ADVP (RB here))) (. .)))"
    )
    d = convert(tree, "ptb")
    assert d.words == tree.words and d.tags == tree.tags
    assert d.heads == (2, 0, 5, 5, 2, 2, 2)
    assert d.relations == ("SUB", "ROOT", "NMOD", "NMOD", "OBJ", "VMOD", "P")


def test_function_tags_decide_relations_where_labels_have_them():
    tree = read(
        "(S (NP-TMP (NN today)) (NP-SBJ-1 (PRP he)) (VP (VBZ is) (NP-PRD (DT a) (NN king))))"
    )
    assert convert(tree, "ptb").relations == ("VMOD", "SUB", "ROOT", "NMOD", "PRD")


def test_a_chinese_sentence_is_converted():
    tree = read("(IP (NP-SBJ (PN 我)) (VP (ADVP (AD 很)) (VP (VV 愛) (NP-OBJ (NN 書)))) (PU 。))")
    d = convert(tree, "ctb")
    assert d.heads == (3, 3, 0, 3, 3)
    assert d.relations == ("SUB", "VMOD", "ROOT", "OBJ", "P")


@given(constituency_trees())
def test_what_a_table_gives_is_always_compatible(tree):
    d = convert(tree, "ptb")
    assert d.is_projective and compatible(tree, d)


def test_a_tree_ten_thousand_levels_deep_is_converted():
    n = 10_000
    d = convert(ConstituencyTree(["w"] * n, None, [(k, n, "X") for k in range(n)]), "ctb")
    assert d.root == n


def test_a_relation_without_a_line_is_dep():
    rules = HeadRules.parse("head * left")
    assert rules.convert(read("(X (A a) (B b))")).relations == ("root", "dep")


def test_a_table_that_the_package_does_not_have_is_refused_with_those_it_has():
    with pytest.raises(TreeError, match=r"no head table 'xyz' in the package, which has ptb, ctb"):
        convert(read("(NN dog)"), "xyz")
