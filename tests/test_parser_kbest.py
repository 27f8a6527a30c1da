"""More than one best tree, as users ask for it: k best, constraints, confidence."""

from __future__ import annotations

import json
import math
import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import arcspan
from arcspan import Arc, Confidence, Head, Parse, Parser, Root, Span
from arcspan.cli import run
from arcspan.errors import ArcspanError
from arcspan.treebanks import read_conll
from arcspan.trees import LexicalTree

WORDS = ["Ada", "sees", "the", "dog", "with", "the", "old", "tree", "."]


@pytest.fixture(scope="module")
def parser(toy_bundle: Path) -> Parser:
    return arcspan.load(toy_bundle, threads=1)


def looks(parse: Parse) -> tuple[Any, ...]:
    return parse.constituency.spans, parse.dependencies.heads, parse.dependencies.relations


def test_k_gives_a_list_of_distinct_compatible_pairs_best_first(parser: Parser) -> None:
    parses = parser.parse(WORDS, k=12)
    assert [parse.rank for parse in parses] == list(range(1, 13))
    assert len({looks(parse) for parse in parses}) == 12
    assert [parse.score for parse in parses] == sorted(
        (parse.score for parse in parses), reverse=True
    )
    assert all(LexicalTree.compatible(parse.constituency, parse.dependencies) for parse in parses)


def test_the_first_of_k_is_the_parse(parser: Parser) -> None:
    best = parser.parse(WORDS)
    (first,) = parser.parse(WORDS, k=1)
    assert looks(first) == looks(best)
    assert first.score == pytest.approx(best.score, abs=1e-3)
    assert best.rank is None


def test_the_best_parse_alone_begins_a_paragraph_in_conllu(parser: Parser) -> None:
    """Over HTTP, every rank did."""
    assert [parse.conllu().count("# newpar") for parse in parser("Ada sees Kurt.", k=3)] == [
        1,
        0,
        0,
    ]


def test_a_short_sentence_has_as_many_as_it_has(parser: Parser) -> None:
    assert len(parser.parse(["Ada"], k=5)) == 1
    assert len(parser.parse(["Ada", "sees"], k=5)) == 2
    assert [len(parse) for parse in parser.parse([], k=5)] == [0]


@pytest.mark.parametrize("k", [0, -1])
def test_k_counts_from_one(parser: Parser, k: int) -> None:
    with pytest.raises(ArcspanError, match="at least 1"):
        parser.parse(WORDS, k=k)


def test_what_is_required_is_there(parser: Parser) -> None:
    # Attach "with the old tree" to the verb, then to the noun.
    to_verb = parser.parse(WORDS, require=[Arc(2, 8)])
    to_noun = parser.parse(WORDS, require=[Arc(4, 8)])
    assert to_verb.dependencies.heads[7] == 2
    assert to_noun.dependencies.heads[7] == 4
    assert (2, 8) in {(i, j) for i, j, _ in to_noun.constituency.spans}
    odd = parser.parse(WORDS, require=[Span(3, 6, "VP"), Root(9), Head(0, 2, 1)])
    assert (3, 6, "VP") in odd.constituency.spans
    assert odd.dependencies.root == 9
    assert odd.dependencies.heads[1] == 1
    assert odd.lexical is not None


def test_what_is_forbidden_is_not_there(parser: Parser) -> None:
    best = parser.parse(WORDS)
    constituents = [span for span in best.constituency.spans if span[:2] != (0, 9)]
    for i, j, label in constituents:
        assert (i, j) not in {
            span[:2] for span in parser.parse(WORDS, forbid=[(i, j)]).constituency.spans
        }
        assert (i, j, label) not in parser.parse(WORDS, forbid=[(i, j, label)]).constituency.spans
    for m, h in enumerate(best.dependencies.heads, 1):
        assert parser.parse(WORDS, forbid=[Arc(h, m)]).dependencies.heads[m - 1] != h
    for parse in parser.parse(WORDS, k=8, forbid=[Root(2), Span(5, 8)]):
        assert parse.dependencies.root != 2
        assert (5, 8) not in {span[:2] for span in parse.constituency.spans}


def test_bare_tuples_are_spans_where_they_can_be(parser: Parser) -> None:
    assert (2, 8) in {span[:2] for span in parser.parse(WORDS, require=[(2, 8)]).constituency.spans}
    assert parser.parse(WORDS, require=[(8, 2)]).dependencies.heads[1] == 8
    assert parser.parse(WORDS, require=[("arc", 2, 8)]).dependencies.heads[7] == 2


