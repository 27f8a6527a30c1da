"""`Parser` and `Parse`: the contract of the package."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import conllu
import nltk
import numpy as np
import onnxruntime
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import arcspan
from arcspan.errors import ArcspanError, BundleError
from arcspan.parser import MODELS, Parse, Parser
from arcspan.runtime.session import DEVICES
from arcspan.treebanks import read_conll, read_conllu
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree
from tests.toy import toy_pairs

TEXT = "Logic plays a maximal role here. Ada often sees\nthe dog .\n\nKurt and Ada"


@pytest.fixture(scope="module")
def parser(toy_bundle: Path) -> Parser:
    return arcspan.load(toy_bundle, threads=2)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import arcspan, sys; print([m for m in ('numpy', 'onnxruntime') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_exports_what_it_names() -> None:
    assert arcspan.Parser is Parser
    assert arcspan.Parse is Parse
    with pytest.raises(AttributeError):
        _ = arcspan.no_such_name


def test_text_becomes_one_parse_a_sentence(parser: Parser) -> None:
    parses = parser(TEXT)
    assert [len(parse) for parse in parses] == [7, 6, 3]
    assert [parse.text for parse in parses] == [
        "Logic plays a maximal role here.",
        "Ada often sees\nthe dog .",
        "Kurt and Ada",
    ]
    for parse in parses:
        assert parse.offsets is not None
        assert tuple(TEXT[start:end] for start, end in parse.offsets) == parse.words


def test_gold_trees_of_a_grammar_it_knows_come_back(parser: Parser) -> None:
    for pair in toy_pairs(20):
        parse = parser.parse(pair.dependencies.words)
        assert parse.constituency == pair.constituency
        assert parse.dependencies == pair.dependencies
        assert parse.tags == pair.constituency.tags
        assert parse.upos == pair.dependencies.upos


def test_the_lexicalized_tree_holds_both_trees(parser: Parser) -> None:
    for parse in parser(TEXT):
        assert parse.lexical == LexicalTree.join(parse.constituency, parse.dependencies)
        assert parse.lexical is not None
        assert parse.lexical.split() == (parse.constituency, parse.dependencies)


def test_words_are_never_split_again(parser: Parser) -> None:
    words = ["didn't", "a b", "Dr. Who.", "x\ty", "(", "-LRB-", "\u200b", "."]
    parse = parser.parse(words)
    assert parse.words == tuple(words)
    assert parse.offsets is None
    assert len(parse.dependencies) == len(words)
    assert len(ConstituencyTree.from_brackets(parse.brackets()).words) == len(words)
    assert len(conllu.parse(parse.conllu())[0]) == len(words)


def test_a_pipe_takes_texts_and_words_and_keeps_their_order(parser: Parser) -> None:
    items = [TEXT, ["Ada", "sees", "Kurt"], "", [], "Ada plays."] * 20
    parses = list(parser.pipe(items, batch_size=7))
    expected = [
        parse
        for item in items
        for parse in (parser(item) if isinstance(item, str) else [parser.parse(item)])
    ]
    assert parses == expected
    assert [parse.score for parse in parses] == [parse.score for parse in expected]


def test_a_stream_gives_one_list_for_each_item(parser: Parser) -> None:
    by_item = list(parser.stream([TEXT, "", ["Ada"]]))
    assert [len(parses) for parses in by_item] == [3, 0, 1]


def test_a_pipe_reads_no_more_than_two_batches_ahead(parser: Parser) -> None:
    items_read = 0

    def source() -> object:
        nonlocal items_read
        while True:
            items_read += 1
            yield ["Ada", "sees", "Kurt"]

    pipe = parser.pipe(source(), batch_size=4)  # type: ignore[arg-type]
    next(pipe)
    assert items_read <= 8
    pipe.close()  # type: ignore[attr-defined]


def test_conllu_has_text_tags_and_spaces(parser: Parser, tmp_path: Path) -> None:
    parse = parser(TEXT)[0]
    path = tmp_path / "a.conllu"
    path.write_text(parse.conllu(), encoding="utf-8")
    (sentence,) = read_conllu(path)
    assert sentence.tree == parse.dependencies
    assert sentence.text == "Logic plays a maximal role here."
    assert sentence.spell() == sentence.text
    assert [token.space_after for token in sentence.tokens] == [True] * 5 + [False, True]
    (other,) = conllu.parse(parse.conllu())
    assert [token["xpos"] for token in other] == list(parse.tags)


def test_a_sentence_that_nothing_separates_from_the_next_says_so(parser: Parser) -> None:
    first, second = parser("邏輯很重要。樹也重要。")
    assert "。\t_\t" in first.conllu() and first.conllu().rstrip().endswith("SpaceAfter=No")
    assert second.conllu().rstrip().endswith("_")


def test_a_dict_is_ready_for_json(parser: Parser) -> None:
    parse = parser(TEXT)[0]
    decoded = json.loads(json.dumps(parse.to_dict()))
    assert decoded["words"] == list(parse.words)
    assert decoded["heads"] == list(parse.dependencies.heads)
    assert decoded["brackets"] == parse.brackets()
    assert decoded["constituents"][0] == [0, 7, "TOP"]
    assert decoded["offsets"][-1] == [31, 32]


def test_nltk_reads_the_same_tree(parser: Parser) -> None:
    for parse in parser(TEXT):
        tree = parse.to_nltk()
        assert tree == nltk.Tree.fromstring(parse.brackets())
        assert tree.leaves() == list(parse.words)


def test_a_parse_shows_its_trees(parser: Parser) -> None:
    parse = parser(TEXT)[0]
    assert "(TOP (S (NP" in repr(parse)
    assert "nsubj(plays, Logic)" in repr(parse)
    assert "nsubj" in str(parse)
    assert parse._repr_svg_().startswith("<svg")
    assert "<!doctype html>" in parse.to_html()
    assert "toy" in repr(parser)


def test_a_parse_does_not_change_and_compares_by_value(parser: Parser) -> None:
    first, reparsed = parser(TEXT)[0], parser(TEXT)[0]
    assert first == reparsed and hash(first) == hash(reparsed)
    assert first != parser(TEXT)[1]
    with pytest.raises(AttributeError):
        first.words = ()  # type: ignore[misc]


def test_a_parse_survives_pickling(parser: Parser) -> None:
    parses = parser(TEXT)
    unpickled = pickle.loads(pickle.dumps(parses))
    assert unpickled == parses
    assert [parse.conllu() for parse in unpickled] == [parse.conllu() for parse in parses]


def _parse_in_a_worker(parser: Parser) -> list[Parse]:
    return parser(TEXT)


def test_a_parser_travels_to_a_spawned_process_by_its_path(parser: Parser) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_parse_in_a_worker, (parser,)) == parser(TEXT)


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t \r\n", "\u3000"])
def test_text_without_words_has_no_parse(parser: Parser, text: str) -> None:
    assert parser(text) == []


def test_an_empty_sentence_has_empty_trees(parser: Parser) -> None:
    parse = parser.parse([])
    assert len(parse.constituency) == len(parse.dependencies) == 0
    with pytest.raises(ArcspanError, match="without words"):  # NLTK has no such tree
        parse.to_nltk()
    assert parse.to_dict()["words"] == []


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.text(max_size=60))
@example("0'LL")
def test_any_text_is_parsed_and_aligned(parser: Parser, text: str) -> None:
    for parse in parser(text):
        assert parse.error is None
        assert parse.offsets is not None
        assert tuple(text[start:end] for start, end in parse.offsets) == parse.words
        assert parse.constituency.words == parse.dependencies.words == parse.words
        assert parse.lexical is not None
        (sentence,) = conllu.parse(parse.conllu())
        words = [
            row for row in sentence if isinstance(row["id"], int)
        ]  # not the ranges of multiword tokens
        assert len(words) == len(parse)


@pytest.mark.parametrize(
    "text",
    [
        "😀👩‍👩‍👧 🇫🇷",
        "我爱邏輯。",
        "a\u200bb\x00\x07c",
        "http://example.org/a?b=c " * 3,
        "x" * 100_000,
        "ßéñ\u0301 ﷺ",
        "\ud800 a",
    ],
)
def test_odd_text_is_parsed(parser: Parser, text: str) -> None:
    parses = parser(text)
    assert "".join(word for parse in parses for word in parse.words) != ""
    assert all(parse.error is None for parse in parses)


def test_a_sentence_that_fails_in_a_pipe_is_marked_and_its_neighbours_are_not(
    parser: Parser,
) -> None:
    first, bad, last = parser.pipe([["Ada", "sees", "Kurt"], ["a", "", "b"], ["Kurt"]])
    assert first.error is None and last.error is None
    assert bad.error == "word 2 of the sentence is empty"
    assert bad.words == ("a", "", "b")
    assert len(bad.constituency) == len(bad.dependencies) == 3
    assert "# error = word 2" in bad.conllu()
    assert bad.to_dict()["error"] == bad.error


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"confidence": True}, {"batch_size": 1}])
@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (None, "not NoneType: None"),
        (float("nan"), "not float: nan"),
        (b"Ada sees.", "bytes are not text, decode them first"),
        ({"text": "Ada sees."}, "not dict"),
        (["Ada", None], "word 2 is NoneType"),
    ],
)
def test_an_item_that_is_no_text_ends_a_stream_or_is_marked(
    parser: Parser, item: Any, reason: str, options: dict[str, Any]
) -> None:
    items = ["Ada sees.", item, np.str_("Kurt sees.")]
    got = []
    with pytest.raises(ArcspanError, match=f"item 2: .*{reason}"):
        for parses in parser.stream(items, **options):
            got.append(parses)
    assert len(got) == 1, "what came before it is parsed"
    first, (bad,), last = parser.stream(items, errors="keep", **options)
    assert (
        bad.error is not None and reason in bad.error and bad.words == () and bad.confidence is None
    )
    assert first == got[0] and last[0].words == ("Kurt", "sees", ".") and last[0].error is None
    assert [parse.error is None for parse in parser.pipe(items, errors="keep")] == [
        True,
        False,
        True,
    ]


def test_what_to_do_about_errors_is_checked(parser: Parser) -> None:
    with pytest.raises(ArcspanError, match="'raise' or 'keep', not 'ignore'"):
        next(parser.pipe(["Ada."], errors="ignore"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("Logic plays", "parser\\(text\\)"),
        (["a", 3], "word 2 is int"),
        (["a", ""], "word 2 .* empty"),
        (["a", " \t"], "word 2 .* empty"),
        ([b"a"], "bytes"),
    ],
)
def test_wrong_words_are_named(parser: Parser, words: object, reason: str) -> None:
    with pytest.raises(ArcspanError, match=reason):
        parser.parse(words)  # type: ignore[call-overload]


def test_an_empty_word_is_named_before_constraints(parser: Parser) -> None:
    """A sentence with an empty word was said to have no words."""
    with pytest.raises(ArcspanError, match=r"word 2 .* empty"):
        parser.parse(["a", " "], require=[(0, 1)])
    ((bad,),) = parser.stream([["a", " "]], require=[(0, 1)])
    assert bad.error == "word 2 of the sentence is empty"


def test_arguments_of_the_wrong_kind_are_refused_in_our_words(parser: Parser) -> None:
    """Python's own TypeErrors were raised; None was split into nothing."""
    with pytest.raises(ArcspanError, match=r"no style \['gum'\]"):
        parser.parse(["Ada"], style=["gum"])  # type: ignore[call-overload]
    with pytest.raises(ArcspanError, match="a stream of texts is needed, not NoneType"):
        next(parser.pipe(None))  # type: ignore[arg-type]
    with pytest.raises(ArcspanError, match="a text is needed, not NoneType"):
        parser.split(None)  # type: ignore[arg-type]
    with pytest.raises(ArcspanError, match="a text is needed, not bytes"):
        parser.parse(["Ada"], text=b"Ada")  # type: ignore[call-overload]
    with pytest.raises(ArcspanError, match="tags come in a list, one per word, not as 3"):
        parser.parse(["Ada"], tags=3)  # type: ignore[call-overload]
    with pytest.raises(ArcspanError, match="a ConstituencyTree is needed, not DependencyTree"):
        parser.score_trees(["Ada"], DependencyTree([0], ["root"]))  # type: ignore[arg-type]
    with pytest.raises(
        ArcspanError, match="threads must be a whole number of at least 1, not True"
    ):
        arcspan.load(parser.path, threads=True)
    assert arcspan.load(parser.path, threads=np.int64(1)).parse(["Ada"]).words == ("Ada",)  # type: ignore[arg-type]


