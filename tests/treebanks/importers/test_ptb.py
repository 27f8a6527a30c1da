from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.errors import ArcspanError, FileError
from arcspan.treebanks import read_pairs, write_conllu
from arcspan.treebanks.importers import import_ptb
from arcspan.trees import DependencyTree

# The layout of the merged files: an empty label around each tree, function tags, traces, escapes.
MERGED = """
( (S
    (NP-SBJ-1 (NNS Dogs) )
    (VP (VBP want)
      (S
        (NP-SBJ (-NONE- *-1) )
        (VP (TO to)
          (VP (VB bark)
            (PP-TMP (IN at)
              (NP (CD 1\\/2) (-LRB- -LRB-) (NN night) (-RRB- -RRB-) ))))))
    (. .) ))
( (S (NP-SBJ (-NONE- *) ) (VP (-NONE- *?*) )))
( (FRAG (ADVP (RB Never) ) (. .) ))
"""
CLEAN = [
    "(TOP (S (NP (NNS Dogs)) (VP (VBP want) (S (VP (TO to) (VP (VB bark) (PP (IN at) "
    "(NP (CD 1\\/2) (-LRB- -LRB-) (NN night) (-RRB- -RRB-))))))) (. .)))",
    "(TOP (FRAG (ADVP (RB Never)) (. .)))",
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "treebank_3" / "parsed" / "mrg"
    for name in (
        "00/wsj_0001",
        "02/wsj_0201",
        "21/wsj_2172",
        "22/wsj_2200",
        "23/wsj_2300",
        "24/wsj_2400",
    ):
        # Older copies have names in capital letters.
        path = folder / "wsj" / (f"{name}.mrg" if name < "23" else f"{name}.mrg".upper())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MERGED.replace("Dogs", f"Dogs-{name[-4:]}"))
    (folder / "brown").mkdir()
    (folder / "brown" / "ck01.mrg").write_text(MERGED)
    return tmp_path / "treebank_3"


def first_words(folder: Path, split: str) -> list[str]:
    return [
        pair.constituency.words[0]
        for pair in read_pairs(folder / f"{split}.ptb", folder / f"{split}.conllu")
    ]


def test_the_sections_become_the_standard_splits(source: Path, tmp_path: Path) -> None:
    report = import_ptb(source, tmp_path / "out")
    assert report.sentences == {"train": 4, "dev": 2, "test": 2}
    assert first_words(tmp_path / "out", "train") == ["Dogs-0201", "Never", "Dogs-2172", "Never"]
    assert first_words(tmp_path / "out", "dev") == ["Dogs-2200", "Never"]
    assert first_words(tmp_path / "out", "test") == ["Dogs-2300", "Never"]


def test_trees_lose_function_tags_and_traces_and_get_a_root(source: Path, tmp_path: Path) -> None:
    report = import_ptb(source, tmp_path / "out")
    lines = (tmp_path / "out" / "dev.ptb").read_text().splitlines()
    assert lines == [CLEAN[0].replace("Dogs", "Dogs-2200"), CLEAN[1]]
    assert len(report.left_out) == 4
    assert report.left_out[0].endswith("wsj_0201.mrg:12: a tree of empty elements only")


def test_dependencies_are_made_by_head_rules(source: Path, tmp_path: Path) -> None:
    import_ptb(source, tmp_path / "out")
    first, second = read_pairs(tmp_path / "out" / "dev.ptb", tmp_path / "out" / "dev.conllu")
    assert first.dependencies.words[first.dependencies.root - 1] == "want"
    assert first.dependencies.words[5] == "1/2"
    assert second.dependencies.heads in ((0, 1), (2, 0))


