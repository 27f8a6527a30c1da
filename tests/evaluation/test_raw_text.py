"""The CoNLL 2018 scores: what is handed to udeval, what comes back, and what is refused."""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path

import pytest
from udtools import udeval

from arcspan.errors import FileError, MissingExtraError
from arcspan.evaluation import evaluate_raw
from arcspan.treebanks import ConlluSentence, read_conllu
from tests.evaluation.damage import damaged

NAMES = [
    "Tokens",
    "Sentences",
    "Words",
    "UPOS",
    "XPOS",
    "UFeats",
    "AllTags",
    "Lemmas",
    "UAS",
    "LAS",
]
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


DU = sentences(
    "1 vient VERB 0 root", "2-3 du", "2 de ADP 4 case", "3 le DET 4 det", "4 sud NOUN 1 obl"
)


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
        assert (report["LAS"].right, report["LAS"].aligned, report["LAS"].aligned_accuracy) == (
            2,
            2,
            100.0,
        )
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
        assert (
            report["Sentences"].gold,
            report["Sentences"].predicted,
            report["Sentences"].right,
        ) == (
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

    def test_only_universal_features_count_in_any_order_and_only_gold_lemmas_that_there_are(
        self,
    ) -> None:
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

    def test_several_roots_are_scored_and_a_cycle_is_refused_with_its_line(self) -> None:
        gold = sentences("1 a X 0 root", "2 b X 1 dep", "3 c X 1 dep")
        roots = sentences("1 a X 0 root", "2 b X 0 root", "3 c X 1 dep")
        assert evaluate_raw(gold, roots)["UAS"].right == 2
        cycle = sentences("1 a X 0 root", "2 b X 3 dep", "3 c X 2 dep")
        with pytest.raises(FileError, match=r"^the predicted sentences:4: There is a cycle$"):
            evaluate_raw(gold, cycle)

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


class TestRefusals:
    def test_another_text_is_refused_with_the_place_in_both_files(self, tmp_path: Path) -> None:
        gold, other = tmp_path / "gold.conllu", tmp_path / "other.conllu"
        gold.write_text("# one\n" + text(DU))
        other.write_text(text(DU).replace("sud", "nord"))
        message = r"other.conllu:5: the text differs from .*gold.conllu:6: after 'vientdu' comes 'sud' there and 'nord'"
        with pytest.raises(FileError, match=message):
            evaluate_raw(gold, other)
        with pytest.raises(
            FileError, match="after 'vientdusud' comes 'vientdusud' there and the end here"
        ):
            evaluate_raw(DU * 2, DU)
        with pytest.raises(FileError, match="at the start comes 'a' there and 'b' here"):
            evaluate_raw(sentences("1 a X 0 root"), sentences("1 b X 0 root"))

    @pytest.mark.parametrize(
        ("rows", "line", "message"),
        [
            (["2 a X 0 root"], 1, "the ID is '2' where 1 should follow"),
            (["1-x ab", "1 a X 0 root"], 1, "the ID is '1-x'"),
            (["2-1 ab", "1 a X 0 root"], 1, "the ID is '2-1'"),
            (
                ["1-3 ab", "1 a X 0 root"],
                1,
                "a multiword token ends with word 3, but the last word is 1",
            ),
            (["1 a X 2 root"], 2, "HEAD '2' points outside of the sentence"),
            (
                ["1 a X 0 root", f"2 b X {'9' * 5000} dep"],
                2,
                r"the HEAD \(column 7\) is '9+, not a number",
            ),
            (
                ["1-2 ab", "1 a X 0 root", "2 b X x dep"],
                3,
                r"the HEAD \(column 7\) is 'x', not a number",
            ),
            (["1 \N{NO-BREAK SPACE} X 0 root"], 1, "There is an empty FORM"),
            (["0.1 a X 0 root"], 1, "a sentence without words"),
            (
                [f"{m} a X {m % 3000 + 1} dep" for m in range(1, 3001)],
                None,
                "too many words in a row depend",
            ),
        ],
    )
    def test_damaged_sentences_are_refused_with_their_line(
        self, rows: list[str], line: int | None, message: str
    ) -> None:
        with pytest.raises(FileError, match=message) as found:
            evaluate_raw(DU, sentences(*rows))
        assert (found.value.path, found.value.line) == ("the predicted sentences", line)

    def test_without_the_extra_the_error_names_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "udtools", None)
        with pytest.raises(MissingExtraError, match=r"scoring raw text needs .*\[ud\]"):
            evaluate_raw(DU, DU)


def test_a_compressed_treebank_with_gaps_and_comments_is_scored_as_udeval_scores_the_plain_one(
    treebanks: Path, tmp_path: Path
) -> None:
    path = treebanks / "gum" / "dev.conllu.xz"
    gold = list(read_conllu(path))
    copy = damaged(gold, 0.1, random.Random(7))
    predicted = tmp_path / "p.conllu"
    predicted.write_text("\n\n# alone\n\n" + copy.rstrip("\n"), encoding="utf-8")
    report = evaluate_raw(path, predicted)
    files = [
        udeval.load_conllu(io.StringIO(one), "file", {"multiple_roots_okay": True})
        for one in (text(gold), copy)
    ]
    theirs = udeval.evaluate(*files)
    assert report.figures() == pytest.approx({name: 100 * theirs[name].f1 for name in NAMES})
    assert 70 < report["LAS"].f1 < 80 and report["LAS"].aligned == theirs["LAS"].aligned_total
