"""Queries over constituents, over words, and over both."""

from __future__ import annotations

import itertools
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcspan.syntax
from arcspan.errors import ArcspanError
from arcspan.syntax import TreeQuery
from arcspan.syntax.expressions import Expression
from arcspan.syntax.nodes import NodeTable, reach_along_arcs, reach_of
from arcspan.treebanks import read_brackets
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.nltk_tree import to_nltk

TREE = ConstituencyTree.from_brackets(
    "(TOP (S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN with) (NP (NNS -LRB-))))) (. .)))"
)
# The dog saw a man with ( .
ARCS = DependencyTree(
    [2, 3, 0, 5, 3, 7, 5, 3],
    ["det", "nsubj", "root", "det", "obj", "case", "nmod:with", "punct"],
    TREE.words,
    TREE.tags,
    ["DET", "NOUN", "VERB", "DET", "NOUN", "ADP", "NOUN", "PUNCT"],
    ["the", "dog", "see", "a", "man", "with", "(", "."],
    ["", "Number=Sing", "Tense=Past|VerbForm=Fin", "", "Number=Sing", "", "Number=Plur", ""],
)


def spans(pattern: str, *trees: Any) -> list[tuple[int, int, str]]:
    return [(*match.span, match.label) for match in TreeQuery(pattern).find(*trees or (TREE,))]


def words(pattern: str, tree: DependencyTree = ARCS) -> list[int]:
    return [match.word for match in TreeQuery(pattern).find(tree)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("NP < PP", [(3, 7, "NP")]),
        ("NP", [(0, 2, "NP"), (3, 7, "NP"), (3, 5, "NP"), (6, 7, "NP")]),
        ("NP > VP", [(3, 7, "NP")]),
        ("NP $. VP", [(0, 2, "NP")]),
        ("NP $+ VP", [(0, 2, "NP")]),
        ("/^VB/", [(2, 3, "VBD")]),
        ("NN < dog", [(1, 2, "NN")]),
        ("dog", [(1, 2, "dog")]),
        ("WHNP", []),
        ("NP <<# {word:man}", [(3, 7, "NP"), (3, 5, "NP")]),
        ("S <# VP", [(0, 8, "S")]),  # by the head table
        ("VBD ># VP", [(2, 3, "VBD")]),
        ("DT < /^the$/i", [(0, 1, "DT")]),
        ('NNS < "("', [(6, 7, "NNS")]),
        ("NP < (PP=p < IN) : =p << {word:with}", [(3, 7, "NP")]),
        ("NP !<, DT", [(3, 7, "NP"), (6, 7, "NP")]),
        ("NP [< PP | $. VP]", [(0, 2, "NP"), (3, 7, "NP")]),
        ("NP < PP | $. VP", [(0, 2, "NP"), (3, 7, "NP")]),
        ("VP|PP < NP", [(2, 7, "VP"), (5, 7, "PP")]),
        ("!NP > VP", [(2, 3, "VBD")]),
    ],
)
def test_constituents_tags_and_words_are_found(
    pattern: str, expected: list[tuple[int, int, str]]
) -> None:
    assert spans(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{}", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("{word:dog}", [2]),
        ("{word:/the/i}", [1]),  # was taken for a word with slashes
        ("{tag:/VB.*/}", [3]),
        ("{tag:/B.*/}", []),  # an expression fits the whole value
        ("{upos:NOUN;tag:NN}", [2, 5]),
        ("!{upos:/NOUN|DET/}", [3, 6, 8]),
        ("{$}", [3]),
        ("{lemma:see}", [3]),
        ("{features:/.*Tense=Past.*/}", [3]),
        ("{Number:Plur}", [7]),
        ("{tag:/VB.*/} >nsubj {lemma:dog}", [3]),
        ("{} > {upos:DET}", [2, 5]),
        ("{} >det {} >/nmod.*/ {}", [5]),  # both are relations of the first word
        ("{} >obj {} >/nmod.*/ {}", []),
        ("{} >obj ({} >/nmod.*/ {})", [3]),
        ("{} >nmod:with {}", [5]),
        ("{} >> {word:with}", [3, 5, 7]),
        ("{} >>case {}", [3, 5, 7]),
        ("{word:with} << {$}", [6]),
        ("{} <obj {}", [5]),
        ("{} <obj|nsubj {}", [2, 5]),
        ("{} <obj {} | <nsubj {}", [2, 5]),
        ("{upos:NOUN} [<obj {} | <nsubj {}] >det {word:a}", [5]),
        ("{} << {word:man}", [4, 6, 7]),
        ("{upos:NOUN} !>det {}", [7]),
        ("{upos:DET} . {upos:NOUN}", [1, 4]),
        ("{upos:NOUN} - {upos:DET}", [2, 5]),
        ("{upos:NOUN} .. {upos:VERB}", [2]),
        ("{upos:NOUN} -- {upos:VERB}", [5, 7]),
        ("{} $++ {relation:obj}", [2]),
        ("{} $-- {relation:nsubj}", [5, 8]),
        ("{upos:NOUN} >det {} & <obj {}", [5]),
    ],
)
def test_words_are_found(pattern: str, expected: list[int]) -> None:
    assert words(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("NP <# ({} <obj {lemma:see})", [(3, 7, "NP"), (3, 5, "NP")]),
        ("NP <# {}=h : =h <nsubj {}", [(0, 2, "NP")]),
        ("{upos:VERB}=v >obj ({}=o ># NP=n) : =n < PP", [(2, 3, "root")]),
        ("{relation:nsubj} > (NN > NP)", [(1, 2, "nsubj")]),
        ("PP . {relation:punct}", [(5, 7, "PP")]),
        ("VP <# VBD", [(2, 7, "VP")]),
        ("PP <# IN", []),  # in this dependency tree the noun heads it
        ("PP <# NP", [(5, 7, "PP")]),
    ],
)
def test_both_trees_are_asked_in_one_query(
    pattern: str, expected: list[tuple[int, int, str]]
) -> None:
    assert spans(pattern, TREE, ARCS) == expected


