"""Sentences in other forms: both trees changed alike, and still compatible."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.training.augmentation import FORMS, augmented
from arcspan.training.config import AUGMENTS, DataSettings, Source
from arcspan.training.instances import read_training
from arcspan.treebanks import Pair, read_pairs
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree
from tests.toy import toy_pairs, write_toy

TREE = "(S (`` ``) (NP (NNP Ada)) (VP (VBD slept) (ADVP (RB well)) (PRN (, ,))) (. .))"
PAIR = Pair(
    ConstituencyTree.from_brackets(TREE),
    DependencyTree(
        [3, 3, 0, 3, 4, 3],
        ["punct", "nsubj", "root", "advmod", "punct", "punct"],
        ["``", "Ada", "slept", "well", ",", "."],
        lemmas=["``", "Ada", "sleep", "well", ",", "."],
    ),
)


@pytest.mark.parametrize(
    ("form", "brackets", "heads"),
    [
        (
            "final",
            "(S (`` ``) (NP (NNP Ada)) (VP (VBD slept) (ADVP (RB well)) (PRN (, ,))))",
            (3, 3, 0, 3, 4),
        ),
        (
            "initial",
            "(S (NP (NNP Ada)) (VP (VBD slept) (ADVP (RB well)) (PRN (, ,))) (. .))",
            (2, 0, 2, 3, 2),
        ),
        ("bare", "(S (NP (NNP Ada)) (VP (VBD slept) (ADVP (RB well))))", (2, 0, 2)),
        ("exchange", TREE.replace("(. .)", "(. !)"), (3, 3, 0, 3, 4, 3)),
        ("lower", TREE.replace("Ada", "ada"), (3, 3, 0, 3, 4, 3)),
        (
            "upper",
            TREE.replace("Ada", "ADA").replace("slept", "SLEPT").replace("well", "WELL"),
            (3, 3, 0, 3, 4, 3),
        ),
    ],
)
def test_both_trees_are_changed_alike(form: str, brackets: str, heads: tuple[int, ...]) -> None:
    c, d = FORMS[form](PAIR) or pytest.fail("not changed")
    assert c.brackets() == brackets
    assert d.heads == heads and d.words == c.words
    assert d.lemmas[-1] == {"exchange": "!", "final": ",", "bare": "well"}.get(form, ".")


def test_a_sentence_whose_head_would_go_is_left_as_it_is() -> None:
    pair = Pair(PAIR.constituency, DependencyTree([6, 3, 1, 3, 4, 0], [""] * 6, PAIR.words))
    assert FORMS["final"](pair) is FORMS["bare"](pair) is FORMS["initial"](pair) is None
    assert FORMS["lower"](FORMS["lower"](PAIR) or PAIR) is None  # nothing to change
    layer = FORMS["bare"](Pair(None, PAIR.dependencies))  # type: ignore[arg-type]
    assert (
        layer is not None and layer.constituency is None and layer.words == ("Ada", "slept", "well")
    )


def test_headlines_have_no_articles_and_fillers_stand_where_a_yield_begins() -> None:
    c = ConstituencyTree.from_brackets(
        "(S (NP (DT The) (NN crew)) (VP (VBD spotted) (NP (DT a) (NN wreck))) (. .))"
    )
    relations = ["det", "nsubj", "root", "det", "obj", "punct"]
    d = DependencyTree([2, 3, 0, 5, 3, 3], relations, c.words, upos=["X"] * 6)
    short, arcs = FORMS["headline"](Pair(c, d)) or pytest.fail("not changed")
    assert short.brackets() == "(S (NP (NN Crew)) (VP (VBD Spotted) (NP (NN Wreck))))"
    assert arcs.heads == (2, 0, 2)
    longer, arcs = FORMS["filler"](Pair(c, d)) or pytest.fail("not changed")
    assert longer.brackets().startswith(
        "(S (NP (DT The) (NN crew)) (VP (VBD spotted) (INTJ (UH er)) (NP (DT a)"
    )
    assert (arcs.heads, arcs.relations[3], arcs.upos[3]) == (
        (2, 3, 0, 6, 6, 3, 3),
        "discourse",
        "INTJ",
    )


def test_shares_of_a_source_are_added_and_counted(tmp_path: Path) -> None:
    assert tuple(FORMS) == AUGMENTS
    source = write_toy(tmp_path, "toy", toy_pairs(40))
    plain, _ = read_training(DataSettings(train=[Source(**source)]))
    some, intake = read_training(
        DataSettings(train=[Source(**source, augment={"upper": 0.5, "final": 1.0})])
    )
    again, _ = read_training(
        DataSettings(train=[Source(**source, augment={"upper": 0.5, "final": 1.0})])
    )
    assert [one.words for one in some] == [one.words for one in again]
    assert len(some) == len(plain) + intake.augmented
    upper = sum(all(word == word.upper() for word in one.words) for one in some)
    assert 10 < upper < 30
    assert f"{intake.augmented} added in other forms" in intake.summary()


def test_compatible_trees_stay_compatible(treebanks: Path) -> None:
    folder = treebanks / "sequoia"
    changed = 0
    for number, pair in enumerate(read_pairs(folder / "dev.ptb.xz", folder / "dev.conllu.xz")):
        if LexicalTree.compatible(pair.constituency.without_wrapper(), pair.dependencies):
            for form in augmented(pair, dict.fromkeys(FORMS, 1.0), str(number)):
                changed += 1
                assert LexicalTree.compatible(
                    form.constituency.without_wrapper(), form.dependencies
                )
    assert changed > 500
