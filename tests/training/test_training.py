"""Training from end to end on a toy treebank: all four systems, resumption, export, bad
configurations.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import accelerate
import numpy as np
import onnxruntime
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file

from arcspan import load
from arcspan.cli import run
from arcspan.errors import ArcspanError, BundleError, ConfigError
from arcspan.evaluation import evaluate
from arcspan.runtime.bundle import read_bundle
from arcspan.training import predict_pairs, read_config, train
from arcspan.training.checkpoint import Checkpoint, load_parts
from arcspan.training.config import document, recipes
from arcspan.training.export import ScoreGraph, export
from arcspan.training.run import read_data
from arcspan.training.trainer import Trainer, repeatable
from arcspan.treebanks import Pair, write_pairs
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree
from tests.toy import toy_pairs, write_toy

SYSTEMS = ("sep", "mtl", "joint1o", "joint2o")


def configure(folder: Path, pairs: list[Pair], **changes: Any) -> Path:
    """A small LSTM parser on these pairs, dev the same; changes as section__field=value."""
    source = write_toy(folder, "toy", pairs)
    sections: dict[str, dict[str, Any]] = {
        "": {"output": str(folder / "run"), "seed": 3},
        "data": {"train": [source], "dev": [source]},
        "encoder": {
            "kind": "lstm",
            "word_size": 32,
            "character_size": 16,
            "character_filters": 16,
            "hidden_size": 48,
            "depth": 1,
            "lstm_dropout": 0.0,
            "dropout": 0.0,
            "word_dropout": 0.0,
            "least_count": 1,
        },
        "model": {
            "system": "joint2o",
            "span_size": 48,
            "arc_size": 48,
            "headed_size": 32,
            "label_size": 32,
            "relation_size": 32,
            "tag_size": 32,
            "mlp_dropout": 0.0,
        },
        "training": {"epochs": 3, "batch_pieces": 60, "rate": 5e-3, "beta2": 0.95},
    }
    for name, value in changes.items():
        section, _, field = name.rpartition("__")
        sections[section][field] = value
    path = folder / "config.toml"
    path.write_text(
        "".join(_section(name, fields) for name, fields in sections.items()), encoding="utf-8"
    )
    return path


def _section(name: str, fields: dict[str, Any]) -> str:
    lines = [f"[{name}]"] if name else []
    return (
        "\n".join([*lines, *(f"{field} = {_toml(value)}" for field, value in fields.items())])
        + "\n"
    )


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(own)}" for name, own in value.items()) + "}"
    return json.dumps(value)


def weights(run_folder: Path) -> dict[str, torch.Tensor]:
    folder, _ = Checkpoint(run_folder).open("last")
    return load_file(folder / "model.safetensors")


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_system_learns_thirty_sentences_by_heart(tmp_path: Path, system: str) -> None:
    pairs = toy_pairs(30)
    config = read_config(
        configure(tmp_path, pairs, model__system=system, training__epochs=25, training__average=0.5)
    )
    result = train(config, say=lambda line: None, bars=False)
    assert result["dev"]["las"] == 100
    assert result["dev"]["f1"] == 100
    assert result["dev"]["tag_accuracy"] > 95
    if system != "sep":
        assert result["dev"]["compatible"] == 100


def test_the_crf_loss_and_the_biaffine_labeller_learn_too(tmp_path: Path) -> None:
    pairs = toy_pairs(12)
    config = read_config(
        configure(
            tmp_path, pairs, model__loss="crf", model__labeller="biaffine", training__epochs=25
        )
    )
    result = train(config, say=lambda line: None, bars=False)
    assert result["dev"]["las"] > 95
    assert result["dev"]["f1"] > 95


def test_incompatible_sentences_are_dropped_or_kept_and_counted(tmp_path: Path) -> None:
    pairs = toy_pairs(8)
    constituency, dependencies = pairs[0]
    # The determiner attaches to the verb, over the head of its own noun phrase.
    verb = next(m for m, relation in enumerate(dependencies.relations, 1) if relation == "root")
    odd = next(
        m
        for m, relation in enumerate(dependencies.relations, 1)
        if relation not in ("root", "punct") and dependencies.heads[m - 1] != verb
    )
    heads = list(dependencies.heads)
    heads[odd - 1] = verb
    broken = DependencyTree(
        heads,
        dependencies.relations,
        words=dependencies.words,
        tags=dependencies.tags,
        upos=dependencies.upos,
    )
    assert not LexicalTree.compatible(constituency, broken)
    mixed = [Pair(constituency, broken), *pairs[1:]]
    for choice, kept in (("drop", 7), ("separate", 8)):
        folder = tmp_path / choice
        folder.mkdir()
        said: list[str] = []
        config = read_config(
            configure(folder, mixed, data__incompatible=choice, training__epochs=1)
        )
        train(config, say=said.append, bars=False)
        assert f"{kept} sentences" in said[0]
        assert "1 incompatible" in said[0]
        assert ("dropped" if choice == "drop" else "kept") in said[0]


def test_a_run_resumed_after_every_epoch_ends_with_the_same_weights(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    pairs = toy_pairs(10)
    changes = {
        "training__average": 0.9,
        "training__checkpoint_minutes": 0,  # after every update
        "encoder__word_dropout": 0.3,
    }
    train(
        read_config(configure(tmp_path / "whole", pairs, **changes)),
        say=lambda line: None,
        bars=False,
    )
    (tmp_path / "killed").mkdir()
    path = configure(tmp_path / "killed", pairs, **changes)
    script = (
        "import os, signal, sys\n"
        "from arcspan.training import read_config, run, trainer\n"
        "updates, update = [0], trainer.Trainer._update\n"
        "def counted(self, batches):\n"
        "    updates[0] += 1\n"
        "    if updates[0] > int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return update(self, batches)\n"
        "trainer.Trainer._update = counted\n"
        "run.train(read_config(sys.argv[1]), resume=True, say=lambda line: None, bars=False)\n"
    )
    environment = dict(os.environ)
    codes = []
    for survives in (2, 3, 1000):
        done = subprocess.run(
            [sys.executable, "-c", script, str(path), str(survives)], env=environment, check=False
        )
        codes.append(done.returncode)
    assert codes == [-signal.SIGKILL, -signal.SIGKILL, 0]
    first, second = weights(tmp_path / "whole" / "run"), weights(tmp_path / "killed" / "run")
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_damaged_checkpoint_is_refused_by_name(tmp_path: Path) -> None:
    path = configure(tmp_path, toy_pairs(4), training__epochs=1)
    train(read_config(path), say=lambda line: None, bars=False)
    (tmp_path / "run" / "result.json").unlink()
    folder, _ = Checkpoint(tmp_path / "run").open("last")
    model = folder / "model.safetensors"
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    model.write_bytes(bytes(data))
    with pytest.raises(BundleError, match=r"model\.safetensors: damaged"):
        train(read_config(path), resume=True, say=lambda line: None, bars=False)


def test_a_failed_write_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write("last", "steps/000001", {"model": {"a": torch.ones(2)}}, {}, {"step": 1})

    class Full(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        checkpoint.write(
            "last", "steps/000002", {"model": {"a": torch.zeros(2)}}, Full(), {"step": 2}
        )
    folder, state = checkpoint.open("last")
    assert state == {"step": 1}
    assert [entry.name for entry in folder.parent.iterdir()] == ["000001"]


def test_every_write_has_a_folder_of_its_own(tmp_path: Path) -> None:
    # A timed save and the one at the end of an epoch have the same step: the second must not begin
    # by removing what last.json names.
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write("last", "steps/000001", {"model": {"a": torch.ones(2)}}, {}, {"epoch": 0})
    first, _ = checkpoint.open("last")
    checkpoint.write("last", "steps/000001", {"model": {"a": torch.ones(2)}}, {}, {"epoch": 1})
    second, state = checkpoint.open("last")
    assert second != first
    assert state == {"epoch": 1}
    assert list(first.parent.iterdir()) == [second]


def test_a_changed_pointer_or_log_is_refused(tmp_path: Path) -> None:
    """Only the files that pointers name had checksums."""
    path = configure(tmp_path, toy_pairs(4), training__epochs=1)
    train(read_config(path), say=lambda line: None, bars=False)
    (tmp_path / "run" / "result.json").unlink()
    for name, before, after in (
        ("last.json", '"step": ', '"step": 1'),
        ("log.jsonl", '"loss": ', '"loss": 1'),
    ):
        file = tmp_path / "run" / name
        text = file.read_text()
        file.write_text(text.replace(before, after))
        with pytest.raises(BundleError, match=rf"{name}: damaged"):
            train(read_config(path), resume=True, say=lambda line: None, bars=False)
        file.write_text(text)
    best = tmp_path / "run" / "best.json"
    best.write_text(best.read_text().replace('"epoch": 1', '"epoch": 2'))
    with pytest.raises(BundleError, match=r"best\.json: damaged"):
        load_parts(tmp_path / "run")


def test_with_several_threads_gradients_are_added_up_in_one_order(tmp_path: Path) -> None:
    # The gradient of x[index], for words of several pieces and for labels at nodes, made each run
    # another model.
    seen: set[bool] = set()
    config = read_config(configure(tmp_path, toy_pairs(2), training__epochs=1))
    train(
        config, say=lambda line: seen.add(torch.are_deterministic_algorithms_enabled()), bars=False
    )
    assert True in seen
    assert not torch.are_deterministic_algorithms_enabled()
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.manual_seed(0)
    x, index, factors = torch.randn(200, 64), torch.randint(0, 200, (8000,)), torch.randn(8000, 64)
    gradients = set()
    try:
        with repeatable(torch.device("cpu")):
            for _ in range(10):
                own = x.clone().requires_grad_()
                (own[index] * factors).square().sum().backward()
                gradients.add(own.grad.numpy().tobytes())
    finally:
        torch.set_num_threads(threads)
    assert len(gradients) == 1


def test_the_average_is_made_where_the_weights_were_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a copy of weights that were not on their device yet."""
    config = read_config(
        configure(tmp_path, toy_pairs(2), training__average=0.5, training__epochs=1)
    )
    accelerator = Accelerator()
    monkeypatch.setattr(
        accelerator, "prepare", lambda step, optimizer: (step.to("meta"), optimizer)
    )
    data = read_data(config, lambda line: None)
    trainer = Trainer("both", data, tmp_path, accelerator, lambda line: None, False)
    trainer.epoch = config.training.epochs  # nothing is left to learn
    trainer.run(resume=False)
    assert trainer.average is not None
    assert {value.device.type for value in trainer.average.weights.values()} == {"meta"}


