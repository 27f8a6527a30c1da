from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from arcspan.errors import FileError
from arcspan.treebanks import Pair, read_pairs, read_rules, rewrite
from arcspan.treebanks.rewriting import rewrite_files
from arcspan.trees import ConstituencyTree, DependencyTree

RULES = Path(__file__).resolve().parents[2] / "studies" / "english" / "rules"
WH = """
[[constituents]]
label = "NP"
parent = ["SBAR", "SBARQ", "WHPP"]
first = ["WDT", "WP", "WP$"]
to = "WHNP"
[[constituents]]
label = ["ADVP", "NP"]
parent = ["SBAR", "SBARQ"]
first = "WRB"
words = 1
to = "WHADVP"
[[constituents]]
label = "PP"
parent = "SBAR"
second = ["WDT", "WP"]
to = "WHPP"
"""


def rewritten(folder: Path, rules: str, brackets: str) -> str:
    path = folder / "rules.toml"
    path.write_text(rules, encoding="utf-8")
    pair = Pair(ConstituencyTree.from_brackets(brackets), None)  # type: ignore[arg-type]
    return rewrite(pair, read_rules(path)).constituency.brackets()


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert rewritten(tmp_path, f"\ufeff{WH}", "(TOP (NN x))") == "(TOP (NN x))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "(SBAR (NP (WDT which)) (S (VP (VBZ is))))",
            "(SBAR (WHNP (WDT which)) (S (VP (VBZ is))))",
        ),
        (
            "(SBAR (NP (WP$ whose) (NN dog)) (S (NN x)))",
            "(SBAR (WHNP (WP$ whose) (NN dog)) (S (NN x)))",
        ),
        ("(SBARQ (ADVP (WRB Why)) (SQ (NN x)))", "(SBARQ (WHADVP (WRB Why)) (SQ (NN x)))"),
        (
            "(SBAR (PP (IN in) (NP (WDT which))) (S (NN x)))",
            "(SBAR (WHPP (IN in) (WHNP (WDT which))) (S (NN x)))",
        ),
        ("(SBAR (NP (DT the) (NN dog)) (S (NN x)))", "(SBAR (NP (DT the) (NN dog)) (S (NN x)))"),
        ("(S (NP (WP who)) (VP (VBZ is)))", "(S (NP (WP who)) (VP (VBZ is)))"),
        (
            "(SBAR (ADVP (WRB how) (RB far)) (S (NN x)))",
            "(SBAR (ADVP (WRB how) (RB far)) (S (NN x)))",
        ),
    ],
)
def test_constituents_are_renamed_by_label_parent_first_tags_and_length(
    tmp_path: Path, before: str, after: str
) -> None:
    assert rewritten(tmp_path, WH, before) == after


def test_what_is_removed_leaves_its_children_and_the_outermost_constituent_stays(
    tmp_path: Path,
) -> None:
    rules = '[[constituents]]\nlabel = ["NML", "X"]\nremove = true\n'
    assert rewritten(tmp_path, rules, "(NP (NML (NML (NN a)) (CC or) (NML (NN b))) (NN c))") == (
        "(NP (NN a) (CC or) (NN b) (NN c))"
    )
    assert rewritten(tmp_path, rules, "(X (X (NN a) (NN b)))") == "(X (NN a) (NN b))"


def test_the_first_rule_that_holds_is_applied_and_parents_are_new_labels(tmp_path: Path) -> None:
    rules = """
    [[constituents]]
    label = "A"
    to = "B"
    [[constituents]]
    label = "B"
    to = "C"
    [[constituents]]
    label = "D"
    parent = "A"
    to = "wrong"
    [[constituents]]
    label = "D"
    parent = "B"
    to = "E"
    """
    assert rewritten(tmp_path, rules, "(A (D (NN x)) (B (NN y)))") == "(B (E (NN x)) (C (NN y)))"


