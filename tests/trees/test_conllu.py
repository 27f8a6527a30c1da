from __future__ import annotations

from arcspan.trees import DependencyTree
from arcspan.trees.conllu import Multiword, format_conllu

TREE = DependencyTree([2, 0], ["nsubj", ""], ["It", "works"], ["PRP", ""], ["PRON", ""])


def test_a_tree_is_written_row_by_row_with_an_underscore_where_there_is_nothing() -> None:
    assert (
        format_conllu(TREE)
        == "1\tIt\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tworks\t_\t_\t_\t_\t0\t_\t_\t_\n\n"
    )


def test_comments_come_first_and_misc_last() -> None:
    lines = format_conllu(TREE, ["# text = It works."], misc=["", "SpaceAfter=No"]).split("\n")
    assert lines[0] == "# text = It works."
    assert [line.split("\t")[9] for line in lines[1:3]] == ["_", "SpaceAfter=No"]


def test_a_multiword_token_stands_before_its_words_with_lemmas_and_features() -> None:
    tree = DependencyTree(
        [2, 0], ["x", "root"], ["ca", "n't"], lemmas=["can", "not"], features=["VerbForm=Fin", ""]
    )
    assert format_conllu(tree, multiword=[Multiword(1, 2, "can't", "SpaceAfter=No")]) == (
        "1-2\tcan't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tca\tcan\t_\t_\tVerbForm=Fin\t2\tx\t_\t_\n"
        "2\tn't\tnot\t_\t_\t_\t0\troot\t_\t_\n\n"
    )


def test_a_tab_or_line_end_in_a_column_never_makes_another_column_or_line() -> None:
    tree = DependencyTree([0], ["ro\tot"], ["a\tb\nc"], ["X\nY"])
    assert format_conllu(tree) == "1\ta b c\t_\t_\tX Y\t_\t0\tro ot\t_\t_\n\n"
