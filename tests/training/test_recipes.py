"""The paper's recipes: all of its settings, run by themselves on files in the layouts of the
licensed treebanks.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.training import read_config
from arcspan.training.checkpoint import load_parts
from arcspan.training.config import recipes
from tests.studies.test_paper_study import licensed

SMALL = {
    "encoder.kind": "lstm",
    "encoder.word_size": 8,
    "encoder.character_size": 4,
    "encoder.character_filters": 4,
    "encoder.hidden_size": 8,
    "encoder.depth": 1,
    **{f"model.{name}_size": 8 for name in ("span", "arc", "label", "relation", "headed")},
    "training.epochs": 1,
}
PAPER = [name for name in recipes() if name.startswith("paper-")]


def test_the_papers_recipes_run_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of SPMRL learnt lemmas and features as well; batches were counted in pieces."""
    monkeypatch.setenv("ARCSPAN_TREEBANKS", str(licensed(tmp_path)))
    monkeypatch.chdir(tmp_path)
    assert len(PAPER) == 8
    changes = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    for name in PAPER:
        config = read_config(name)
        assert (config.training.batch_words, config.training.precision) == (1000, "fp32")
        assert (config.model.loss, config.model.intermediate) == ("margin", "parent")
        assert config.data.incompatible == "drop"
        assert run(["train", name, *changes]) == 0, name
        (model, *_) = load_parts(tmp_path / "runs" / name)["both"]
        assert model.outputs == {"span", "arc", "headed", "label", "relation"}
        assert (tmp_path / "runs" / name / "result.json").is_file()
    as_published = read_config("paper-ptb-as-published").model
    assert (as_published.headed_size, as_published.separate_hooked, as_published.cost) == (
        100,
        True,
        "arcs",
    )
