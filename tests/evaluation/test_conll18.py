"""The CoNLL 2018 scores: cases worked out by hand, and every count against the shared task's own scorer."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcspan.errors import FileError
from arcspan.evaluation import evaluate_raw
from arcspan.evaluation.conll18 import RawReport
from arcspan.treebanks import ConlluSentence, read_conllu
from tests.evaluation.damage import damaged

NAMES = ["Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS"]
NAMES += ["CLAS", "MLAS", "BLEX"]


def sentences(*rows: str) -> list[ConlluSentence]:
    """Sentences from rows such as "1-2 du", "1 de ADP 2 case"; a row "" ends a sentence."""
    found: list[list[str]] = [[]]
    for row in rows:
        if not row:
            found.append([])
            continue
        name, form, *rest = row.split(" ")
        upos, head, relation = rest if rest else "___"
        found[-1].append("\t".join([name, form, form, upos, "_", "_", head, relation, "_", "_"]))
    return [ConlluSentence(lines) for lines in found]


def text(given: list[ConlluSentence]) -> str:
    return "".join(map(str, given))


DU = sentences("1 vient VERB 0 root", "2-3 du", "2 de ADP 4 case", "3 le DET 4 det", "4 sud NOUN 1 obl")


class TestByHand:
    def test_a_file_is_right_against_itself(self) -> None:
        report = evaluate_raw(DU, DU)
        assert set(report.figures()) == set(NAMES)
        assert set(report.figures().values()) == {100.0}
        assert (report["Tokens"].gold, report["Words"].gold, report["CLAS"].gold) == (3, 4, 2)

    def test_a_multiword_token_left_whole_costs_its_words_and_what_hangs_on_them(self) -> None:
        whole = sentences("1 vient VERB 0 root", "2 du ADP 3 case", "3 sud NOUN 1 obl")
        report = evaluate_raw(DU, whole)
        assert (report["Tokens"].f1, report["Sentences"].f1) == (100.0, 100.0)
        assert (report["Words"].recall, report["Words"].precision) == (50.0, pytest.approx(200 / 3))
        assert (report["LAS"].right, report["LAS"].aligned, report["LAS"].aligned_accuracy) == (2, 2, 100.0)
        # "sud" has lost its two function words and has an unknown one instead.
        assert (report["CLAS"].f1, report["MLAS"].recall) == (100.0, 50.0)

    def test_words_of_multiword_tokens_are_aligned_by_their_forms(self) -> None:
        apart = sentences(
            "1 vient VERB 0 root", "2 d ADP 4 case", "3-3 u", "3 le DET 4 det", "4 sud NOUN 1 obl"
        )
        report = evaluate_raw(DU, apart)
        assert (report["Tokens"].right, report["Words"].right) == (2, 3)

    def test_sentences_are_right_where_both_ends_are(self) -> None:
        one = sentences("1 a X 0 root", "2 b X 1 dep", "3 c X 1 dep")
        two = sentences("1 a X 0 root", "2 b X 1 dep", "", "1 c X 0 root")
        report = evaluate_raw(one, two)
        assert (report["Sentences"].gold, report["Sentences"].predicted, report["Sentences"].right) == (
            1,
            2,
            0,
        )
        assert (report["Words"].f1, report["UAS"].right) == (100.0, 2)

    def test_subtypes_never_count_and_punctuation_always_does(self) -> None:
        gold = sentences("1 a X 0 root", "2 b X 1 nsubj:pass", "3 . PUNCT 1 punct")
        other = sentences("1 a X 0 root", "2 b X 1 nsubj", "3 . PUNCT 2 punct")
        report = evaluate_raw(gold, other)
        assert (report["LAS"].right, report["LAS"].gold, report["CLAS"].f1) == (2, 3, 100.0)

    def test_only_universal_features_count_in_any_order_and_only_gold_lemmas_that_there_are(self) -> None:
        row = "1\tdogs\t{}\tNOUN\tNNS\t{}\t0\troot\t_\t_"
        gold = [ConlluSentence([row.format("_", "Number=Plur|Case=Nom|Foo=1")])]
        same = [ConlluSentence([row.format("dog", "Case=Nom|Number=Plur|Foo=2")])]
        report = evaluate_raw(gold, same)
        assert (report["UFeats"].f1, report["Lemmas"].f1) == (100.0, 100.0)
        assert evaluate_raw(same, gold)["Lemmas"].f1 == 0.0

    def test_spaces_inside_words_do_not_count(self) -> None:
        row = "{}\t{}\t_\tNUM\t_\t_\t{}\tdep\t_\t_"
        one = [ConlluSentence([row.format(1, "10\N{NO-BREAK SPACE}000", 0)])]
        two = [ConlluSentence([row.format(1, "10", 0), row.format(2, "000", 1)])]
        assert evaluate_raw(one, two)["Tokens"].predicted == 2

    def test_heads_need_not_form_a_tree(self) -> None:
        gold = sentences("1 a X 0 root", "2 b X 1 dep", "3 c X 1 dep")
        cycle = sentences("1 a X 0 root", "2 b X 3 dep", "3 c X 2 dep")
        assert evaluate_raw(gold, cycle)["UAS"].right == 1

    def test_what_the_prediction_lacks_is_said(self) -> None:
        bare = [ConlluSentence(["1\ta\t_\t_\t_\t_\t0\troot\t_\t_"])]
        report = evaluate_raw(sentences("1 a X 0 root"), bare)
        assert report.notes == ("the prediction has no lemmas", "the prediction has no UPOS tags")
        assert "Note: the prediction has no lemmas" in str(report)

    def test_whatever_writes_conllu_can_be_scored(self) -> None:
        class Parse:
            def conllu(self) -> str:
                return "# text = vient\n" + text(DU)

        assert evaluate_raw(DU, [Parse()])["LAS"].f1 == 100.0

    def test_the_table_and_json_have_every_metric(self) -> None:
        report = evaluate_raw(DU, DU)
        lines = [line.split() for line in str(report).splitlines()]
        assert ["LAS", "100.00", "100.00", "100.00", "100.00"] in lines
        read = json.loads(report.to_json())
        assert set(NAMES) < set(read)
        assert read["UAS"] == {
            **dict.fromkeys(("precision", "recall", "f1", "aligned_accuracy"), 100.0),
            **dict.fromkeys(("gold", "predicted", "right", "aligned"), 4),
        }
        assert read["signature"].startswith("conll18|")
        assert repr(report) == "<RawReport: Words 100.00, Sentences 100.00, UAS 100.00, LAS 100.00>"


def words(*tokens: str) -> list[ConlluSentence]:
    """A sentence of tokens; "ab a b" is a multiword token with its words."""
    rows, number = [], 0
    for token in tokens:
        form, *parts = token.split(" ")
        if parts:
            rows.append(f"{number + 1}-{number + len(parts)} {form}")
        for part in parts or [form]:
            number += 1
            rows.append(f"{number} {part} X {number - 1} dep")
    return sentences(*rows)


@pytest.mark.parametrize(
    ("gold", "predicted", "aligned"),
    [
        (["ab"], ["a", "b"], 0),
        (["a", "bc b c", "d"], ["a", "b", "c", "d"], 4),  # a multiword token taken apart
        (["abc A BX c"], ["ab a b", "c"], 2),  # forms are compared without case
        (["ab", "cd a c"], ["a", "b", "c", "d"], 1),  # "a" stands before the multiword token
        (["a", "b", "c", "d"], ["ab", "cd a c"], 1),
        (["ab a bc", "c"], ["a", "bc"], 1),  # "bc" sticks out of the multiword token
        (["a", "bc"], ["ab a bc", "c"], 1),
        (["ab a b", "cd c d"], ["a", "bc b c", "d"], 4),  # one stretch of overlapping multiword tokens
        (["ab x y"], ["ab y x"], 1),
    ],
)
def test_words_around_multiword_tokens_are_aligned_by_form(
    gold: list[str], predicted: list[str], aligned: int
) -> None:
    one, other = words(*gold), words(*predicted)
    report = evaluate_raw(one, other)
    assert report["Words"].right == aligned
    assert_as_udeval(report, text(one), text(other))


class TestRefusals:
    def test_another_text_is_refused_with_the_place_in_both_files(self, tmp_path: Path) -> None:
        gold, other = tmp_path / "gold.conllu", tmp_path / "other.conllu"
        gold.write_text("# one\n" + text(DU))
        other.write_text(text(DU).replace("sud", "nord"))
        message = r"other.conllu:5: the text differs from .*gold.conllu:6: after 'vientdu' comes 'sud' there and 'nord'"
        with pytest.raises(FileError, match=message):
            evaluate_raw(gold, other)
        with pytest.raises(FileError, match="after 'vientdusud' comes 'vientdusud' there and the end here"):
            evaluate_raw(DU * 2, DU)
        with pytest.raises(FileError, match="at the start comes 'a' there and 'b' here"):
            evaluate_raw(sentences("1 a X 0 root"), sentences("1 b X 0 root"))

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (["2 a X 0 root"], "the ID is '2' where 1 should follow"),
            (["1-2 ab", "1-2 ab"], "the multiword token 1-2 overlaps another"),
            (["1-x ab", "1 a X 0 root"], "the multiword token 1-x overlaps another or has no words"),
            (["1-3 ab", "1 a X 0 root"], "the sentence ends after word 1"),
            (["1 a X 2 root"], "word 1 has head 2 in a sentence of 1 words"),
            (["1 a X 0 root", f"2 b X {'9' * 5000} dep"], r"the HEAD \(column 7\) is '9+', not a number"),
            (["1 a X -1 root"], r"the HEAD \(column 7\) is '-1', not a number"),
            (["1 \N{NO-BREAK SPACE} X 0 root"], "the FORM is empty"),
            (["1.1 a X 0 root"], "the sentence ends after word 0"),
        ],
    )
    def test_damaged_sentences_are_refused_with_their_line(self, rows: list[str], message: str) -> None:
        with pytest.raises(FileError, match=f"the predicted sentences:1: {message}|sentences:2: {message}"):
            evaluate_raw(DU, sentences(*rows))


def assert_as_udeval(report: RawReport, gold: str, predicted: str) -> None:
    """Every count is that of `udtools`' udeval, which counts several roots as a prediction may have them."""
    udeval = pytest.importorskip("udtools.udeval")
    files = [
        udeval.load_conllu(io.StringIO(one), "file", {"multiple_roots_okay": True})
        for one in (gold, predicted)
    ]
    for name, theirs in udeval.evaluate(*files).items():
        if name in report.scores:
            ours = report[name]
            counts = (theirs.gold_total, theirs.system_total, theirs.correct, theirs.aligned_total)
            assert (ours.gold, ours.predicted, ours.right, ours.aligned) == counts, name
            shares = (theirs.precision, theirs.recall, theirs.f1)
            assert (ours.precision, ours.recall, ours.f1) == pytest.approx([100 * one for one in shares]), (
                name
            )


