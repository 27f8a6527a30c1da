from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.errors import FileError
from arcspan.treebanks import read_brackets, write_brackets
from arcspan.treebanks.brackets import cut_units
from tests.treebanks.samples import TREES


def units(text: str) -> list[tuple[int, str, str | None]]:
    return [
        (unit.line, unit.text, unit.problem) for unit in cut_units(enumerate(text.split("\n"), 1))
    ]


def test_trees_are_found_in_any_layout(tmp_path: Path) -> None:
    expected = ["(S (NP (NN a)) (VP (VB b)))", "(NP (NN c))", "(NP (NN d))"]
    layouts = [
        "(S (NP (NN a)) (VP (VB b)))\n(NP (NN c))\n(NP (NN d))\n",
        "(S (NP (NN a)) (VP (VB b))) (NP (NN c))(NP (NN d))",
        "\n\n(S\n(NP (NN a))\n(VP (VB b))\n)\n\n(NP (NN c)) (NP\n(NN\nd)\n)",
        "  (S (NP (NN\n a))\n\n  (VP\t(VB b)) ) \r\n(NP (NN c)\n)(NP (NN d))",
    ]
    path = tmp_path / "a.ptb"
    for layout in layouts:
        path.write_text(layout)
        assert [tree.brackets() for tree in read_brackets(path)] == expected


def test_the_layout_of_the_penn_treebank_is_read_with_and_without_its_traces(
    tmp_path: Path,
) -> None:
    path = tmp_path / "wsj_0001.mrg"
    path.write_text(
        "\n( (S\n    (NP-SBJ-1 (NNS Dogs) )\n    (VP (VBP want)\n      (S\n        (NP-SBJ (-NONE- *-1) )\n"
        "        (VP (TO to)\n          (VP (VB bark) ))))\n    (. .) ))\n"
    )
    (kept,) = read_brackets(path)
    assert kept.words == ("Dogs", "want", "*-1", "to", "bark", ".")
    (stripped,) = read_brackets(path, functions="strip", empties="strip", wrapper="strip")
    assert (
        stripped.brackets()
        == "(S (NP (NNS Dogs)) (VP (VBP want) (S (VP (TO to) (VP (VB bark))))) (. .))"
    )


def test_what_was_read_is_written_as_it_was(tmp_path: Path) -> None:
    source, target = tmp_path / "a.ptb", tmp_path / "b.ptb.xz"
    source.write_text(TREES)
    assert write_brackets(read_brackets(source), target) == 3
    assert list(read_brackets(target)) == list(read_brackets(source))
    assert "".join(tree.brackets() + "\n" for tree in read_brackets(target)) == TREES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(A (B b))\n(A (B b)\n",
            ":2: the tree that starts here is not closed: a closing bracket is missing",
        ),
        ("(TOP (A (B b))\n(TOP (A (B b)))\n", ":1: the tree that starts here is not closed"),
        ("( (A (B b))\n( (A (B\n b)))\n", ":1: the tree that starts here is not closed"),
        ("(A (B b))\n\n(A (B b)))\n", ":3: a closing bracket too many"),
        ("(A (B b))\n)\n", ":2: a closing bracket too many"),
        ("(A (B b))\nhello\n", ":2: text outside of any bracket: 'hello'"),
        ("(A (B b)) hello\n", ":1: text outside of any bracket: 'hello'"),
        ("(A (B b))\n(A (B) (C c))\n", ":2: "),
        ("", ": no tree in this file"),
        (" \n\n", ": no tree in this file"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.ptb"
    path.write_text(text)
    with pytest.raises(FileError) as error:
        list(read_brackets(path))
    assert str(error.value).startswith(f"{path}{message}")


def test_a_broken_tree_costs_one_unit_and_the_next_starts_where_it_starts() -> None:
    text = "(TOP (A a))\n(TOP (A (B b))\n(TOP (C c)))\n(TOP (D d))\nnoise\n(TOP (E\ne))"
    found = units(text)
    assert [(line, text) for line, text, problem in found if problem is None] == [
        (1, "(TOP (A a))"),
        (4, "(TOP (D d))"),
        (6, "(TOP (E\ne))"),
    ]
    assert [(line, bool(text)) for line, text, problem in found if problem] == [
        (2, True),
        (3, True),
        (5, False),
    ]


labels = st.sampled_from(["NP", "VP", "S", "-LRB-", ""])
words = st.sampled_from(["dog", "-LRB-", "``", "中", "*T*-1", "a"])
trees = st.recursive(
    st.tuples(labels.filter(bool), words).map(lambda leaf: f"({leaf[0]} {leaf[1]})"),
    lambda children: st.tuples(labels, st.lists(children, min_size=1, max_size=3)).map(
        lambda node: f"({node[0]} {' '.join(node[1])})"
    ),
    max_leaves=8,
)


@given(
    st.lists(trees, min_size=1, max_size=5),
    st.lists(st.sampled_from([" ", "\n", "\n\n  ", "\t"]), min_size=40),
)
def test_units_do_not_depend_on_where_lines_break(written: list[str], spaces: list[str]) -> None:
    # TOP inside a tree at the start of a line would be taken for a new tree; these trees have no
    # wrapper.
    flat = " ".join(tree.replace("( ", "(X ").replace("((", "(X (") for tree in written)
    pieces = flat.split(" ")
    broken = pieces[0]
    for k, piece in enumerate(pieces[1:]):
        broken += spaces[k % len(spaces)] + piece
    assert [" ".join(text.split()) for _, text, _ in units(broken)] == [
        text for _, text, _ in units(flat)
    ]
    assert len(units(broken)) == len(written)
    assert all(problem is None for _, _, problem in units(broken))
