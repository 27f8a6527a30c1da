from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.errors import FileError
from arcspan.treebanks import read_pairs
from arcspan.treebanks.importers import import_ctb

# The layout of a file: headers with text of their own, a tag a line, a tree a sentence.
FILE = """<DOC>
<DOCID> NUMBER </DOCID>
<HEADER>
<DATE>
1994 (no tree)
</DATE>
</HEADER>
<BODY>
<HEADLINE>
<S ID=1>
( (IP-HLN (NP-SBJ (NR-SHORT 中) (NN NUMBER))
          (VP (VV 发展)
              (NP-OBJ (-NONE- *pro*)))) )
</S>
</HEADLINE>
<TEXT>
<P>
<S ID=2>( (IP (NP-SBJ (PN 他))
(VP (VV 来) (AS 了)) (PU 。)) )</S>
</P>
</TEXT>
</BODY>
</DOC>
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "ctb5.1" / "data" / "bracketed"
    folder.mkdir(parents=True)
    for number in (
        "001",
        "815",
        "816",
        "885",
        "886",
        "931",
        "1001",
        "1136",
        "1137",
        "1147",
        "1148",
        "1151",
    ):
        text = FILE.replace("NUMBER", number)
        (folder / f"chtb_{number}.fid").write_bytes(text.encode("gb18030"))
    return folder


def numbers(folder: Path, split: str) -> list[str]:
    pairs = read_pairs(folder / f"{split}.ptb", folder / f"{split}.conllu")
    return [pair.constituency.words[1] for pair in pairs][::2]


def test_the_files_become_the_splits_of_zhang_and_clark(source: Path, tmp_path: Path) -> None:
    report = import_ctb(source, tmp_path / "out")
    assert report.sentences == {"train": 8, "dev": 8, "test": 8}
    assert sorted(numbers(tmp_path / "out", "train")) == ["001", "1001", "1136", "815"]
    assert sorted(numbers(tmp_path / "out", "dev")) == ["1148", "1151", "886", "931"]
    assert sorted(numbers(tmp_path / "out", "test")) == ["1137", "1147", "816", "885"]


def test_markup_marks_and_traces_are_gone(source: Path, tmp_path: Path) -> None:
    import_ctb(source, tmp_path / "out")
    lines = (tmp_path / "out" / "train.ptb").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == [
        "(TOP (IP (NP (NR 中) (NN 001)) (VP (VV 发展))))",
        "(TOP (IP (NP (PN 他)) (VP (VV 来) (AS 了)) (PU 。)))",
    ]
    pair = next(read_pairs(tmp_path / "out" / "train.ptb", tmp_path / "out" / "train.conllu"))
    assert pair.dependencies.heads == (2, 3, 0)


def test_function_tags_decide_on_relations_before_they_are_cut_off(
    source: Path, tmp_path: Path
) -> None:
    """A time before the subject was a second subject."""
    tree = "( (IP (NP-TMP (NT 今天)) (NP-SBJ (PN 他)) (VP (VC 是) (NP-PRD (NN 王)))) )\n"
    (source / "chtb_001.fid").write_bytes(tree.encode("gb18030"))
    import_ctb(source, tmp_path / "out")
    pair = next(read_pairs(tmp_path / "out" / "train.ptb", tmp_path / "out" / "train.conllu"))
    assert pair.dependencies.relations == ("VMOD", "SUB", "ROOT", "PRD")
    assert {label for _, _, label in pair.constituency.spans} == {"TOP", "IP", "NP", "VP"}


def test_copies_in_utf8_give_the_same(source: Path, tmp_path: Path) -> None:
    import_ctb(source, tmp_path / "out")
    for path in source.iterdir():
        path.write_bytes(path.read_bytes().decode("gb18030").encode("utf-8"))
    import_ctb(source, tmp_path / "again")
    for name in ("train.ptb", "test.conllu"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_what_is_in_neither_encoding_is_named_by_its_line(source: Path, tmp_path: Path) -> None:
    (source / "chtb_001.fid").write_bytes(
        FILE.encode("gb18030").replace("他".encode("gb18030"), b"\xff\xff")
    )
    with pytest.raises(FileError, match=r"chtb_001\.fid:18: byte 0xff .* is not GB18030"):
        import_ctb(source, tmp_path / "out")


def test_the_command_line_imports(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["treebank", "import", "ctb", str(source), str(tmp_path / "out")]) == 0
    assert "train        8 sentences" in capsys.readouterr().out
