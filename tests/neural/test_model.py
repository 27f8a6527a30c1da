"""The model: which scorers a system and a part have, and what styles change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from arcspan.neural.encoder import LstmEncoder
from arcspan.neural.model import Model
from arcspan.neural.model_settings import EncoderSettings, ModelSettings
from arcspan.prediction.inputs import WordInputs
from arcspan.prediction.outputs import Inventories

ENCODER = EncoderSettings(
    kind="lstm", word_size=4, character_size=4, character_filters=4, hidden_size=4, depth=1
)
SMALL = ModelSettings(
    span_size=4, arc_size=4, headed_size=4, label_size=4, relation_size=4, tag_size=4
)
KNOWN = Inventories(((), ("NP",)), ("nsubj", "root"), ("NN",), ("NOUN",))
INPUTS = WordInputs(["logic", "plays"], list("logicpays"))
TREES, ARCS, WORDS = {"span", "label"}, {"arc", "relation"}, {"tag", "upos"}


def small_model(
    settings: ModelSettings = SMALL, inventories: Inventories = KNOWN, part: str = "both"
) -> Model:
    torch.manual_seed(1)
    special = WordInputs.special
    encoder = LstmEncoder(ENCODER, len(INPUTS.words) + special, len(INPUTS.characters) + special)
    model = Model(settings, encoder, inventories, part)
    for parameter in model.scorers.parameters():
        torch.nn.init.normal_(parameter)
    return model.eval()


@pytest.mark.parametrize(
    ("system", "part", "outputs"),
    [
        ("joint2o", "both", TREES | ARCS | WORDS | {"headed"}),
        ("joint1o", "both", TREES | ARCS | WORDS),
        ("mtl", "both", TREES | ARCS | WORDS),
        ("sep", "constituency", TREES | WORDS),
        ("sep", "dependency", ARCS | WORDS),
        ("joint2o", "dependency", ARCS | WORDS),
    ],
)
def test_a_model_scores_what_its_system_and_part_have(
    system: str, part: str, outputs: set[str]
) -> None:
    assert small_model(replace(SMALL, system=system), part=part).outputs == outputs


def test_what_is_said_of_words_depends_on_inventories_and_settings() -> None:
    rich = replace(KNOWN, lemmas=("=",), features=("_",))
    assert {"lemma", "feature"} <= small_model(inventories=rich).outputs
    assert not {"lemma", "feature"} & small_model(replace(SMALL, rows=False), rich).outputs
    assert not {"tag", "upos"} & small_model(replace(SMALL, tags=False), rich).outputs


def test_scores_have_the_shapes_that_the_search_reads() -> None:
    model = small_model()
    scores = model.score(INPUTS.batch(INPUTS.prepare([["logic", "plays"], ["plays"]])))
    assert scores.span.shape == scores.arc.shape == (2, 3, 3)
    assert scores.headed.shape == (2, 3, 3)
    assert scores.words["tag"].shape == (2, 4, 1)
    positions = [np.zeros(2, np.int64), np.asarray([0, 1]), np.asarray([1, 2])]
    labels, relations = model.label(scores.hidden, positions, positions)
    assert labels is not None
    assert relations is not None
    assert (labels.shape, relations.shape) == ((2, 2), (2, 2))


def test_a_style_changes_the_layer_it_is_of() -> None:
    model = small_model(inventories=replace(KNOWN, styles=("a", "b")))
    torch.nn.init.normal_(model.styles["constituency"].weight)
    torch.nn.init.normal_(model.styles["dependency"].weight)
    arrays = INPUTS.batch(INPUTS.prepare([["logic", "plays"]]))
    plain, trees, arcs = (
        model.score({**arrays, "styles": np.asarray([style])}) for style in ((0, 0), (1, 0), (0, 1))
    )
    assert not np.allclose(plain.span, trees.span)
    np.testing.assert_array_equal(plain.arc, trees.arc)
    np.testing.assert_array_equal(plain.span, arcs.span)
    assert not np.allclose(plain.arc, arcs.arc)


def test_a_model_that_is_being_trained_does_not_predict() -> None:
    with pytest.raises(RuntimeError, match="training mode"):
        small_model().train().score(INPUTS.batch(INPUTS.prepare([["logic"]])))


def test_labels_of_intermediate_nodes_are_seen_in_training_only() -> None:
    inventories = replace(KNOWN, labels=((), ("NP",), ("S", "VP"), ("VP",)))
    model = small_model(replace(SMALL, intermediate="parent"), inventories)
    assert model.intermediate == ("NP", "VP")
    hidden = model.add_styles(torch.randn(1, 4, model.encoder.size), None)
    positions = [torch.zeros(3, dtype=torch.long), torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2])]
    raw = model.label_scores(hidden, positions, positions, folded=False)["label"]
    shown, _ = model.label(
        hidden,
        [position.numpy() for position in positions],
        [position.numpy() for position in positions],
    )
    assert raw.shape == (3, 6)
    np.testing.assert_array_equal(shown[:, 1:], raw[:, 1:4].detach())
    np.testing.assert_array_equal(shown[:, 0], raw[:, [0, 4, 5]].detach().amax(1))
