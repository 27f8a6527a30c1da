"""The recipe of studies/craft-joint1o and the check of what it must reach."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from arcspan.training import read_config

STUDY = Path(__file__).resolve().parents[2] / "studies" / "craft-joint1o"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("craft_joint1o_check", STUDY / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_run(folder: Path, las: float, structure: float) -> Path:
    folder.mkdir()
    (folder / "result.json").write_text(
        json.dumps({"system": "joint1o", "dev": {"las": las, "f1": 83.0}})
    )
    records = [
        {"kind": "train", "seconds": 5.0, "structure_share": 0.9},
        {"kind": "epoch", "seconds": 60.0, "structure_share": structure},
        {"kind": "epoch", "seconds": 60.0, "structure_share": structure},
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    return folder


def test_a_run_that_meets_every_goal_passes_and_is_kept(study: ModuleType, tmp_path: Path) -> None:
    assert study.check(write_run(tmp_path / "run", 84.5, 0.02), tmp_path / "result.json")
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["minutes"] == 2
    assert all(stored["met"].values())


@pytest.mark.parametrize(("las", "structure"), [(83.9, 0.02), (84.5, 0.09)])
def test_a_run_that_misses_a_goal_fails(
    study: ModuleType, tmp_path: Path, las: float, structure: float
) -> None:
    assert not study.check(write_run(tmp_path / "run", las, structure), tmp_path / "result.json")


def test_the_recipe_is_what_the_goal_is_set_for(
    treebanks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARCSPAN_TREEBANKS", str(treebanks))
    config = read_config(STUDY / "craft-joint1o.toml")
    assert (config.data.every, config.data.max_words, config.data.limit) == (3, 80, 5000)
    assert (config.model.system, config.training.epochs) == ("joint1o", 5)