def test_a_byte_order_mark_is_counted_and_not_part_of_a_word(parser: Parser) -> None:
    (parse,) = parser("\ufeffAda sees Kurt.")
    assert (parse.words[0], parse.offsets[0], parse.text) == ("Ada", (1, 4), "Ada sees Kurt.")  # type: ignore[index]


def test_a_device_that_is_not_there_is_said_and_the_processor_parses(
    toy_bundle: Path, parser: Parser
) -> None:
    words = toy_pairs(1)[0].words
    missing = next(
        name
        for name, provider in DEVICES.items()
        if provider not in onnxruntime.get_available_providers()
    )
    with pytest.warns(UserWarning, match=f"device='{missing}': .*using the CPU"):
        elsewhere = arcspan.load(toy_bundle, device=missing)
    assert elsewhere.parse(words).to_dict() == parser.parse(words).to_dict()
    assert arcspan.load(toy_bundle, device="auto").parse(words).heads == parser.parse(words).heads
    with pytest.raises(ArcspanError, match=r"device='tpu': choose auto, cuda"):
        arcspan.load(toy_bundle, device="tpu")


def test_wrong_settings_are_named(toy_bundle: Path, tmp_path: Path, parser: Parser) -> None:
    with pytest.raises(BundleError, match="no such folder"):
        arcspan.load(tmp_path / "none")
    with pytest.raises(ValueError, match="threads"):
        arcspan.load(toy_bundle, threads=0)
    with pytest.raises(ArcspanError, match="batch_size"):
        list(parser.pipe([], batch_size=0))
    with pytest.raises(ArcspanError, match="one per word"):
        parser.parse(["Ada", "plays"], tags=["NNP"])


