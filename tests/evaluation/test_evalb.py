"""Every rule of EVALB by a case that is worked out by hand; each was checked with the C program."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcspan.errors import FileError
from arcspan.evaluation import COLLINS, BracketRules, evaluate_brackets
from arcspan.evaluation.evalb import (
    ERROR,
    OK,
    SKIPPED,
    SentenceBrackets,
    align,
    count_crossing,
    match_brackets,
    read_flat,
)

GOLD = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB loudly))) (. .)))"


def score(gold: str, predicted: str, rules: BracketRules = COLLINS) -> SentenceBrackets:
    return align(read_flat(gold), read_flat(predicted), rules)


def brackets(sentence: SentenceBrackets) -> tuple[int, int, int]:
    assert sentence.status == OK, sentence.problem
    return sentence.matched, sentence.gold, sentence.predicted


class TestWhatCounts:
    def test_a_tree_matches_itself_without_its_top(self) -> None:
        sentence = score(GOLD, GOLD)
        assert brackets(sentence) == (4, 4, 4)
        assert sentence.complete

    def test_tags_of_words_are_no_brackets(self) -> None:
        assert brackets(score("(S (NN a))", "(S (VB a))")) == (1, 1, 1)

    def test_function_tags_do_not_count(self) -> None:
        assert brackets(
            score("(S (NP-SBJ-1 (NN a)) (VP=2 (VB b)))", "(S (NP (NN a)) (VP (VB b)))")
        ) == (
            3,
            3,
            3,
        )

    def test_advp_and_prt_are_the_same(self) -> None:
        assert brackets(score("(S (ADVP (RB up)) (VB go))", "(S (PRT (RB up)) (VB go))")) == (
            2,
            2,
            2,
        )

    def test_a_wrapper_without_label_counts_as_in_evalb(self) -> None:
        assert brackets(score("( (S (NN a)))", "(TOP (S (NN a)))")) == (1, 2, 1)

    def test_s1_and_root_count_unless_the_rules_delete_them(self) -> None:
        more = dataclasses.replace(COLLINS, deleted=COLLINS.deleted | {"S1", "ROOT"})
        assert brackets(score("(S1 (S (NN a)))", "(ROOT (S (NN a)))")) == (1, 2, 2)
        assert brackets(score("(S1 (S (NN a)))", "(ROOT (S (NN a)))", more)) == (1, 1, 1)

    def test_without_labels_only_spans_count(self) -> None:
        sentence = score("(S (NP (NN a)) (VB b))", "(X (Y (NN a)) (VB b))")
        assert (sentence.matched, sentence.matched_spans) == (0, 2)
        unlabelled = dataclasses.replace(COLLINS, labelled=False)
        assert brackets(score("(S (NP (NN a)) (VB b))", "(X (Y (NN a)) (VB b))", unlabelled)) == (
            2,
            2,
            2,
        )


class TestDeletedWords:
    def test_punctuation_at_the_edge_does_not_make_a_bracket_wrong(self) -> None:
        gold = "(S (NP (NN a) (, ,)) (VP (VB b)) (. .))"
        predicted = "(S (NP (NN a)) (, ,) (VP (VB b) (. .)))"
        assert brackets(score(gold, predicted)) == (3, 3, 3)

    def test_spans_after_a_deleted_word_move_with_it(self) -> None:
        gold = "(S (`` ``) (NP (NN a)) ('' '') (VP (VB b)))"
        sentence = align(read_flat(gold), read_flat(gold), COLLINS)
        assert [sentence for sentence, _, _ in sentence.pairs] == [
            (0, 2, "S"),
            (0, 1, "NP"),
            (1, 2, "VP"),
        ]

    def test_a_constituent_of_punctuation_only_vanishes(self) -> None:
        assert brackets(score("(S (NN a) (PRN (: --) (, ,)))", "(S (NN a) (: --) (, ,))")) == (
            1,
            1,
            1,
        )

    def test_empty_elements_vanish_with_what_holds_nothing_else(self) -> None:
        gold = "(S (NP-SBJ (-NONE- *)) (VP (VB go) (SBAR (-NONE- 0) (S (-NONE- *T*-1)))))"
        assert brackets(score(gold, "(S (VP (VB go)))")) == (2, 2, 2)

    def test_evalb_in_parentheses_are_words_that_count(self) -> None:
        sentence = score(
            "(PRN (-LRB- -LRB-) (NN a) (-RRB- -RRB-))", "(PRN (-LRB- -LRB-) (NN a) (-RRB- -RRB-))"
        )
        assert (sentence.words, sentence.length) == (3, 3)

    def test_length_leaves_out_empty_elements_but_not_punctuation(self) -> None:
        sentence = score("(S (-NONE- *) (VP (VB go)) (. .))", "(S (VP (VB go)) (. .))")
        assert (sentence.length, sentence.words) == (2, 1)

    def test_tags_are_compared_on_the_words_that_are_left(self) -> None:
        sentence = score("(S (RB up) (ADVP up) (NN a) (. .))", "(S (RB up) (PRT up) (VB a) (. .))")
        assert (sentence.correct_tags, sentence.words) == (2, 3)  # ADVP = PRT holds for tags too


class TestMatching:
    def test_a_unary_chain_matches_label_by_label(self) -> None:
        assert brackets(score("(S (VP (NP (NN a))))", "(S (NP (NN a)))")) == (2, 3, 2)

    def test_the_order_in_a_unary_chain_does_not_matter(self) -> None:
        assert brackets(score("(S (VP (NP (NN a))))", "(NP (VP (S (NN a))))")) == (3, 3, 3)

    def test_a_bracket_written_twice_needs_two_partners(self) -> None:
        assert brackets(score("(S (NP (NP (NN a))))", "(S (NP (NN a)))")) == (2, 3, 2)
        assert brackets(score("(S (NP (NN a)))", "(S (NP (NP (NN a))))")) == (2, 2, 3)

    def test_gold_brackets_take_the_first_free_equal_one_even_where_another_would_do_better(
        self,
    ) -> None:
        rules = BracketRules(equal_labels=frozenset({("A", "B"), ("B", "C")}))
        # B comes first and takes A, so that A finds C only, which is not its equal.
        gold, predicted = [(0, 1, "B"), (0, 1, "A")], [(0, 1, "A"), (0, 1, "C")]
        assert match_brackets(gold, predicted, rules) == [
            (gold[0], predicted[0], True),
            (gold[1], predicted[1], False),
        ]

    def test_crossing_counts_predicted_brackets_once_each(self) -> None:
        gold = [(0, 4, "S"), (0, 2, "NP"), (2, 4, "VP")]
        assert count_crossing(gold, [(0, 4, "S"), (1, 3, "X"), (1, 4, "X"), (0, 1, "Y")]) == 2

    def test_evalb_that_touch_or_nest_do_not_cross(self) -> None:
        assert (
            count_crossing([(0, 2, "NP"), (2, 4, "VP")], [(0, 4, "S"), (2, 3, "X"), (0, 2, "Z")])
            == 0
        )

    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), max_size=8), st.data())
    def test_crossing_is_what_its_definition_says(
        self, sizes: list[tuple[int, int]], data: st.DataObject
    ) -> None:
        gold = [(0, 6, "S")]
        for i, width in sizes:
            j = min(6, i + width)
            if all(not (a < i < b < j or i < a < j < b) for a, b, _ in gold):
                gold.append((i, j, "X"))
        i = data.draw(st.integers(0, 5))
        j = data.draw(st.integers(i + 1, 6))
        crossed = any(a < i < b < j or i < a < j < b for a, b, _ in gold)
        assert count_crossing(gold, [(i, j, "Y")]) == crossed


class TestSentencesThatDoNotCount:
    def test_another_number_of_words_is_an_error_sentence(self) -> None:
        sentence = score(GOLD, "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))")
        assert sentence.status == ERROR
        assert sentence.problem == "4 words that count in the gold tree, 3 in the predicted one"
        assert (sentence.matched, sentence.gold, sentence.words) == (0, 0, 0)
        assert not sentence.complete

    def test_another_word_is_an_error_sentence(self) -> None:
        sentence = score("(S (NN a) (NN b))", "(S (NN a) (NN c))")
        assert (sentence.status, sentence.problem) == (
            ERROR,
            "the gold word 'b' is 'c' in the prediction",
        )

    def test_words_that_the_rules_take_for_equal_are_no_error(self) -> None:
        rules = dataclasses.replace(COLLINS, equal_words=frozenset({("colour", "color")}))
        assert score("(S (NN color))", "(S (NN colour))", rules).status == OK

    def test_a_word_tagged_as_punctuation_on_one_side_only_is_an_error_sentence(self) -> None:
        assert score("(S (NN a) (: -))", "(S (NN a) (NN -))").status == ERROR

    def test_other_words_among_the_deleted_ones_are_no_error(self) -> None:
        assert score("(S (NN a) (. .))", "(S (NN a) (. !) (. !))").status == OK

    @pytest.mark.parametrize("nothing", ["", "  ", "()", "(())", "(TOP)", "(TOP (. .))", "(TOP )"])
    def test_no_prediction_is_a_skipped_sentence(self, nothing: str) -> None:
        assert score(GOLD, nothing).status == SKIPPED

    def test_nothing_predicted_for_nothing_is_skipped_too(self) -> None:
        assert score("", "").status == SKIPPED

    def test_a_bracket_with_a_space_and_nothing_else_is_an_empty_word(self) -> None:
        assert score("(NN a)", "(NP )").problem == "the gold word 'a' is '' in the prediction"

    @pytest.mark.parametrize("line", ["(S (NN a)", "(S (NN a)))"])
    def test_unbalanced_brackets_are_an_error_sentence(self, line: str) -> None:
        assert score("(S (NN a))", line).status == ERROR
        assert score(line, "(S (NN a))").status == ERROR

    def test_only_ascii_space_separates(self) -> None:
        assert read_flat("(NP (CD 1\u00a0000)\t(NN km))").words == ["1\u00a0000", "km"]

    def test_a_bare_preterminal_has_no_brackets(self) -> None:
        assert brackets(score("(NN dog)", "(NN dog)")) == (0, 0, 0)


class TestQuotes:
    """The words ' " / whose tags disagree, under QUOTE_LABEL."""

    RULES = dataclasses.replace(COLLINS, quotes=frozenset({"''", "``", "POS"}))

    def test_a_mark_that_one_side_deletes_is_put_back(self) -> None:
        gold = "(S (NP (NNS boys) (POS ')) (VP (VB go)))"
        predicted = "(S (NP (NNS boys)) ('' ') (VP (VB go)))"
        assert score(gold, predicted).status == ERROR
        assert brackets(score(gold, predicted, self.RULES)) == (2, 3, 3)
        assert brackets(score(predicted, gold, self.RULES)) == (2, 3, 3)

    def test_marks_stay_deleted_where_lengths_agree(self) -> None:
        tree = "(S (NP (NNS boys)) ('' ') (VP (VB go)))"
        assert score(tree, tree, self.RULES).words == 2

    def test_a_mark_may_be_put_back_twice_as_in_the_c_program(self) -> None:
        rules = dataclasses.replace(self.RULES, quotes=self.RULES.quotes | {"NN"})
        gold = "(S (PRT y) ('' /) (POS \"))"
        predicted = '(S (PRT y) (NN /) (POS "))'
        assert (
            score(gold, predicted, rules).problem
            == "4 words that count in the gold tree, 3 in the predicted one"
        )