def test_predictions_are_made_where_training_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models of a run parsed on the processor, whatever they were trained on."""
    train(
        read_config(configure(tmp_path, toy_pairs(2), training__epochs=1)),
        say=lambda line: None,
        bars=False,
    )
    placed: list[str] = []
    monkeypatch.setattr(
        accelerate, "PartialState", lambda: SimpleNamespace(device=torch.device("meta"))
    )
    monkeypatch.setattr(
        "arcspan.training.run.predict_gold",
        lambda models, *given, **options: placed.extend(model.device.type for model in models),
    )
    predict_pairs(tmp_path / "run", toy_pairs(2))
    assert placed == ["meta"]


def test_precision_and_rates_may_change_on_resume_but_not_what_is_learnt(tmp_path: Path) -> None:
    path = configure(tmp_path, toy_pairs(4), training__epochs=1)
    train(read_config(path), say=lambda line: None, bars=False)
    said: list[str] = []
    changed = read_config(path, ["training.precision=fp32", "training.rate=0.001"])
    with pytest.raises(
        ConfigError, match=r"changed: training\.precision, training\.rate"
    ):  # it is complete
        train(changed, resume=True, say=said.append, bars=False)
    (tmp_path / "run" / "result.json").unlink()
    train(changed, resume=True, say=said.append, bars=False)
    assert "resuming with other settings than before: training.precision, training.rate" in said
    with pytest.raises(ConfigError, match=r"changed: model\.arc_size"):
        train(
            read_config(path, ["model.arc_size=32"]), resume=True, say=lambda line: None, bars=False
        )


def test_a_run_of_a_version_without_some_setting_is_resumed_with_its_default(
    tmp_path: Path,
) -> None:
    path = configure(tmp_path, toy_pairs(4), training__epochs=1)
    train(read_config(path), say=lambda line: None, bars=False)
    kept = tmp_path / "run" / "config.json"
    before = json.loads(kept.read_text())
    del before["model"]["intermediate"]
    kept.write_text(json.dumps(before))
    with pytest.raises(ConfigError, match=r"changed: model\.intermediate"):
        other = read_config(path, ["model.intermediate=parent"])
        train(other, resume=True, say=lambda line: None, bars=False)
    train(read_config(path), resume=True, say=lambda line: None, bars=False)


def test_a_finished_run_is_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = configure(tmp_path, toy_pairs(4), training__epochs=1)
    result = train(read_config(path), say=lambda line: None, bars=False)
    monkeypatch.setattr(
        "arcspan.training.run.read_data", lambda *given: pytest.fail("data was read")
    )
    said: list[str] = []
    assert train(read_config(path), resume=True, say=said.append, bars=False) == result
    assert said == [f"{tmp_path / 'run'}: this run is finished"]


def test_a_run_is_not_resumed_on_changed_data(tmp_path: Path) -> None:
    """It went on without a word, or failed with a size mismatch."""
    path = configure(tmp_path, toy_pairs(4), training__epochs=1)
    train(read_config(path), say=lambda line: None, bars=False)
    (tmp_path / "run" / "result.json").unlink()
    train(read_config(path), resume=True, say=lambda line: None, bars=False)
    (tmp_path / "run" / "result.json").unlink()
    text = (tmp_path / "toy.conllu").read_text(encoding="utf-8")
    (tmp_path / "toy.conllu").write_text(text.replace("nsubj", "subj", 1), encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"cannot resume with other data than before; changed: .*toy\.conllu"
    ):
        train(read_config(path), resume=True, say=lambda line: None, bars=False)


def test_the_bars_show_the_loss_updates_per_second_and_dev(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = configure(tmp_path, toy_pairs(4), training__epochs=1)
    train(read_config(path), say=lambda line: None, bars=True)
    shown = capsys.readouterr().err
    assert re.search(r"epoch 1/1: 100%.* updates/s, loss=\d", shown)
    assert re.search(r"dev: 100%.* 4/4 .* sentences/s", shown)
    assert "s/ updates" not in shown


def test_a_run_is_not_trained_over(tmp_path: Path) -> None:
    path = configure(tmp_path, toy_pairs(4), training__epochs=1)
    train(read_config(path), say=lambda line: None, bars=False)
    with pytest.raises(ConfigError, match="--resume"):
        train(read_config(path), say=lambda line: None, bars=False)
    with pytest.raises(ConfigError, match=r"changed: training\.rate"):
        train(
            read_config(path, ["training.rate=0.001"]),
            resume=True,
            say=lambda line: None,
            bars=False,
        )


@pytest.mark.parametrize("system", ["sep", "joint2o"])
def test_a_bundle_scores_as_the_torch_model_does(tmp_path: Path, system: str) -> None:
    pairs = toy_pairs(12)
    config = read_config(configure(tmp_path, pairs, model__system=system, training__epochs=2))
    train(config, say=lambda line: None, bars=False)
    bundle = export(tmp_path / "run", tmp_path / "bundle", precision="fp32")
    with pytest.raises(BundleError, match=r"a bundle is already here; .* \(--replace\)"):
        export(tmp_path / "run", tmp_path / "bundle")
    description = read_bundle(bundle)
    assert description["system"] == system
    for component in description["components"]:
        model, inputs, _, _ = load_parts(tmp_path / "run")[component["part"]]
        graph = ScoreGraph(model).eval()
        session = onnxruntime.InferenceSession(str(bundle / component["score"]))
        for sentences in (
            [pair.dependencies.words for pair in pairs],
            [("word",)],
            [("the", "role") * 30],
        ):
            arrays = inputs.batch(inputs.prepare(sentences))
            positions = max(map(len, sentences)) + 1
            arrays["pair_i"], arrays["pair_j"] = np.triu_indices(positions, 1)
            given = {name: arrays[name] for name in graph.input_names}
            with torch.no_grad():
                expected = graph(*(torch.from_numpy(np.asarray(array)) for array in given.values()))
            for got, wanted in zip(session.run(None, given), expected, strict=True):
                np.testing.assert_allclose(got, wanted.numpy(), atol=1e-4)


@pytest.mark.parametrize(
    ("intermediate", "changes"),
    [
        ("empty", {}),
        ("parent", {}),
        ("parent", {"data__binarization": "hidden"}),
        ("parent", {"model__system": "sep"}),
    ],
)
def test_nodes_that_are_not_constituents_have_one_label_or_their_parents(
    tmp_path: Path, intermediate: str, changes: dict[str, Any]
) -> None:
    pairs = toy_pairs(12)
    path = configure(
        tmp_path, pairs, model__intermediate=intermediate, training__epochs=10, **changes
    )
    result = train(read_config(path), say=lambda line: None, bars=False)
    assert result["dev"]["f1"] > 60
    parts = load_parts(tmp_path / "run")
    model = next(part[0] for part in parts.values() if "label" in part[0].outputs)
    labels = {label for c, _ in pairs for _, _, label in c.spans}
    assert set(model.intermediate) == (labels - {"TOP"} if intermediate == "parent" else set())
    trees = [tree for tree, _ in predict_pairs(tmp_path / "run", pairs)]
    assert {label for tree in trees for _, _, label in tree.spans} <= labels
    if intermediate == "empty" or "data__binarization" in changes:
        return  # their bundles are those of other tests, and take seconds to make
    parser = load(export(tmp_path / "run", tmp_path / "bundle", precision="fp32"))
    assert trees == [parser.parse(tree.words).constituency for tree in trees]
    best = parser.parse(trees[0].words, k=3) if "both" in parts else []
    assert {label for parse in best for _, _, label in parse.constituency.spans} <= labels


def test_gold_tags_are_read_where_the_model_asks_for_them(tmp_path: Path) -> None:
    pairs = toy_pairs(10)
    config = read_config(
        configure(tmp_path, pairs, model__gold_tags=True, model__tags=False, training__epochs=12)
    )
    train(config, say=lambda line: None, bars=False)
    right = evaluate(pairs, predict_pairs(tmp_path / "run", pairs), tags="gold")
    misread = [Pair(ConstituencyTree(c.words, ["NN"] * len(c.words), c.spans), d) for c, d in pairs]
    wrong = evaluate(pairs, predict_pairs(tmp_path / "run", misread), tags="gold")
    assert right.las > wrong.las


def test_a_punctuation_rule_that_fits_no_word_of_dev_is_reported(tmp_path: Path) -> None:
    path = configure(tmp_path, toy_pairs(6), training__epochs=1)
    for rule, notes in (("ptb", 0), ("ctb", 1)):
        said: list[str] = []
        config = read_config(
            path, [f'training.punctuation="{rule}"', f'output="{tmp_path / rule}"']
        )
        train(config, say=said.append, bars=False)
        assert sum(f"the punctuation rule {rule!r} fits no word" in line for line in said) == notes


@pytest.mark.parametrize(
    ("name", "full_stop", "noted"), [("ptb", ".", False), ("ctb", "PU", False), ("ptb", "PU", True)]
)
def test_the_papers_recipes_leave_out_the_punctuation_of_their_treebanks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, full_stop: str, noted: bool
) -> None:
    """That of CTB had the tags of PTB, so that nothing was left out."""
    monkeypatch.setenv("ARCSPAN_TREEBANKS", str(tmp_path))
    tree = ConstituencyTree(["a", "."], ["NN", full_stop], [(0, 2, "S")])
    pair = Pair(tree, DependencyTree([0, 1], ["root", "punct"], tree.words, tree.tags))
    (tmp_path / name).mkdir()
    for split in ("train", "dev", "test"):
        write_pairs([pair], tmp_path / name / f"{split}.ptb", tmp_path / name / f"{split}.conllu")
    rule: Any = read_config(f"paper-{name}").training.punctuation
    notes = evaluate([pair], [pair], punctuation=rule).notes
    assert any("fits no word" in note for note in notes) == noted


def test_labels_that_occur_only_in_dev_are_reported(tmp_path: Path) -> None:
    pairs = toy_pairs(6)
    odd = toy_pairs(1, seed=9)[0]
    spans = [(i, j, "WEIRD" if label == "VP" else label) for i, j, label in odd.constituency.spans]
    relations = [
        "strange" if relation == "nsubj" else relation for relation in odd.dependencies.relations
    ]
    words, tags = odd.constituency.words, odd.constituency.tags
    dev = Pair(
        ConstituencyTree(words, tags, spans),
        DependencyTree(odd.dependencies.heads, relations, words=words, tags=tags),
    )
    path = configure(tmp_path, pairs, training__epochs=1)
    source = write_toy(tmp_path, "dev", [dev])
    said: list[str] = []
    config = read_config(
        path,
        [
            f"data.dev=[{{brackets={json.dumps(source['brackets'])}, conll={json.dumps(source['conll'])}}}]"
        ],
    )
    train(config, say=said.append, bars=False)
    assert any("labels only in dev" in line and "WEIRD" in line for line in said)
    assert any("relations only in dev" in line and "strange" in line for line in said)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.rate=5", "training.rate should be a number, above 0, at most 0.1, not 5"),
        ("training.rate=0.0", "above 0, at most 0.1, not 0.0"),
        ("training.epoch=3", "did you mean training.epochs"),
        ("model.system=hpsg", "one of sep, mtl, joint1o, joint2o"),
        ("training.epochs=many", "should be a whole number"),
        ("data.binarization=left", "searches l-trees"),
        ("encoder.kind=pretrained", "encoder.path is missing"),
        ("encoder", "write key=value"),
        ("data.train=[]", "data.train names no treebank"),
        ("model.span_size=0", "at least 1"),
    ],
)
def test_a_bad_configuration_is_refused_before_training(
    tmp_path: Path, override: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = configure(tmp_path, toy_pairs(3))
    assert run(["train", str(path), "--set", override]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_wrong_paths_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capsys.readouterr().err
    path = configure(tmp_path, toy_pairs(3))
    (tmp_path / "toy.ptb").unlink()
    assert run(["train", str(path)]) == 2
    assert "toy.ptb: no such file" in capsys.readouterr().err
    assert run(["export", str(tmp_path), str(tmp_path / "bundle")]) == 2
    assert "best.json" in capsys.readouterr().err


@pytest.mark.parametrize("empty", ["brackets", "both", "misaligned"])
def test_bad_data_is_refused_with_its_place(tmp_path: Path, empty: str) -> None:
    path = configure(tmp_path, toy_pairs(3))
    if empty == "misaligned":
        write_pairs(toy_pairs(3, seed=8), tmp_path / "other.ptb", tmp_path / "toy.conllu")
    else:
        (tmp_path / "toy.ptb").write_text("")
        if empty == "both":
            (tmp_path / "toy.conllu").write_text("")
    with pytest.raises(ArcspanError, match=r"toy\.(ptb|conllu)"):
        train(read_config(path), say=lambda line: None, bars=False)
    # The next try was refused, because "a run is already here".
    assert not (tmp_path / "run").exists()


def test_a_bundle_that_cannot_be_fitted_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing file of --calibrate was found after the export, and the bundle stayed without
    temperatures.
    """
    train(
        read_config(configure(tmp_path, toy_pairs(3), training__epochs=1)),
        say=lambda line: None,
        bars=False,
    )
    call = ["export", str(tmp_path / "run"), str(tmp_path / "bundle")]
    assert (
        run([*call, "--calibrate", str(tmp_path / "toy.ptb"), str(tmp_path / "gone.conllu")]) == 2
    )
    assert "gone.conllu" in capsys.readouterr().err
    assert run([*call, "--style", "gum"]) == 2
    assert "--style is that of the treebanks of --calibrate" in capsys.readouterr().err
    assert not (tmp_path / "bundle").exists()