def test_named_nodes_are_given_and_each_choice_of_them_is_a_match() -> None:
    matches = TreeQuery("{$}=verb >/nsubj|obj/ ({}=noun >det {}=article)").find(ARCS)
    assert [{name: match.word for name, match in m.names.items()} for m in matches] == [
        {"verb": 3, "noun": 2, "article": 1},
        {"verb": 3, "noun": 5, "article": 4},
    ]
    assert len(TreeQuery("{$} > {}").find(ARCS)) == 1  # nameless nodes are only there or not
    assert words("{} >nsubj {}=a >nsubj {}=a") == [3] and words("{} >nsubj {}=a >obj {}=a") == []


def test_the_old_name_of_the_class_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="TreeQuery"):
        assert arcspan.syntax.Query is TreeQuery
    with pytest.raises(AttributeError, match="no attribute 'Queries'"):
        _ = arcspan.syntax.Queries


def test_a_match_is_a_phrase() -> None:
    (match,) = TreeQuery("NP < PP").find(TREE, ARCS, text="The dog saw a man with (.", offsets=[
        (0, 3), (4, 7), (8, 11), (12, 13), (14, 17), (18, 22), (23, 24), (24, 25)])  # fmt: skip
    assert (match.text, match.start, match.head.text) == ("a man with (", 12, "man")
    assert [token.text for token in match.tokens] == ["a", "man", "with", "("]
    assert match.to_dict()["label"] == "NP"


