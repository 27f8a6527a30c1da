"""Learnt rules: what counting finds, back-off, and the shared treebanks."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given

from arcspan.errors import TreeError
from arcspan.trees import ConstituencyTree, DependencyTree, compatible
from studies.paper.learnt_rules import RELATION_CONTEXTS, RULE, BackOff, learn_rules
from tests.trees.examples import constituency_trees

read = ConstituencyTree.from_brackets


def pair(brackets: str, arcs: str):
    """A pair from brackets and "head-relation" for each word."""
    c = ConstituencyTree.from_brackets(brackets)
    heads, relations = zip(*(arc.split("-", 1) for arc in arcs.split()), strict=True)
    return c, DependencyTree(map(int, heads), relations, c.words, c.tags)


PAIRS = [
    pair("(TOP (S (NP (NN dogs)) (VP (VB bark)) (. .)))", "2-nsubj 0-root 2-punct"),
    pair(
        "(TOP (S (NP (DT the) (NN dog)) (VP (VB bit) (NP (PRP me)))))",
        "2-det 3-nsubj 0-root 3-dobj",
    ),
    pair(
        "(TOP (S (NP (NN cats) (CC and) (NN dogs)) (VP (VB bark))))", "4-nsubj 3-cc 1-conj 0-root"
    ),
    pair("(TOP (S (NP (NN ink) (CC and) (NN pens)) (VP (VB fall))))", "4-nsubj 3-cc 1-conj 0-root"),
]
RULES = learn_rules(PAIRS)


def relation_counts(rules, labels: str) -> dict[str, int]:
    """The relations that were counted between children, by the labels of parent, head and child."""
    return rules.relations.counts[RELATION_CONTEXTS.index(RULE)].get(labels, {})


def test_rules_reproduce_what_they_were_learnt_from():
    for c, d in PAIRS:
        converted = RULES.convert(c)
        assert (converted.heads, converted.relations) == (d.heads, d.relations)
        assert (converted.words, converted.tags) == (c.words, c.tags)


def test_rules_generalize_to_productions_never_seen():
    more = pair("(NP (DT a) (JJ red) (NN hat))", "3-det 3-amod 0-root")
    rules = learn_rules([*PAIRS, more])
    cat = "(NP (DT the) (JJ old) (JJ grey) (NN cat))"
    converted = rules.convert(read(f"(S {cat} (VP (VB saw) (NP (DT a) (NN bird))) (. .))"))
    assert converted.heads == (4, 4, 4, 5, 0, 7, 5, 5)
    assert converted.relations == ("det", "amod", "amod", "nsubj", "root", "det", "dobj", "punct")


def test_a_child_may_attach_to_a_sibling_that_is_not_the_head():
    converted = RULES.convert(read("(NP (NN salt) (CC and) (NN oil))"))
    assert converted.heads == (0, 3, 1) and converted.relations == ("root", "cc", "conj")


def test_a_common_word_can_decide_which_child_is_the_head():
    """In UD the predicate heads its copula, while an object attaches to its verb."""
    rules = learn_rules(
        [
            pair("(VP (VBZ is) (NP (NN king)))", "2-cop 0-root"),
            pair("(VP (VBZ is) (NP (NN queen)))", "2-cop 0-root"),
            pair("(VP (VBZ has) (NP (NN gold)))", "0-root 1-obj"),
            pair("(VP (VBZ has) (NP (NN wine)))", "0-root 1-obj"),
        ]
    )
    for verb, heads in (("is", (2, 0)), ("has", (0, 1))):
        assert rules.convert(read(f"(VP (VBZ {verb}) (NP (NN bread)))")).heads == heads


def test_rules_with_and_without_wrapper_are_the_same():
    bare = [(c.without_wrapper(), d) for c, d in PAIRS]
    assert learn_rules(bare).relations.counts == RULES.relations.counts
    assert RULES.convert(bare[1][0]) == RULES.convert(PAIRS[1][0])


def test_function_tags_inform_the_relation_but_not_the_structure():
    pairs = [
        pair("(VP (VB eat) (NP-OBJ (NN ham)))", "0-root 1-dobj"),
        pair("(VP (VB eat) (NP-TMP-1 (NN ham)))", "0-root 1-tmod"),
    ] * 2
    rules = learn_rules(pairs)
    assert rules.convert(read("(VP (VB eat) (NP-TMP (NN ham)))")).relations[1] == "tmod"
    assert rules.convert(read("(VP (VB eat) (NP-OBJ (NN ham)))")).relations[1] == "dobj"
    assert relation_counts(rules, "VP VB NP") == {"dobj": 2, "tmod": 2}


def test_function_tags_do_not_disturb_rules_that_were_learnt_without():
    tree = ConstituencyTree.from_brackets("(S (NP-SBJ-1 (NN dogs)) (VP (VB bark)) (. .))")
    assert not RULES.knows_functions
    assert RULES.convert(tree) == RULES.convert(tree.without_functions())


def test_constituents_that_do_not_fit_teach_nothing_and_the_rest_of_the_sentence_does():
    misfit = pair("(S (NP (DT a) (NN dog)) (VP (VB sees) (NP (PRP me))))", "3-x 3-y 0-root 3-dobj")
    rules = learn_rules([misfit])
    assert relation_counts(rules, "VP VB NP") == {"dobj": 1}
    assert relation_counts(rules, "NP NN DT") == {}
    crossing = pair("(S (A a) (B b) (C c) (D d))", "3-x 4-x 0-root 3-x")
    with pytest.raises(TreeError, match="no pair to learn from"):
        learn_rules([crossing])


def test_pairs_of_different_lengths_are_refused():
    c, d = PAIRS[0][0], PAIRS[1][1]
    with pytest.raises(TreeError, match="sentence 1: 3 words in one tree, 4 in the other"):
        learn_rules([(c, d)])


@given(constituency_trees())
def test_what_rules_give_is_always_compatible(tree):
    converted = RULES.convert(tree)
    assert converted.is_projective and compatible(tree, converted)


def test_a_tree_ten_thousand_levels_deep_teaches_and_is_converted():
    n = 10_000
    c = ConstituencyTree(["w"] * n, ["W"] * n, [(k, n, "X") for k in range(n)])
    d = DependencyTree(range(n), ["root"] + ["x"] * (n - 1), c.words, c.tags)
    assert learn_rules([(c, d)]).convert(c).heads == d.heads


def test_back_off_weighs_specific_against_general_contexts():
    table = BackOff((("a", "b"), ("b",)))
    table.add({"a": "1", "b": "x"}, "no")
    table.add({"a": "2", "b": "x"}, "yes", 9)
    mixed = table.distribution({"a": "1", "b": "x"})
    general = {"no": 1 / 12, "yes": 9 / 12}  # ten seen, two kinds of answers
    assert mixed == pytest.approx({"no": (1 + general["no"]) / 2, "yes": general["yes"] / 2})
    assert table.best({"a": "3", "b": "x"}) == "yes"
    assert table.best({"a": "3", "b": "y"}) is None


def test_pruning_drops_rare_contexts_and_those_that_say_nothing_new():
    table = BackOff((("a", "b"), ("b",)))
    table.add({"a": "rare", "b": "x"}, "no")
    table.add({"a": "same", "b": "x"}, "yes", 99)
    table.add({"a": "exception", "b": "x"}, "no", 2)
    table.prune(min_count=2, keep=1)
    assert table.counts[0] == {"exception x": {"no": 2}}
    assert table.counts[1] == {"x": {"no": 3, "yes": 99}}


@pytest.mark.treebanks
@pytest.mark.parametrize(("name", "uas", "las"), [("craft", 97.5, 93.0), ("sequoia", 98.0, 93.0)])
def test_rules_learnt_on_train_agree_with_the_dependencies_of_dev(treebanks, name, uas, las):
    """4,000 sentences of train are enough."""
    from arcspan.treebanks import read_pairs

    folder = treebanks / name
    train = read_pairs(folder / "train.ptb.xz", folder / "train.conllu.xz")
    rules = learn_rules(itertools.islice(train, 4000))
    words = attached = labelled = 0
    for c, gold in itertools.islice(
        read_pairs(folder / "dev.ptb.xz", folder / "dev.conllu.xz"), 700
    ):
        converted = rules.convert(c)
        assert compatible(c, converted)
        for m, word in enumerate(gold.words):
            if not all(unicodedata.category(letter)[0] == "P" for letter in word):
                right = converted.heads[m] == gold.heads[m]
                words += 1
                attached += right
                labelled += right and converted.relations[m] == gold.relations[m]
    assert 100 * attached / words >= uas
    assert 100 * labelled / words >= las
