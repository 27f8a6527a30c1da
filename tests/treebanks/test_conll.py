from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.errors import FileError
from arcspan.treebanks import (
    ConlluSentence,
    read_conll,
    read_conllu,
    write_conllu,
)
from arcspan.trees import DependencyTree
from tests.treebanks.samples import WORDS

FRENCH = """\
# newdoc
# sent_id = fr-1
# text = Il va au parc.
1\tIl\til\tPRON\tCLS\tGender=Masc\t2\tnsubj\t2:nsubj\t_
2\tva\taller\tVERB\tV\t_\t0\troot\t0:root\t_
3-4\tau\t_\t_\t_\t_\t_\t_\t_\t_
3\tà\tà\tADP\tP\t_\t5\tcase\t5:case\t_
4\tle\tle\tDET\tDET\t_\t5\tdet\t5:det\t_
5\tparc\tparc\tNOUN\tNC\t_\t2\tobl\t2:obl:à\tSpaceAfter=No
5.1\tva\taller\tVERB\tV\t_\t_\t_\t2:conj\tCopyOf=2
6\t.\t.\tPUNCT\tPONCT\t_\t2\tpunct\t2:punct\t_

"""


def test_every_column_and_comment_of_conllu_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(FRENCH, encoding="utf-8")
    (sentence,) = read_conllu(path)
    assert sentence.comments == ("# newdoc", "# sent_id = fr-1", "# text = Il va au parc.")
    assert (sentence.sent_id, sentence.text) == ("fr-1", "Il va au parc.")
    assert [token.id for token in sentence.tokens] == ["1", "2", "3-4", "3", "4", "5", "5.1", "6"]
    assert (sentence.tokens[2].form, sentence.tokens[6].deps) == ("au", "2:conj")
    assert sentence.words[0].feats == "Gender=Masc"
    assert not sentence.words[4].space_after
    assert sentence.tree == DependencyTree(
        [2, 0, 5, 5, 2, 2],
        ["nsubj", "root", "case", "det", "obl", "punct"],
        ["Il", "va", "à", "le", "parc", "."],
        ["CLS", "V", "P", "DET", "NC", "PONCT"],
        ["PRON", "VERB", "ADP", "DET", "NOUN", "PUNCT"],
        ["il", "aller", "à", "le", "parc", "."],
        ["Gender=Masc", "", "", "", "", ""],
    )
    assert list(read_conll(path)) == [sentence.tree]


def test_the_text_is_spelled_from_the_words_where_no_comment_states_it() -> None:
    lines = [line for line in FRENCH.strip().split("\n") if not line.startswith("# text")]
    assert ConlluSentence(lines).text == "Il va au parc."


def test_what_was_read_is_written_as_it_was(tmp_path: Path) -> None:
    source, target = tmp_path / "a.conllu", tmp_path / "b.conllu.gz"
    source.write_text(FRENCH + WORDS, encoding="utf-8")
    assert write_conllu(read_conllu(source), target) == 4
    assert "".join(map(str, read_conllu(target))) == FRENCH + WORDS


def test_trees_survive_conllu(tmp_path: Path) -> None:
    source = tmp_path / "a.conllu"
    source.write_text(FRENCH + WORDS, encoding="utf-8")
    trees = list(read_conll(source))
    write_conllu(trees, tmp_path / "b.conllu")
    assert list(read_conll(tmp_path / "b.conllu")) == trees


def test_a_sentence_needs_no_blank_line_at_the_end_of_the_file_and_may_have_several(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("\n\n" + WORDS.rstrip() + "\r\n\n", newline="")
    assert len(list(read_conll(path))) == 3
    path.write_text(WORDS.rstrip())
    assert [sentence.line for sentence in read_conllu(path)] == [1, 10, 16]


def test_the_sign_of_a_number_is_a_word_and_not_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("1\t#\t#\tSYM\t#\t_\t0\troot\t_\t_\n")
    assert next(read_conll(path)).words == ("#",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tGo\t_\t_\tVB\t_\t0\troot\t_\n", ":1: 9 columns where CoNLL has 10"),
        (
            "# x\n1 Go _ _ VB _ 0 root _ _\n",
            ":2: 1 column where CoNLL has 10; columns are separated by tabs",
        ),
        ("1\tGo\t_\t_\tVB\t_\t_\troot\t_\t_\n", ":1: the HEAD (column 7) is '_', not a number"),
        (
            "1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n3\tb\t_\t_\t_\t_\t1\t_\t_\t_\n",
            ":2: the ID is '3' where 2 should",
        ),
        (
            "# x\n1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n2\tb\t_\t_\t_\t_\t3\t_\t_\t_\n3\tc\t_\t_\t_\t_\t2\t_\t_\t_\n",
            ":2: the heads form a cycle",
        ),
        ("1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n2\tb\t_\t_\t_\t_\t0\t_\t_\t_\n", ":1: 2 roots"),
        ("1\ta\t_\t_\t_\t_\t5\t_\t_\t_\n", ":1: word 1 has head 5"),
        ("1\ta\t_\t_\t_\t_\t0_0\t_\t_\t_\n", ":1: the HEAD (column 7) is '0_0', not a number"),
        ("1\ta\t_\t_\t_\t_\t+0\t_\t_\t_\n", ":1: the HEAD (column 7) is '+0', not a number"),
        ("1\ta\t_\t_\t_\t_\t٠\t_\t_\t_\n", ":1: the HEAD (column 7) is '٠', not a number"),
        (f"1\ta\t_\t_\t_\t_\t{'9' * 5000}\t_\t_\t_\n", ":1: the HEAD (column 7) is '999"),
        ("", ": no sentence in this file"),
        ("# only a comment\n", ": no sentence in this file"),
        ("# x\n0.1\tGo\t_\t_\tVB\t_\t0\troot\t_\t_\n", ":1: a sentence without words"),
        (
            "2-1\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n1\tGo\t_\t_\tVB\t_\t0\troot\t_\t_\n",
            ":1: the ID is '2-1' where 1",
        ),
        (
            "1-2\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n1\tGo\t_\t_\tVB\t_\t0\troot\t_\t_\n",
            ":1: a multiword token ends with word 2",
        ),
    ],
)
def test_a_bad_file_is_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    """HEAD was read with int(), which takes 0_0, +0 and digits of other scripts."""
    path = tmp_path / "a.conllu"
    path.write_text(text)
    with pytest.raises(FileError) as error:
        list(read_conll(path))
    assert str(error.value).startswith(f"{path}{message}")


def test_a_missing_column_is_found_when_columns_are_asked_for() -> None:
    with pytest.raises(FileError, match=r"a\.conllu:7: 2 columns"):
        _ = ConlluSentence(["1\tGo"], line=7, path="a.conllu").tokens


def test_a_number_of_thousands_of_digits_is_not_an_id() -> None:
    """int() refuses such numbers with an error of its own."""
    row = "1\tGo\t_\t_\t_\t_\t0\troot\t_\t_"
    with pytest.raises(FileError, match=r"the ID is '9{39} where 1 should follow"):
        ConlluSentence([row.replace("1", "9" * 5000, 1), row]).spell()


def test_the_lemma_of_an_underscore_is_one_and_others_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(
        "1\t_\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n2\tgo\t_\t_\t_\tMood=Imp\t0\troot\t_\t_\n\n"
    )
    (tree,) = read_conll(path)
    assert (tree.lemmas, tree.features) == (("_", ""), ("", "Mood=Imp"))
    write_conllu([tree], tmp_path / "b.conllu")
    assert (tmp_path / "b.conllu").read_text() == path.read_text()