@pytest.mark.parametrize(
    ("pattern", "offset"),
    [
        ("", 0),
        ("NP <", 4),
        ("(", 1),
        ("NP << /(/", 6),
        ("{", 1),
        ("{tag}", 1),
        ("{tag:NN", 1),
        ("{} >obj", 7),
        ("{} obj {}", 3),
        ("({}", 3),
        ("{})", 2),
        ("{tag:/(/}", 5),
        ("{}=", 2),
        ("NP | < PP", 3),
        ("NP : =x < PP", 6),
        ("{colour:red}", 1),
        ("NP >obj {}", 8),
        ("{tag:/(a+)+b/}", 5),
        ("/(a|ab)*c/", 0),
        (r"/(a)\1/", 0),
        ("/a*a*a*a*b/", 0),
        ("/(a{1,9}){1,9}b/", 0),
        ("/(a?){30}a{30}/", 0),
        ("/a?a?a?a?a?a*a*b/", 0),
        pytest.param("{word:/" + "(a|aa)" * 20 + "b/}", 6, id="20 choices"),
        ("/(?:(a+)+b)?/", 0),
        pytest.param(f"{{tag:/{'(' * 3000}/}}", 5, id="3,000 groups"),
        pytest.param("{tag:/a{99999999999}/}", 5, id="a number that is too large"),
        (r"/(?:\b){4000000000}a/", 0),  # 50 bytes for each time: the process ran out of memory
        ("{word:/(?:(?=(?:a){9})a){10}/}", 6),  # eleven times as long with every lookaround inside
        pytest.param("NP <" + "9" * 5000 + " VP", 3, id="a child whose number has 5,000 digits"),
        pytest.param("(" * 100 + "NP" + ")" * 100, 51, id="100 brackets"),
    ],
)
def test_what_is_not_a_pattern_is_refused_at_its_place(pattern: str, offset: int) -> None:
    with pytest.raises(ArcspanError, match="the pattern cannot be read") as caught:
        TreeQuery(pattern)
    shown, mark = str(caught.value).split("\n")[1:]
    assert pattern[max(0, offset - 60) : offset + 40] == shown[2:]
    assert mark.index("^") - 2 == min(offset, 60)


def test_long_values_are_cut() -> None:
    tree = DependencyTree([0], ["root"], ["a" * 100_000])
    expression = Expression(".*a.*a.*b")
    assert not TreeQuery("{word:/.*a.*a.*b/}").find(tree)
    assert expression.cost("a" * 200) == expression.cost("a" * 100_000)


@pytest.mark.parametrize("source", ["a", "[ab]*", "a*a*b", "a?a?(?=b*)c", "(?:ab){20}", "a|b*"])
def test_an_expression_costs_more_for_longer_values(source: str) -> None:
    expression = Expression(source)
    costs = [expression.cost("a" * n) for n in (1, 10, 50, 200)]
    assert costs == sorted(costs) and costs[0] >= 1
    assert Expression(source, anywhere=True).cost("a" * 200) >= costs[-1]


def test_matching_expressions_takes_steps() -> None:
    """They were free: 50 of them on 35 long words stopped a server for half a minute."""
    words = ["a" * 199 + letter for letter in "bcdefghijklmnopqrstuvwxyz"]
    tree = ConstituencyTree(words, None, [(0, len(words), "S")])
    pattern = "|".join([r"/\w+?\w+?(?=a?a?)b/"] * 50)
    with pytest.raises(ArcspanError, match="too many steps"):
        TreeQuery(pattern, steps=20_000).find(tree)
    short = ConstituencyTree(["a" * 9 + letter for letter in "bcd"], None, [(0, 3, "S")])
    assert len(TreeQuery(pattern, steps=20_000).find(short)) == 1


def test_an_expression_costs_once_for_each_value_of_a_sentence() -> None:
    table = NodeTable(ConstituencyTree(["a"] * 3, None, [(0, 3, "S")]), None, None, 1000)
    expression = Expression("a*b")
    assert [table.passes(expression, value) for value in ("aab", "aab", "a")] == [True, True, False]
    assert table.steps_left == 1000 - expression.cost("aab") - expression.cost("a")
    # Another expression of the same source is matched again.
    assert table.passes(Expression("a*b"), "aab")
    assert table.steps_left == 1000 - 2 * expression.cost("aab") - expression.cost("a")
    # Values that are compared as they are cost nothing.
    assert table.passes(Expression({"aab"}), "aab") and table.steps_left > 990


@pytest.mark.parametrize(
    ("pattern", "node"),
    [("$.", 5), ("$", 5), ("<2", 0), ("<#", 0), (",,", 600), (">2", 5), ("<-1", 0)],
)
def test_steps_cost_what_they_do(pattern: str, node: int) -> None:
    """The children of a node were one step, however many there are."""
    flat = ConstituencyTree(["a"] * 320, ["A"] * 320, [(0, 320, "X")])
    table = NodeTable(flat, None, None, 10_000)
    list(reach_of(pattern)(table, node))
    assert 320 / 16 <= 10_000 - table.steps_left <= 320


