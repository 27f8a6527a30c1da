"""Measures of complexity: twenty sentences worked out by hand, and how sums become measures."""

from __future__ import annotations

import math

import pytest

from arcspan.syntax.measures import MEASURES, measures, standard_errors, sums, total
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.syntax.test_syntax import PAIRS

# W VP C T DC CT CP CN; Yngve's and Frazier's depths summed over the words; summed distance and
# number of arcs.
WORKED = {
    "When it rained": (7, 2, 2, 1, 1, 1, 0, 0, 11, 11.5, 9, 6),
    "The old men": (7, 1, 1, 1, 0, 0, 1, 1, 16, 4.5, 10, 6),
    "She ate bread": (6, 1, 1, 1, 0, 0, 1, 0, 8, 7.5, 7, 5),
    "They bought": (5, 1, 1, 1, 0, 0, 1, 0, 7, 4.5, 7, 4),
    "The dog that": (8, 2, 2, 1, 1, 1, 0, 1, 13, 11.5, 13, 7),
    "I know that": (5, 2, 2, 1, 1, 1, 0, 1, 4, 8.5, 7, 4),
    "He wants to": (7, 2, 1, 1, 0, 0, 0, 1, 7, 8, 10, 6),
    "Having finished": (7, 2, 1, 1, 0, 0, 0, 0, 13, 9, 10, 6),
    "The letter was written": (9, 1, 1, 1, 0, 0, 0, 1, 12, 7.5, 17, 8),
    "You must not": (6, 1, 1, 1, 0, 0, 0, 0, 6, 5.5, 9, 5),
    "The man standing": (9, 1, 1, 1, 0, 0, 0, 1, 14, 8.5, 18, 8),
    "The fact that": (7, 2, 2, 1, 1, 1, 0, 1, 11, 9.5, 12, 6),
    "It is clear": (7, 2, 2, 1, 1, 1, 0, 1, 7, 11.5, 13, 6),
    "To learn": (6, 2, 1, 1, 0, 0, 0, 1, 8, 8, 8, 5),
    "Close the": (4, 1, 1, 1, 0, 0, 0, 0, 5, 4.5, 6, 3),
    "Where did": (6, 1, 1, 1, 0, 0, 0, 0, 6, 7, 9, 5),
    "Tom , Dick": (6, 1, 1, 1, 0, 0, 1, 0, 11, 4.5, 10, 5),
    "She is tall": (6, 1, 1, 1, 0, 0, 1, 0, 6, 6.5, 9, 5),
    "He came": (6, 3, 3, 3, 0, 0, 0, 0, 9, 12, 9, 5),
    "Mary cooked": (8, 2, 2, 2, 0, 0, 0, 0, 12, 10.5, 12, 7),
}
NAMES = (
    "W",
    "VP",
    "C",
    "T",
    "DC",
    "CT",
    "CP",
    "CN",
    "yngve_sum",
    "frazier_sum",
    "distance_sum",
    "arcs",
)


@pytest.mark.parametrize("start", WORKED)
def test_sums_are_those_worked_out_by_hand(start: str) -> None:
    (trees,) = [pair for text, pair in PAIRS.items() if text.startswith(start)]
    values = sums(*trees)
    assert tuple(values[name] for name in NAMES) == WORKED[start]


def test_depths_are_those_of_the_literature() -> None:
    """Roark, Mitchell and Hollingshead (2007), figure 1."""
    tree = ConstituencyTree.from_brackets(
        "(S (NP (PRP she)) (VP (VBD was) (NP (NP (DT a) (NN cook)) "
        "(PP (IN in) (NP (DT a) (NN school) (NN cafeteria))))))"
    )
    values = measures(sums(tree, None))
    assert values["yngve"] == pytest.approx((1 + 1 + 2 + 1 + 1 + 2 + 1 + 0) / 8)
    assert values["frazier"] == pytest.approx((2.5 + 1 + 2 + 0 + 1 + 1 + 0 + 0) / 8)
    assert (values["left_branching"], values["right_branching"]) == (0, 4 / 6)


