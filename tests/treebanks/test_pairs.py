from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arcspan.errors import FileError
from arcspan.treebanks import DocumentFilter, Pair, ReadingReport, read_pairs, write_pairs
from tests.treebanks.samples import TREES, WORDS, write

TREE_LINES = TREES.splitlines(keepends=True)
BLOCKS = [block + "\n\n" for block in WORDS.strip().split("\n\n")]


def roots(pairs: list[Pair]) -> list[str]:
    return [pair.dependencies.words[pair.dependencies.root - 1] for pair in pairs]


def test_pairs_come_in_order_with_the_same_words_in_both_trees(tmp_path: Path) -> None:
    pairs = list(read_pairs(*write(tmp_path)))
    assert roots(pairs) == ["plays", "sic", "Go"]
    for constituency, dependencies in pairs:
        assert constituency.words == dependencies.words
    assert pairs[1].constituency.words == ("(", "sic", ")")
    assert pairs[0].constituency.spans[0] == (0, 6, "TOP")


def test_words_are_the_same_up_to_escapes_quotes_and_slashes(tmp_path: Path) -> None:
    leaves = ["``", "''", "1\\/2", "friend-LRB-s-RRB-", "--", "10_000", "`", "-LCB-", "a--LRB-"]
    forms = ['"', '"', "1/2", "friend(s)", "—", "10 000", "‘", "{", "a-("]
    tree = f"(TOP (X {' '.join(f'(T {leaf})' for leaf in leaves)}))\n"
    rows = "".join(
        f"{m}\t{form}\t_\t_\t_\t_\t{m - 1}\t_\t_\t_\n" for m, form in enumerate(forms, 1)
    )
    ((constituency, dependencies),) = read_pairs(*write(tmp_path, tree, rows))
    assert constituency.words == dependencies.words == tuple(forms)
    # On paper the tree stays as the bracket file has it.
    assert constituency.brackets() + "\n" == tree


def test_a_different_word_is_reported_with_both_lines(tmp_path: Path) -> None:
    brackets, conll = write(tmp_path, TREES.replace("sic", "sick"))
    with pytest.raises(FileError) as error:
        list(read_pairs(brackets, conll))
    assert str(error.value) == f"{brackets}:2: word 2 is 'sick' here and 'sic' at {conll}:13"


def test_a_missing_word_is_reported_with_both_lines(tmp_path: Path) -> None:
    brackets, conll = write(tmp_path, TREES.replace(" (ADVP (RB here))", ""))
    with pytest.raises(FileError) as error:
        list(read_pairs(brackets, conll))
    assert str(error.value) == (
        f"{brackets}:1: 5 words here and 6 at {conll}:3; word 6, 'here', is in one of them only"
    )


@pytest.mark.parametrize(
    ("trees", "words", "message"),
    [
        (
            TREE_LINES[:2],
            BLOCKS,
            "a.conllu:16: a sentence with no tree: {brackets} ends after 2 trees",
        ),
        (
            TREE_LINES,
            BLOCKS[:2],
            "a.ptb:3: a tree with no sentence: {conll} ends after 2 sentences",
        ),
        ([], BLOCKS, "a.ptb: no tree in this file"),
        (TREE_LINES, [], "a.conllu: no sentence in this file"),
    ],
)
def test_files_of_different_length_are_refused(
    tmp_path: Path, trees: list[str], words: list[str], message: str
) -> None:
    brackets, conll = write(tmp_path, "".join(trees), "".join(words))
    with pytest.raises(FileError) as error:
        list(read_pairs(brackets, conll))
    assert str(error.value) == f"{tmp_path}/{message.format(brackets=brackets, conll=conll)}"


BAD_TREES = [
    TREE_LINES[1].replace("sic", "sick"),
    TREE_LINES[1].replace("(NP", "("),
    TREE_LINES[1].rstrip()[:-1] + "\n",
    TREE_LINES[1].rstrip() + ")\n",
    "(TOP (NN one) (NN two) (NN three) (NN four))\n",
]
BAD_BLOCKS = [
    BLOCKS[1].replace("\t2\tpunct", "\t3\tpunct"),
    BLOCKS[1].replace("\t_\tSpaceAfter=No", "\tSpaceAfter=No"),
    BLOCKS[1].replace("\tsic\t", "\tsick\t"),
    BLOCKS[1].replace("3\t)", "4\t)"),
]