def test_arcs_and_head_words_cost_what_they_do() -> None:
    flat = ConstituencyTree(["a"] * 320, ["A"] * 320, [(0, 320, "X")])
    arcs = DependencyTree([0] + [1] * 319, ["root"] + ["x"] * 319, flat.words, flat.tags)
    for sign, word in ((">", 1), (">>", 1), ("$..", 2)):
        table = NodeTable(None, arcs, None, 10_000)
        assert list(reach_along_arcs(sign, Expression({"y"}))(table, table.leaves[word])) == []
        assert 10_000 - table.steps_left >= 318 / 16
    table = NodeTable(flat, arcs, None, 10_000)
    assert table.head_word(0) == 1 and 10_000 - table.steps_left == 320 / 16


def test_a_query_of_too_many_steps_is_refused() -> None:
    tree = ConstituencyTree.from_brackets("(X" + " (A a) (B b)" * 150 + ")")
    for pattern in (
        "__ .. (__ .. (__ !. __))",
        "__=a .. (__=b .. __=c)",
        "__=a .. __=b",
        "__ ,, (A ,, (B !, A))",
    ):
        with pytest.raises(ArcspanError, match="too many steps in a sentence of 300 words"):
            TreeQuery(pattern, steps=20_000).find(tree)
    assert len(TreeQuery("__ .. (__ .. __)", steps=20_000).find(tree)) == 596
    assert len(TreeQuery("A , B", steps=20_000).find(tree)) == 149


def test_a_tree_that_is_asked_for_must_be_there() -> None:
    for pattern, trees, missing in (
        ("NP", (ARCS,), "constituents"),
        ("{} >obj {}", (TREE,), "dependencies"),
        ("{lemma:see}", (TREE,), "dependencies"),
    ):
        with pytest.raises(ArcspanError, match=f"asks for {missing}, which are not there"):
            TreeQuery(pattern).find(*trees)
    assert spans("{tag:DT;word:a}", TREE) == [(3, 4, "a")]


def test_every_word_can_be_in_a_tree_that_is_searched() -> None:
    forms = ["\\", "(", ")", "a b", "\u202e", "''"]
    tree = ConstituencyTree(forms, ["X"] * 6, [(0, 6, "S"), (1, 3, "NP")])
    assert spans("NP", tree) == [(1, 3, "NP")] and len(spans("X", tree)) == 6
    assert spans("NP", ConstituencyTree([], [], [])) == []
    bare = ConstituencyTree(["a", "b"], None, [(0, 2, "NP")])
    assert spans("NP < a", bare) == [(0, 2, "NP")]


@settings(deadline=None)
@given(st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.integers(0, k) for k in range(n)])))
def test_the_ways_down_are_the_ways_up(heads: tuple[int, ...]) -> None:
    """Against plain enumeration: A > B as B < A, A >> B as B << A, and by following heads."""
    first = [head if m else 0 for m, head in enumerate(heads)]
    tree = DependencyTree(
        [max(1, head) if m else 0 for m, head in enumerate(first)], ["r"] * len(heads)
    )
    pairs = {
        sign: {
            (match.names["a"].word, match.names["b"].word)
            for match in TreeQuery(f"{{}}=a {sign} {{}}=b").find(tree)
        }
        for sign in (">", "<", ">>", "<<", ".", "-", "..", "--", "$++", "$--")
    }

    def above(m: int) -> list[int]:
        return [] if not m else [tree.heads[m - 1], *above(tree.heads[m - 1])]

    positions = range(1, len(tree) + 1)
    assert pairs[">"] == {
        (h, m) for h, m in itertools.product(positions, positions) if tree.heads[m - 1] == h
    }
    assert pairs[">>"] == {
        (h, m) for h, m in itertools.product(positions, positions) if h in above(m)
    }
    for forward, backward in ((">", "<"), (">>", "<<"), (".", "-"), ("..", "--"), ("$++", "$--")):
        assert pairs[forward] == {(b, a) for a, b in pairs[backward]}
    assert pairs[".."] == {(a, b) for a, b in itertools.product(positions, positions) if a < b}