@pytest.fixture(scope="module")
def english() -> Parser:
    if not (MODELS / "en").is_dir():
        pytest.skip("this checkout has no English model inside")
    return arcspan.load()


def test_the_english_model_parses_plain_english(english: Parser) -> None:
    (parse,) = english("The old dog chased a small cat.")
    assert parse.tags == ("DT", "JJ", "NN", "VBD", "DT", "JJ", "NN", ".")
    assert parse.dependencies.heads == (3, 3, 4, 0, 7, 7, 4, 4)
    assert parse.dependencies.relations[2] == "nsubj"
    assert parse.dependencies.relations[6] == "obj"
    assert (0, 3, "NP") in parse.constituency.spans
    assert (3, 7, "VP") in parse.constituency.spans


def test_the_english_model_is_small_enough_for_a_wheel_and_says_what_it_is(english: Parser) -> None:
    size = sum(file.stat().st_size for file in english.path.iterdir())
    assert size < 60e6
    assert english.language == "en"
    assert english.config["licence"]
    assert english.config["scores"]


@pytest.mark.treebanks
def test_the_english_model_says_the_same_of_a_sentence_in_any_company(
    english: Parser, treebanks: Path
) -> None:
    trees = islice(read_conll(treebanks / "gum" / "dev.conllu.xz"), 80)
    words = [tree.words for tree in trees]
    together = list(english.pipe(words))
    backwards = list(english.pipe(words[::-1], batch_size=16))[::-1]
    one_thread = list(Parser(threads=1).pipe(words, batch_size=1))
    for others in (backwards, one_thread):
        assert others == together
        assert [parse.score for parse in others] == [parse.score for parse in together]


