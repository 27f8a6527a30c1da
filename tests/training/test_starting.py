"""Training that starts from a model: what it knows keeps its weights, what is new is added."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import arcspan
from arcspan.errors import ConfigError
from arcspan.parser import MODELS
from arcspan.prediction.outputs import Inventories, Style
from arcspan.runtime.bundle import read_bundle, update_bundle
from arcspan.training import read_config, train
from arcspan.training.checkpoint import load_parts
from arcspan.training.export import export
from arcspan.training.starting import extended, load_start
from arcspan.treebanks import Pair
from arcspan.trees import ConstituencyTree
from tests.toy import toy_pairs, write_toy
from tests.training.test_pretrained import small_bert
from tests.training.test_training import configure


def quietly(path: Path) -> Any:
    return train(read_config(path), say=lambda line: None, bars=False)


def renamed(pairs: list[Pair], old: str, new: str) -> list[Pair]:
    return [
        Pair(
            ConstituencyTree(
                c.words, c.tags, [(i, j, new if label == old else label) for i, j, label in c.spans]
            ),
            d,
        )
        for c, d in pairs
    ]


@pytest.mark.parametrize("labeller", ["mlp", "biaffine"])
def test_the_weights_of_a_bundle_are_those_of_its_run(tmp_path: Path, labeller: str) -> None:
    path = configure(
        tmp_path,
        toy_pairs(6),
        encoder__kind="pretrained",
        encoder__path=str(small_bert(tmp_path / "bert")),
        encoder__layers=2,
        encoder__shapes=True,
        model__labeller=labeller,
        model__separate_hooked=labeller == "mlp",
        model__intermediate="parent" if labeller == "biaffine" else "empty",
        training__epochs=3,  # until no two biases are the same zeros, which the exporter keeps once
        training__batch_pieces=30,
    )
    quietly(path)
    bundle = export(tmp_path / "run", tmp_path / "bundle", precision="fp32")
    run, own = load_start(str(tmp_path / "run")), load_start(str(bundle))
    assert replace(own.encoder, path="") == replace(run.encoder, path="")
    assert own.inventories == run.inventories
    expected, found = run.models["both"].state_dict(), own.models["both"].state_dict()
    assert expected.keys() == found.keys()
    for name, weight in expected.items():
        if name == "encoder.mix.weights":  # known up to a constant
            weight, found[name] = weight.softmax(0), found[name].softmax(0)
        torch.testing.assert_close(found[name], weight, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("intermediate", ["empty", "parent"])
def test_a_run_continues_on_another_treebank_with_new_labels_and_words(
    tmp_path: Path, intermediate: str
) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    quietly(
        configure(
            tmp_path / "first", toy_pairs(10), training__epochs=12, model__intermediate=intermediate
        )
    )
    other = renamed(toy_pairs(6, seed=5), "ADVP", "NEW")
    # One small step: the new treebank cannot be learnt by it from nothing.
    changes = {"training__epochs": 1, "training__rate": 1e-5, "model__span_size": 7}
    start = str(tmp_path / "first" / "run")
    result = quietly(configure(tmp_path / "second", other, model__start=start, **changes))
    assert result["dev"]["las"] > 60
    before, after = (load_parts(tmp_path / name / "run")["both"] for name in ("first", "second"))
    assert after[0].settings.span_size == before[0].settings.span_size
    known = before[0].inventories.labels
    assert after[0].inventories.labels[: len(known)] == known
    assert ("NEW",) in after[0].inventories.labels[len(known) :]
    assert after[0].intermediate == (
        *before[0].intermediate,
        *(["NEW"] if intermediate == "parent" else []),
    )
    old, new = (one[0].scorers["label"].weight for one in (before, after))
    moved = slice(
        len(after[0].inventories.labels), len(after[0].inventories.labels) + len(old) - len(known)
    )
    torch.testing.assert_close(new[: len(known)], old[: len(known)], atol=1e-3, rtol=0)
    torch.testing.assert_close(new[moved], old[len(known) :], atol=1e-3, rtol=0)
    assert after[1].words[: len(before[1].words)] == before[1].words  # type: ignore[union-attr]


def test_a_model_of_both_layers_stays_one_when_it_learns_from_dependencies_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    quietly(configure(tmp_path / "first", toy_pairs(6), training__epochs=2))
    conll = {"conll": str(tmp_path / "first" / "toy.conllu")}
    quietly(
        configure(
            tmp_path / "second",
            toy_pairs(6),
            data__train=[conll],
            model__start=str(tmp_path / "first" / "run"),
            training__epochs=1,
        )
    )
    (part,) = load_parts(tmp_path / "second" / "run")
    assert part == "both"


def test_names_keep_their_numbers_and_styles_use_their_own() -> None:
    old = Inventories(
        ((), ("NP",), ("VP",)),
        ("nsubj",),
        ("NN",),
        ("NOUN",),
        seen_lemmas={"NN": {"a": "=x", "b": "=x"}},
    )
    new = Inventories(((), ("NP",), ("XP",)), ("obj",), ("NN",), ("NOUN",), styles=("mine",))
    both = extended(old, replace(new, seen_lemmas={"NN": {"b": "=y"}, "VB": {"c": "=z"}}))
    assert both.seen_lemmas == {"NN": {"a": "=x", "b": "=y"}, "VB": {"c": "=z"}}
    assert both.labels == ((), ("NP",), ("VP",), ("XP",))
    assert both.styles == ("base", "mine")
    assert both.unused["label"] == (
        (3,),
        (),
    )  # a new style may use what the default one uses, and its own
    assert both.unused["relation"] == ((1,), ())
    assert extended(old, old) == old
    new = replace(new, lemmas=("=y",), seen_lemmas={"NN": {"b": "=y"}})
    assert extended(old, new, only_new=True).labels == ((), ("NP",), ("XP",))
    assert extended(old, new, only_new=True).seen_lemmas == {
        "NN": {"b": "=y"}
    }  # an address is not a lemma


def test_fewer_names_and_layers_keep_the_weights_of_what_stays(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    bert = {"encoder__kind": "pretrained", "encoder__path": str(small_bert(tmp_path / "bert"))}
    pairs = renamed(toy_pairs(1, seed=5), "ADVP", "RARE") + toy_pairs(8)
    quietly(configure(tmp_path / "first", pairs, **bert, training__epochs=1))
    changes = {
        "data__least": 2,
        "encoder__keep": 1,
        "training__rate": 1e-6,
        "training__encoder_rate": 0,
    }
    start = str(tmp_path / "first" / "run")
    quietly(
        configure(
            tmp_path / "second", toy_pairs(8), model__start=start, training__epochs=1, **changes
        )
    )
    before, after = (load_parts(tmp_path / name / "run")["both"][0] for name in ("first", "second"))
    assert ("RARE",) in before.inventories.labels and ("RARE",) not in after.inventories.labels
    weights = [model.state_dict() for model in (before, after)]
    layers = [len({name.split(".")[4] for name in one if ".layer." in name}) for one in weights]
    assert layers == [2, 1]
    for row, chain in enumerate(after.inventories.labels):
        old = weights[0]["scorers.label.weight"][before.inventories.labels.index(chain)]
        torch.testing.assert_close(weights[1]["scorers.label.weight"][row], old, atol=1e-4, rtol=0)


def test_what_cannot_be_started_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name a run, a bundle"):
        load_start(str(tmp_path / "nothing"))


def test_the_english_model_can_be_started_from() -> None:
    start = load_start("en")
    assert start.inventories.labels[0] == ()
    assert start.models["both"].encoder.size == 384
    assert start.inventories.seen_lemmas["NNS"]["1960's"]


@pytest.fixture(scope="module")
def styled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the styles a and b, of which b is the default, a licence, a calibration and a
    segmenter.
    """
    folder = tmp_path_factory.mktemp("styled")
    one, two = (
        write_toy(folder, "one", toy_pairs(6)),
        write_toy(folder, "two", toy_pairs(6, seed=5)),
    )
    path = configure(
        folder,
        toy_pairs(6),
        licence="CC BY-SA 4.0",
        language="en",
        styles={"mixed": ["b", "a"], "b": "b"},
        data__train=[{**one, "style": "a"}, {**two, "style": "b"}],
        encoder__kind="pretrained",
        encoder__path=str(small_bert(folder / "bert")),
        training__epochs=2,
    )
    quietly(path)
    (folder / "run" / "segmenter").mkdir()
    for name in ("segmenter.json", "segmenter.onnx"):
        shutil.copy2(MODELS / "en" / name, folder / "run" / "segmenter" / name)
    bundle = export(folder / "run", folder / "bundle")
    update_bundle(bundle, {"calibration": {"label_temperature": 2.0}})
    return bundle


