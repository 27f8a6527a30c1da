"""The report: figures counted by hand, their signatures, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arcspan import __version__
from arcspan.errors import ArcspanError
from arcspan.evaluation import COLLINS, METRICS, Tally, evaluate, evaluate_brackets
from arcspan.evaluation.tables import tally_table
from arcspan.treebanks import Pair, read_pairs
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.evaluation.samples import (
    CATS,
    DOGS,
    GOLD,
    PREDICTED,
    WRONG_CATS,
    pair,
    with_errors,
    write,
)


def test_every_figure_of_a_prediction_worked_out_by_hand() -> None:
    report = evaluate(GOLD, PREDICTED)
    assert report.figures() == pytest.approx(
        {
            "uas": 100 * 5 / 6,  # "the" hangs on the verb
            "las": 100 * 4 / 6,  # and the subject lacks its subtype
            "relation_accuracy": 100 * 5 / 6,
            "las_main": 100 * 5 / 6,
            "relation_accuracy_main": 100.0,
            "precision": 100.0,
            "recall": 100 * 6 / 7,  # 3 + 4 gold brackets, the noun phrase is lost
            "f1": 100 * 12 / 13,
            "unlabelled_precision": 100.0,
            "unlabelled_recall": 100 * 6 / 7,
            "unlabelled_f1": 100 * 12 / 13,
            "complete_match": 50.0,
            "average_crossing": 0.0,
            "no_crossing": 100.0,
            "two_or_less_crossing": 100.0,
            "tagging_accuracy": 100 * 5 / 6,  # sleeps is VBP
            "lcm_con": 50.0,
            "lcm_dep": 50.0,
            "lcm_both": 50.0,
            "compatible": 100.0,
            "tag_accuracy": 100 * 8 / 9,
            "upos_accuracy": 100.0,
        }
    )


def test_subtypes_punctuation_and_rules_change_what_they_should() -> None:
    assert evaluate(GOLD, PREDICTED, subtypes=False).las == pytest.approx(100 * 5 / 6)
    assert evaluate(GOLD, PREDICTED, punctuation="none").uas == pytest.approx(100 * 7 / 9)
    assert evaluate(GOLD, PREDICTED, punctuation="upos").uas == pytest.approx(100 * 5 / 6)
    assert evaluate(GOLD, PREDICTED, punctuation="unicode").uas == pytest.approx(100 * 5 / 6)


def test_a_prm_file_changes_brackets_only(tmp_path: Path) -> None:
    prm = tmp_path / "strict.prm"
    prm.write_text("DELETE_LABEL TOP\n")
    report = evaluate(GOLD, PREDICTED, rules=prm)
    assert report.recall == pytest.approx(100 * 5 / 7)  # ADVP is not PRT here
    assert report.las == pytest.approx(100 * 4 / 6)


def test_one_layer_alone_can_be_scored() -> None:
    constituents = evaluate([(c, None) for c, _ in GOLD], [(c, None) for c, _ in PREDICTED])
    assert constituents.f1 == pytest.approx(100 * 12 / 13)
    assert constituents.las is None
    assert not {"las", "lcm_dep", "lcm_both", "compatible"} & set(constituents.figures())
    dependencies = evaluate([(None, d) for _, d in GOLD], [(None, d) for _, d in PREDICTED])
    assert dependencies.las == pytest.approx(100 * 4 / 6)
    assert dependencies.f1 is None
    assert not {"f1", "lcm_con", "compatible"} & set(dependencies.figures())


def test_a_layer_that_only_one_side_has_is_not_scored_and_shown_as_missing() -> None:
    pairs, constituents = GOLD, [(c, None) for c, _ in PREDICTED]
    for report in (
        evaluate(pairs, constituents),
        evaluate([(c, None) for c, _ in GOLD], PREDICTED),
    ):
        assert report.f1 == pytest.approx(100 * 12 / 13)
        assert (report.las, report.lcm_dep, report.lcm_both) == (None, None, None)
        assert "Dependencies  -" in str(report)
        assert ["LCM", "con+dep", "-"] in [line.split() for line in str(report).splitlines()]
        assert json.loads(report.to_json())["las"] is None
        assert "LAS" not in repr(report)
    # Whether two predicted trees fit each other does not depend on gold trees.
    assert evaluate([(c, None) for c, _ in GOLD], PREDICTED).compatible == 100.0
    assert evaluate(pairs, constituents).compatible is None
    assert evaluate(pairs, constituents).notes == ("there are no predicted dependency trees",)


def test_gold_trees_of_both_kinds_may_be_mixed_with_others() -> None:
    gold = [DOGS, (CATS.constituency, None), (None, CATS.dependencies)]
    report = evaluate(gold, [DOGS, WRONG_CATS, WRONG_CATS])
    assert report.recall == pytest.approx(100 * 6 / 7)
    assert report.las == pytest.approx(100 * 4 / 6)
    assert (report.lcm_con, report.lcm_dep, report.lcm_both) == (50.0, 50.0, 100.0)


def test_whatever_carries_both_trees_can_be_scored() -> None:
    class Parse:
        constituency, dependencies = WRONG_CATS

    assert evaluate([CATS], [Parse()]).las == evaluate([CATS], [WRONG_CATS]).las == 50.0


def test_relations_and_labels_have_their_own_precision_and_recall() -> None:
    report = evaluate(GOLD, PREDICTED)
    assert report.relations["nsubj"] == Tally(gold=1, predicted=2, found=1, right=1)
    assert report.relations["nsubj:outer"] == Tally(gold=1)
    assert report.relations["nsubj"].precision == 50.0
    assert report.labels["NP"].recall == 50.0
    # The particle was found under the gold label, and is right under its own.
    assert report.labels["ADVP"] == Tally(gold=1, found=1)
    assert report.labels["PRT"] == Tally(predicted=1, right=1)
    assert "punct" not in report.relations


def test_relations_are_scored_with_and_without_subtypes_side_by_side() -> None:
    report = evaluate(GOLD, PREDICTED)
    assert report.main_relations["nsubj"] == Tally(gold=2, predicted=2, found=2, right=2)
    assert report.signature("las_main").startswith("las_main|punctuation:upos|subtypes:ignored|")
    lines = [
        line.split()
        for line in tally_table("relation", report.relations, report.main_relations).splitlines()
    ]
    assert [
        "nsubj",
        "1",
        "2",
        "50.00",
        "100.00",
        "66.67",
        "|",
        "2",
        "2",
        "100.00",
        "100.00",
        "100.00",
    ] in lines
    assert ["nsubj:outer", "1", "0", "0.00", "0.00", "0.00", "|", *"-----"] in lines
    ignored = evaluate(GOLD, PREDICTED, subtypes=False)
    assert ignored.las == ignored.las_main == report.las_main
    assert ignored.relations == ignored.main_relations == report.main_relations


def annotated(
    lemmas: str, features: str, upos: str = "NOUN VERB"
) -> list[tuple[None, DependencyTree]]:
    empty = [
        ["" if cell == "_" else cell for cell in column.split()] for column in (lemmas, features)
    ]
    return [
        (
            None,
            DependencyTree([2, 0], ["nsubj", "root"], ["dogs", "bark"], None, upos.split(), *empty),
        )
    ]


class TestLemmasAndFeatures:
    GOLD = annotated("dog bark", "Number=Plur|Case=Nom _")

    def test_they_are_scored_where_the_trees_carry_them(self) -> None:
        report = evaluate(
            self.GOLD, annotated("dog barking", "Case=Nom|Number=Plur Tense=Pres", "NOUN NOUN")
        )
        assert (report.lemma_accuracy, report.feature_accuracy, report.upos_accuracy) == (
            50.0,
            50.0,
            50.0,
        )
        assert report.tag_accuracy is None
        assert report.signature("lemma_accuracy").startswith("lemma_accuracy|words:all|")

    def test_only_features_may_be_written_in_another_order(self) -> None:
        report = evaluate(annotated("a|b c", "A=1|B=2 _"), annotated("b|a c", "B=2|A=1 _"))
        assert (report.lemma_accuracy, report.feature_accuracy) == (50.0, 100.0)

    def test_what_one_side_has_nowhere_is_not_scored(self) -> None:
        nothing = annotated("_ _", "_ _")
        assert evaluate(self.GOLD, nothing).lemma_accuracy is None
        assert evaluate(self.GOLD, nothing).feature_accuracy is None
        assert evaluate(nothing, self.GOLD).feature_accuracy is None

    def test_a_sentence_for_which_nothing_was_predicted_counts_where_others_have_something(
        self,
    ) -> None:
        report = evaluate(self.GOLD * 2, self.GOLD + annotated("_ _", "_ _"))
        assert (report.lemma_accuracy, report.feature_accuracy) == (50.0, 75.0)

    def test_words_without_a_gold_lemma_do_not_count(self) -> None:
        assert (
            evaluate(annotated("dog _", "_ _"), annotated("dog bark", "_ _")).lemma_accuracy
            == 100.0
        )


def test_every_figure_has_a_signature_that_says_how_it_was_made() -> None:
    report = evaluate(GOLD, PREDICTED, punctuation="upos", subtypes=False)
    version = f"arcspan:{__version__}"
    assert report.signature("las") == f"las|punctuation:upos|subtypes:ignored|{version}"
    assert report.signature("f1") == f"f1|rules:COLLINS|tags:predicted|{version}"
    assert report.signature("lcm_both") == (
        f"lcm_both|rules:COLLINS|tags:predicted|punctuation:upos|subtypes:ignored|{version}"
    )
    assert all(report.signature(name).endswith(version) for name in METRICS)


def test_json_holds_figures_signatures_and_counts() -> None:
    report = evaluate(GOLD, PREDICTED)
    read = json.loads(report.to_json())
    assert read["las"] == report.las
    assert read["signatures"]["las"] == report.signature("las")
    assert read["counts"]["arcs"] == 6
    assert read["relations"]["det"]["recall"] == 0.0


def test_the_table_for_people_shows_every_block_with_its_signature() -> None:
    text = str(evaluate(GOLD, PREDICTED))
    for line in (
        "2 sentences",
        "Dependencies  [punctuation:upos|subtypes:kept|arcspan:",
        "Constituents (as EVALB)  [rules:COLLINS|",
    ):
        assert line in text
    assert ["LAS", "66.67"] in [line.split() for line in text.splitlines()]
    assert repr(evaluate(GOLD, PREDICTED)) == (
        "<Report on 2 sentences: LAS 66.67, UAS 83.33, F1 92.31, LCM con+dep 50.00>"
    )


class TestTags:
    TREE = "(TOP (S (NP (NN a)) (: -) (VP (VB b))))"
    MISTAGGED = "(TOP (S (NP (NN a)) (NN -) (VP (VB b))))"

    def pairs(self, brackets: str) -> list[Pair]:
        return [pair(brackets, [3, 3, 0], "nsubj punct root")]

    def test_with_predicted_tags_a_mistagged_dash_is_an_error_sentence_as_in_evalb(self) -> None:
        report = evaluate(self.pairs(self.TREE), self.pairs(self.MISTAGGED))
        assert report.totals["error"] == 1
        assert (report.f1, report.lcm_con) == (0.0, 0.0)
        assert report.problems == (
            "sentence 1: 2 words that count in the gold tree, 3 in the predicted one",
        )
        assert "EVALB leaves out 1 " in str(report)

    def test_with_gold_tags_it_is_scored(self) -> None:
        report = evaluate(self.pairs(self.TREE), self.pairs(self.MISTAGGED), tags="gold")
        assert report.totals["error"] == 0
        assert report.f1 == 100.0
        assert report.tag_accuracy == pytest.approx(200 / 3)
        assert "tags:gold" in report.signature("f1")

    def test_trees_without_tags_let_every_word_count_and_say_so(self) -> None:
        c = ConstituencyTree(["a", ","], None, [(0, 2, "S")])
        d = DependencyTree([0, 1], ["root", "punct"], c.words)
        report = evaluate([(c, d)], [(c, d)])
        assert report.totals["arcs"] == 2
        assert report.signature("las").startswith("las|punctuation:none-for-lack-of-tags|")
        assert "choose another rule" in str(report)
        assert not evaluate([(c, d)], [(c, d)], punctuation="unicode").notes


class TestRulesThatFitNothing:
    def pairs(self, tag: str, upos: str = "") -> list[Pair]:
        return [pair(f"(TOP (S (NN a) ({tag} ，)))", [0, 1], "root punct", upos)]

    def test_a_punctuation_rule_that_fits_no_word_is_noted_where_there_is_punctuation(self) -> None:
        chinese = self.pairs("PU")  # the Chinese Treebank's tag
        report = evaluate(chinese, chinese)
        assert report.totals["arcs"] == 2
        assert report.notes == (
            "the punctuation rule 'ptb' fits no word of the gold trees, though they have punctuation, so every word "
            "counts; choose another rule",
        )
        assert not evaluate(chinese, chinese, punctuation="unicode").notes
        assert not evaluate(chinese, chinese, punctuation="none").notes
        universal = self.pairs("PU", "NOUN PUNCT")
        assert not evaluate(universal, universal, punctuation="upos").notes

    def test_trees_without_punctuation_are_no_reason_for_a_note(self) -> None:
        plain = [pair("(TOP (S (NN a) (NN b)))", [0, 1], "root dep")]
        assert not evaluate(plain, plain).notes

    def test_one_word_left_out_is_enough(self) -> None:
        mixed = self.pairs("PU") + self.pairs(",")
        assert not evaluate(mixed, mixed).notes


class TestRefusals:
    def test_another_word_is_refused_with_its_place(self) -> None:
        other = pair(
            "(TOP (S (NP (NNS Hogs)) (VP (VBP bark)) (. .)))", [2, 0, 2], "nsubj root punct"
        )
        message = "sentence 2, word 1: 'Dogs' in the gold tree, 'Hogs' in the predicted tree"
        with pytest.raises(ArcspanError, match=message):
            evaluate([CATS, DOGS], [CATS, other])

    def test_another_number_of_words_is_refused_with_the_first_that_differs(self) -> None:
        longer = pair(
            "(TOP (S (NP (NNS Dogs)) (VP (VBP bark)) (. .) (. .)))", [2, 0, 2, 2], "a root b c"
        )
        message = r"sentence 1: 3 words in the gold tree, 4 in the predicted tree: word 4, '\.', is in the predicted"
        with pytest.raises(ArcspanError, match=message):
            evaluate([DOGS], [longer])

    @pytest.mark.parametrize(("gold", "predicted"), [(2, 1), (1, 2)])
    def test_another_number_of_sentences_is_refused(self, gold: int, predicted: int) -> None:
        short = "predicted" if gold > predicted else "gold"
        with pytest.raises(
            ArcspanError,
            match=f"the {short} trees end after sentence 1, .* sentence 2 has no partner",
        ):
            evaluate([DOGS] * gold, [DOGS] * predicted)

    def test_a_layer_that_some_predictions_lack_is_refused(self) -> None:
        with pytest.raises(
            ArcspanError, match="sentence 2: there is no predicted dependency tree, unlike in"
        ):
            evaluate([DOGS, DOGS], [DOGS, (DOGS.constituency, None)])
        with pytest.raises(
            ArcspanError, match="sentence 2: there is a predicted constituency tree, unlike in"
        ):
            evaluate([DOGS, DOGS], [(None, DOGS.dependencies), DOGS])

    def test_unknown_choices_are_refused(self) -> None:
        with pytest.raises(ArcspanError, match="tags is 'predicted' or 'gold', not 'mine'"):
            evaluate([], [], tags="mine")  # type: ignore[arg-type]
        with pytest.raises(ArcspanError, match="punctuation is one of"):
            evaluate([DOGS], [DOGS], punctuation="all")  # type: ignore[arg-type]


def test_no_sentences_make_a_report_without_figures() -> None:
    assert evaluate([], []).figures() == {}


def test_empty_elements_of_the_gold_tree_do_not_count_as_words() -> None:
    gold = ConstituencyTree.from_brackets("(TOP (S (NP (-NONE- *)) (VP (VB go))))")
    predicted = ConstituencyTree.from_brackets("(TOP (S (VP (VB go))))")
    assert evaluate([(gold, None)], [(predicted, None)]).f1 == 100.0


def test_scoring_trees_and_scoring_their_files_as_evalb_is_the_same(
    treebanks: Path, tmp_path: Path
) -> None:
    folder = treebanks / "sequoia"
    gold = list(read_pairs(folder / "dev.ptb.xz", folder / "dev.conllu.xz"))
    predicted = with_errors(gold, 0.3, seed=7)
    gold_file, predicted_file = (
        write(tmp_path, name, pairs)[0] for name, pairs in (("g", gold), ("p", predicted))
    )
    report, files = evaluate(gold, predicted), evaluate_brackets(gold_file, predicted_file)
    assert 50 < report.f1 < 99
    for name in (
        "precision",
        "recall",
        "f1",
        "unlabelled_f1",
        "complete_match",
        "average_crossing",
    ):
        assert round(getattr(report, name), 2) == getattr(files, name)
    assert report.rules is COLLINS


def test_the_wrong_prediction_is_worse_than_gold_in_every_layer() -> None:
    right, wrong = evaluate([CATS], [CATS]), evaluate([CATS], [WRONG_CATS])
    for name in ("las", "uas", "f1", "recall", "lcm_con", "lcm_dep", "lcm_both", "tag_accuracy"):
        assert getattr(right, name) == 100.0 > getattr(wrong, name)