@pytest.mark.parametrize("tree", BAD_TREES[:1] + BAD_TREES[2:])
def test_a_dropped_tree_never_shifts_the_others(tmp_path: Path, tree: str) -> None:
    report = ReadingReport()
    brackets, conll = write(tmp_path, TREE_LINES[0] + tree + TREE_LINES[2])
    assert roots(list(read_pairs(brackets, conll, mismatch="skip", report=report))) == [
        "plays",
        "Go",
    ]
    assert (report.read, report.skipped) == (2, 1)
    assert report.problems[0].startswith(f"{brackets}:2: ")


@pytest.mark.parametrize("block", BAD_BLOCKS)
def test_a_dropped_sentence_never_shifts_the_others(tmp_path: Path, block: str) -> None:
    report = ReadingReport()
    files = write(tmp_path, words=BLOCKS[0] + block + BLOCKS[2])
    assert roots(list(read_pairs(*files, mismatch="skip", report=report))) == ["plays", "Go"]
    assert len(report.problems) == 1


def test_skipping_counts_what_is_left_over_at_the_end(tmp_path: Path) -> None:
    report = ReadingReport()
    files = write(tmp_path, TREES, BLOCKS[0])
    assert roots(list(read_pairs(*files, mismatch="skip", report=report))) == ["plays"]
    assert report.skipped == 2 and all("a tree with no sentence" in one for one in report.problems)


def test_text_between_trees_is_no_sentence(tmp_path: Path) -> None:
    report = ReadingReport()
    files = write(tmp_path, TREE_LINES[0] + "noise\n" + TREE_LINES[1] + TREE_LINES[2])
    assert roots(list(read_pairs(*files, mismatch="skip", report=report))) == ["plays", "sic", "Go"]
    assert (report.skipped, len(report.problems)) == (0, 1)


def test_a_limit_stops_before_a_later_problem(tmp_path: Path) -> None:
    files = write(tmp_path, TREE_LINES[0] + "(", WORDS)
    assert roots(list(read_pairs(*files, limit=1))) == ["plays"]
    assert list(read_pairs(*files, limit=0)) == []


def test_traces_are_stripped_on_request(tmp_path: Path) -> None:
    tree = "(TOP (S (NP-SBJ (-NONE- *)) (VP (VB Go))))\n"
    ((constituency, _),) = read_pairs(
        *write(tmp_path, tree, BLOCKS[2]), empties="strip", functions="strip"
    )
    assert constituency.brackets() == "(TOP (S (VP (VB Go))))"


def test_one_file_cannot_be_both(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="the bracket file and the CoNLL file are the same"):
        list(read_pairs("-", "-"))
    with pytest.raises(ValueError, match="mismatch is 'strict' or 'skip'"):
        read_pairs("a", "b", mismatch="ignore")  # type: ignore[arg-type]


def test_a_single_file_gives_pairs_of_one_layer(tmp_path: Path) -> None:
    brackets, conll = write(tmp_path)
    pairs = list(read_pairs(brackets, conll))
    assert [tuple(pair) for pair in read_pairs(None, conll)] == [
        (None, pair.dependencies) for pair in pairs
    ]
    assert [tuple(pair) for pair in read_pairs(brackets, None)] == [
        (pair.constituency, None) for pair in pairs
    ]
    assert [pair.words for pair in read_pairs(brackets, None)] == [pair.words for pair in pairs]
    assert write_pairs(read_pairs(None, conll), None, tmp_path / "b.conllu") == 3
    assert list(read_pairs(None, tmp_path / "b.conllu")) == list(read_pairs(None, conll))
    with pytest.raises(ValueError, match="a bracket file or a CoNLL file is needed"):
        list(read_pairs(None, None))


