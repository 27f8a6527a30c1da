"""SentenceScore sentences: complete match, compatibility, and words that must be the same."""

from __future__ import annotations

from arcspan.evaluation.sentence_scoring import Scoring, count, same_words
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.evaluation.samples import CATS, WRONG_CATS


def complete(
    constituency: ConstituencyTree | None, dependencies: DependencyTree | None
) -> tuple[int, int, int]:
    """Which layers of a prediction for CATS are completely right, and whether both are."""
    gold = (constituency and CATS.constituency, dependencies and CATS.dependencies)
    counts = count(Scoring().score(gold, (constituency, dependencies), 1))
    return counts["complete_con"], counts["complete_dep"], counts["complete_both"]


def test_both_trees_must_be_right_for_both() -> None:
    c = CATS.constituency
    invented = ConstituencyTree(c.words, c.tags, [*c.spans, (4, 5, "VP")])
    assert complete(c, CATS.dependencies) == (1, 1, 1)
    assert complete(c, WRONG_CATS.dependencies) == (1, 0, 0)
    assert complete(invented, CATS.dependencies) == (0, 1, 0)
    assert complete(WRONG_CATS.constituency, CATS.dependencies) == (
        0,
        1,
        0,
    )  # the noun phrase is missing


def test_a_sentence_that_evalb_leaves_out_is_not_a_match() -> None:
    c = CATS.constituency
    comma_is_a_noun = ConstituencyTree(c.words, ["RB", "NN", *c.tags[2:]], c.spans)
    assert complete(comma_is_a_noun, CATS.dependencies) == (0, 1, 0)


def test_one_kind_of_trees_is_judged_alone() -> None:
    assert complete(None, CATS.dependencies) == (0, 1, 0)
    assert complete(CATS.constituency, None) == (1, 0, 0)


def trees_fit(constituency: ConstituencyTree, dependencies: DependencyTree) -> bool:
    predicted = constituency, dependencies
    return (
        count(Scoring().score((CATS.constituency, CATS.dependencies), predicted, 1))["fitting"] == 1
    )


def test_predicted_trees_fit_or_do_not() -> None:
    assert trees_fit(CATS.constituency, CATS.dependencies)
    assert trees_fit(WRONG_CATS.constituency, WRONG_CATS.dependencies)
    # In the gold constituents "the" may not hang on the verb.
    assert not trees_fit(CATS.constituency, WRONG_CATS.dependencies)


def test_heads_that_are_not_a_tree_fit_nothing() -> None:
    d: DependencyTree = CATS.dependencies
    loose = DependencyTree.loose((0, 0, 4, 5, 0, 5), d.relations, d.words)
    assert not trees_fit(CATS.constituency, loose)


def test_words_written_in_another_way_are_the_same_words() -> None:
    same_words(("(", "1/2", '"'), ("-LRB-", "1\\/2", "``"), 1)
    same_words(("a", "b"), ("", ""), 1)  # trees made without words
