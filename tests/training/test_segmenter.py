"""`arcspan train --segmenter`: a segmenter from a configuration that has nothing of a parser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.errors import ConfigError
from arcspan.runtime.bundle import MODELS
from arcspan.segmenting import Segmenter
from arcspan.training.config import read_config
from arcspan.treebanks import write_pairs
from tests.toy import toy_pairs

CONFIG = """
output = "run"
language = "en"
[segmenter]
train = [{ conll = "toy.conllu" }]
dev = [{ conll = "toy.conllu" }]
epochs = 1
channels = 8
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_pairs(toy_pairs(20), tmp_path / "toy.ptb", tmp_path / "toy.conllu")
    (tmp_path / "segmenter.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path / "segmenter.toml"


def test_a_configuration_without_a_parser_trains_a_segmenter(config: Path) -> None:
    assert run(["train", "--segmenter", "--check", str(config)]) == 0
    assert not (config.parent / "run").exists()
    alone = ["--set", "segmenter.epochs=2", "--set", "segmenter.dev=[]"]
    assert run(["train", "--segmenter", str(config), *alone]) == 0
    folder = config.parent / "run" / "segmenter"
    assert Segmenter.load(folder).split("Ada sees Kurt .")
    kept = json.loads((folder / "segmenter.json").read_text(encoding="utf-8"))
    assert kept["training"]["epochs"] == 2 and list(kept["scores"]) == kept["training"]["dev"]
    assert str(config.parent) not in json.dumps(kept), "no path of the machine that trained it"
    before = (folder / "segmenter.onnx").stat().st_mtime_ns
    assert run(["train", "--segmenter", "--resume", str(config), *alone]) == 0
    assert (folder / "segmenter.onnx").stat().st_mtime_ns == before


def test_rules_stay_where_they_are_better_on_dev(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A segmenter of eight channels that saw twenty sentences once was kept without a word."""
    assert run(["train", "--segmenter", str(config)]) == 0
    said = capsys.readouterr().err
    assert "characters are little to learn from" in said
    assert "rules are better on dev" in said
    folder = config.parent / "run" / "segmenter"
    assert not (folder / "segmenter.json").exists()
    assert run(["train", "--segmenter", "--resume", str(config)]) == 0
    assert capsys.readouterr().err == f"{folder}: this segmenter is finished\n"


def test_the_segmenter_of_a_base_stays_where_rules_beat_the_new_one_but_not_it(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was deleted."""
    folder = config.parent / "run" / "segmenter"
    folder.mkdir(parents=True)
    for name in ("segmenter.json", "segmenter.onnx"):
        shutil.copy(MODELS / "en" / name, folder / name)
    before = (folder / "segmenter.onnx").read_bytes()
    assert run(["train", "--segmenter", str(config)]) == 0
    assert "the segmenter that was there is kept" in capsys.readouterr().err
    assert (folder / "segmenter.onnx").read_bytes() == before and Segmenter.load(folder)
    assert run(["train", "--segmenter", "--resume", str(config)]) == 0
    assert "is finished" in capsys.readouterr().err


def test_check_reads_the_files(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It looked at the configuration only, and a dev file without sentences was found after the
    training.
    """
    command = ["train", "--segmenter", "--check", str(config)]
    assert run(command) == 0
    assert capsys.readouterr().err == "segmenter: 20 sentences in 1 documents\n"
    assert run([*command, "--set", "segmenter.train=[{conll='toy.ptb'}]"]) == 2
    assert "toy.ptb:1: 1 column where CoNLL has 10" in capsys.readouterr().err
    row = "1\tDogs\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    (config.parent / "other.conllu").write_text(f"# text = Cats\n{row}", encoding="utf-8")
    assert run([*command, "--set", "segmenter.dev=[{conll='other.conllu'}]"]) == 2
    assert "other.conllu: no sentence whose text holds its words" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("segmenter.train=[]", "segmenter.train names no treebank"),
        ("segmenter.epochs=0", "segmenter.epochs should be a whole number, at least 1, not 0"),
        ("segmenter.train=[{conll='none.conllu'}]", "none.conllu: no such file"),
        ("segmenter.without='web'", "segmenter.without should be a list, not"),
        ("segmenter.train=[{file='a'}]", r"unknown field segmenter.train\[0\].file"),
        ("output=''", "output names no folder"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_said(
    config: Path, change: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        read_config(config, [change], segmenter_only=True)
    with pytest.raises(ConfigError, match=r"encoder\.path is missing"):
        read_config(config)