def test_problems_of_a_single_file_are_told_with_their_place_or_skipped(tmp_path: Path) -> None:
    brackets, conll = write(tmp_path, TREE_LINES[0] + BAD_TREES[2], BLOCKS[0] + BAD_BLOCKS[3])
    for files, message in (
        ((brackets, None), f"{brackets}:2: "),
        ((None, conll), f"{conll}:14: the ID"),
    ):
        with pytest.raises(FileError) as error:
            list(read_pairs(*files))
        assert str(error.value).startswith(message)
        report = ReadingReport()
        assert len(list(read_pairs(*files, mismatch="skip", report=report))) == report.skipped == 1
    with pytest.raises(FileError, match="no tree in this file"):
        list(read_pairs(write(tmp_path, "", WORDS)[0], None))


def test_only_the_sentences_to_keep_are_read_and_problems_of_others_are_nobodys(
    tmp_path: Path,
) -> None:
    files = write(tmp_path, TREES.replace("sic", "sick"), WORDS)
    keep = DocumentFilter(without={"newdoc id": ["two"]})
    with pytest.raises(FileError):
        list(read_pairs(*files, keep=keep))
    words = WORDS.replace("# sent_id = two", "# newdoc id = two").replace(
        "# sent_id = three", "# newdoc id = three"
    )
    files = write(tmp_path, TREES.replace("sic", "sick"), words)
    assert roots(list(read_pairs(*files, keep=keep))) == ["plays", "Go"]


def test_brackets_in_forms_of_a_conll_file_alone_are_read_as_arcspan_parse_reads_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.conllu").write_text(
        "1\t-LRB-\t_\t_\t_\t_\t2\tpunct\t_\t_\n2\tsic\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    )
    (pair,) = read_pairs(None, tmp_path / "a.conllu")
    assert pair.dependencies.words == ("(", "sic")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    pairs = list(read_pairs(*write(tmp_path)))
    target = tmp_path / "b.ptb.xz", tmp_path / "b.conllu.xz"
    assert write_pairs(pairs, *target) == 3
    assert list(read_pairs(*target)) == pairs


@pytest.mark.parametrize(
    "name", ["craft", "craft-ud", "gum", "gum-ud", "sequoia", "sinica", "icepahc"]
)
def test_the_shared_dev_files_fit_word_by_word(treebanks: Path, name: str) -> None:
    count = 0
    for constituency, dependencies in read_pairs(
        treebanks / name / "dev.ptb.xz", treebanks / name / "dev.conllu.xz"
    ):
        count += 1
        assert constituency.words == dependencies.words
    expected = {"craft": 2780, "gum": 1575, "sequoia": 412, "sinica": 1000, "icepahc": 1782}
    assert count == expected[name.removesuffix("-ud")]


def test_the_raw_craft_trees_fit_once_their_traces_are_gone(treebanks: Path) -> None:
    files = treebanks / "craft" / "dev.raw.ptb.xz", treebanks / "craft" / "dev.conllu.xz"
    plain = read_pairs(treebanks / "craft" / "dev.ptb.xz", files[1])
    assert list(read_pairs(*files, empties="strip", functions="strip")) == list(plain)


BOTH = (
    "# text = Go home\n# constituency = (TOP (S (VP (VB Go) (NP (NN home)))))\n"
    "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n2\thome\thome\tNOUN\tNN\t_\t1\tobl\t_\tSpacesAfter=\\n\n\n"
)