def test_multiword_tokens_and_paragraphs_are_written_as_conllu(
    parser: Parser, tmp_path: Path
) -> None:
    first, second, third = parser("Ada can't see (it's late). Go.\n\nKurt")
    assert first.multiword == ((2, 3, "can't"), (6, 7, "it's"))
    assert (first.paragraph, second.paragraph, third.paragraph) == (True, False, True)
    lines = first.conllu().splitlines()
    assert lines[:2] == ["# newpar", "# text = Ada can't see (it's late)."]
    assert lines[3:6] == [
        "2-3\tcan't" + "\t_" * 8,
        *[
            line
            for line in lines
            if line.startswith(("2\tca\t", "3\tn't\t")) and line.endswith("\t_")
        ],
    ]
    path = tmp_path / "a.conllu"
    path.write_text("".join(parse.conllu() for parse in (first, second, third)), encoding="utf-8")
    sentences = list(read_conllu(path))
    assert [sentence.spell() for sentence in sentences] == [
        "Ada can't see (it's late).",
        "Go.",
        "Kurt",
    ]
    assert first.to_dict()["multiword"] == [[2, 3, "can't"], [6, 7, "it's"]]
    assert pickle.loads(pickle.dumps(first)).conllu() == first.conllu()


def test_a_text_that_is_one_sentence_is_never_split(parser: Parser) -> None:
    (parse,) = parser.pipe(["Ada plays. It's\n\nKurt."], one_sentence=True)
    assert parse.words == ("Ada", "plays", ".", "It", "'s", "Kurt", ".") and not parse.paragraph
    assert parse.multiword == ((4, 5, "It's"),)
    assert list(parser.pipe([" "], one_sentence=True)) == []


def test_the_fast_model_inside_the_package_has_everything_that_the_other_has(
    english: Parser,
) -> None:
    fast = arcspan.load("en-fast", verify=True)
    (parse,) = fast("Where have you been?", confidence=True)
    assert parse.relations == ("advmod", "aux", "nsubj", "root", "punct") and parse.heads == (
        4,
        4,
        4,
        0,
        4,
    )
    assert parse.brackets().startswith("(TOP (SBARQ ") and parse.lemmas[3] == "be"
    assert parse.features[1] and 0 < parse.confidence.sentence <= 1
    assert sum(file.stat().st_size for file in fast.path.iterdir()) < 25e6
    assert set(fast.styles) == {*english.styles, "atis", "eslspok"}
