from __future__ import annotations

import pytest

pytest.importorskip("pandas", reason="pandas is not installed")

import pandas as pd

from arcspan.errors import ArcspanError
from arcspan.integrations.pandas import to_dataframe
from arcspan.parse import Parse
from arcspan.parser import Parser
from arcspan.trees import ConstituencyTree
from tests.syntax.test_syntax import PAIRS

TEXT = "Ada sees the tree. Kurt plays here."


def test_one_row_per_word(parser: Parser) -> None:
    parses = parser(TEXT)
    frame = to_dataframe(parses)
    assert list(frame["word"]) == [word for parse in parses for word in parse.words]
    assert list(frame["head"]) == [head for parse in parses for head in parse.dependencies.heads]
    assert list(frame["relation"]) == [
        name for parse in parses for name in parse.dependencies.relations
    ]
    assert [TEXT[row.start : row.end] for row in frame.itertuples()] == list(frame["word"])
    assert list(frame[frame["sentence"] == 1]["position"]) == [1, 2, 3, 4]
    root = frame[frame["head"] == 0].iloc[0]
    assert root["head_word"] == ""


def test_one_row_per_constituent_from_which_the_tree_can_be_made_again(parser: Parser) -> None:
    parses = parser(TEXT)
    frame = to_dataframe(parses, "constituents")
    for number, parse in enumerate(parses):
        rows = frame[frame["sentence"] == number]
        spans = [(int(row.start), int(row.end), row.label) for row in rows.itertuples()]
        tree = ConstituencyTree(parse.words, parse.tags, spans)
        assert tree.with_wrapper("TOP") == parse.constituency
        for row in rows.itertuples():
            assert parse.words[row.head - 1] == row.head_word
            # Only the head word's own head is outside.
            inside = range(row.start + 1, row.end + 1)
            assert [m for m in inside if parse.dependencies.heads[m - 1] not in inside] == [
                row.head
            ]


def test_parent_and_depth_say_what_is_around(parser: Parser) -> None:
    rows = to_dataframe(parser("Ada sees the old tree of Kurt."), "constituents")
    assert rows.loc[0, ["parent", "depth"]].tolist() == [-1, 0]
    for row in rows.iloc[1:].itertuples():
        parent = rows.loc[row.parent]
        assert parent["start"] <= row.start and row.end <= parent["end"]
        assert row.depth == parent["depth"] + 1


def test_words_have_no_offsets_where_there_was_no_text(parser: Parser) -> None:
    frame = to_dataframe(parser.parse(["Ada", "sees", "Kurt"]))
    assert frame["start"].isna().all()


def test_clauses_have_a_table() -> None:
    c, d = PAIRS["I know that you lied ."]
    frame = to_dataframe([Parse.from_trees(c, d)] * 2, "clauses")
    assert frame["text"].tolist() == ["I know that you lied", "that you lied"] * 2
    assert frame["parent"].tolist() == [-1, 0, -1, 0] and frame["verb"].tolist()[:2] == [
        "know",
        "lied",
    ]
    assert frame["kind"].tolist()[:2] == ["main", "complement"] and frame["subject"].tolist()[
        :2
    ] == [
        "I",
        "you",
    ]


def test_no_parse_is_an_empty_table_with_its_columns() -> None:
    assert isinstance(to_dataframe([]), pd.DataFrame)
    assert "word" in to_dataframe([]).columns
    assert "label" in to_dataframe([], "constituents").columns


def test_another_table_is_refused(parser: Parser) -> None:
    with pytest.raises(ArcspanError, match="constituents"):
        to_dataframe([], "arcs")  # type: ignore[arg-type]


def test_lemmas_and_features_have_columns(whole_rows: Parse) -> None:
    frame = to_dataframe(whole_rows)
    assert list(frame["lemma"]) == ["Ada", "see", "tree"]
    assert list(frame["features"]) == ["Number=Sing", "", "Case=Acc|Number=Plur"]


def test_the_parses_of_several_texts_are_told_apart(parser: Parser) -> None:
    texts = [TEXT, "", "Kurt sees Ada."]
    frame = to_dataframe(parser.stream(texts))
    assert set(frame["document"]) == {0, 2} and list(frame.columns[:2]) == ["document", "sentence"]
    assert [texts[row.document][row.start : row.end] for row in frame.itertuples()] == list(
        frame["word"]
    )
    spans = to_dataframe(parser.stream(texts), "constituents")
    for row in spans.itertuples():
        assert (
            texts[row.document][row.start_char : row.end_char]
            .split()[0]
            .startswith(row.text.split()[0])
        )


def test_a_parse_of_one_layer_has_rows_of_that_layer() -> None:
    only_arcs = Parse.from_conllu("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    only_spans = Parse.from_brackets("(TOP (S (VP (VB Go))))")
    assert to_dataframe(only_arcs).loc[0, ["head", "relation"]].tolist() == [0, "root"]
    assert to_dataframe(only_arcs, "constituents").empty
    assert to_dataframe(only_spans)["head"].isna().all()
    assert list(to_dataframe(only_spans, "constituents")["label"]) == ["S", "VP"]
    assert to_dataframe(only_spans, "constituents")["head"].isna().all()
