"""Patterns over constituents and over words."""

from __future__ import annotations

import builtins
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.errors import ArcspanError, MissingExtraError
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.search import Match, _tgrep

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


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("NP < PP", [(3, 7, "NP")]),
        ("NP", [(0, 2, "NP"), (3, 7, "NP"), (3, 5, "NP"), (6, 7, "NP")]),
        ("NP > VP", [(3, 7, "NP")]),
        ("NP $. VP", [(0, 2, "NP")]),
        ("/^VB/", [(2, 3, "VBD")]),
        ("NN < dog", [(1, 2, "NN")]),
        ("dog", [(1, 2, "dog")]),
        ("WHNP", []),
    ],
)
def test_tgrep_finds_constituents_tags_and_words(pattern: str, expected: list[tuple[int, int, str]]) -> None:
    pytest.importorskip("nltk", reason="nltk is not installed (arcspan[nltk])")
    assert TREE.find(pattern) == expected


@pytest.mark.parametrize("pattern", ["NP <", "", "(", "NP << /(/"])
def test_a_pattern_that_tgrep_cannot_read_is_refused(pattern: str) -> None:
    pytest.importorskip("nltk", reason="nltk is not installed (arcspan[nltk])")
    with pytest.raises(ArcspanError, match="tgrep"):
        TREE.find(pattern)


def test_every_word_can_be_in_a_tree_that_is_searched() -> None:
    """A backslash, brackets or white space in words broke nltk's reader of brackets."""
    pytest.importorskip("nltk", reason="nltk is not installed (arcspan[nltk])")
    words = ["\\", "(", ")", "a b", "\u202e", "''"]
    tree = ConstituencyTree(words, ["X"] * 6, [(0, 6, "S"), (1, 3, "NP")])
    assert tree.find("NP") == [(1, 3, "NP")] and len(tree.find("X")) == 6
    assert ConstituencyTree([], [], []).find("NP") == []


def test_without_nltk_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "nltk":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    _tgrep.cache_clear()
    with pytest.raises(MissingExtraError, match=r"\[nltk\]"):
        TREE.find("NP < PP")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{}", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("{word:dog}", [2]),
        ("{tag:/VB.*/}", [3]),
        ("{tag:/B.*/}", []),  # an expression fits the whole value
        ("{upos:NOUN;tag:NN}", [2, 5]),
        ("!{upos:/NOUN|DET/}", [3, 6, 8]),
        ("{$}", [3]),
        ("{lemma:see}", [3]),
        ("{features:/.*Tense=Past.*/}", [3]),
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
def test_patterns_find_words(pattern: str, expected: list[int]) -> None:
    assert [match.word for match in ARCS.find(pattern)] == expected


def test_named_words_are_told_and_each_choice_of_them_is_a_match() -> None:
    assert ARCS.find("{$}=verb >/nsubj|obj/ ({}=noun >det {}=article)") == [
        Match(3, {"verb": 3, "noun": 2, "article": 1}),
        Match(3, {"verb": 3, "noun": 5, "article": 4}),
    ]
    assert ARCS.find("{$} > {}") == [Match(3, {})]  # nameless words are only there or not


def test_a_name_that_comes_again_is_the_same_word() -> None:
    assert [match.word for match in ARCS.find("{} >nsubj {}=a >nsubj {}=a")] == [3]
    assert ARCS.find("{} >nsubj {}=a >obj {}=a") == []


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "{",
        "{tag}",
        "{tag:NN",
        "{} >obj",
        "{} obj {}",
        "({}",
        "{})",
        "{} [>obj {}]",
        "{tag:/(/}",
        pytest.param(f"{{tag:/{'(' * 3000}/}}", id="3,000 groups"),
        pytest.param("{tag:/a{99999999999}/}", id="a number that is too large"),
        "dog",
        "{}=",
    ],
)
def test_a_pattern_that_is_not_one_is_refused(pattern: str) -> None:
    with pytest.raises(ArcspanError, match="pattern"):
        ARCS.find(pattern)


def test_an_attribute_that_words_do_not_have_is_refused_with_those_they_have() -> None:
    with pytest.raises(ArcspanError, match="no 'colour'; a pattern can ask for word, lemma, tag"):
        ARCS.find("{colour:red}")


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.integers(0, k) for k in range(n)])))
def test_the_ways_down_are_the_ways_up(heads: tuple[int, ...]) -> None:
    """Against plain enumeration: A > B as B < A, A >> B as B << A, and by following heads."""
    first = [head if m else 0 for m, head in enumerate(heads)]
    tree = DependencyTree([max(1, head) if m else 0 for m, head in enumerate(first)], ["r"] * len(heads))
    pairs = {
        sign: {(match.names["a"], match.names["b"]) for match in tree.find(f"{{}}=a {sign} {{}}=b")}
        for sign in (">", "<", ">>", "<<", ".", "-", "..", "--", "$++", "$--")
    }

    def above(m: int) -> list[int]:
        return [] if not m else [tree.heads[m - 1], *above(tree.heads[m - 1])]

    words = range(1, len(tree) + 1)
    assert pairs[">"] == {(h, m) for h, m in itertools.product(words, words) if tree.heads[m - 1] == h}
    assert pairs[">>"] == {(h, m) for h, m in itertools.product(words, words) if h in above(m)}
    for one, other in ((">", "<"), (">>", "<<"), (".", "-"), ("..", "--"), ("$++", "$--")):
        assert pairs[one] == {(b, a) for a, b in pairs[other]}
    assert pairs[".."] == {(a, b) for a, b in itertools.product(words, words) if a < b}
