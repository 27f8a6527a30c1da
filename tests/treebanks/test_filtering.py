from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.errors import FileError
from arcspan.treebanks import filter_pairs, read_pairs, stats
from tests.treebanks.samples import TREES, WORDS, write


def test_a_tree_of_several_lines_becomes_one_line(tmp_path: Path) -> None:
    files = write(tmp_path, TREES.replace(" (VP", "\n  (VP"))
    target = tmp_path / "b.ptb", tmp_path / "b.conllu"
    report = filter_pairs(files, target)
    assert (report.read, report.written) == (3, 3)
    assert len(target[0].read_text().splitlines()) == 3
    assert list(read_pairs(*target)) == list(read_pairs(*files))


def test_nothing_is_written_when_a_strict_run_fails(tmp_path: Path) -> None:
    files = write(tmp_path, TREES, WORDS.replace("\tsic\t", "\tsick\t"))
    with pytest.raises(FileError):
        filter_pairs(files, (tmp_path / "b.ptb", tmp_path / "b.conllu"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.conllu", "a.ptb"]


def test_what_remains_of_a_real_treebank_is_wholly_compatible(
    treebanks: Path, tmp_path: Path
) -> None:
    folder = treebanks / "gum"
    target = tmp_path / "b.ptb.gz", tmp_path / "b.conllu.gz"
    report = filter_pairs((folder / "dev.ptb.xz", folder / "dev.conllu.xz"), target)
    found = stats(read_pairs(*target))
    assert 0 < report.written < report.read
    assert (found.sentences, found.compatible) == (report.written, report.written)
