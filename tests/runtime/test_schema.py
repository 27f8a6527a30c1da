"""Forged configurations are refused by the place of what does not fit; what we ship fits."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arcspan.errors import BundleError, ConfigError
from arcspan.parser import MODELS
from arcspan.runtime.bundle import read_bundle
from arcspan.runtime.schema import check

CONFIG = json.loads((MODELS / "en" / "config.json").read_text(encoding="utf-8"))


def test_the_english_bundle_fits() -> None:
    check(CONFIG)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda config: config.update(components=[]), "components"),
        (lambda config: config.update(inputs=None), "inputs"),
        (lambda config: config.update(format=True), "format"),
        (lambda config: config.update(format=0), "format"),
        (lambda config: config["inputs"].update(pooling="last"), "inputs.pooling"),
        (lambda config: config["inputs"].update(kind="letters"), "inputs.kind"),
        (lambda config: config["inputs"].update(window=1e9), "inputs.window"),
        (
            lambda config: config["components"][0].update(score="../score.onnx"),
            r"components\[0\].score",
        ),
        (lambda config: config["components"][0].update(part="all"), r"components\[0\].part"),
        (
            lambda config: config["components"][0]["outputs"].remove("label"),
            r"components\[0\].outputs",
        ),
        (lambda config: config["inventories"].update(relations=[]), "inventories.relations"),
        (lambda config: config["inventories"].update(tags=["NN", "NN"]), "inventories.tags"),
        (
            lambda config: config["inventories"].update(labels=[["NP"], []]),
            r"inventories.labels\[0\]",
        ),
        (
            lambda config: config["inventories"].update(unused={"label": [[1]]}),
            "inventories.unused.label",
        ),
        (lambda config: config.update(styles={"gum": [0, 99]}), "styles.gum"),
        (
            lambda config: config["calibration"].update(label_temperature=float("nan")),
            "label_temperature",
        ),
        (lambda config: config.update(seen_lemmas="/etc/passwd"), "seen_lemmas"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(
    change: Callable[[dict[str, Any]], object], place: str
) -> None:
    """These ended in internal errors, or were accepted."""
    config = copy.deepcopy(CONFIG)
    change(config)
    with pytest.raises(ConfigError, match=place):
        check(config)


def test_checksums_must_cover_every_file_and_stay_in_the_folder(
    toy_bundle: Path, tmp_path: Path
) -> None:
    """Checksums of nothing were accepted, and paths that lead out of the bundle."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    for file in toy_bundle.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "checksums.json").write_text("{}")
    with pytest.raises(BundleError, match=r"checksums\.json does not list it"):
        read_bundle(folder)
    (folder / "checksums.json").write_text(json.dumps({"../toy/config.json": "0"}))
    with pytest.raises(BundleError, match="not a file of the bundle"):
        read_bundle(folder)
    (folder / "checksums.json").write_bytes((toy_bundle / "checksums.json").read_bytes())
    (folder / "segmenter.json").write_text("{}")
    with pytest.raises(BundleError, match=r"segmenter\.json: not a file of the bundle"):
        read_bundle(folder)
    (folder / "config.json").write_text("[" * 100_000)
    with pytest.raises(BundleError, match="damaged"):
        read_bundle(folder)