def test_function_tags_decide_on_relations_before_they_are_cut_off(
    source: Path, tmp_path: Path
) -> None:
    """ "Today he sleeps" had two subjects, and "is a king" an object."""
    today = "( (S (NP-TMP (NN Today) ) (NP-SBJ (PRP he) ) (VP (VBZ sleeps) )))\n"
    king = "( (S (NP-SBJ (PRP He) ) (VP (VBZ is) (NP-PRD (DT a) (NN king) ))))\n"
    (source / "parsed/mrg/wsj/22/wsj_2200.mrg").write_text(today + king)
    import_ptb(source, tmp_path / "out")
    first, second = read_pairs(tmp_path / "out" / "dev.ptb", tmp_path / "out" / "dev.conllu")
    assert first.dependencies.relations == ("VMOD", "SUB", "ROOT")
    assert second.dependencies.relations == ("SUB", "ROOT", "NMOD", "PRD")
    assert {label for _, _, label in first.constituency.spans} == {"TOP", "S", "NP", "VP"}


def test_dependencies_of_another_converter_are_taken_word_by_word(
    source: Path, tmp_path: Path
) -> None:
    converted = tmp_path / "stanford"
    converted.mkdir()
    for split, names in (("train", ("0201", "2172")), ("dev", ("2200",)), ("test", ("2300",))):
        trees = []
        for name in names:
            words = f"Dogs-{name} want to bark at 1/2 -LRB- night -RRB- .".split()
            trees.append(DependencyTree([2, 0, 4, 2, 4, 8, 8, 5, 8, 2], ["dep"] * 10, words))
            trees.append(DependencyTree([0, 1], ["root", "punct"], ["Never", "."]))
        write_conllu(trees, converted / f"{split}.conllu")
    import_ptb(source, tmp_path / "out", dependencies=converted)
    pairs = list(read_pairs(tmp_path / "out" / "test.ptb", tmp_path / "out" / "test.conllu"))
    assert pairs[0].dependencies.heads == (2, 0, 4, 2, 4, 8, 8, 5, 8, 2)
    assert pairs[1].dependencies.relations == ("root", "punct")
    with pytest.raises(
        ArcspanError, match=r"train\.conllu: is also the input, which would be lost"
    ):
        import_ptb(source, converted, dependencies=converted)
    (converted / "dev.conllu").write_text((converted / "test.conllu").read_text())
    with pytest.raises(FileError, match=r"wsj_2200\.mrg:2: not the words of sentence 1 in"):
        import_ptb(source, tmp_path / "again", dependencies=converted)
    (converted / "dev.conllu").unlink()
    with pytest.raises(FileError, match=r"no dev\.conllu"):
        import_ptb(source, tmp_path / "again", dependencies=converted)


def test_a_broken_tree_is_named_and_nothing_is_half_written(source: Path, tmp_path: Path) -> None:
    (source / "parsed/mrg/wsj/22/wsj_2200.mrg").write_text(MERGED + "( (S (NN broken)\n")
    with pytest.raises(
        FileError, match=r"wsj_2200\.mrg:14: the tree that starts here is not closed"
    ):
        import_ptb(source, tmp_path / "out")
    assert not (tmp_path / "out" / "dev.ptb").exists()


def test_a_folder_without_the_files_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no \*\.mrg file of the train split"):
        import_ptb(source / "parsed/mrg/wsj/22", tmp_path / "out")
    with pytest.raises(FileError, match="not a folder"):
        import_ptb(tmp_path / "nowhere", tmp_path / "out")


def test_the_command_line_imports(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["treebank", "import", "ptb", str(source), str(tmp_path / "out")]) == 0
    assert (
        " ".join(capsys.readouterr().out.split())
        == "train 4 sentences dev 2 sentences test 2 sentences"
    )
    assert (
        run(
            [
                "treebank",
                "check",
                str(tmp_path / "out/train.ptb"),
                str(tmp_path / "out/train.conllu"),
            ]
        )
        == 0
    )
    assert run(["treebank", "import", "ptb", str(tmp_path / "nowhere"), str(tmp_path / "out")]) == 2
