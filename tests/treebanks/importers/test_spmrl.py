from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.errors import FileError
from arcspan.treebanks import read_pairs
from arcspan.treebanks.importers import import_spmrl

TREES = (
    "( (SENT (NP-SUJ (DET##g=m|n=s|s=def## Le) (NC##g=m|n=s|s=c## SPLIT)) "
    "(VN (V##m=ind|n=s## dort)) (PONCT##s=s## .)))\n"
    "( (SENT (NP (NC##s=c## Deux)) (NP (NC##s=c## racines))))\n"
    "( (SENT (VN (CLS-SUJ##p=3## Il) (V##m=ind## va)) (PONCT##s=s|lem=(## -LRB-)))\n"
)
WORDS = (
    "1\tLe\tle\tD\tDET\tg=m|n=s|s=def\t2\tdet\t_\t_\n2\tSPLIT\tx\tN\tNC\tg=m|n=s|s=c\t3\tsuj\t_\t_\n"
    "3\tdort\tdormir\tV\tV\tm=ind|n=s\t0\troot\t_\t_\n4\t.\t.\tPONCT\tPONCT\ts=s\t3\tponct\t_\t_\n\n"
    "1\tDeux\tdeux\tN\tNC\t_\t0\troot\t_\t_\n2\tracines\tracine\tN\tNC\t_\t0\troot\t_\t_\n\n"
    "1\tIl\til\tCL\tCLS\tp=3\t2\tsuj\t_\t_\n2\tva\taller\tV\tV\tm=ind\t0\troot\t_\t_\n"
    "3\t-LRB-\t(\tPONCT\tPONCT\ts=s\t2\tponct\t_\t_\n\n"
)


def lay_out(folder: Path, language: str, splits: tuple[str, ...]) -> Path:
    for kind, text in (("ptb", TREES), ("conll", WORDS)):
        for split in splits:
            path = folder / "gold" / kind / split / f"{split}.{language}.gold.{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("SPLIT", split))
    predicted = folder / "pred" / "conll" / "train" / f"train.{language}.pred.conll"
    predicted.parent.mkdir(parents=True, exist_ok=True)
    predicted.write_text("")
    return folder


def subject(folder: Path) -> str:
    return next(read_pairs(folder / "train.ptb", folder / "train.conllu")).constituency.words[1]


def test_features_and_functions_are_cut_off_and_the_words_are_paired(tmp_path: Path) -> None:
    source = lay_out(tmp_path / "FRENCH_SPMRL", "French", ("train", "train5k", "dev", "test"))
    report = import_spmrl(source, tmp_path / "out")
    assert report.sentences == {"train": 2, "dev": 3, "test": 3}
    assert (tmp_path / "out" / "train.ptb").read_text().splitlines() == [
        "(TOP (SENT (NP (DET Le) (NC train)) (VN (V dort)) (PONCT .)))",
        "(TOP (SENT (VN (CLS Il) (V va)) (PONCT -LRB-)))",
    ]
    pairs = list(read_pairs(tmp_path / "out" / "train.ptb", tmp_path / "out" / "train.conllu"))
    assert [pair.dependencies.relations for pair in pairs] == [
        ("det", "suj", "root", "ponct"),
        ("suj", "root", "ponct"),
    ]
    assert pairs[1].dependencies.words == ("Il", "va", "(")


def test_several_roots_are_left_out_of_train_and_kept_for_scores(tmp_path: Path) -> None:
    """Such sentences were in no score: the importer left them out of dev and test too."""
    source = lay_out(tmp_path / "FRENCH_SPMRL", "French", ("train", "dev", "test"))
    report = import_spmrl(source, tmp_path / "out")
    assert len(report.left_out) == 1
    assert "train.French.gold.conll:6: 2 roots" in report.left_out[0]
    for split in ("dev", "test"):
        trees = (tmp_path / "out" / f"{split}.ptb").read_text().splitlines()
        assert trees[1] == "(TOP (SENT (NP (NC Deux)) (NP (NC racines))))"
        rows = (tmp_path / "out" / f"{split}.conllu").read_text().split("\n\n")[1].splitlines()
        assert [row.split("\t")[1:8] for row in rows] == [
            ["Deux", "deux", "N", "NC", "_", "0", "root"],
            ["racines", "racine", "N", "NC", "_", "0", "root"],
        ]


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("2\tracines\tracine\tN\tNC\t_\t0", "2\tracines\tracine\tN\tNC\t_\t2", 3),
        ("\tracines\t", "\tracine\t", 2),
    ],
    ids=["a cycle", "another word"],
)
def test_what_is_not_a_tree_is_left_out_of_train_and_other_words_of_every_split(
    tmp_path: Path, old: str, new: str, kept: int
) -> None:
    source = lay_out(tmp_path / "FRENCH_SPMRL", "French", ("train", "dev", "test"))
    for path in source.rglob("*.gold.conll"):
        path.write_text(path.read_text().replace(old, new))
    report = import_spmrl(source, tmp_path / "out")
    assert report.sentences == {"train": 2, "dev": kept, "test": kept}
    assert len(report.left_out) == 1 + 2 * (3 - kept)


def test_the_small_training_set_is_taken_on_request_or_for_want_of_another(tmp_path: Path) -> None:
    french = lay_out(tmp_path / "FRENCH_SPMRL", "French", ("train", "train5k", "dev", "test"))
    import_spmrl(french, tmp_path / "full")
    import_spmrl(french, tmp_path / "small", size="5k")
    swedish = lay_out(tmp_path / "SWEDISH_SPMRL", "Swedish", ("train5k", "dev", "test"))
    import_spmrl(swedish, tmp_path / "only")
    found = [subject(tmp_path / name) for name in ("full", "small", "only")]
    assert found == ["train", "train5k", "train5k"]


def test_one_language_is_chosen_among_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for language in ("French", "Polish"):
        lay_out(tmp_path / "all" / f"{language.upper()}_SPMRL", language, ("train", "dev", "test"))
    with pytest.raises(FileError, match="several languages are below this folder"):
        import_spmrl(tmp_path / "all", tmp_path / "out")
    call = ["treebank", "import", "spmrl", str(tmp_path / "all"), str(tmp_path / "out")]
    assert run(call) == 2
    assert run([*call, "--language", "polish"]) == 0
    assert "train        2 sentences" in capsys.readouterr().out


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    source = lay_out(tmp_path / "FRENCH_SPMRL", "French", ("train", "test"))
    with pytest.raises(FileError, match=r"no dev\.LANGUAGE\.gold\.ptb"):
        import_spmrl(source, tmp_path / "out")
