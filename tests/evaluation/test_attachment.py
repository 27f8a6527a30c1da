"""Attachment scores and the words that count."""

from __future__ import annotations

from importlib.resources import files

import pytest

from arcspan.errors import ArcspanError
from arcspan.evaluation import evaluate
from arcspan.evaluation.attachment import (
    is_punctuation,
    main_relation,
    score_attachment,
    words_that_count,
)
from arcspan.trees import DependencyTree
from tests.evaluation.samples import CATS, WRONG_CATS

WORDS = ["``", "No", "%", "...", "''", "U.S.", "-LRB-", "$"]
TAGS = ["``", "UH", "NN", ":", "''", "NNP", "-LRB-", "$"]
UPOS = ["PUNCT", "INTJ", "SYM", "PUNCT", "PUNCT", "PROPN", "PUNCT", "SYM"]


@pytest.mark.parametrize(
    ("rule", "left_out"),
    [
        ("ptb", ["``", "...", "''"]),
        ("unicode", ["%", "...", "''"]),
        ("upos", ["``", "...", "''", "-LRB-"]),
        ("none", []),
    ],
)
def test_each_rule_leaves_out_its_words(rule: str, left_out: list[str]) -> None:
    counts, known = words_that_count(rule, WORDS, TAGS, UPOS)  # type: ignore[arg-type]
    assert [word for word, counted in zip(WORDS, counts, strict=True) if not counted] == left_out
    assert known


def test_the_rule_of_the_chinese_treebank_goes_by_its_tag() -> None:
    """The recipe for CTB left out by the Penn Treebank's tags, so that nothing was left out."""
    counts, _ = words_that_count("ctb", ["他", "，", "来"], ["PN", "PU", "VV"], ["", "", ""])
    assert counts == [True, False, True]
    recipe = (
        files("arcspan.training").joinpath("recipes/paper-ctb.toml").read_text(encoding="utf-8")
    )
    assert 'punctuation = "ctb"' in recipe.splitlines()


def test_a_rule_without_its_tags_lets_every_word_count_and_says_so() -> None:
    assert words_that_count("ptb", ["a", ","], ["", ""], ["", ""]) == ([True, True], False)
    assert words_that_count("none", ["", ""], ["", ""], ["", ""]) == ([True, True], True)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(
        ArcspanError, match="one of auto, ptb, ctb, unicode, upos, none, not 'penn'"
    ):
        words_that_count("penn", ["a"], ["NN"], [""])  # type: ignore[arg-type]


def test_punctuation_is_punctuation_in_every_script() -> None:
    assert all(map(is_punctuation, ["。", "「", "¿", "—", "–", "’", "!?"]))
    assert not any(map(is_punctuation, ["", "a.", "+", "$", "`", "½"]))


def test_heads_and_relations_are_counted_apart_and_together() -> None:
    counts = [True, False, True, True, True, False]
    arcs = score_attachment(CATS.dependencies, WRONG_CATS.dependencies, counts)
    assert [arc.word for arc in arcs] == [1, 3, 4, 5]
    # "the" has the wrong head, "cat" lacks its subtype.
    assert [arc.word for arc in arcs if arc.gold_head != arc.predicted_head] == [3]
    assert [arc.word for arc in arcs if arc.gold_relation != arc.predicted_relation] == [4]
    assert [arc.right for arc in arcs] == [True, False, False, True]


def test_subtypes_may_be_ignored() -> None:
    counts = [True, False, False, True, True, False]
    trees = CATS.dependencies, WRONG_CATS.dependencies
    assert [arc.right for arc in score_attachment(*trees, counts)] == [True, False, True]
    assert all(arc.right for arc in score_attachment(*trees, counts, subtypes=False))
    assert main_relation("acl:relcl") == "acl"


def test_without_a_rule_universal_tags_decide_where_gold_trees_have_them() -> None:
    words, tags = ["(", "50", "%"], ["-LRB-", "CD", "NN"]
    tagged = DependencyTree([2, 0, 2], ["punct", "root", "x"], words, tags, ["PUNCT", "NUM", "SYM"])
    bare = DependencyTree(tagged.heads, tagged.relations, words, tags)
    for tree, rule, arcs in ((tagged, "upos", 2), (bare, "ptb", 3)):
        report = evaluate([(None, tree)] * 2, [(None, tree)] * 2)
        assert (report.punctuation, report.totals["arcs"]) == (rule, 2 * arcs)
    # One rule holds for all sentences, also for those without such tags.
    assert evaluate([(None, bare), (None, tagged)], [(None, bare)] * 2).punctuation == "upos"
