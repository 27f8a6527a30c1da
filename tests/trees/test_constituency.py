"""Constituency trees: brackets in and out, transformations, and what is refused."""

from __future__ import annotations

import copy
import lzma
import pickle
from pathlib import Path

import pytest
from hypothesis import given

from arcspan.errors import TreeError
from arcspan.trees import ConstituencyTree
from tests.trees.examples import FIGURE_1_BRACKETS, WORDS, constituency_trees

read = ConstituencyTree.from_brackets


def test_a_tagged_tree_has_words_tags_and_spans_in_pre_order():
    tree = read("(S (NP (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB here))))")
    assert tree.words == ("the", "dog", "barks", "here")
    assert tree.tags == ("DT", "NN", "VBZ", "RB")
    assert tree.spans == ((0, 4, "S"), (0, 2, "NP"), (2, 4, "VP"), (3, 4, "ADVP"))


def test_the_tree_of_figure_1_has_no_tags_but_all_its_constituents():
    tree = read(FIGURE_1_BRACKETS)
    assert tree.words == tuple(WORDS)
    assert tree.tags == ("",) * 6
    assert tree.spans == ((0, 6, "S"), (0, 1, "NP"), (1, 6, "VP"), (2, 5, "NP"), (5, 6, "ADVP"))
    assert tree.brackets() == FIGURE_1_BRACKETS


def test_a_unary_chain_repeats_the_span_outermost_first():
    tree = read("(TOP (S (VP (VB Go))))")
    assert tree.spans == ((0, 1, "TOP"), (0, 1, "S"), (0, 1, "VP"))


def test_a_bare_tagged_word_is_a_tree_without_spans():
    tree = read("(NN dog)")
    assert (tree.words, tree.tags, tree.spans) == (("dog",), ("NN",), ())
    assert tree.brackets() == "(NN dog)"


@pytest.mark.parametrize(
    "text",
    [
        "( (S (NN a) (NN b)) )",
        "(S\n    (NN a)\n\t(NN b)\r\n)\n",
        "( S ( NN a ) ( NN b ) )",
        "  (S(NN a)(NN b))",
    ],
)
def test_any_layout_reads_as_the_same_tree(text):
    assert read(text, wrapper="strip") == read("(S (NN a) (NN b))")


@pytest.mark.parametrize(
    "line",
    [
        "(TOP (S (-LRB- -LRB-) (NN a) (-RRB- -RRB-)))",
        "(TOP (NP (-LRB- [) (CD 1) (-RRB- ])))",
        "(TOP (NP (-LRB- -LSB-) (CD 1\\/2) (-RRB- -RSB-) (NN \\*)))",
        "(NP (NNS friend-LRB-s-RRB-) (`` ``) ('' '') (PRP$ its))",
        "( (S (NN a) (NN b)))",
        '(X|<Y>=1-[2] (V‧的 露營) ("" "))',
        "(S (-NONE- *T*-1) (NP-SBJ=2 (NN a)))",
    ],
)
def test_brackets_come_out_as_they_went_in(line):
    assert read(line).brackets() == line


def test_escapes_are_undone_in_words_but_not_in_tags():
    tree = read("(NP (-LRB- -LRB-) (CD 1\\/2) (NNS friend-LRB-s-RRB-) (-RRB- -RCB-))")
    assert tree.words == ("(", "1/2", "friend(s)", "}")
    assert tree.tags == ("-LRB-", "CD", "NNS", "-RRB-")
    raw = read("(NP (-LRB- -LRB-) (CD 1\\/2))", unescape=False)
    assert raw.words == ("-LRB-", "1\\/2")


def test_how_a_word_was_escaped_is_no_part_of_the_trees_value():
    assert read("(NP (X -LSB-) (NN a))") == read("(NP (X [) (NN a))")
    assert hash(read("(NP (X -LSB-) (NN a))")) == hash(read("(NP (X [) (NN a))"))


def test_words_with_spaces_and_brackets_are_written_safely():
    tree = ConstituencyTree(["1 000", "a(b"], ["CD", "X"], [(0, 2, "NP")])
    assert tree.brackets() == "(NP (CD 1\u00a0000) (X a-LRB-b))"
    assert tree.brackets(escape=False) == "(NP (CD 1 000) (X a(b))"


def test_function_tags_and_index_marks_can_be_stripped():
    tree = read("(S-1 (NP-SBJ-2 (N-N a)) (NP=3 (-LRB- b)) (-X- (NN c)))", functions="strip")
    assert tree.brackets() == "(S (NP (N-N a)) (NP (-LRB- b)) (-X- (NN c)))"


def test_stripping_empty_elements_removes_the_constituents_they_leave_empty():
    tree = read(
        "(S (NP-SBJ (-NONE- *)) (VP (VB Go) (SBAR (-NONE- 0) (S (-NONE- *T*-1))) (-LRB- -LSB-)))",
        empties="strip",
    )
    assert tree.brackets() == "(S (VP (VB Go) (-LRB- -LSB-)))"
    assert read("(TOP (-NONE- *))", empties="strip") == ConstituencyTree((), (), ())


