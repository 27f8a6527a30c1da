"""Configurations: fields with their ranges, sources, paths."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arcspan.errors import ArcspanError, ConfigError
from arcspan.training.config import Config, Source, config_from_dict, document, read_config

PAIR = {"brackets": "a.ptb", "conll": "a.conllu"}


def made(**changes: Any) -> Config:
    """A configuration with changes as section__field=value."""
    data: dict[str, Any] = {
        "output": "run",
        "data": {"train": [PAIR], "dev": [PAIR]},
        "encoder": {"kind": "lstm"},
    }
    for name, value in changes.items():
        section, _, field = name.rpartition("__")
        (data.setdefault(section, {}) if section else data)[field] = value
    return config_from_dict(data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"data__train": [{**PAIR, "weight": 0}]},
            r"data\.train\[0\]\.weight should be a number, above 0, not 0",
        ),
        (
            {"data__train": [PAIR, {**PAIR, "every": 0}]},
            r"data\.train\[1\]\.every should be .*, at least 1, not 0",
        ),
        (
            {"data__train": [{**PAIR, "first": -1}]},
            r"data\.train\[0\]\.first should be .*, at least 0, not -1",
        ),
        ({"data__train": [{"style": "x"}]}, r"data\.train\[0\] needs brackets or conll, or both"),
        ({"data__dev": [{}]}, r"data\.dev\[0\] needs brackets or conll, or both"),
        (
            {"data__train": [{"brackets": "a", "only": {"genre": ["x"]}}]},
            "the comments of conll identify documents",
        ),
        ({"data__train": [{**PAIR, "weigth": 1}]}, r"did you mean data\.train\[0\]\.weight\?"),
        (
            {"data__train": [{**PAIR, "only": 3}]},
            r"data\.train\[0\]\.only should be a table, not 3",
        ),
        ({"data__train": ["a.ptb"]}, r'data\.train\[0\] should be a table, not "a\.ptb"'),
        ({"data": 1}, "data should be a table, not 1"),
        (
            {"training__epochs": True},
            r"training\.epochs should be a whole number, at least 1, not true",
        ),
        (
            {"training__rate": "fast"},
            r'training\.rate should be a number, above 0, at most 0\.1, not "fast"',
        ),
        ({"seed": -1}, "seed should be .*, at least 0, not -1"),
        ({"styles": {"new": 3}}, r"styles\.new should be the name of a style, or a list of two"),
        (
            {"styles": {"new": ["a", "b", "c"]}},
            r"styles\.new should be the name of a style, or a list of two",
        ),
        ({"segmenter__train": [{}]}, r"segmenter\.train\[0\] needs conll"),
        (
            {"segmenter__dev": [{"conll": "a", "every": 0}]},
            r"segmenter\.dev\[0\]\.every should be .*, not 0",
        ),
        ({"data__missing": "guessed"}, "one of hidden, separate"),
        ({"data__incompatible": "keep"}, "one of drop, separate, hidden"),
        ({"training__warmup": 1.5}, r"training\.warmup should be .*, at most 1, not 1\.5"),
        ({"training__row_weight": -1}, r"training\.row_weight should be .*, at least 0, not -1"),
        ({"encoder__dropout": 1}, r"encoder\.dropout should be .*, at most 0\.95, not 1"),
        ({"data__train": []}, r"data\.train names no treebank"),
        (
            {"data__train": [{**PAIR, "augment": {"loud": 1}}]},
            r"data\.train\[0\]\.augment: no form 'loud'; known: final",
        ),
        ({"output": ""}, "output names no folder"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made(**changes)


def test_a_model_to_start_from_needs_no_encoder() -> None:
    assert made(encoder__kind="pretrained", model__start="en").model.start == "en"
    with pytest.raises(ConfigError, match=r"encoder\.path is missing"):
        made(encoder__kind="pretrained")


def test_joint_systems_take_head_or_hidden_binarization() -> None:
    assert made(data__binarization="hidden").data.binarization == "hidden"
    assert made(data__binarization="left", model__system="mtl").data.binarization == "left"
    with pytest.raises(ConfigError, match="searches l-trees"):
        made(data__binarization="right")


def test_a_layer_has_its_own_style_or_that_of_its_source() -> None:
    assert Source(style="a").styles == ("a", "a")
    assert Source(style="a", dependency_style="b").styles == ("a", "b")
    assert Source(constituency_style="c").styles == ("c", "")


def test_paths_are_those_of_the_configurations_folder_and_lists_may_be_in_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "run").mkdir()
    for name in ("a.ptb", "a.conllu", "rules.toml"):
        (tmp_path / name).write_text("")
    (tmp_path / "documents.txt").write_text("one\tseen\ntwo\n")
    files = 'brackets = "a.ptb", conll = "a.conllu", rewrite = "rules.toml"'
    source = f'{{ {files}, without = {{ "newdoc id" = "@documents.txt" }}, augment = {{ lower = 0.5 }} }}'
    text = f'output = "out"\n[data]\ntrain = [{source}]\ndev = [{source}]\n[model]\nstart = "run"\n'
    (tmp_path / "my.toml").write_text(text)
    config = read_config(tmp_path / "my.toml")
    (found,) = config.data.train
    assert found.conll == str(tmp_path / "a.conllu")
    assert found.rewrite == str(tmp_path / "rules.toml")
    assert found.without == {"newdoc id": ["one", "two"]} and found.augment == {"lower": 0.5}
    assert config.output == str(tmp_path / "out")
    assert config.model.start == str(tmp_path / "run")
    assert read_config(tmp_path / "my.toml", ["model.start=en"]).model.start == "en"
    (tmp_path / "documents.txt").write_bytes(b"one\n\xff\n")
    with pytest.raises(ArcspanError, match=r"documents\.txt:2: byte 0xff"):
        read_config(tmp_path / "my.toml")


@pytest.mark.parametrize("value", ["1" * 5000, "[" * 5000], ids=["digits", "brackets"])
def test_what_the_reader_of_toml_gives_up_on_is_not_valid(tmp_path: Path, value: str) -> None:
    (tmp_path / "deep.toml").write_text(f"seed = {value}")
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_config(tmp_path / "deep.toml")


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Some editors write one, and the message was "Invalid statement (at line 1, column 1)"."""
    (tmp_path / "a.conllu").write_text("")
    text = 'output = "run"\r\n[segmenter]\r\ntrain = [{ conll = "a.conllu" }]\r\n'
    (tmp_path / "my.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_config(tmp_path / "my.toml", segmenter_only=True).output == str(tmp_path / "run")


def test_documents_that_are_no_list_are_named_with_their_source(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text("")
    source = '{ conll = "a.conllu", without = { genre = "essay" } }'
    text = (
        f'output = "run"\n[data]\ntrain = [{source}]\ndev = [{source}]\n[encoder]\nkind = "lstm"\n'
    )
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(
        ConfigError, match=r'data\.train\[0\]\.without\.genre = "essay": give a list of values'
    ):
        read_config(tmp_path / "my.toml")


def test_every_setting_of_a_source_is_documented() -> None:
    text = document()
    assert all(f"#   {name} = " in text for name in vars(Source()))
    assert "#   without = {}" in text  # was the name of a Python object
    assert "MISSING" not in text


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["--recipes"], 0, "craft-ud"),
        (["--fields"], 0, "[training]"),
        (["nosuch"], 2, "neither a file nor one of the recipes"),
        (["gum"], 2, "pip install"),
    ],
)
def test_what_needs_no_torch_works_without_it(
    arguments: list[str], code: int, shown: str, tmp_path: Path
) -> None:
    script = (
        "import sys\n"
        "finders = list(sys.meta_path)\n"
        "class Rest:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.split('.')[0] not in ('torch', 'transformers', 'accelerate', 'safetensors'):\n"
        "            return next(filter(None, (one.find_spec(name, *rest) for one in finders)), None)\n"
        "sys.meta_path[:] = [Rest()]\n"
        "from arcspan.cli import run\n"
        "sys.exit(run(['train', *sys.argv[1:]]))\n"
    )
    for split in ("train", "dev"):
        for ending in ("ptb.xz", "conllu.xz"):
            (tmp_path / "gum").mkdir(exist_ok=True)
            (tmp_path / "gum" / f"{split}.{ending}").write_bytes(b"")
    made = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ARCSPAN_TREEBANKS": str(tmp_path)},
    )
    assert made.returncode == code
    assert shown in made.stdout + made.stderr
