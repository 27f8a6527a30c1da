"""Bundles and runs of somebody else run no code of theirs: a part that they name is not imported."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arcspan
from arcspan.cli import run
from arcspan.errors import ArcspanError, BundleError, ConfigError
from arcspan.files import dump
from arcspan.runtime.bundle import read_bundle, update_bundle
from arcspan.training import predict_pairs, read_config, train
from arcspan.training.checkpoint import Checkpoint, load_parts
from arcspan.training.export import export
from arcspan.training.starting import load_start
from tests.toy import toy_pairs
from tests.training.test_pretrained import small_bert
from tests.training.test_training import configure

FLAG = "imported.txt"
# The module has every part, so that nothing but the refusal keeps it from being used.
CODE = f"""
from pathlib import Path

Path({FLAG!r}).write_text("this code has run")
Part = object
"""
GROUPS = ("scorers", "encoders", "losses", "decoders")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and its bundle, made with built-in parts."""
    folder = tmp_path_factory.mktemp("made")
    path = configure(
        folder,
        toy_pairs(6),
        encoder__kind="pretrained",
        encoder__path=str(small_bert(folder / "bert")),
        training__epochs=3,
        training__batch_pieces=30,
    )
    train(read_config(path), say=lambda line: None, bars=False)
    export(folder / "run", folder / "bundle", precision="fp32")
    assert "weights" in read_bundle(folder / "bundle")["components"][0]
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it as the current folder, where the module that the parts are in can be found."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "hostile", raising=False)
    (tmp_path / "hostile.py").write_text(CODE)
    return tmp_path


def name_part(settings: dict[str, Any], group: str, part: str) -> None:
    """Name the part in the settings of a model and of its encoder."""
    if group == "scorers":
        settings["model"]["scorers"] = {"span": part}
    elif group == "encoders":
        settings["encoder"]["kind"] = part
    else:
        settings["model"][{"losses": "loss", "decoders": "decoder"}[group]] = part


def change_run(run_folder: Path, group: str, part: str) -> None:
    """Name the part in every file of a run, all checksums renewed."""
    pointer = run_folder / "best.json"
    content = json.loads(pointer.read_text())
    model = run_folder / content["folder"] / "model.json"
    description = json.loads(model.read_text())
    name_part(description, group, part)
    name_part(content["state"]["config"], group, part)
    model.write_text(dump(description))
    content["sha256"]["model.json"] = hashlib.sha256(model.read_bytes()).hexdigest()
    del content["checksum"]
    content["checksum"] = hashlib.sha256(dump(content).encode()).hexdigest()
    pointer.write_text(dump(content))
    Checkpoint(run_folder).open("best")
    # Unfinished, so that --resume opens what it has.
    (run_folder / "result.json").unlink()


def change_bundle(bundle: Path, group: str, part: str) -> None:
    """Name the part in a bundle's configuration, its checksum renewed."""
    config = read_bundle(bundle)
    name_part(config["training"], group, part)
    changes = {"training": config["training"]}
    if group == "decoders":
        changes["decoder"] = part
    update_bundle(bundle, changes)


def fine_tune(start: str, folder: Path) -> Path:
    """Write a configuration that starts from a model."""
    target = folder / "tuned"
    target.mkdir()
    path = configure(target, toy_pairs(4), training__epochs=1)
    text = path.read_text()
    before, after = text.index("[encoder]"), text.index("[training]")
    path.write_text(f'{text[:before]}[model]\nstart = "{start}"\n{text[after:]}')
    return path


@pytest.mark.parametrize("group", GROUPS)
def test_a_run_imports_no_part_that_it_names(folder: Path, group: str) -> None:
    change_run(folder / "run", group, "hostile:Part")
    start = read_config(fine_tune(str(folder / "run"), folder))
    uses: list[Callable[[], Any]] = [
        lambda: export(folder / "run", folder / "out"),
        lambda: predict_pairs(folder / "run", toy_pairs(1)),
        lambda: load_start(str(folder / "run")),
        lambda: train(start, say=lambda line: None, bars=False),
        lambda: train(
            read_config(folder / "config.toml"), resume=True, say=lambda line: None, bars=False
        ),
        lambda: arcspan.load(folder / "run"),
    ]
    for use in uses:
        try:
            use()
        except ArcspanError as error:
            if "hostile" in str(error):
                assert "somebody else" in str(error) and "--trust-parts" in str(error)
        assert not (folder / FLAG).exists()
    if group in ("scorers", "encoders"):
        with pytest.raises(ConfigError, match="'hostile:Part' of arcspan"):
            load_parts(folder / "run")


@pytest.mark.parametrize("group", GROUPS)
def test_a_bundle_imports_no_part_that_it_names(folder: Path, group: str) -> None:
    change_bundle(folder / "bundle", group, "hostile:Part")
    start = read_config(fine_tune(str(folder / "bundle"), folder))
    uses: list[Callable[[], Any]] = [
        lambda: arcspan.load(folder / "bundle").parse(["Logic", "plays"]),
        lambda: load_start(str(folder / "bundle")),
        lambda: train(start, say=lambda line: None, bars=False),
    ]
    for use in uses:
        try:
            use()
        except ArcspanError as error:
            if "hostile" in str(error):
                assert "somebody else" in str(error)
        assert not (folder / FLAG).exists()
    # `serve` and `parse` load the model before they do anything else.
    if group == "decoders":
        assert run(["serve", "--model", str(folder / "bundle"), "--port", "0"]) == 2
    assert run(["parse", "Logic plays", "--model", str(folder / "bundle")]) in (0, 2)
    assert not (folder / FLAG).exists()


def test_a_part_that_the_user_names_or_trusts_is_imported(folder: Path) -> None:
    change_run(folder / "run", "scorers", "hostile:Part")
    with pytest.raises(TypeError):  # an object is no scorer
        export(folder / "run", folder / "out", trust_parts=True)
    assert (folder / FLAG).exists()


def test_files_that_are_not_listed_are_refused(folder: Path) -> None:
    bundle = folder / "bundle"
    (bundle / "README.md").write_text("A model card, as models of the hub have.")
    read_bundle(bundle)
    (bundle / "notes.py").write_text(CODE)
    with pytest.raises(BundleError, match=r"notes\.py: not a file of the bundle"):
        read_bundle(bundle)
    pointed_to, _ = Checkpoint(folder / "run").open("best")
    (pointed_to / "notes.py").write_text(CODE)
    with pytest.raises(BundleError, match=r"notes\.py: not a file of this run"):
        Checkpoint(folder / "run").open("best")


def test_a_pointer_stays_inside_its_run(folder: Path) -> None:
    pointer = folder / "run" / "best.json"
    content = json.loads(pointer.read_text())
    (folder / "outside").mkdir()
    content["folder"] = "../outside"
    del content["checksum"]
    content["checksum"] = hashlib.sha256(dump(content).encode()).hexdigest()
    pointer.write_text(dump(content))
    with pytest.raises(BundleError, match=r"'\.\./outside' is not a folder of this run"):
        load_parts(folder / "run")