@pytest.mark.parametrize(
    ("require", "forbid", "message"),
    [
        (
            [Span(0, 4), Span(2, 6)],
            [],
            r"required span \(0, 4\) and required span \(2, 6\) cross each other",
        ),
        ([Root(1)], [Root(1)], "Root 1 is both required and forbidden"),
        (
            [Span(0, 2, "NP")],
            [(0, 2)],
            r"required span \(0, 2\) NP and forbidden span \(0, 2\) cannot both hold",
        ),
        ([Span(0, 12)], [], "0 <= i < j <= 9"),
        ([Arc(1, 12)], [], "the words 1 to 9"),
        ([Span(0, 2, "WHNP")], [], "no label 'WHNP'"),
        ([3], [], "not a constraint"),
    ],
)
def test_contradictions_are_named(parser: Parser, require: Any, forbid: Any, message: str) -> None:
    with pytest.raises(ArcspanError, match=message):
        parser.parse(WORDS, require=require, forbid=forbid)


def test_no_words_meet_no_constraints(parser: Parser) -> None:
    with pytest.raises(ArcspanError, match="empty sentence"):
        parser.parse([], require=[Root(1)])
    with pytest.raises(ArcspanError, match="word 2"):
        parser.parse(["a", "", "b"], k=3)


def test_confidence_comes_when_it_is_asked_for_and_is_the_same_at_once(parser: Parser) -> None:
    later, at_once = parser.parse(WORDS), parser.parse(WORDS, confidence=True)
    sure = later.confidence
    assert isinstance(sure, Confidence)
    assert sure == at_once.confidence
    assert set(sure.spans) == set(sure.labels) == {(i, j) for i, j, _ in later.constituency.spans}
    assert len(sure.arcs) == len(sure.relations) == len(WORDS)
    assert all(
        0 <= p <= 1
        for p in [*sure.spans.values(), *sure.labels.values(), *sure.arcs, *sure.relations]
    )
    assert 0 < sure.sentence <= min(sure.arcs)


def test_streams_have_confidence_too(parser: Parser) -> None:
    (parse,) = parser("Ada sees the dog.")
    assert parse.confidence == parser.parse(["Ada", "sees", "the", "dog", "."]).confidence
    (empty,) = parser.pipe([[]])
    assert empty.confidence == Confidence({}, {}, (), (), 1.0)


def check_the_order_of_k_best(parser: Parser, sentences: list[Any], **options: Any) -> None:
    """Falling probability, the plain parse first, and the same order whatever k is."""
    plain = list(parser.stream(sentences, **options))
    five, two, one_best = (
        list(parser.stream(sentences, k=k, confidence=True, **options)) for k in (5, 2, 1)
    )
    for (best,), many, two_best, first in zip(plain, five, two, one_best, strict=True):
        assert [best] == first == many[:1]
        assert [looks(parse) for parse in many[:2]] == [looks(parse) for parse in two_best]
        sure = [parse.confidence.sentence for parse in many if parse.confidence]
        assert len(sure) == len(many) and sure == sorted(sure, reverse=True)


def test_the_k_best_come_in_falling_probability_in_every_sentence(parser: Parser) -> None:
    shuffled = [
        [WORDS[(k * step + start) % 9] for k in range(9)]
        for step in (1, 2, 4)
        for start in range(6)
    ]
    check_the_order_of_k_best(parser, shuffled)


@pytest.mark.treebanks
def test_they_do_on_a_treebank_under_guidelines(treebanks: Path) -> None:
    english = arcspan.load(threads=1)
    assert english.predictor.model.guidelines is not None
    trees = read_conll(treebanks / "gum" / "dev.conllu.xz")
    check_the_order_of_k_best(
        english, [tree.words for tree in islice(trees, 0, None, 40)], style="gum"
    )


def test_confidence_survives_pickling_or_is_computed_again(parser: Parser) -> None:
    with_confidence, lazy = parser.parse(WORDS, confidence=True), parser.parse(WORDS)
    assert pickle.loads(pickle.dumps(with_confidence)).confidence == with_confidence.confidence
    assert pickle.loads(pickle.dumps(lazy)).confidence == with_confidence.confidence
    ranked = parser.parse(WORDS, k=2)[1]
    assert pickle.loads(pickle.dumps(ranked)).rank == 2


def test_an_approximate_parse_has_no_confidence(toy_bundle: Path) -> None:
    parser = Parser(toy_bundle, threads=1, memory_limit=100_000)
    (parse,) = parser.pipe([WORDS * 8])
    assert parse.approximate
    assert parse.confidence is None
    (alone,) = parser.parse(WORDS * 8, k=2)
    assert alone.approximate and alone.rank == 1
    with pytest.raises(ArcspanError, match="larger memory_limit"):
        parser.parse(WORDS * 8, require=[Root(2)])