@pytest.mark.parametrize("style", ["", "mine"])
def test_fine_tuning_keeps_the_model_and_says_what_it_does(
    styled: Path, tmp_path: Path, style: str
) -> None:
    """Sentences without a style were learnt in the first one by the alphabet; the default, the
    segmenter, the calibration and the licence were lost.
    """
    source = write_toy(tmp_path, "new", renamed(toy_pairs(6, seed=8), "ADVP", "NEW")) | (
        {"style": style} if style else {}
    )
    said: list[str] = []
    path = configure(
        tmp_path,
        toy_pairs(2),
        data__train=[source],
        data__dev=[source],
        model__start=str(styled),
        training__epochs=1,
        training__rate=1e-9,
        training__encoder_rate=0.0,
    )
    train(read_config(path), say=said.append, bars=False)
    assert any(line.startswith("before the first update: dev") for line in said)
    (model, *_) = load_parts(tmp_path / "run")["both"]
    styles = model.inventories.styles
    assert styles == ("a", "b", *([style] if style else []))
    base = load_start(str(styled)).models["both"]
    for layer, default in (("constituency", 1), ("dependency", 0)):
        old, new = (one.styles[layer].weight for one in (base, model))
        torch.testing.assert_close(new[:2], old, atol=1e-6, rtol=0)
        if style:
            torch.testing.assert_close(new[2], old[default], atol=1e-6, rtol=0)
    if style:
        assert "style mine: new; it starts as a copy of b and a and becomes the default" in said
        assert not any(model.inventories.unused[name][2] for name in ("label", "relation", "tag"))
    else:
        assert "treebanks without a style are learnt in the model's default one, b and a" in said
        new = model.inventories.labels.index(("NEW",))
        assert [new in own for own in model.inventories.unused["label"]] == [True, False]
    lines: list[str] = []
    parser = arcspan.load(export(tmp_path / "run", tmp_path / "bundle", say=lines.append))
    table = {"mixed": Style(1, 0), "b": Style(1, 1)}
    assert parser.predictor.model.styles == ({"mine": Style(2, 2)} if style else {}) | table
    config = read_bundle(tmp_path / "bundle")
    assert config["licence"] == "CC BY-SA 4.0" and config["calibration"] == {
        "label_temperature": 2.0
    }
    assert (tmp_path / "bundle" / "segmenter.json").is_file()
    assert "temperatures of probabilities: the base's; fit them anew with --calibrate" in lines
    assert "licence: CC BY-SA 4.0, the base's" in lines


def test_a_segmenter_of_another_language_is_not_carried_over(
    styled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_graph(graph: Any, arrays: Any, path: Path, *how: Any) -> dict[str, Any]:
        path.touch()  # graphs take seconds to trace, and nobody reads them here
        return {}

    monkeypatch.setattr("arcspan.training.export._to_onnx", no_graph)
    path = configure(
        tmp_path, toy_pairs(2), language="de", model__start=str(styled), training__epochs=1
    )
    quietly(path)
    lines: list[str] = []
    export(tmp_path / "run", tmp_path / "bundle", say=lines.append)
    assert not (tmp_path / "bundle" / "segmenter.json").exists()
    assert any(line.startswith("no segmenter") for line in lines)
