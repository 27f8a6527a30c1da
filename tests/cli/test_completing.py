"""`arcspan treebank complete`: pairs from sentences that have one tree, with the English model."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.treebanks import read_pairs
from arcspan.trees import LexicalTree
from tests.toy import toy_pairs, write_toy

CROSSING = (
    "1\tA\t_\t_\t_\t_\t3\tx\t_\t_\n2\tb\t_\t_\t_\t_\t4\tx\t_\t_\n"
    "3\tc\t_\t_\t_\t_\t0\troot\t_\t_\n4\td\t_\t_\t_\t_\t3\tx\t_\t_\n\n"
)


@pytest.mark.parametrize("layer", ["conll", "brackets"])
def test_the_new_tree_fits_the_given_one_which_stays_as_it_is(tmp_path: Path, layer: str) -> None:
    pairs = toy_pairs(6)
    source = write_toy(tmp_path, "gold", pairs)
    out = tmp_path / "silver.ptb", tmp_path / "silver.conllu"
    assert run(["treebank", "complete", source[layer], *map(str, out)]) == 0
    found = list(read_pairs(*out))
    assert [pair.words for pair in found] == [pair.words for pair in pairs]
    for silver, gold in zip(found, pairs, strict=True):
        assert LexicalTree.compatible(*silver)
        if layer == "conll":
            assert silver.dependencies == gold.dependencies
            assert silver.constituency.tags == gold.constituency.tags
        else:
            assert silver.constituency == gold.constituency
    given, written = Path(source[layer]), out[layer == "conll"]
    assert written.read_text() == given.read_text()


def test_sentences_that_are_not_projective_or_not_sure_are_counted_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_toy(tmp_path, "gold", toy_pairs(4))
    path = Path(source["conll"])
    path.write_text(CROSSING + path.read_text())
    out = [str(tmp_path / "silver.ptb"), str(tmp_path / "silver.conllu")]
    assert run(["treebank", "complete", str(path), *out]) == 0
    said = capsys.readouterr().err
    assert "4 of 5 sentences written" in said
    assert "1  left out: not projective" in said
    assert run(["treebank", "complete", str(path), *out, "--least", "1"]) == 0
    assert "left out: below 1" in capsys.readouterr().err
    assert not Path(out[0]).read_text()


def test_the_input_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_toy(tmp_path, "gold", toy_pairs(2))
    assert (
        run(["treebank", "complete", source["conll"], str(tmp_path / "a.ptb"), source["conll"]])
        == 2
    )
    assert "gold.conllu" in capsys.readouterr().err