def test_confidence_colours_pictures(parser: Parser) -> None:
    parse = parser.parse(WORDS, confidence=True)
    assert "data-confidence" in parse.to_svg(confidence=parse.confidence)


def test_scores_and_their_temperature_give_probabilities() -> None:
    parses = arcspan.load("en-fast").parse(
        ["They", "saw", "the", "man", "with", "the", "telescope"], k=4
    )
    best = parses[0]
    assert best.temperature != 1
    for parse in parses:
        ratio = parse.confidence.sentence / best.confidence.sentence
        difference = (parse.score - best.score) / parse.temperature
        assert ratio == pytest.approx(math.exp(difference), rel=1e-3)


def test_the_command_writes_k_parses_a_sentence(
    toy_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["parse", "-m", str(toy_bundle), "-k", "3", "Ada sees the dog. Kurt plays here."]
    assert run([*call, "-f", "brackets"]) == 0
    blocks = capsys.readouterr().out.split("\n\n")  # a blank line after each sentence
    assert [len(block.splitlines()) for block in blocks] == [3, 3, 0]
    assert run([*call, "-f", "json", "--confidence"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["rank"] for record in records] == [1, 2, 3] * 2
    assert records[0]["confidence"]["sentence"] > records[1]["confidence"]["sentence"]
    assert records[3]["offsets"][0] == [18, 22]
    assert run([*call, "-f", "conllu"]) == 0
    assert capsys.readouterr().out.count("# rank = 2\n# score = ") == 2
    assert run(call) == 0
    assert "3. score" in capsys.readouterr().out
    assert run([*call, "-f", "conllu", "--confidence"]) == 2
    assert "--confidence needs --format pretty or json" in capsys.readouterr().err


def test_a_sentence_too_long_for_k_best_gets_its_best_parse(toy_bundle: Path) -> None:
    small = arcspan.load(toy_bundle, threads=1, memory_limit=1 << 20)
    long = ["Ada", "sees", "the", "dog"] * 20
    first, second = small.stream([long, WORDS], k=3)
    assert [parse.rank for parse in first] == [1] and first[0].error is None
    assert looks(first[0]) == looks(small.parse(long))
    assert [parse.rank for parse in second] == [1, 2, 3]


@pytest.mark.parametrize("k", [0, 2.5, "3", True])
def test_k_is_checked_before_anything_is_parsed(parser: Parser, k: Any) -> None:
    with pytest.raises(ArcspanError, match="k must be"):
        parser.parse(WORDS, k=k)
    with pytest.raises(ArcspanError, match="k must be"):
        list(parser.stream([WORDS], k=k))


def test_one_text_is_no_stream_of_texts(parser: Parser) -> None:
    with pytest.raises(ArcspanError, match="put it into a list"):
        list(parser.pipe("Ada sees Kurt."))


def test_tags_are_refused_by_a_model_that_reads_none(parser: Parser) -> None:
    with pytest.raises(ArcspanError, match="reads no part-of-speech tags"):
        parser.parse(WORDS, tags=["X"] * len(WORDS))


def test_probabilities_keep_to_the_memory_limit(toy_bundle: Path) -> None:
    long = ["Ada", "sees", "the", "dog"] * 12
    roomy = arcspan.load(toy_bundle, threads=1)
    plain, with_sums = (
        roomy.predictor.model.chart_bytes(len(long), sums=sums) for sums in (False, True)
    )
    small = arcspan.load(toy_bundle, threads=1, memory_limit=(plain + with_sums) // 2)
    parse = small.parse(long)
    assert not parse.approximate and parse.confidence is None
    assert small.parse(WORDS).confidence is not None
    assert roomy.parse(long).confidence is not None


@pytest.mark.parametrize(
    "settings", [{"threads": 0}, {"threads": "2"}, {"memory_limit": "2GB"}, {"memory_limit": 0}]
)
def test_settings_that_are_no_numbers_are_refused_at_once(
    toy_bundle: Path, settings: dict[str, Any]
) -> None:
    with pytest.raises(ArcspanError, match=f"{next(iter(settings))} must be a whole number"):
        arcspan.load(toy_bundle, **settings)


def test_a_stream_takes_constraints_and_confidence_as_parse_does(parser: Parser) -> None:
    words = ["the", "old", "dog", "sees", "Ada"]
    ((plain,),) = parser.stream([words], confidence=True)
    assert plain == parser.parse(words) and plain.rank is None
    ((other,),) = parser.stream([words], require=[("root", 1)])
    assert other == parser.parse(words, require=[("root", 1)])
    ((failed,), (fine,)) = parser.stream([[], words], forbid=[("root", 1)])
    assert failed.error is not None and "empty sentence" in failed.error
    assert fine.error is None


def test_a_text_takes_constraints_and_an_item_its_own(parser: Parser) -> None:
    (parse,) = parser("Ada sees the dog.", require=[Root(4)])
    assert parse.dependencies.root == 4 and parse.offsets is not None
    with pytest.raises(ArcspanError, match="the words 1 to 5"):
        parser("Ada sees the dog. Kurt plays here now.", require=[Root(6)])
    items: list[Any] = [
        (WORDS, {"require": [Root(4)], "k": 2}),
        WORDS,
        ("Ada sees.", parser.query(k=1)),
    ]
    ranked, plain, text = parser.stream(items, confidence=True)
    assert [answer.dependencies.root for answer in ranked] == [4, 4] and ranked[1].rank == 2
    assert ranked[0].confidence is not None and ranked[0].confidence.arcs[3] == pytest.approx(1)
    assert plain == [parser.parse(WORDS)]
    assert [answer.rank for answer in text] == [1]
    with pytest.raises(ArcspanError, match="item 1: unknown option 'required'"):
        list(parser.pipe([(WORDS, {"required": [Root(4)]})]))
    (refused,) = parser.pipe([(WORDS, {"k": 0})], errors="keep")
    assert refused.error is not None and "k must be" in refused.error


def test_a_sentence_that_was_split_is_parsed_where_it_stands(parser: Parser) -> None:
    text = "Ada sees the dog. Kurt plays here."
    assert (
        [parser.parse(sentence) for sentence in parser.split(text)]
        == parser(text)
        == list(parser.pipe(parser.split(text)))
    )


def test_words_are_found_in_their_text(parser: Parser) -> None:
    parse = parser.parse(["Ada", "sees", "Kurt", "."], text="So: Ada sees Kurt."[4:])
    assert parse.offsets == ((0, 3), (4, 8), (9, 13), (13, 14)) and parse.text == "Ada sees Kurt."
    with pytest.raises(
        ArcspanError, match=r"word 2, 'saw', is not at character 4 of the text.*'sees Kurt.'"
    ):
        parser.parse(["Ada", "saw", "Kurt"], text="Ada sees Kurt.")


@pytest.mark.parametrize("size", [float("nan"), "a", None, 1.5, 0, True])
def test_a_batch_size_is_a_whole_number(parser: Parser, size: Any) -> None:
    with pytest.raises(ArcspanError, match="batch_size must be a whole number"):
        list(parser.pipe([WORDS], size))


def test_k_may_be_larger_than_any_sentence_needs(parser: Parser) -> None:
    assert len(parser.parse(["Ada", "sees"], k=2**63)) == 2


@pytest.mark.parametrize(
    "weight", [float("nan"), float("-inf"), 1e308, -(10**400), "1", True, None]
)
def test_a_weight_is_a_number_that_can_be_added(parser: Parser, weight: Any) -> None:
    """Of 1e308 and -1e308 the sum was not a number; 10**400 was an OverflowError."""
    with pytest.raises(ArcspanError, match="the weight a number of at most 1,000,000,000"):
        parser.parse(WORDS, prefer=[(Arc(2, 1), weight)])


def test_preferences_move_the_parse_as_far_as_they_weigh(
    parser: Parser, toy_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = parser.parse(WORDS)
    other = next(h for h in (2, 4) if h != best.heads[7])
    assert parser.parse(WORDS, prefer=[(Arc(other, 8), 1e-3)]) == best
    moved = parser.parse(WORDS, prefer=[(Arc(other, 8), 100.0)])
    assert moved.heads[7] == other and looks(moved) == looks(
        parser.parse(WORDS, require=[Arc(other, 8)])
    )
    assert (
        run(
            [
                "parse",
                "-m",
                str(toy_bundle),
                "--words",
                " ".join(WORDS),
                "--prefer",
                f"arc,{other},8=100",
                "-f",
                "json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["heads"][7] == other
    assert (
        run(["parse", "-m", str(toy_bundle), "--words", " ".join(WORDS), "--prefer", "arc,2,8"])
        == 2
    )
    assert "PART=WEIGHT" in capsys.readouterr().err


def test_relations_and_tags_can_be_required(parser: Parser) -> None:
    best = parser.parse(WORDS)
    relation = next(
        name for name in parser.inventories.relations if name not in ("root", best.relations[0])
    )
    parse = parser.parse(WORDS, require=[Arc(2, 1, relation), arcspan.Tag(1, "NN")])
    assert (parse.heads[0], parse.relations[0], parse.tags[0]) == (2, relation, "NN")
    assert (
        parser.parse(WORDS, forbid=[("arc", best.heads[0], 1, best.relations[0])]).relations[0]
        != best.relations[0]
    )