def test_a_text_is_measured_by_its_sums() -> None:
    she, mary = (
        next(pair for text, pair in PAIRS.items() if text.startswith(s))
        for s in ("She ate", "Mary")
    )
    values = measures(total([[(1, sums(*she))], [(1, sums(*mary))]]))
    assert list(values) == list(MEASURES)
    assert (values["MLS"], values["C/T"], values["T/S"]) == (7, 1, 1.5)
    assert values["dependency_distance"] == 19 / 12
    assert (values["clauses_main"], values["clauses_finite"], values["coordinations_S"]) == (
        4,
        4,
        1,
    )
    # the root is the second of six words, of eight words
    each = [abs(math.log(7 / 5 / math.sqrt(2 * 6))), abs(math.log(12 / 7 / math.sqrt(2 * 8)))]
    assert values["normalised_distance"] == pytest.approx(sum(each) / 2)
    assert values["head_final"] == pytest.approx((2 + 4) / 12)
    assert values["characters_per_word"] == pytest.approx((23 + 38) / 14)


COMPOUND = (
    "(TOP (S (NP (DT A) (NML (NN state) (HYPH -) (IN of) (HYPH -) (DT the) (HYPH -) (NN art)) (NN car)) "
    "(VP (VBZ costs) (NP ($ $) (CD 9))) (. .) (NFP :-)) ))"
).replace(":-))", ":-RRB-)")


def test_a_compound_with_hyphens_is_one_word_for_lu() -> None:
    tree = ConstituencyTree.from_brackets(COMPOUND)
    assert (sums(tree, None)["W"], sums(tree, None)["words"]) == (5, 8)
    assert sums(tree, None, split_compounds=True)["W"] == 8
    assert measures(sums(tree, None))["MLS"] == 5


def test_a_hyphen_beside_a_word_joins_nothing() -> None:
    tree = ConstituencyTree.from_brackets("(TOP (NP (JJ pre) (HYPH -) (, ,) (HYPH -) (NN war)))")
    assert (sums(tree, None)["W"], sums(tree, None)["words"]) == (2, 2)


def test_punctuation_by_universal_tags_is_no_word() -> None:
    words, tags = ["Yes", "*", "x", "%"], ["UH", "SYM", "NN", "NN"]
    tree = DependencyTree(
        [0, 1, 1, 1], ["root", "punct", "dep", "dep"], words, tags, ["INTJ", "PUNCT", "X", "SYM"]
    )
    assert sums(None, tree)["words"] == 3
    untagged = DependencyTree(tree.heads, tree.relations, words)
    assert sums(None, untagged)["words"] == 2


def test_uncertain_parses_make_errors() -> None:
    few_clauses: dict[str, float] = {"words": 10, "W": 10, "S": 1, "C": 2}
    many_clauses = {**few_clauses, "C": 4}
    sure = [[(1.0, few_clauses)], [(1.0, many_clauses)]]
    assert set(standard_errors(sure).values()) == {0}
    errors = standard_errors([[(0.5, few_clauses), (0.5, many_clauses)]] * 4)
    assert errors["C"] == pytest.approx(2)  # four sentences with a variance of 1 each
    assert errors["C/S"] == pytest.approx(0.5) and errors["W"] == 0


def test_one_tree_or_none_has_its_own_measures() -> None:
    c, d = PAIRS["Running is healthy ."]
    assert "MLT" not in measures(sums(None, d)) and "dependency_distance" not in measures(
        sums(c, None)
    )
    assert measures(sums(None, None)) == {"sentences": 1}
    assert (
        measures(
            sums(ConstituencyTree(["."], ["."], []), DependencyTree([0], ["root"], ["."], ["."]))
        )["W"]
        == 0
    )
