"""Checkpoints: what is written is read again, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from arcspan.errors import BundleError, ConfigError
from arcspan.neural.model_settings import EncoderSettings, ModelSettings
from arcspan.prediction.inputs import WordInputs
from arcspan.prediction.outputs import Inventories
from arcspan.training.checkpoint import Checkpoint, build, load_model, load_parts, model_texts

ENCODER = EncoderSettings(
    kind="lstm", word_size=4, character_size=4, character_filters=4, hidden_size=4, depth=1
)
SMALL = ModelSettings(
    span_size=4, arc_size=4, headed_size=4, label_size=4, relation_size=4, tag_size=4
)
KNOWN = Inventories(((), ("NP",)), ("nsubj", "root"), ("NN",), ("NOUN",), styles=("a", "b"))
INPUTS = WordInputs(["logic", "plays"], list("logicpays"))


def save(folder: Path, part: str = "both") -> dict[str, torch.Tensor]:
    """A random model as the best of a run; its weights."""
    model = build(part, SMALL, ENCODER, None, KNOWN, INPUTS)
    texts = model_texts(model, ENCODER, INPUTS)
    Checkpoint(folder).write(
        "best", "models/000001", {"model": model.state_dict()}, texts, {"step": 1}
    )
    return model.state_dict()


def test_a_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    weights = save(tmp_path)
    folder, state = Checkpoint(tmp_path).open("best")
    model, inputs, _ = load_model(folder)
    assert state == {"step": 1}
    assert not model.training
    assert model.inventories == KNOWN
    assert isinstance(inputs, WordInputs)
    assert inputs.words == INPUTS.words
    assert all(torch.equal(model.state_dict()[name], weight) for name, weight in weights.items())


def test_a_pointer_moves_to_the_newer_folder_and_the_older_is_removed(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    for step in (1, 2):
        checkpoint.write(
            "last", f"steps/{step}", {"model": {"a": torch.full((2,), step)}}, {}, {"step": step}
        )
    folder, state = checkpoint.open("last")
    assert state == {"step": 2}
    assert [entry.name for entry in folder.parent.iterdir()] == ["2"]


def test_a_pointer_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    with pytest.raises(BundleError, match=r"no last\.json"):
        checkpoint.open("last")
    (tmp_path / "last.json").write_text("{")
    with pytest.raises(BundleError, match="not a checkpoint's pointer"):
        checkpoint.open("last")
    (tmp_path / "last.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(BundleError, match="format 99"):
        checkpoint.open("last")


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    save(tmp_path)
    (tmp_path / "models" / "000001" / "model.json").unlink()
    with pytest.raises(BundleError, match=r"model\.json: missing"):
        Checkpoint(tmp_path).open("best")


def test_the_two_models_of_sep_are_found_and_half_a_parser_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "constituency", "constituency")
    with pytest.raises(ConfigError, match="only one half of the SEP parser"):
        load_parts(tmp_path)
    save(tmp_path / "dependency", "dependency")
    assert list(load_parts(tmp_path)) == ["constituency", "dependency"]


def test_a_parser_of_one_layer_is_a_whole_one(tmp_path: Path) -> None:
    save(tmp_path, "dependency")
    assert list(load_parts(tmp_path)) == ["dependency"]