def test_check_reads_the_test_files_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A damaged test file was found after the training."""
    path = str(configure(tmp_path, toy_pairs(3)))
    source = f"conll={json.dumps(str(tmp_path / 'toy.conllu'))}"
    assert run(["train", path, "--check", "--set", f"data.test=[{{{source}}}]"]) == 0
    assert "test: 3 sentences" in capsys.readouterr().err
    (tmp_path / "bad.conllu").write_text("1\tAda\n")
    source = f"conll={json.dumps(str(tmp_path / 'bad.conllu'))}"
    assert run(["train", path, "--check", "--set", f"data.test=[{{{source}}}]"]) == 2
    assert "bad.conllu:1: 2 columns" in capsys.readouterr().err


def test_every_field_is_documented_and_the_documentation_is_a_configuration(tmp_path: Path) -> None:
    text = document()
    path = tmp_path / "fields.toml"
    path.write_text(text.replace('output = ""', 'output = "run"'), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"encoder\.path|data\.train"):
        read_config(path)
    assert all("#" in line for line in text.splitlines() if "=" in line)


def test_every_included_recipe_is_a_valid_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARCSPAN_TREEBANKS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    names = recipes()
    assert {
        "craft",
        "craft-ud",
        "gum",
        "gum-ud",
        "sequoia",
        "sinica",
        "icepahc",
        "paper-ptb",
        "paper-ctb",
    } <= set(names)
    for name in names:
        with pytest.raises(ConfigError, match=r"train\.ptb(\.xz)?: no such file"):
            read_config(name)


# The threads of a group of processes must end with the training: while Python ends, they may abort
# it.
_TRAIN_AND_LIST_THREADS = """
import sys
from pathlib import Path
from arcspan.cli import run