@pytest.mark.parametrize("treebank", ["gum", "ewt"])
def test_every_count_is_udevals_on_damaged_copies_of_a_treebank(treebank: str, treebanks: Path) -> None:
    everything = list(read_conllu(treebanks / treebank / "dev.conllu.xz"))
    seen = []
    for seed in range(30):
        draw = random.Random(seed)
        start = draw.randrange(len(everything) - 80)
        gold = everything[start : start + 80]
        copy = damaged(gold, rate=draw.choice([0.02, 0.1, 0.3, 0.6]), draw=draw)
        predicted = [ConlluSentence(block.split("\n")) for block in copy.split("\n\n") if block]
        report = evaluate_raw(gold, predicted)
        assert_as_udeval(report, text(gold), copy)
        seen.append(report.figures())
    # The copies are wrong in everything, some of them very, others little.
    for name in NAMES:
        values = [figures[name] for figures in seen]
        assert min(values) < 75 and max(values) > 80, (name, values)


def test_a_whole_treebank_is_scored_as_udeval_scores_it(treebanks: Path, tmp_path: Path) -> None:
    path = treebanks / "gum" / "dev.conllu.xz"
    gold = list(read_conllu(path))
    predicted = tmp_path / "p.conllu"
    predicted.write_text(damaged(gold, 0.1, random.Random(7)), encoding="utf-8")
    assert_as_udeval(evaluate_raw(path, predicted), text(gold), predicted.read_text(encoding="utf-8"))