def write(folder: Path, gold: list[str], predicted: list[str]) -> tuple[Path, Path]:
    paths = folder / "gold.ptb", folder / "predicted.ptb"
    for path, lines in zip(paths, (gold, predicted), strict=True):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return paths


SHORT = "(TOP (S (NP (NN a)) (VP (VB b)) (. .)))"
FLAT = "(TOP (S (NN a) (VB b) (. .)))"
LONG = "(TOP (S (NP " + " ".join(f"(NN w{k})" for k in range(41)) + ") (VP (VB b))))"
# The verb phrase swallows the last noun: two of three spans are gone, one of them crosses.
WRONG = LONG.replace(" (NN w40)) (VP ", ") (VP (NN w40) ")


class TestFiles:
    def test_the_summary_is_evalbs(self, tmp_path: Path) -> None:
        gold = [SHORT, SHORT, LONG, "(TOP (NN x))", SHORT]
        predicted = [SHORT, FLAT, WRONG, "", "(TOP (S (NN a) (VB c)))"]
        report = evaluate_brackets(*write(tmp_path, gold, predicted))
        # What `evalb -p COLLINS.prm` prints for these five lines.
        expected = """\
=== Summary ===

-- All --
Number of sentence        =      5
Number of Error sentence  =      1
Number of Skip  sentence  =      1
Number of Valid sentence  =      3
Bracketing Recall         =  55.56
Bracketing Precision      =  71.43
Bracketing FMeasure       =  62.50
Complete match            =  33.33
Average crossing          =   0.33
No crossing               =  66.67
2 or less crossing        = 100.00
Tagging accuracy          = 100.00

-- len<=40 --
Number of sentence        =      4
Number of Error sentence  =      1
Number of Skip  sentence  =      1
Number of Valid sentence  =      2
Bracketing Recall         =  66.67
Bracketing Precision      = 100.00
Bracketing FMeasure       =  80.00
Complete match            =  50.00
Average crossing          =   0.00
No crossing               = 100.00
2 or less crossing        = 100.00
Tagging accuracy          = 100.00"""
        assert str(report) == expected

    def test_figures_are_rounded_as_printed_and_counts_are_exact(self, tmp_path: Path) -> None:
        report = evaluate_brackets(*write(tmp_path, [SHORT, SHORT, LONG], [SHORT, FLAT, WRONG]))
        assert (report.precision, report.recall, report.f1) == (71.43, 55.56, 62.5)
        assert (report.complete_match, report.average_crossing) == (33.33, 0.33)
        assert (report.no_crossing, report.two_or_less_crossing, report.tagging_accuracy) == (
            66.67,
            100.0,
            100.0,
        )
        assert [report.totals[name] for name in ("matched", "gold", "predicted")] == [5, 9, 7]
        assert report.unlabelled_f1 == 62.5
        assert report.signature.startswith("brackets|rules:COLLINS|tags:predicted|arcspan:")
        assert "F1 62.50 (P 71.43, R 55.56), 3 of 3 sentences" in repr(report)

    def test_nothing_right_is_zero_and_not_a_division_by_zero(self, tmp_path: Path) -> None:
        report = evaluate_brackets(*write(tmp_path, ["(NP (NN a))"], ["(VP (NN a))"]))
        assert (report.precision, report.recall, report.f1) == (0.0, 0.0, 0.0)

    def test_a_prm_file_is_obeyed(self, tmp_path: Path) -> None:
        prm = tmp_path / "unlabelled.prm"
        prm.write_text("LABELED 0\nCUTOFF_LEN 1\n")
        report = evaluate_brackets(*write(tmp_path, ["(NP (NN a))"], ["(VP (NN a))"]), prm=prm)
        assert report.f1 == 100.0
        assert "-- len<=1 --" in str(report)
        assert "rules:unlabelled.prm|unlabelled" in report.signature

    @pytest.mark.parametrize(("surplus", "side"), [(0, "gold.ptb"), (1, "predicted.ptb")])
    def test_another_number_of_sentences_is_refused_at_the_first_without_partner(
        self, tmp_path: Path, surplus: int, side: str
    ) -> None:
        files = [[SHORT], [SHORT]]
        files[surplus] += ["", SHORT]
        with pytest.raises(
            FileError, match=r"a tree without a partner: .* ends after 1 lines"
        ) as caught:
            evaluate_brackets(*write(tmp_path, *files))
        assert str(caught.value.path).endswith(side)
        assert caught.value.line == 3

    def test_blank_lines_after_the_end_of_the_other_file_do_no_harm(self, tmp_path: Path) -> None:
        assert evaluate_brackets(*write(tmp_path, [SHORT, ""], [SHORT])).totals["sentences"] == 1

    def test_errors_are_counted_where_evalb_gives_up_and_beyond(self, tmp_path: Path) -> None:
        few = evaluate_brackets(
            *write(tmp_path, [SHORT] + ["(NN a)"] * 11, [SHORT] + ["(NN b)"] * 11)
        )
        assert (few.totals["error"], few.gives_up_at, few.f1) == (11, None, 100.0)
        many = evaluate_brackets(
            *write(tmp_path, [SHORT] + ["(NN a)"] * 20, [SHORT] + ["(NN b)"] * 20)
        )
        assert (many.totals["error"], many.gives_up_at, many.f1) == (20, 13, 100.0)
        assert many.sentences[1].problem == "the gold word 'a' is 'b' in the prediction"

    def test_text_that_is_no_tree_is_refused_with_its_line(self, tmp_path: Path) -> None:
        with pytest.raises(
            FileError, match=r"text outside of brackets: 'no tree'; EVALB reads one tree per line"
        ) as caught:
            evaluate_brackets(*write(tmp_path, [SHORT, SHORT], [SHORT, "no tree"]))
        assert caught.value.line == 2
