"""Parses as objects: words and constituents, and back from everything that is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import arcspan
from arcspan.errors import ArcspanError
from arcspan.parse import Node, Parse, Token
from arcspan.parser import Parser
from arcspan.trees import ConstituencyTree, DependencyTree

TEXT = "Ada sees the  dog.The old cat can't see Ada.\n\nAda can't."


@pytest.fixture(scope="module")
def parser(toy_bundle: Path) -> Parser:
    return Parser(toy_bundle, threads=1)


@pytest.fixture(scope="module")
def parse(parser: Parser) -> Parse:
    return parser(TEXT)[0]


def test_a_parse_is_a_sequence_of_tokens(parse: Parse) -> None:
    assert [token.text for token in parse] == list(parse.words)
    assert parse[3].text == "dog" and parse[-1].text == "." and len(parse) == 5
    assert parse[1:3] == [parse[1], parse[2]]
    with pytest.raises(IndexError, match="no word 5: the sentence has 5"):
        parse[5]


def test_heads_and_children_of_tokens_are_each_others_inverse(parse: Parse) -> None:
    roots = [token for token in parse if token.head is None]
    assert [token.relation for token in roots] == ["root"]
    for token in parse:
        assert all(child.head == token for child in token.children)
        if token.head is not None:
            assert token in token.head.children
    assert sum(len(token.children) for token in parse) == len(parse) - 1


def test_offsets_of_tokens_and_the_text_of_a_node_are_the_originals(parser: Parser) -> None:
    for parse in parser(TEXT):
        for token in parse:
            assert TEXT[token.start : token.end] == token.text or parse.multiword
        assert (parse.start, parse.end) == (parse[0].start, parse[-1].end)
    (phrase,) = [node for node in parser(TEXT)[0].nodes("NP") if len(node.tokens) == 2]
    assert phrase.text == "the  dog"  # with both spaces
    assert phrase.head.text == "dog"


def test_nodes_come_from_the_top_down_with_parents_and_children(parse: Parse) -> None:
    nodes = parse.nodes()
    assert nodes[0].parent is None and nodes[0].span == (0, len(parse))
    for node in nodes[1:]:
        assert node.parent is not None and node in node.parent.children
        assert node.parent.span[0] <= node.span[0] and node.span[1] <= node.parent.span[1]
    assert [node.label for node in nodes] == [label for _, _, label in parse.constituency.spans[1:]]
    assert {node.label for node in parse.nodes("NP")} == {"NP"}


def test_views_without_a_text_have_no_offsets(parser: Parser) -> None:
    parse = parser.parse(["Ada", "sees", "the", "dog"])
    assert parse.start is parse.end is parse[0].start is None
    assert parse.nodes()[0].text == "Ada sees the dog"


def test_views_are_compared_by_value_and_can_be_looked_at(parse: Parse, parser: Parser) -> None:
    restored = parser(TEXT)[0]
    assert parse[0] == restored[0] and parse[0] != restored[1] and len({parse[0], restored[0]}) == 1
    assert parse.nodes()[0] == restored.nodes()[0]
    assert repr(parse[0]) == "Token('Ada', 1)"
    assert isinstance(parse[0], Token) and isinstance(parse.nodes()[0], Node)


def test_conllu_may_hold_both_trees_and_the_offsets_of_tokens(parser: Parser) -> None:
    for parse in parser(TEXT):
        text = parse.conllu(constituency=True, offsets=True)
        restored = Parse.from_conllu(text)
        assert restored.trees == parse.trees and restored.text == parse.text
        rows = [line.split("\t") for line in text.split("\n") if "TokenRange=" in line]
        covered = sum(last - first for first, last, _ in parse.multiword)
        assert len(rows) == len(parse) - covered
        for row in rows:
            start, end = row[9].rpartition("TokenRange=")[2].split(":")
            assert TEXT[int(start) : int(end)] == row[1]


def test_everything_that_is_written_can_be_read_again(parser: Parser) -> None:
    for parse in parser(TEXT):
        assert Parse.from_conllu(parse.conllu()).conllu() == parse.conllu()
        assert Parse.from_conllu(parse.conllu()).dependencies == parse.dependencies
        assert Parse.from_brackets(parse.brackets()).brackets() == parse.brackets()
        data = json.loads(json.dumps(parse.to_dict()))
        restored = Parse.from_dict(data)
        assert restored.to_dict() == parse.to_dict()
        assert (restored.constituency, restored.dependencies) == (
            parse.constituency,
            parse.dependencies,
        )
        assert restored.lexical == parse.lexical
        assert (
            restored == parse
            and hash(restored) == hash(parse)
            and restored.conllu() == parse.conllu()
        )
    assert [parse.paragraph for parse in parser(TEXT)] == [True, False, True]


def test_a_parse_of_one_tree_says_what_it_does_not_have(parse: Parse) -> None:
    only = Parse.from_conllu(parse.conllu())
    assert only.layers == ("dependency",)
    with pytest.raises(
        ArcspanError, match="no constituents: the model or the file"
    ):  # there was no model
        _ = only.constituency
    assert only.to_dict()["brackets"] is None
    with pytest.raises(ArcspanError, match="no dependencies"):
        _ = Parse.from_brackets(parse.brackets()).heads
    with pytest.raises(ArcspanError, match="same words"):
        Parse.from_trees(
            ConstituencyTree(["a"], ["A"], [(0, 1, "X")]), DependencyTree([0], ["root"], ["b"])
        )


@pytest.mark.parametrize("comments", ["# rank = A\n# score = high", "# rank = 2", "# score = 0.5"])
def test_a_rank_or_score_of_another_program_is_passed_over(comments: str) -> None:
    parse = Parse.from_conllu(f"{comments}\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_")
    assert (parse.rank, parse.score) == (None, 0.0)


@pytest.mark.parametrize(
    ("comment", "temperature"),
    [("2.5", 2.5), ("0", 1.0), ("-1", 1.0), ("inf", 1.0), ("nan", 1.0), ("warm", 1.0)],
)
def test_the_temperature_of_a_score_is_read(comment: str, temperature: float) -> None:
    row = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_"
    parse = Parse.from_conllu(f"# rank = 1\n# score = 3\n# temperature = {comment}\n{row}")
    assert (parse.score, parse.temperature) == (3.0, temperature)
    assert f"# score = 3\n# temperature = {temperature:g}\n" in parse.conllu()
    assert Parse.from_dict(parse.to_dict()).temperature == temperature


ONE = {
    "words": ["a", "b"],
    "heads": [0, 1],
    "relations": ["root", "dep"],
    "text": "a b",
    "offsets": [[0, 1], [2, 3]],
}


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"words": ["a"], "heads": [1]},
        {"words": 3},
        ONE | {"text": 0},  # these were found when the parse was written
        ONE | {"text": []},
        ONE | {"offsets": [[0, 1]]},
        ONE | {"multiword": [[1, 9, "a"]]},
        ONE | {"multiword": [[1, 1, 5]]},
        ONE | {"multiword": [["1", "1", "a"]]},
        ONE | {"space_after": None},
        ONE | {"rank": 1, "score": "high"},
    ],
)
def test_what_is_not_a_parse_is_refused(damaged: dict[str, object]) -> None:
    with pytest.raises(ArcspanError, match="to_dict"):
        Parse.from_dict(damaged)
    with pytest.raises(ArcspanError, match="several sentences"):
        Parse.from_conllu("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n")
    with pytest.raises(ArcspanError, match="no sentence"):  # was "several sentences"
        Parse.from_conllu("\n")


def test_several_labels_at_once_are_refused(parse: Parse) -> None:
    """No constituent was found."""
    with pytest.raises(ArcspanError, match=r"one label or none, not list"):
        parse.nodes(["NP", "VP"])  # type: ignore[arg-type]


def test_a_list_of_parses_shows_its_pictures(parser: Parser) -> None:
    shown = arcspan.show(parser(TEXT))
    assert shown._repr_html_().count("<svg") >= 2
    assert "Ada" in repr(shown)
    assert "show" in dir(arcspan)


def test_a_list_of_texts_is_not_taken_for_words(parser: Parser) -> None:
    with pytest.raises(ArcspanError, match=r"parser\.pipe"):
        parser(["Ada sees.", "It does."])  # type: ignore[arg-type]


def test_whole_numbers_of_numpy_are_whole_numbers_and_true_is_not(parser: Parser) -> None:
    words = ["Ada", "sees", "the", "dog"]
    assert len(parser.parse(words, k=np.int64(2))) == 2  # type: ignore[call-overload]
    assert parser.parse(words, require=[(np.int32(2), np.int32(4))]).nodes("NP")
    with pytest.raises(ArcspanError, match="k must be"):
        parser.parse(words, k=True)
    with pytest.raises(ArcspanError, match="constraint"):
        parser.parse(words, require=[(True, 4)])


def test_clauses_phrases_and_queries_give_tokens_of_the_parse() -> None:
    c = ConstituencyTree.from_brackets(
        "(S (NP (JJ Old) (NNS men) (CC and) (NNS women)) (VP (VBD bought) (CC and) (VBD sold) (NP (NNS cars))))"
    )
    relations = ["amod", "nsubj", "cc", "conj", "root", "cc", "conj", "obj"]
    d = DependencyTree([2, 5, 4, 2, 0, 7, 5, 5], relations, c.words, c.tags)
    text = "Old men and women bought and sold cars"
    offsets = tuple((m.start(), m.end()) for m in re.finditer(r"\S+", text))
    parse = Parse.from_trees(c, d, text=text, offsets=offsets)
    first, second = parse.clauses
    assert first.text == "Old men and women bought" and first.verb.head == parse[4]
    assert second.subject is not None and second.subject.tokens == parse[:4]
    assert [phrase.text for phrase in second.objects] == ["cars"]
    assert [joined.coordinator for joined in parse.coordinations] == [parse[2], parse[5]]
    assert [(phrase.start, phrase.end) for phrase in parse.noun_phrases()] == [
        (0, 7),
        (12, 17),
        (34, 38),
    ]
    assert parse.find("NP <# {word:men}")[0].head == parse[1]
    assert parse.root == parse[4] and parse.verb_groups[1].head == parse[6]
    assert (
        parse.subject_of(parse[6]) == second.subject
        and parse.objects_of(parse[6]) == second.objects
    )
    assert parse[1].subtree == tuple(parse[:4]) and parse[0].ancestors == (parse[1], parse[4])
    assert parse[6].conjuncts == (parse[4],) and parse[0].conjuncts == ()
    assert first.probability is None
    with pytest.raises(ArcspanError, match="need a dependency tree"):
        Parse.from_trees(c).clauses  # noqa: B018
    assert Parse.from_trees(c).find("NP < CC")[0].text == "Old men and women"
