"""What a model can say: kept as JSON, and only names that a style uses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from arcspan.decoding import Decoded
from arcspan.errors import ScoreError
from arcspan.parse import Parse
from arcspan.prediction.charts import Charts
from arcspan.prediction.model import EncodedSentence, ParserModel
from arcspan.prediction.outputs import NAMED_OUTPUTS, OUTPUTS, Inventories, Scores, Style
from arcspan.prediction.query import PLAIN
from arcspan.prediction.search import best

FULL = Inventories(
    labels=((), ("S",), ("NP", "VP")),
    relations=("root", "nsubj", "SBJ"),
    tags=("NN", "VB"),
    upos=("NOUN", "VERB"),
    lemmas=("l|0+|0+", "=be"),
    features=("_", "Number=Sing"),
    styles=("gum", "ptb"),
    unused={
        "relation": ((2,), (0, 1)),
        "label": ((), (2,)),
        "tag": ((1,), ()),
        "lemma": ((1,), (0,)),
    },
    seen_lemmas={"VB": {"was": "=be", "is": "=be", "go": "l|0+|0+"}},
)
OLD = {"labels": [[], ["S"]], "relations": ["root"], "tags": ["NN"], "upos": []}


def test_inventories_come_back_from_json() -> None:
    assert Inventories.from_json(json.loads(json.dumps(FULL.to_json()))) == FULL


def test_inventories_of_older_bundles_have_no_lemmas_features_or_styles() -> None:
    inventories = Inventories.from_json(OLD)
    assert inventories == Inventories(((), ("S",)), ("root",), ("NN",), ())
    assert (
        inventories.lemmas,
        inventories.features,
        inventories.styles,
        dict(inventories.unused),
    ) == ((), (), (), {})
    scores = np.ones((2, 1))
    assert inventories.forbid_unused("relation", scores, np.zeros(2, np.int64)).tolist() == [
        [1],
        [1],
    ]


def test_fields_of_a_newer_version_are_passed_over() -> None:
    assert Inventories.from_json({**OLD, "senses": ["x"]}) == Inventories.from_json(OLD)


def test_every_named_output_has_its_inventory_and_its_place_in_a_parse() -> None:
    for output in NAMED_OUTPUTS:
        assert isinstance(getattr(FULL, output.names), tuple)
        assert output.name == "label" or hasattr(Parse, output.names)
    assert len({output.name for output in OUTPUTS}) == len(OUTPUTS)


def test_what_a_style_does_not_use_is_forbidden_in_its_rows_alone() -> None:
    scores = FULL.forbid_unused("relation", np.zeros((3, 3)), np.asarray([1, 0, 1]))
    assert np.isinf(scores).tolist() == [
        [True, True, False],
        [False, False, True],
        [True, True, False],
    ]


def test_scores_that_are_nan_choose_no_name() -> None:
    """The place of the NaN was taken for the best name."""
    scores = np.zeros((2, 3))
    scores[1, 2] = np.nan
    with pytest.raises(
        ScoreError, match="the model's scores of 'relation' are NaN: its weights are damaged"
    ):
        FULL.forbid_unused("relation", scores, np.zeros(2, np.int64))


class Loud:
    """A scorer that always prefers the names with the greatest numbers."""

    outputs = frozenset({"label", "relation"})

    def label(
        self, hidden: object, nodes: list[np.ndarray], words: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        return (
            np.tile(np.arange(3.0), (len(nodes[0]), 1)),
            np.tile(np.arange(3.0), (len(words[0]), 1)),
        )


def test_names_that_a_style_does_not_use_are_never_predicted() -> None:
    """Sentences of several styles share a batch; labels follow the style of constituents, all else the other's."""
    styles = [Style(0, 0), Style(1, 1), Style(0, 1), Style(1, 0)]
    spans = np.asarray([[0, 2, 2], [0, 1, 1], [1, 2, 2]])
    decoded = Decoded(np.asarray([[0, 2, 0]] * 4), [spans] * 4, np.zeros(4))
    up = np.tile(np.arange(2.0), (4, 4, 1))
    scores = Scores(hidden=None, words={"tag": up, "lemma": up.copy()})
    model = ParserModel([Loud()], None, FULL, decoder=lambda scores, lengths: decoded)  # type: ignore
    encoded = [EncodedSentence(("a", "b"), None, 2, (), style) for style in styles]
    charts = Charts(model, encoded, [PLAIN] * 4, [scores])
    for style, prediction in zip(styles, best(charts), strict=True):
        assert prediction.relations is not None and prediction.nodes is not None
        assert set(prediction.nodes[:, 3].tolist()) == {2 - style.constituency}
        assert set(prediction.relations.tolist()) == {1 + style.dependency}
        assert (
            set(prediction.words["tag"].tolist())
            == set(prediction.words["lemma"].tolist())
            == {style.dependency}
        )