code = run(["train", sys.argv[1]])
for task in Path("/proc/self/task").glob("*"):
    print("thread", (task / "comm").read_text(), end="")
sys.exit(code)
"""


def test_two_processes_share_a_run(tmp_path: Path) -> None:
    path = configure(tmp_path, toy_pairs(20), training__epochs=25)
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
    ]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    script = tmp_path / "train.py"
    script.write_text(_TRAIN_AND_LIST_THREADS, encoding="utf-8")
    done = subprocess.run(
        [*launch, str(script), str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "gloo" not in done.stdout
    records = [
        json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    ]
    assert [record["epoch"] for record in records if record["kind"] == "dev"] == list(range(1, 26))
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["dev"]["las"] > 90
    assert result["dev"]["f1"] > 90


def test_a_missing_tensorboard_is_told_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the package a run ended at its first line of the log."""
    path = configure(tmp_path, toy_pairs(2), training__tensorboard=True)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ConfigError, match="pip install tensorboard"):
        train(read_config(path), bars=False)
    assert not (tmp_path / "run").exists()


def test_tensorboard_gets_the_figures(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    path = configure(tmp_path, toy_pairs(2), training__tensorboard=True, training__epochs=1)
    train(read_config(path), say=lambda _: None, bars=False)
    assert any((tmp_path / "run" / "tensorboard").iterdir())
