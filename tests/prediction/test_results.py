"""From predictions to trees: training and the shipped parser say the same of the same prediction.

Before there was one way from scores to trees, copies of it disagreed in five places; each has a test. The first, k best
parses over HTTP, is in `tests/serving/test_app.py`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arcspan.errors import ArcspanError
from arcspan.parse import Parse
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.results import Prediction, merge
from arcspan.segmenting import Sentence
from arcspan.trees import ConstituencyTree, DependencyTree

WORDS = ("a", "b")
KNOWN = Inventories(((), ("VROOT",), ("NP",)), ("root", "obj"), ("X", "Y"), ("NOUN", "VERB"))


def ids(*numbers: int) -> np.ndarray:
    return np.asarray(numbers, dtype=np.int64)


CONSTITUENTS = Prediction(
    np.asarray([[0, 2, 0, 1], [0, 1, 0, 0], [1, 2, 0, 0]]),
    words={"tag": ids(0, 0), "upos": ids(0, 0)},
    inventories=KNOWN,
)
DEPENDENCIES = Prediction(
    heads=ids(2, 0),
    relations=ids(1, 0),
    words={"tag": ids(1, 1), "upos": ids(1, 1)},
    inventories=KNOWN,
)
BOTH = replace(CONSTITUENTS, heads=DEPENDENCIES.heads, relations=DEPENDENCIES.relations)


def test_a_flat_tree_under_vroot_is_the_same_in_training_and_in_a_parse() -> None:
    scored, _ = BOTH.trees(WORDS)
    shown = Parse(Sentence(WORDS), BOTH).constituency
    assert scored == shown == ConstituencyTree.from_brackets("(TOP (X a) (X b))")


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_models_the_dependency_model_says_the_tags(order: int) -> None:
    """UPOS without tags, too: whatever is said of words comes from one model."""
    for columns in ({"upos"}, {"tag", "upos"}, {"tag"}):
        parts = [
            replace(
                prediction,
                words={name: texts for name, texts in prediction.words.items() if name in columns},
            )
            for prediction in (CONSTITUENTS, DEPENDENCIES)
        ]
        merged = merge(parts[::order])
        _, scored = merged.trees(WORDS)
        shown = Parse(Sentence(WORDS), merged).dependencies
        assert scored is not None
        assert scored == shown
        assert (shown.tags, shown.upos) == (scored.tags, scored.upos)
        assert shown.upos == (("VERB", "VERB") if "upos" in columns else ("", ""))
        assert shown.tags == (("Y", "Y") if "tag" in columns else ("", ""))


def test_what_only_one_of_two_models_says_is_kept() -> None:
    merged = merge([CONSTITUENTS, replace(DEPENDENCIES, words={})])
    assert merged.words["upos"].tolist() == [0, 0]


def test_without_dependencies_there_is_no_tree_anywhere() -> None:
    parse = Parse(Sentence(WORDS), CONSTITUENTS)
    assert CONSTITUENTS.trees(WORDS)[1] is None
    with pytest.raises(ArcspanError, match="no dependencies"):
        _ = parse.dependencies
    assert parse.to_dict()["heads"] is parse.to_dict()["relations"] is None
    assert parse.layers == ("constituency",)


def test_a_sentence_that_was_not_parsed_has_flat_trees() -> None:
    parse = Parse(Sentence(WORDS), Prediction(error="too bad"))
    assert parse.dependencies == DependencyTree([0, 1], ["root", "dep"], WORDS)
    assert parse.constituency == ConstituencyTree(WORDS, None, [(0, 2, "TOP")])


def test_a_word_without_tag_is_a_leaf_for_nltk_either_way() -> None:
    nltk = pytest.importorskip("nltk", reason="NLTK is not installed (arcspan[nltk])")
    from arcspan.integrations.nltk import to_nltk

    parse = Parse(Sentence(WORDS), replace(BOTH, words={}))
    tree = parse.to_nltk()
    assert tree == to_nltk(parse.constituency) == nltk.Tree.fromstring(parse.brackets())
    assert tree.leaves() == list(WORDS)
