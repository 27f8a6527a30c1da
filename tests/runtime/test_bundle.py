"""Where bundles are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.errors import BundleError
from arcspan.runtime.bundle import MODELS, find_bundle


def test_a_model_is_found_by_its_name_or_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_bundle("en") == MODELS / "en"
    assert find_bundle(tmp_path) == tmp_path
    assert find_bundle("some/where") == Path("some/where")  # a path that is not there: reading says so
    with pytest.raises(
        BundleError, match=r"xx: no such folder, and no model of that name is installed \(.*en\)"
    ):
        find_bundle("xx")
    (tmp_path / "en").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_bundle("en") == Path("en")  # a folder of that name comes first


def test_a_package_brings_a_model_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
