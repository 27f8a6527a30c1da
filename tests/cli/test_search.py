"""`arcspan search`."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.treebanks import write_brackets, write_conllu
from tests.syntax.test_query import ARCS, TREE

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
    assert "2 matches, sentences with one: 2; 125.00 per 1,000 of 16 words" in notes
    assert run(["search", "NP < PP", brackets, "--context", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{brackets}:1: saw [a man with (] .  (NP)"


def test_two_files_of_one_name_are_searched_together(
    files: tuple[str, str], capsys: Captured
) -> None:
    assert run(["search", "NP <# ({}=noun <obj {lemma:see}) < PP", *files]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("saw [a man with (] .  (NP)  noun=man")


def test_a_comment_gives_the_other_tree(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "both.conllu"
    write_conllu([ARCS], path)
    path.write_text(
        f"# constituency = {TREE.brackets()}\n" + path.read_text(encoding="utf-8"), encoding="utf-8"
    )
    assert run(["search", "NP <# {upos:NOUN}", str(path), "--count"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("4\t1\t8\t500.00")


def test_matches_are_counted_per_file_and_in_all(
    files: tuple[str, str], tmp_path: Path, capsys: Captured
) -> None:
    """An empty file stopped the search, and later files were not counted."""
    _, conllu = files
    empty, nameless = tmp_path / "empty.conllu", tmp_path / "nameless"
    empty.touch()
    nameless.touch()
    assert run(["search", "{upos:NOUN}", str(empty), str(nameless), conllu, "--count"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "matches\tsentences\twords\tper_1000_words\tfile",
        f"0\t0\t0\t0.00\t{empty}",
        f"0\t0\t0\t0.00\t{nameless}",
        f"6\t2\t16\t375.00\t{conllu}",
        "6\t2\t16\t375.00\ttotal",
    ]


def test_counts_over_several_parses_are_expected_ones(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "k.conllu"
    other = ARCS._trusted(ARCS.heads, ("det", "obl", *ARCS.relations[2:]), *ARCS._value()[2:])
    write_conllu([ARCS, other], path)
    one, two = path.read_text(encoding="utf-8").strip().split("\n\n")
    text = f"# rank = 1\n# score = 1.0986123\n{one}\n\n# rank = 2\n# score = 0\n{two}\n\n"
    path.write_text(text * 2, encoding="utf-8")
    assert run(["search", "{} >nsubj {} | >obj {}=o", str(path), "--count"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[:3] == ["3.5", "2", "16"]
    assert run(["search", "{} >nsubj {}", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("(root)  p=0.75")


def test_scores_are_divided_by_their_temperature(tmp_path: Path, capsys: Captured) -> None:
    """A margin's scores gave the best parse too much weight."""
    path = tmp_path / "k.conllu"
    write_conllu([ARCS], path)
    sentence = path.read_text(encoding="utf-8")
    blocks = [
        f"# rank = {rank}\n# score = {score}\n# temperature = 2\n{sentence}"
        for rank, score in ((1, 2.1972246), (2, 0))
    ]
    other = blocks[1].replace("nsubj", "obl")
    path.write_text(blocks[0] + other, encoding="utf-8")
    assert run(["search", "{} >nsubj {}", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("(root)  p=0.75")


@pytest.mark.parametrize("score", ["nan", "inf", "-inf", "1e999"])
def test_scores_that_are_not_numbers_weigh_nothing(
    tmp_path: Path, capsys: Captured, score: str
) -> None:
    """Two parses with the score nan had nan matches."""
    path = tmp_path / "k.conllu"
    write_conllu([ARCS], path)
    one = path.read_text(encoding="utf-8")
    path.write_text(
        "".join(f"# rank = {k}\n# score = {score}\n{one}" for k in (1, 2)), encoding="utf-8"
    )
    assert run(["search", "{tag:VBD}", str(path), "--count"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[:3] == ["2", "2", "16"]


def test_a_concordance_is_a_table(files: tuple[str, str], tmp_path: Path) -> None:
    _, conllu = files
    out = tmp_path / "found"
    for option, delimiter in (("--tsv", "\t"), ("--csv", ",")):
        assert (
            run(["search", "{}=det <det {}=noun", conllu, option, "--context", "2", "-o", str(out)])
            == 0
        )
        head, first, *rest = csv.reader(out.open(encoding="utf-8"), delimiter=delimiter)
        assert head == [
            "file",
            "sentence",
            "left",
            "match",
            "right",
            "label",
            "probability",
            "det",
            "noun",
        ]
        assert first == [conllu, "1", "", "The", "dog saw", "det", "1", "The", "dog"]
        assert len(rest) == 3
    assert run(["search", "{word:cat}", conllu, "--tsv", "-o", str(out)]) == 0
    assert (
        out.read_text(encoding="utf-8")
        == "file\tsentence\tleft\tmatch\tright\tlabel\tprobability\n"
    )


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("{} >objj {}", "no relation 'objj' in these files; similar: obj"),
        ("{tag:VBDD}", "no tag 'VBDD' in these files; similar: VBD"),
        ("NPP < PP", "no constituent, tag or word 'NPP' in these files; similar: PP, NP"),
    ],
)
def test_values_that_are_not_there_are_named(
    files: tuple[str, str], capsys: Captured, pattern: str, hint: str
) -> None:
    assert run(["search", pattern, *files]) == 0
    shown, notes = capsys.readouterr()
    assert not shown and "0 matches" in notes and hint in notes


def test_what_is_wrong_is_said(files: tuple[str, str], capsys: Captured) -> None:
    brackets, conllu = files
    for arguments, reason in (
        (
            ["{} > {}", brackets],
            f"{brackets}: sentence 1: the query asks for dependencies, which are not there",
        ),
        (
            ["NP", conllu],
            f"{conllu}: sentence 1: the query asks for constituents, which are not there",
        ),
        (["{", conllu], "the pattern cannot be read"),
        (["{}", conllu, "-o", conllu], "is also the input"),
        (["{}", "nothing.conllu"], "nothing.conllu"),
    ):
        assert run(["search", *arguments]) == 2
        assert reason in capsys.readouterr().err


def test_a_node_that_is_not_in_every_match_has_its_column(
    files: tuple[str, str], capsys: Captured
) -> None:
    assert run(["search", "{upos:NOUN} <obj {} | >case {}=c", files[1], "--csv"]) == 0
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert rows[0][-1] == "c" and [row[-1] for row in rows[1:3]] == ["", "with"]
