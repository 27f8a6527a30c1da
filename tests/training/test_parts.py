"""A parser with parts from other packages: those of docs/extend.md, an encoder and a loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import arcspan
from arcspan.errors import ConfigError
from arcspan.parts import EveryPart, find_part
from arcspan.training import predict_pairs, read_config, train
from arcspan.training.checkpoint import load_parts
from arcspan.training.export import export
from tests.docs.blocks import blocks
from tests.toy import toy_pairs
from tests.training.test_training import configure

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"
MINE = """
from arcspan.neural.encoder import LstmEncoder
from arcspan.neural.losses import StructureLoss

class Doubled(LstmEncoder):
    def __init__(self, settings, inputs):
        super().__init__(settings, len(inputs.words) + inputs.special, len(inputs.characters) + inputs.special)
    def forward(self, words, characters, reverse):
        return 2 * super().forward(words, characters, reverse)

class Half(StructureLoss):
    def __init__(self, settings):
        super().__init__(settings.system, "crf")
    def __call__(self, scores, gold):
        value, nodes = super().__call__(scores, gold)
        return value / 2, nodes
"""


def test_a_parser_is_trained_and_exported_with_parts_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for block in blocks(PAGE):
        if block.title in ("distance.py", "risk.py"):
            (tmp_path / block.title).write_text(block.code)
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    path = configure(
        tmp_path,
        toy_pairs(8),
        encoder__kind="mine:Doubled",
        model__loss="mine:Half",
        model__scorers={"arc": "distance:DistanceArcs"},
        model__decoder="risk:minimum_risk",
        training__epochs=8,
    )
    result = train(read_config(path), say=lambda line: None, bars=False)
    assert result["dev"]["las"] > 60
    (model, *_) = load_parts(tmp_path / "run", EveryPart())["both"]
    assert type(model.encoder).__name__ == "Doubled"
    assert torch.count_nonzero(model.scorers["arc"].bias.weight)  # type: ignore[union-attr,arg-type]
    lines: list[str] = []
    bundle = export(
        tmp_path / "run", tmp_path / "bundle", precision="fp32", trust_parts=True, say=lines.append
    )
    assert any("not an entry point" in line for line in lines)
    gold = toy_pairs(4)
    parser = arcspan.load(bundle)
    decoder = find_part("decoders", "risk:minimum_risk", trusted=EveryPart())
    parser.predictor.model = replace(parser.predictor.model, decoder=decoder)
    found = [parser.parse(list(pair.words)).dependencies.heads for pair in gold]
    assert found == [
        pair.dependencies.heads
        for pair in predict_pairs(tmp_path / "run", gold, trusted_parts=EveryPart())
    ]
    monkeypatch.setattr(
        "risk.minimum_risk", lambda scores, lengths: pytest.fail("the decoder is asked")
    )
    with pytest.raises(pytest.fail.Exception, match="the decoder is asked"):
        predict_pairs(tmp_path / "run", gold, trusted_parts=EveryPart())


def test_what_is_not_a_part_is_refused(tmp_path: Path) -> None:
    path = configure(tmp_path, toy_pairs(2), model__loss="hinge")
    with pytest.raises(
        ConfigError, match=r"model\.loss should be one of crf, margin, or a part, not \"hinge\""
    ):
        read_config(path)
    path = configure(tmp_path, toy_pairs(2), model__scorers={"arc": "no_such_module:Arcs"})
    with pytest.raises(ConfigError, match="no_such_module:Arcs cannot be imported"):
        train(read_config(path), say=lambda line: None, bars=False)