def test_tags_change_in_both_trees_by_parent_and_word_and_relations_by_name(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        """
        [[tags]]
        tag = "TO"
        parent = "PP"
        to = "IN"
        [[tags]]
        tag = "NN"
        word = "[A-Z].*"
        to = ""
        [[relations]]
        relation = ["obl:tmod", "obl:npmod"]
        to = "obl:unmarked"
        """
    )
    c = ConstituencyTree.from_brackets("(VP (TO to) (VB go) (PP (TO to) (NP (NN Rome) (NN food))))")
    d = DependencyTree([2, 0, 5, 5, 2], ["mark", "root", "case", "x", "obl:tmod"], c.words, c.tags)
    rules, changes = read_rules(path), Counter[str]()
    rewritten = rewrite(Pair(c, d), rules, changes)
    assert (
        rewritten.constituency.tags == rewritten.dependencies.tags == ("TO", "VB", "IN", "", "NN")
    )
    assert rewritten.dependencies.relations == ("mark", "root", "case", "x", "obl:unmarked")
    assert changes == {"TO -> IN": 1, "NN -> (none)": 1, "obl:tmod -> obl:unmarked": 1}
    alone = rewrite(Pair(None, d), rules)  # type: ignore[arg-type]
    assert alone.dependencies.tags == ("TO", "VB", "TO", "", "NN")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[constituents]\n", "not TOML"),
        pytest.param("a = " + "1" * 5000, "not TOML", id="a number of 5,000 digits"),
        pytest.param("a = " + "[" * 5000, "not TOML", id="5,000 brackets"),
        ("", "no rule in this file"),
        ("[[spans]]\nlabel = 'X'", "unknown field spans"),
        ("[tags]\nX = 'Y'", "tags should be a list, not"),
        ("[[tags]]\ntag = 'X'", r"tags\[0\] does not say what to do: to"),
        ("[[constituents]]\nlabel = 'X'\nto = 'Y'\nremove = true", "to or remove"),
        (
            "[[constituents]]\nlabel = 'X'\nremove = 1.5",
            r"constituents\[0\].remove should be true or false",
        ),
        ("[[tags]]\ntag = 'X'\nremove = true", "unknown field"),
        ("[[constituents]]\nto = 'Y'", r"constituents\[0\].label is missing"),
        ("[[constituents]]\nlabel = 'X'\nto = ''", "does not say what to do"),
        (
            "[[constituents]]\nlabel = 'X'\nto = 'Y'\nfrist = 'A'",
            r"did you mean constituents\[0\]\.first",
        ),
        (
            "[[constituents]]\nlabel = 'X'\nto = 'Y'\nwords = 0",
            "words should be a whole number, at least 1, not 0",
        ),
        ("[[constituents]]\nlabel = [1]\nto = 'Y'", r"label\[0\] should be a string, not 1"),
        ("[[tags]]\ntag = 'X'\nword = '('\nto = 'Y'", "word is not a regular expression"),
        pytest.param(
            f"[[tags]]\ntag = 'X'\nword = '{'(' * 3000}'\nto = 'Y'",
            "word is not a reg",
            id="3,000 groups",
        ),
    ],
)
def test_a_wrong_rule_file_is_refused_with_its_name(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as error:
        read_rules(path)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("name", ["gum", "genia", "masc", "craft", "flat"])
def test_the_rules_for_english_are_read(name: str) -> None:
    assert read_rules(RULES / f"{name}.toml") is not None


def test_after_gums_rules_hardly_a_wh_word_under_sbar_is_a_noun_phrase(treebanks: Path) -> None:
    rules = read_rules(RULES / "gum.toml")
    found: Counter[str] = Counter()
    for pair in read_pairs(treebanks / "gum" / "dev.ptb.xz", None):
        tree = rewrite(pair, rules).constituency
        for (_, _, parent), (i, j, label) in zip(tree.spans, tree.spans[1:], strict=False):
            if parent == "SBAR" and j == i + 1 and tree.tags[i] in ("WDT", "WP"):
                found[label] += 1
    assert found["WHNP"] > 100 and found["NP"] == 0


def test_both_trees_of_one_file_are_rewritten_in_place(tmp_path: Path) -> None:
    source, target, path = tmp_path / "a.conllu", tmp_path / "b.conllu", tmp_path / "rules.toml"
    rows = "1\ta\t_\t_\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\t_\tNN\t_\t0\troot\t_\tX=1\n\n"
    source.write_text(f"# sent_id = 1\n# constituency = (NP (NML (DT a) (NN dog)))\n{rows}")
    path.write_text(
        '[[constituents]]\nlabel = "NML"\nremove = true\n[[relations]]\nrelation = "det"\nto = "x"\n'
    )
    changes = rewrite_files(read_rules(path), (None, source), (None, target))
    assert changes == {"NML -> (removed)": 1, "det -> x": 1}
    expected = f"# sent_id = 1\n# constituency = (NP (DT a) (NN dog))\n{rows}".replace(
        "\tdet\t", "\tx\t"
    )
    assert target.read_text() == expected
