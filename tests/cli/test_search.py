"""`arcspan search`."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.treebanks import write_brackets, write_conllu
from tests.trees.test_search import ARCS, TREE

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    brackets, conllu = tmp_path / "a.ptb", tmp_path / "a.conllu.xz"
    write_brackets([TREE, TREE], brackets)
    write_conllu([ARCS, ARCS], conllu)
    return str(brackets), str(conllu)


def test_matches_are_shown_in_their_sentences(files: tuple[str, str], capsys: Captured) -> None:
    brackets, conllu = files
    assert run(["search", "{tag:VBD} >nsubj {}=who", conllu]) == 0
    shown, notes = capsys.readouterr()
    assert shown.splitlines() == [
        f"{conllu}:{number}: The dog [saw] a man with ( .  (root)  who=dog" for number in (1, 2)
    ]
    assert "2 matches" in notes
    pytest.importorskip("nltk", reason="nltk is not installed (arcspan[nltk])")
    assert run(["search", "NP < PP", brackets, "--context", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{brackets}:1: saw [a man with (] .  (NP)"


def test_matches_are_counted(files: tuple[str, str], capsys: Captured) -> None:
    _, conllu = files
    assert run(["search", "{upos:NOUN}", conllu, conllu, "--count"]) == 0
    assert capsys.readouterr().out == f"6\t2\t{conllu}\n" * 2


def test_a_concordance_is_a_table(files: tuple[str, str], tmp_path: Path) -> None:
    _, conllu = files
    out = tmp_path / "found.tsv"
    assert run(["search", "{}=det <det {}=noun", conllu, "--tsv", "--context", "2", "-o", str(out)]) == 0
    head, first, *rest = out.read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["file", "sentence", "left", "match", "right", "label", "det", "noun"]
    assert first.split("\t") == [conllu, "1", "", "The", "dog saw", "det", "The", "dog"]
    assert len(rest) == 3
    assert run(["search", "{word:cat}", conllu, "--tsv", "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == "file\tsentence\tleft\tmatch\tright\tlabel\n"


def test_what_is_wrong_is_said(files: tuple[str, str], capsys: Captured) -> None:
    brackets, conllu = files
    for arguments, reason in (
        (["{}", brackets], "which are in CoNLL-U files"),
        (["NP", conllu], "which are in bracket files"),
        (["{", conllu], "pattern"),
        (["{}", conllu, "--count", "--tsv"], "choose one"),
        (["{}", conllu, "-o", conllu], "is also the input"),
        (["{}", "nothing.conllu"], "nothing.conllu"),
    ):
        assert run(["search", *arguments]) == 2
        assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pattern", "where"),
    [("NP <", "from '<' on"), ("", "at its end"), ("/[/", ": invalid or oversized /regex/")],
)
def test_a_pattern_that_is_not_tgreps_is_refused_in_a_line(
    files: tuple[str, str], capsys: Captured, pattern: str, where: str
) -> None:
    """The message was the whole grammar of tgrep."""
    pytest.importorskip("nltk", reason="nltk is not installed (arcspan[nltk])")
    assert run(["search", pattern, files[0]]) == 2
    error = capsys.readouterr().err
    assert where in error and len(error) < 200
