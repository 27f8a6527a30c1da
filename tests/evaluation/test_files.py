"""Predictions of any parser, from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from arcspan.errors import ArcspanError, FileError
from arcspan.evaluation import evaluate
from arcspan.evaluation.report import evaluate_files, read_files
from arcspan.treebanks import write_pairs
from arcspan.treebanks.tree_files import TreeFiles, group_files, kind_of
from tests.evaluation.samples import DOGS, GOLD, PREDICTED, write


def conll(rows: Sequence[tuple[str, int | str, str]]) -> str:
    lines = [
        f"{m}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_"
        for m, (word, head, relation) in enumerate(rows, 1)
    ]
    return "\n".join(lines) + "\n\n"


def test_files_on_disk_score_as_trees_in_memory(tmp_path: Path) -> None:
    gold, predicted = (
        TreeFiles(*write(tmp_path, name, pairs)) for name, pairs in (("g", GOLD), ("p", PREDICTED))
    )
    report = evaluate_files(gold, predicted)
    assert report.las == pytest.approx(100 * 4 / 6)
    assert report.recall == pytest.approx(100 * 6 / 7)


def test_the_kind_of_a_file_is_told_by_its_name_or_its_first_line(tmp_path: Path) -> None:
    trees, columns, empty = tmp_path / "out1.txt", tmp_path / "out2.txt", tmp_path / "out3.txt"
    trees.write_text("\n  (S (NN a))\n")
    columns.write_text(conll([("a", 0, "root")]))
    empty.write_text("\n")
    assert [kind_of(trees), kind_of(columns)] == ["brackets", "conll"]
    assert [kind_of("a.mrg"), kind_of("a.conll.gz")] == ["brackets", "conll"]
    with pytest.raises(FileError, match="the file is empty"):
        kind_of(empty)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_no_line_of_a_pipe_is_lost_to_tell_its_kind(tmp_path: Path) -> None:
    """`arcspan evaluate <(cat gold) <(cat predicted)` scored what a first look had left."""
    for name in ("pipe", "pipe.ptb"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(FileError, match="a pipe is read once"):
        kind_of(tmp_path / "pipe")
    assert kind_of(tmp_path / "pipe.ptb") == "brackets"


def test_files_are_grouped_by_kind() -> None:
    assert group_files(["g.ptb", "a.ptb", "b.ptb"]) == [
        ("g.ptb", None),
        ("a.ptb", None),
        ("b.ptb", None),
    ]
    assert group_files(["g.conllu", "a.conllu"]) == [(None, "g.conllu"), (None, "a.conllu")]
    assert group_files(["g.conllu", "g.ptb", "a.ptb", "a.conllu"]) == [
        ("g.ptb", "g.conllu"),
        ("a.ptb", "a.conllu"),
    ]


def test_files_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(ArcspanError, match="2 bracket files and 1 CoNLL files"):
        group_files(["g.ptb", "g.conllu", "a.ptb"])
    with pytest.raises(FileError, match=r"a.ptb: two bracket files in a row .* \(with g.ptb\)"):
        group_files(["g.ptb", "a.ptb", "g.conllu", "a.conllu"])


def test_heads_that_are_no_tree_are_scored_all_the_same(tmp_path: Path) -> None:
    gold, predicted = tmp_path / "g.conllu", tmp_path / "p.conllu"
    gold.write_text(conll([("a", 2, "x"), ("b", 0, "root"), ("c", 2, "y"), ("d", 3, "z")]))
    two_roots = [("a", 0, "root"), ("b", 0, "root"), ("c", 2, "y"), ("d", 3, "z")]
    cycle = [("a", 2, "x"), ("b", 0, "root"), ("c", 4, "y"), ("d", 3, "z")]
    gold.write_text(gold.read_text() * 2)
    predicted.write_text(conll(two_roots) + conll(cycle))
    report = evaluate_files(TreeFiles(None, gold), TreeFiles(None, predicted))
    assert report.uas == 75.0
    assert not any(pair.dependencies.is_tree for pair in read_files(TreeFiles(None, predicted)))


def test_gold_sentences_with_several_roots_count(tmp_path: Path) -> None:
    gold, trees = tmp_path / "g.conllu", tmp_path / "g.ptb"
    gold.write_text(
        conll([("a", 0, "root"), ("b", 0, "root")]) + conll([("c", 0, "root"), ("d", 1, "x")])
    )
    trees.write_text("(S (NN a) (NN b))\n(S (NN c) (NN d))\n")
    for files in (TreeFiles(None, gold), TreeFiles(trees, gold)):
        report = evaluate_files(files, files)
        assert (report.sentences, report.totals["arcs"], report.las) == (2, 4, 100.0)
    assert report.compatible == 50.0
    trees.write_text("(S (NN a) (NN c))\n(S (NN c) (NN d))\n")
    with pytest.raises(FileError, match=r"g.ptb:1: word 2 is 'c' here and 'b' at .*g.conllu:2"):
        list(read_files(TreeFiles(trees, gold)))
    trees.write_text("(S (NN a) (NN b)\n")
    with pytest.raises(FileError, match=r"g.ptb:1: "):
        list(read_files(TreeFiles(trees, gold)))


@pytest.mark.parametrize(
    "rows",
    [[("a", 9, "x")], [("a", -1, "x")], [("a", "9" * 5000, "x")]],
    ids=["head beyond the sentence", "head below zero", "a number of thousands of digits"],
)
def test_heads_outside_the_sentence_are_refused(
    tmp_path: Path, rows: list[tuple[str, int | str, str]]
) -> None:
    predicted = tmp_path / "p.conllu"
    predicted.write_text(conll(rows))
    with pytest.raises(FileError, match=r"p.conllu:1: .*(head|HEAD)"):
        list(read_files(TreeFiles(None, predicted)))


def test_rows_that_are_not_words_are_refused_and_not_skipped(tmp_path: Path) -> None:
    predicted = tmp_path / "p.conllu"
    predicted.write_text(conll([("a", 0, "root"), ("b", 0, "root")]).replace("2\tb", "²\tb"))
    with pytest.raises(FileError, match=r"p.conllu:2: the ID is '²' where 2 should follow"):
        list(read_files(TreeFiles(None, predicted)))


def test_one_file_holds_both_trees(tmp_path: Path) -> None:
    paths = [tmp_path / "g.conllu", tmp_path / "p.conllu"]
    for path, pairs in zip(paths, (GOLD, PREDICTED), strict=True):
        write_pairs(pairs, path)
    gold, predicted = group_files(paths)
    report = evaluate_files(gold, predicted)
    assert report.figures() == evaluate(GOLD, PREDICTED).figures()
    assert report.f1 is not None and report.las is not None


def test_a_difference_names_the_prediction_and_the_place(tmp_path: Path) -> None:
    gold = TreeFiles(*write(tmp_path, "g", GOLD))
    swapped = TreeFiles(*write(tmp_path, "p", GOLD[::-1]))
    with pytest.raises(
        FileError,
        match=r"p.ptb \+ .*p.conllu: sentence 1: word|p.conllu: sentence 1, word 1: 'Dogs'",
    ):
        evaluate_files(gold, swapped)
    fewer = TreeFiles(*write(tmp_path, "f", [DOGS]))
    with pytest.raises(FileError, match=r"f.conllu: the predicted trees end after sentence 1"):
        evaluate_files(gold, fewer)


def test_predicted_layers_must_have_the_same_words(tmp_path: Path) -> None:
    trees, _ = write(tmp_path, "a", GOLD)
    _, columns = write(tmp_path, "b", GOLD[::-1])
    with pytest.raises(
        FileError, match=r"a.ptb:1: .*word 1 is 'Dogs' here and 'Often' at .*b.conllu:1"
    ):
        list(read_files(TreeFiles(trees, columns)))
    _, short = write(tmp_path, "c", GOLD[:1])
    with pytest.raises(
        FileError, match=r"a.ptb:2: a tree with no sentence: .*c.conllu ends after 1 sentences"
    ):
        list(read_files(TreeFiles(trees, short)))


def test_gold_files_may_still_have_empty_elements(tmp_path: Path) -> None:
    gold, predicted = tmp_path / "g.ptb", tmp_path / "p.ptb"
    gold.write_text("(TOP (S (NP-SBJ (-NONE- *)) (VP (VB go))))\n")
    predicted.write_text("(TOP (S (VP (VB go))))\n")
    assert evaluate_files(TreeFiles(gold, None), TreeFiles(predicted, None)).f1 == 100.0
