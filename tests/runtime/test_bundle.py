"""Where bundles are found, and how one takes the place of another."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from arcspan.errors import BundleError
from arcspan.onnx import refuse_external_weights
from arcspan.runtime.bundle import (
    MODELS,
    SEGMENTER,
    checksum,
    find_bundle,
    read_bundle,
    update_bundle,
)
from arcspan.runtime.loading import load_predictor
from arcspan.segmenting import Segmenter


def test_a_model_is_found_by_its_name_or_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_bundle("en") == MODELS / "en"
    assert find_bundle(tmp_path) == tmp_path
    assert find_bundle("some/where") == Path(
        "some/where"
    )  # a path that is not there: reading says so
    with pytest.raises(
        BundleError,
        match=r"xx: no such folder, and no model of that name is installed \(installed: .*en\b",
    ):
        find_bundle("xx")
    (tmp_path / "en").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_bundle("en") == Path("en")  # a folder of that name comes first


def test_a_package_brings_a_model_by_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy_model").mkdir()
    (tmp_path / "toy_model" / "__init__.py").touch()
    facts = tmp_path / "toy_model-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Name: toy-model\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[arcspan.models]\ntoy = toy_model\ngone = toy_gone\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_bundle("toy") == tmp_path / "toy_model"
    with pytest.raises(
        BundleError, match="gone: the installed model names a package toy_gone that is not there"
    ):
        find_bundle("gone")


def test_a_bundle_that_cannot_be_replaced_stays(
    toy_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old bundle was removed before the new one was in its place."""
    folder = tmp_path / "bundle"
    shutil.copytree(toy_bundle, folder)
    replace = os.replace

    def fail(source: Path, target: Path) -> None:
        if target == folder and source.name != "bundle":
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            update_bundle(folder, {"name": "another"})
    assert read_bundle(folder)["name"] == "toy"
    assert list(tmp_path.iterdir()) == [folder]
    update_bundle(folder, {"name": "another"})
    assert read_bundle(folder)["name"] == "another"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_bundle_that_cannot_be_moved_back_is_kept_aside(
    toy_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(toy_bundle, folder)
    replace = os.replace

    def fail(source: Path, target: Path) -> None:
        if target == folder:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        update_bundle(folder, {"name": "another"})
    (aside,) = tmp_path.glob(".bundle.*/bundle")
    assert read_bundle(aside)["name"] == "toy"


def test_weights_outside_a_graph_are_refused(toy_bundle: Path, tmp_path: Path) -> None:
    """Files that no checksum covers were read, those of a segmenter from the current folder."""
    folder = shutil.copytree(toy_bundle, tmp_path / "bundle")
    for name in (SEGMENTER[0], SEGMENTER[1]):
        shutil.copy2(MODELS / "en" / name, folder / name)
    for name in ("score.onnx", SEGMENTER[1]):
        proto = onnx.load(str(folder / name))
        onnx.save_model(
            proto,
            str(folder / name),
            save_as_external_data=True,
            location="weights",
            size_threshold=0,
        )
        sums = {
            file.name: checksum(file) for file in folder.iterdir() if file.name != "checksums.json"
        }
        (folder / "checksums.json").write_text(json.dumps(sums))
        with pytest.raises(BundleError, match=rf"{name}: its weights are in another file"):
            load_predictor(folder) if name == "score.onnx" else Segmenter.load(folder)


@pytest.mark.parametrize("spelling", [b"\x12\x01w\x0a\x08", b"\x8a\x00\x08", b"\x0a\x88\x80\x00"])
def test_no_spelling_of_weights_elsewhere_gets_through(spelling: bytes) -> None:
    """Only what ONNX itself writes was looked for; the fields may be in another order, and numbers longer."""
    with pytest.raises(BundleError, match="g: its weights are in another file"):
        refuse_external_weights(b"weight" + spelling + b"location\x12\x01w", "g")
    refuse_external_weights(b"\x0a\x10encoder.location", "g")


@pytest.mark.parametrize("name", ["config.json", "checksums.json"])
def test_a_configuration_without_an_end_is_refused(
    toy_bundle: Path, tmp_path: Path, name: str
) -> None:
    folder = shutil.copytree(toy_bundle, tmp_path / "bundle")
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(BundleError, match=rf"{name}: missing"):
        read_bundle(folder)


def test_a_model_of_the_hub_is_named_with_its_revision(tmp_path: Path) -> None:
    """With the hub's own library, offline: what it has fetched before is found, anything else is one error."""
    pytest.importorskip("huggingface_hub")
    folder = tmp_path / "models--org--toy"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "v1").write_text("a" * 40)
    (folder / "snapshots" / ("a" * 40)).mkdir(parents=True)
    (folder / "snapshots" / ("a" * 40) / "config.json").write_text("{}")
    code = (
        "from arcspan.runtime.bundle import find_bundle\n"
        "from arcspan.errors import BundleError\n"
        "print(find_bundle('org/toy@v1').name)\n"
        "try:\n    find_bundle('org/toy@v2')\nexcept BundleError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    found, error = done.stdout.splitlines()
    assert found == "a" * 40
    assert error.startswith("org/toy@v2: cannot be fetched from the hub: ")