@pytest.mark.parametrize("wrapper", ["TOP", "ROOT", "S1", "VROOT", ""])
def test_every_kind_of_wrapper_comes_off_and_goes_back_on(wrapper):
    text = f"({wrapper} (S (NN a) (NN b)))"
    assert read(text, wrapper="strip").brackets() == "(S (NN a) (NN b))"
    assert read("(S (NN a) (NN b))").with_wrapper(wrapper).brackets() == text
    assert read(text).with_wrapper("TOP").brackets() == "(TOP (S (NN a) (NN b)))"


def test_a_wrapper_that_holds_several_constituents_stays():
    assert read("(TOP (S (NN a)) (S (NN b)))", wrapper="strip").spans[0] == (0, 2, "TOP")
    assert (
        read("( (S (NN a)) (S (NN b)))").with_wrapper("ROOT").brackets()
        == "(ROOT (S (NN a)) (S (NN b)))"
    )


def test_a_wrapped_bare_word_loses_its_wrapper():
    assert read("(TOP (NN dog))", wrapper="strip").spans == ()


def test_trees_ten_thousand_levels_deep_are_read_and_written():
    depth = 10_000
    unary = "(X " * depth + "(NN a)" + ")" * depth
    assert read(unary).brackets() == unary
    nested = "(X (NN a) " * depth + "(NN b)" + ")" * depth
    tree = read(nested)
    assert tree.brackets() == nested and len(tree) == depth + 1
    assert ConstituencyTree(tree.words, tree.tags, tree.spans) == tree
    bare = "(X a " * depth + "b" + ")" * depth
    assert read(bare).brackets() == bare


@given(constituency_trees())
def test_any_tree_survives_brackets(tree):
    assert read(tree.brackets()) == tree


@given(constituency_trees())
def test_copies_and_values_agree(tree):
    again = ConstituencyTree(
        tree.words, tree.tags, reversed(tree.spans[:1]) if len(tree.spans) == 1 else tree.spans
    )
    assert again == tree and hash(again) == hash(tree)
    assert pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree) == tree


def test_a_tree_cannot_be_changed():
    tree = read("(S (NN a) (NN b))")
    with pytest.raises(AttributeError, match="does not change"):
        tree.words = ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a bracketed tree"),
        ("   \n", "not a bracketed tree"),
        ("dog", "not a bracketed tree"),
        ("(S (NN a) (NN b)", "1 bracket(s) not closed"),
        ("(S (NN a)", "1 bracket(s) not closed"),
        ("(S ((((", "5 bracket(s) not closed"),
        ("(S (NN a)))", "a closing bracket without its opening one"),
        (")", "a closing bracket without its opening one"),
        ("(S (NN a)) (S (NN b))", "more text after the tree"),
        ("(NN a) (NN b)", "more text after the tree"),
        ("(S (NN a)) b", "more text after the tree"),
        ("(S (NP) (NN b))", "constituent (NP) holds no words"),
        ("(S)", "constituent (S) holds no words"),
        ("(S (NP ()) (NN a))", "constituent () holds no words"),
    ],
)
def test_text_that_is_no_tree_is_refused_with_the_reason(text, message):
    with pytest.raises(TreeError) as caught:
        read(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("words", "tags", "spans", "message"),
    [
        ("ab", ["X"], [(0, 2, "S")], "2 words, but 1 tags"),
        (["a", ""], None, [(0, 2, "S")], "word 2 is empty"),
        ("ab", None, [(0, 3, "S")], "does not lie within"),
        ("ab", None, [(0, 2, "S"), (1, 1, "X")], "does not lie within"),
        ("abc", None, [(0, 3, "S"), (0, 2, "X"), (1, 3, "Y")], "cross"),
        ("abc", None, [(0, 2, "X"), (2, 3, "Y")], "one root"),
        ("ab", None, [], "one root"),
        ("ab", None, [(0, 2, None)], "not a string"),
    ],
)
def test_spans_that_are_no_tree_are_refused(words, tags, spans, message):
    with pytest.raises(TreeError, match=message):
        ConstituencyTree(words, tags, spans)


def test_an_unknown_choice_is_refused():
    with pytest.raises(ValueError, match="empties is 'keep' or 'strip'"):
        read("(S (NN a))", empties="drop")  # type: ignore[arg-type]


@pytest.mark.treebanks
def test_stripping_the_annotators_trees_gives_the_distributed_ones(treebanks: Path):
    with lzma.open(treebanks / "craft/dev.raw.ptb.xz", "rt", encoding="utf-8") as file:
        stripped = [read(line, functions="strip", empties="strip") for line in file]
    with lzma.open(treebanks / "craft/dev.ptb.xz", "rt", encoding="utf-8") as file:
        assert stripped == [read(line) for line in file]
