from __future__ import annotations

import pytest

pytest.importorskip("nltk", reason="nltk is not installed")

import nltk

from arcspan.errors import TreeError
from arcspan.integrations.nltk import NltkParser, from_nltk, to_dependency_graph, to_nltk
from arcspan.parse import Parse
from arcspan.parser import Parser
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.toy import toy_pairs

ODD = [
    "(TOP (S (NP (NP (NNP Ada)) (PP (IN of) (NP (DT the) (NN tree)))) (VP (VBZ sees)) (. .)))",
    "(TOP (FRAG (NP Logic)))",
    "(NN dog)",
    "(S (S (S (X a)) b) (Y c))",
    "(TOP (S (-LRB- -LRB-) (NN x) (-RRB- -RRB-)))",
]


@pytest.mark.parametrize("brackets", ODD)
def test_a_tree_goes_to_nltk_and_comes_back(brackets: str) -> None:
    tree = ConstituencyTree.from_brackets(brackets)
    assert from_nltk(to_nltk(tree)) == tree


def test_nltk_reads_the_same_tree_from_the_brackets() -> None:
    for constituency, _ in toy_pairs(20):
        assert to_nltk(constituency) == nltk.Tree.fromstring(constituency.brackets())


def test_leaves_are_the_words_themselves() -> None:
    assert to_nltk(ConstituencyTree.from_brackets(ODD[-1])).leaves() == ["(", "x", ")"]


def test_a_very_deep_tree_needs_no_recursion() -> None:
    tree = ConstituencyTree(["a"], ["NN"], [(0, 1, "X")] * 5000)
    assert from_nltk(to_nltk(tree)) == tree


def test_a_tree_without_words_is_refused() -> None:
    with pytest.raises(TreeError, match="without words"):
        to_nltk(ConstituencyTree([], [], []))
    with pytest.raises(TreeError, match="NP has no words"):
        from_nltk(nltk.Tree("S", [nltk.Tree("NP", []), nltk.Tree("NN", ["dog"])]))


def test_a_dependency_graph_has_every_arc() -> None:
    tree = DependencyTree(
        [2, 0, 4, 2], ["nsubj", "root", "det", "obj"], ["Ada", "sees", "a", "tree"]
    )
    graph = to_dependency_graph(tree)
    assert {
        (head, relation, modifier) for (head, _), relation, (modifier, _) in graph.triples()
    } == {
        ("sees", "nsubj", "Ada"),
        ("sees", "obj", "tree"),
        ("tree", "det", "a"),
    }
    assert graph.root["word"] == "sees"


def test_the_parser_speaks_nltks_interface(parser: Parser) -> None:
    sentences = [list(pair.constituency.words) for pair in toy_pairs(5)]
    nltk_parser = NltkParser(parser)
    expected = [parser.parse(words).to_nltk() for words in sentences]
    assert [nltk_parser.parse_one(words) for words in sentences] == expected
    assert [next(trees) for trees in nltk_parser.parse_sents(sentences)] == expected


def test_a_dependency_graph_has_lemmas_and_features(whole_rows: Parse) -> None:
    graph = to_dependency_graph(whole_rows)
    assert [graph.nodes[m]["lemma"] for m in (1, 2, 3)] == ["Ada", "see", "tree"]
    assert [graph.nodes[m]["feats"] for m in (1, 2, 3)] == [
        "Number=Sing",
        "_",
        "Case=Acc|Number=Plur",
    ]
