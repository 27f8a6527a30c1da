from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arcspan.treebanks import check
from tests.treebanks.samples import TREES, WORDS, write


def kinds(folder: Path, trees: str = TREES, words: str = WORDS, **options: Any) -> list[str]:
    return [finding.kind for finding in check(*write(folder, trees, words), **options)]


def test_a_good_pair_has_no_findings(tmp_path: Path) -> None:
    assert kinds(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("(NP (NN sic))", "( (NN sic))", "labels"),
        ("(NP (NN sic))", "(TOP (NN sic))", "labels"),
        ("(NN sic)", "(VB sic)", "tags"),
        ("(NN sic)", "(NN sick)", "words"),
        ("(NP (NN sic))", "(NP)", "brackets"),
    ],
)
def test_what_is_wrong_in_the_bracket_file(tmp_path: Path, old: str, new: str, kind: str) -> None:
    assert kinds(tmp_path, TREES.replace(old, new)) == [kind]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("\tadvmod\t", "\t_\t", "relations"),
        ("# text = (sic)", "# text = (sick)", "text"),
        ("# sent_id = three", "# sent_id = one", "ids"),
        ("\t2\tnsubj", "\t1\tnsubj", "columns"),
        ("\t2\tnsubj", "\t6\tnsubj", "incompatible"),
    ],
)
def test_what_is_wrong_in_the_conll_file(tmp_path: Path, old: str, new: str, kind: str) -> None:
    assert kinds(tmp_path, words=WORDS.replace(old, new)) == [kind]


def test_the_text_may_have_other_spaces_and_escapes(tmp_path: Path) -> None:
    assert kinds(tmp_path, words=WORDS.replace("# text = (sic)", "# text = -LRB- sic )")) == []


def test_an_empty_element_is_found_unless_stripped(tmp_path: Path) -> None:
    trees = TREES.replace("(VP (VB Go))", "(NP (-NONE- *)) (VP (VB Go))")
    words = WORDS.replace(
        "1\tGo\tgo\tVERB\tVB\t_\t0",
        "1\t*\t_\t_\t-NONE-\t_\t2\tdep\t_\t_\n2\tGo\tgo\tVERB\tVB\t_\t0",
    )
    assert kinds(tmp_path, trees, words.replace("# text = Go\n", "")) == ["labels"]
    assert kinds(tmp_path, trees, WORDS) == ["words"]
    assert kinds(tmp_path, trees, WORDS, empties="strip") == []


def test_kinds_are_left_out_by_name_and_unknown_names_are_refused(tmp_path: Path) -> None:
    files = write(tmp_path, TREES.replace("(NN sic)", "(VB sic)"))
    assert list(check(*files, ignore=["tags"])) == []
    with pytest.raises(ValueError, match="no such kind of problem: nonsense"):
        list(check(*files, ignore=["nonsense"]))