@st.composite
def splittings(draw: st.DrawFn, letters: str) -> list[ConlluSentence]:
    """A way to split letters into tokens, some of them with several words that may be spelled otherwise."""
    cuts = sorted(
        draw(st.sets(st.integers(1, max(1, len(letters) - 1)), max_size=len(letters))) - {len(letters)}
    )
    rows, number = [], 0
    for start, end in zip([0, *cuts], [*cuts, len(letters)], strict=True):
        words = draw(st.lists(st.sampled_from(["a", "b", "ab", "B"]), max_size=3))
        if words:
            rows.append(f"{number + 1}-{number + len(words)} {letters[start:end]}")
        for word in words or [letters[start:end]]:
            number += 1
            upos, relation = draw(st.sampled_from(["X", "Y"])), draw(st.sampled_from(["obj", "det", "punct"]))
            rows.append(f"{number} {word} {upos} {draw(st.integers(0, number - 1))} {relation}")
        if draw(st.integers(0, 9)) == 0:
            rows.append("")
            number = 0
    if rows[-1] == "":
        rows.pop()
    return sentences(*rows)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.text("ab", min_size=1, max_size=10))
def test_every_count_is_udevals_on_small_texts_with_many_multiword_tokens(
    data: st.DataObject, letters: str
) -> None:
    gold, predicted = data.draw(splittings(letters)), data.draw(splittings(letters))
    assert_as_udeval(evaluate_raw(gold, predicted), text(gold), text(predicted))