TGREP = """
NP < PP; NP; VP << /^VB/; NP > VP; NP $. VP; NP !>> PP; S < NP < VP; NP <, DT; NP <1 DT <2 JJ; NP <- PP; NP <' NN; NP <-2 NN;
PP >- NP; PP >' NP; DT >, NP; NN >2 NP; NN >-1 NP; NN >-2 NP; NP <: PRP; PRP >: NP; VP <<, VBZ; VBZ >>, S; VP <<' NN;
NN >>' VP; NP <<: PRP; PRP >>: NP; DT . NN; NN , DT; VP .. PP; PP ,, VP; NP $ VP; NP $, VP; NP $.. VP; VP $,, NP; NP % PP;
NP < (PP < (IN . DT)); NP [< PP | < SBAR]; NP ![< PP | < SBAR]; NP < PP | < SBAR; NP < PP & < NP; S|SBAR < VP;
* < NP < VP; /^N/ < /PP|SBAR/; NP !< (PP < IN) !> S; __ < CC; VP < VP < CC; i@/^np$/ < PP; i@"np" < PP;
NP|VP << (PP < IN)
"""  # noqa: E501


def test_tgreps_operators_keep_their_meaning(treebanks: Path) -> None:
    """Against nltk's tgrep, for constituents and tags: its words know nothing of what is above
    them.

    Words are numbered, since nltk takes equal subtrees for the same.
    """
    nltk = pytest.importorskip("nltk", reason="nltk is not installed (arcspan[nltk])")
    tgrep = pytest.importorskip("nltk.tgrep")
    pytest.importorskip("pyparsing")
    treebank = [
        ConstituencyTree([f"w{k}" for k in range(len(tree))], tree.tags, tree.spans)
        for tree in itertools.islice(read_brackets(treebanks / "gum" / "train.ptb.xz"), 2000)
    ]
    parented = [nltk.ParentedTree.convert(to_nltk(tree)) for tree in treebank]
    for number, pattern in enumerate(pattern.strip() for pattern in TGREP.split(";")):
        with warnings.catch_warnings():  # nltk calls pyparsing by its old names
            warnings.simplefilter("ignore", DeprecationWarning)
            theirs = tgrep.tgrep_compile(pattern)
        query = TreeQuery(pattern)
        for tree, other in itertools.islice(
            zip(treebank, parented, strict=True), number % 5, None, 5
        ):  # every tree, and every pattern on a fifth of them
            ours = [(match.label, *match.span) for match in query.find(tree) if not match.word]
            positions = next(iter(tgrep.tgrep_positions(theirs, [other], search_leaves=False)))
            expected = [
                (node.label(), int(node.leaves()[0][1:]), int(node.leaves()[-1][1:]) + 1)
                for node in (other[offset] for offset in positions)
            ]
            assert ours == expected, (pattern, tree.brackets())


def test_the_head_words_of_a_deep_tree_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each constituent went down to its word: of 100,000 around one word, a search took minutes."""
    steps: list[int] = []
    head_child = NodeTable.head_child

    def counted(table: NodeTable, k: int) -> int:
        steps.append(k)
        return head_child(table, k)

    monkeypatch.setattr(NodeTable, "head_child", counted)
    tree = ConstituencyTree(["a"], ["A"], [(0, 1, "X")] * 500)
    assert [match.position for match in TreeQuery("*").find(tree)] == [1] * 502
    assert len(steps) <= 502


@pytest.mark.parametrize(
    "pattern",
    [
        "/" + "[\u0100-\uffff]" * 199 + "/i",
        " .. ".join(["/[\\u0100-\\uffff]/"] * 60),
        "{word:/" + "[αβ]" * 90 + "/}",
        "/(?:a|(?=[\u0100-\uffff]{2}[\u0100-\uffff]+))" + "[\u0100-\uffff]" * 5 + "/",
    ],
)
def test_large_classes_of_characters_are_refused_before_they_are_compiled(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiling the first took 1.5 seconds."""
    compiled: list[str] = []
    compile_expression = re.compile

    def record(source: Any, flags: int = 0) -> Any:
        compiled.append(source)
        return compile_expression(source, flags)

    monkeypatch.setattr(re, "compile", record)
    with pytest.raises(ArcspanError, match="classes of characters are too large"):
        TreeQuery(pattern)
    assert sum("[" in source for source in compiled) <= 5


@pytest.mark.parametrize(
    "pattern",
    ["/[^a-zA-Z]+/", "/[\u4e00-\u9fff]{2,4}[。！？]?/", "/[\u0080-\U0010ffff]/i", "/[а-яё]+/i"],
)
def test_classes_of_other_scripts_are_fine(pattern: str) -> None:
    TreeQuery(pattern)
