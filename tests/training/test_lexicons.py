"""Lexicons from treebanks and word lists."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from arcspan.errors import FileError
from arcspan.prediction.lexicon import Lexicon, LexiconTables
from arcspan.prediction.outputs import Inventories
from arcspan.training.instances import make_sentence
from arcspan.training.lexicons import (
    Entry,
    count_entries,
    make_lexicon,
    merge_lexicons,
    read_word_list,
    with_lexicon,
    without_certain,
)
from arcspan.training.starting import extended
from arcspan.treebanks import Pair
from arcspan.trees import DependencyTree

STEMS = [first + vowel + last for first in "bdfglmprst" for vowel in "aio" for last in ("ck", "sh")]
VERBS = [
    *(Entry(stem, "VERB", f"{stem}ed", "VBD") for stem in STEMS),
    *(Entry(f"{stem[0]}ore", "VERB", f"{stem[0]}ored", "VBD") for stem in STEMS),
    Entry("sleep", "VERB", "slept", "VBD"),
]


def test_every_listed_form_gets_its_lemma_whatever_the_model_predicts() -> None:
    lexicon = make_lexicon({}, VERBS)
    assert lexicon is not None
    for entry in VERBS:
        assert lexicon.lemma(entry.form, "VBD", "VERB", ["l|0+|0+", "l|0+|3+"]) == entry.lemma
        assert lexicon.certain_lemma(entry.form, "VBD", "VERB") == entry.lemma


def test_most_forms_are_told_by_their_ending_and_not_stored() -> None:
    lexicon = make_lexicon({}, VERBS)
    assert lexicon is not None
    endings = lexicon.tables.endings["VBD"]
    assert [name for name in endings if name.startswith("^")] == ["^slept"]
    # A form that nobody listed has the edit of its ending.
    assert lexicon.lemma("vlored", "VBD", "VERB", ["l|0+|2+"]) == "vlore"


def test_treebanks_decide_against_a_word_list_where_they_are_sure() -> None:
    counts = Counter(
        {
            Entry("people", "VERB", "slept", "VBD"): 1,
            Entry("person", "VERB", "packed", "VBD"): 5,
            Entry("person", "VERB", "person", "VB"): 1,
            Entry("bre", "VERB", "bashed", "VBD"): 5,
        }
    )
    listed = [*VERBS, Entry("pack", "VERB", "packed", "VBD")]
    lexicon = make_lexicon(counts, listed)
    assert lexicon is not None
    edits = ["l|0+|0+"]
    # Once is not enough.
    assert lexicon.lemma("slept", "VBD", "VERB", edits) == "sleep"
    assert lexicon.lemma("packed", "VBD", "VERB", edits) == "person"
    # A lemma that occurs nowhere as a word is a mistake if a list has another one.
    assert lexicon.lemma("bashed", "VBD", "VERB", edits) == "bash"


def test_lemmas_that_treebanks_disagree_about_are_left_to_the_model() -> None:
    counts = {Entry("lie", "VERB", "lay", "VBD"): 6, Entry("lay", "VERB", "lay", "VBD"): 5}
    lexicon = make_lexicon(counts, VERBS)
    assert lexicon is not None
    assert lexicon.lemma("lay", "VBD", "VERB", ["l|0+|0+"]) == "lay"
    assert lexicon.lemma("lay", "VBD", "VERB", ["l|0+|2+ie"]) == "lie"
    assert lexicon.certain_lemma("lay", "VBD", "VERB") is None


def test_names_numbers_and_closed_classes_are_not_listed() -> None:
    names = [Entry(form, "PROPN", form, "NNP") for form in STEMS]
    numbers = [Entry(f"{k}", "NOUN", f"{k}s", "CD") for k in range(90)]
    assert make_lexicon({}, [*names, *numbers]) is None
    # A tag that names have more often than nouns.
    counts = dict.fromkeys(names, 3)
    listed = [Entry(stem, "NOUN", stem, "NNP") for stem in STEMS]
    assert make_lexicon(counts, listed) is None


def test_a_word_list_is_read_with_and_without_tags(tmp_path: Path) -> None:
    file = tmp_path / "words.tsv"
    file.write_text("# lemma, tag, form\ngo\tVERB\twent\nfly\tNOUN\tflies\tNNS\n\n")
    assert list(read_word_list(file)) == [
        Entry("go", "VERB", "went", "VERB"),
        Entry("fly", "NOUN", "flies", "NNS"),
    ]
    file.write_text("go\tVERB\twent\ngo went\n")
    with pytest.raises(FileError, match=r"words\.tsv:2: expected lemma"):
        list(read_word_list(file))


def test_training_sentences_and_a_word_list_make_the_lexicon_of_a_model() -> None:
    words = ("Fred", "slept")
    tree = DependencyTree(
        (2, 0), ("nsubj", "root"), words, ("NNP", "VBD"), ("PROPN", "VERB"), ("Fred", "sleep")
    )
    sentences = [make_sentence(str(k), Pair(None, tree))[0] for k in range(2)]
    counts = count_entries([*sentences, *sentences])
    # A sentence that is shown again counts once.
    assert counts[Entry("sleep", "VERB", "slept", "VBD")] == 2
    seen = {"VBD": {"slept": "l|0+|2+ep", "packed": "=peck"}, "NNP": {"Fred": "k|0+|0+"}}
    known = Inventories(((),), (), (), (), seen_lemmas=seen)
    assert with_lexicon(known, sentences) == known
    lexicon = with_lexicon(known, sentences, VERBS).lexicon
    assert lexicon is not None
    # What the lexicon says alike is not stored twice.
    counts[Entry("pack", "VERB", "packed", "VBD")] += 1
    assert without_certain(seen, lexicon, counts) == {
        "VBD": {"packed": "=peck"},
        "NNP": {"Fred": "k|0+|0+"},
    }


def test_a_model_that_is_trained_further_keeps_its_lexicon_and_learns_new_words() -> None:
    old = Lexicon(LexiconTables({"VERB": frozenset({"go"})}, {"VBD": {"ed": ("l|0+|2+",)}}))
    new = Lexicon(
        LexiconTables(
            {"VERB": frozenset({"see"}), "NOUN": frozenset({"cat"})},
            {"VBD": {"ed": ("l|0+|1+",), "^saw": ("l|0+|2+ee",)}, "NNS": {"s": ("l|0+|1+",)}},
        )
    )
    both = merge_lexicons(old, new)
    assert both is not None
    assert both.tables.lemmas == {"VERB": {"go", "see"}, "NOUN": {"cat"}}
    assert both.tables.endings["VBD"] == {"ed": ("l|0+|2+",), "^saw": ("l|0+|2+ee",)}
    assert set(both.tables.endings) == {"VBD", "NNS"}
    assert merge_lexicons(None, new) is new
    names = Inventories(((),), (), (), ())
    assert extended(replace(names, lexicon=old), names).lexicon is old