class TestOneFile:
    def test_both_trees_are_read_from_either_place_and_written_alike(self, tmp_path: Path) -> None:
        path, copy = tmp_path / "both.conllu", tmp_path / "again.conllu"
        path.write_text(BOTH)
        pairs = list(read_pairs(path))
        assert pairs == list(read_pairs(None, path))
        assert pairs[0].constituency.spans[-1] == (1, 2, "NP") and pairs[0].dependencies.heads == (
            0,
            1,
        )
        assert write_pairs(pairs, copy) == 1
        assert list(read_pairs(copy)) == pairs

    def test_a_sentence_without_the_comment_has_one_tree(self, tmp_path: Path) -> None:
        path = tmp_path / "both.conllu"
        path.write_text(
            BOTH + "\n".join(line for line in BOTH.split("\n") if "constituency" not in line)
        )
        assert [pair.constituency is None for pair in read_pairs(path)] == [False, True]

    def test_line_breaks_as_stanza_writes_them_are_white_space(self, tmp_path: Path) -> None:
        path = tmp_path / "both.conllu"
        path.write_text(BOTH.replace("(VP (VB Go)", "*NL*(VP*NL*(VB Go)"))
        assert next(read_pairs(path)).constituency.spans[-1] == (1, 2, "NP")

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "(NN home)",
                "(NN away)",
                "both.conllu:2: word 2 is 'away' here and 'home' at .*both.conllu:4",
            ),
            ("home)))))", "home))))", "both.conllu:2: the tree that starts here is not closed"),
            ("(TOP (S", "(TOP (X x)) (TOP (S", "both.conllu:2: 2 trees in this comment"),
            (
                "(TOP (S (VP (VB Go) (NP (NN home)))))",
                "",
                "both.conllu:2: no trees in this comment",
            ),
            ("1\tobl", "2\tobl", "both.conllu:3: the heads form a cycle"),
        ],
    )
    def test_what_does_not_fit_is_named_with_its_line(
        self, tmp_path: Path, old: str, new: str, message: str
    ) -> None:
        path = tmp_path / "both.conllu"
        path.write_text(BOTH.replace(old, new))
        with pytest.raises(FileError, match=message):
            list(read_pairs(path))
        report = ReadingReport()
        assert list(read_pairs(path, mismatch="skip", report=report)) == [] and report.skipped == 1


class TestHeadsThatAreNotATree:
    ROWS = "1\ta\t_\t_\t_\t_\t{}\tx\t_\t_\n2\tb\t_\t_\t_\t_\t{}\tx\t_\t_\n3\tc\t_\t_\t_\t_\t{}\tx\t_\t_\n\n"

    def read(self, tmp_path: Path, *heads: str | int, kind: Any = "partial") -> Any:
        path = tmp_path / "a.conllu"
        path.write_text(self.ROWS.format(*heads))
        return next(read_pairs(path, heads=kind)).dependencies

    def test_heads_that_are_not_annotated_are_kept(self, tmp_path: Path) -> None:
        tree = self.read(tmp_path, 2, "_", 2)
        assert (tree.heads, tree.is_tree) == ((2, -1, 2), False)
        write_pairs([Pair(None, tree)], tmp_path / "b.conllu")  # type: ignore[arg-type]
        assert (tmp_path / "b.conllu").read_text() == self.ROWS.format(2, "_", 2)
        with pytest.raises(
            FileError, match=r"a.conllu:2: the HEAD \(column 7\) is '_', not a number"
        ):
            self.read(tmp_path, 2, "_", 2, kind="tree")

    def test_partial_heads_must_be_those_of_some_tree(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, "_", "_", 0).heads == (-1, -1, 0)
        assert self.read(tmp_path, 2, 0, 2).is_tree
        for heads, message in (
            ((2, 1, "_"), "form a cycle"),
            ((0, 0, "_"), "2 roots"),
            (("_", 4, "_"), "head 4"),
        ):
            with pytest.raises(FileError, match=message):
                self.read(tmp_path, *heads)

    def test_any_heads_are_kept_for_scoring(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, 2, 1, 0, kind="any").heads == (2, 1, 0)


def test_brackets_in_forms_are_read_alike_with_and_without_a_bracket_file(tmp_path: Path) -> None:
    trees, rows = tmp_path / "a.ptb", tmp_path / "a.conllu"
    trees.write_text("(X (-LRB- -LRB-) (LS a))\n")
    rows.write_text("1\t-LRB-\t_\t_\t_\t_\t2\tx\t_\t_\n2\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    assert [next(read_pairs(path, rows)).dependencies.words for path in (trees, None)] == [
        ("(", "a")
    ] * 2


def test_columns_of_conllu_plus_become_those_of_conllu(tmp_path: Path) -> None:
    path = tmp_path / "a.conllup"
    path.write_text(
        "# global.columns = ID FORM UPOS HEAD DEPREL OWN:NER\n1\tGo\tVERB\t0\troot\tO\n\n"
    )
    tree = next(read_pairs(path)).dependencies
    assert (tree.upos, tree.relations, tree.lemmas) == (("VERB",), ("root",), ("",))
    path.write_text("# global.columns = ID FORM\n1\n\n")
    with pytest.raises(FileError, match=r"a.conllup:2: 1 columns where global.columns names 2"):
        list(read_pairs(path))
