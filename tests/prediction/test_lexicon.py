"""A lexicon chooses among a model's edits: lemmas that exist, and endings that words can have."""

from __future__ import annotations

import numpy as np
import pytest

from arcspan.prediction.lexicon import (
    Lexicon,
    LexiconTables,
    lexicon_from_json,
    lexicon_to_json,
)
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.results import Prediction

TABLES = LexiconTables(
    lemmas={
        "VERB": frozenset({"chase", "sleep", "stop", "see", "fly"}),
        "NOUN": frozenset({"berry", "person", "people", "check"}),
    },
    endings={
        "VBD": {
            "": ("*",),
            "ed": ("l|0+|2+", "l|0+|1+"),
            "opped": ("l|0+|3+",),
            "ied": ("l|0+|3+y",),
            "^saw": ("l|0+|2+ee",),
        },
        "NNS": {"s": ("l|0+|1+",), "ies": ("l|0+|3+y",), "^people": ("=person", "l|0+|0+")},
        "NN": {"": ("l|0+|0+", "l|0+|3+")},
    },
)
LEXICON = Lexicon(TABLES)


@pytest.mark.parametrize(
    ("word", "tag", "upos", "edits", "lemma"),
    [
        ("chased", "VBD", "VERB", ["l|0+|2+", "l|0+|3+y"], "chase"),
        ("chased", "VBD", "VERB", ["l|0+|3+y", "l|0+|0+"], "chase"),
        ("Chased", "VBD", "VERB", ["l|0+|2+"], "chase"),
        ("slept", "VBD", "VERB", ["l|0+|3+", "l|0+|2+ep"], "sleep"),
        ("berries", "NNS", "NOUN", ["l|0+|1+"], "berry"),
    ],
)
def test_the_best_edit_that_gives_a_known_lemma_is_chosen(
    word: str, tag: str, upos: str, edits: list[str], lemma: str
) -> None:
    assert LEXICON.lemma(word, tag, upos, edits) == lemma


@pytest.mark.parametrize(
    ("word", "tag", "upos", "edits", "lemma"),
    [
        ("glopped", "VBD", "VERB", ["l|0+|2+", "l|0+|1+", "l|0+|3+"], "glop"),
        ("blorries", "NNS", "NOUN", ["l|0+|1+", "l|0+|2+"], "blorry"),
        ("vloried", "VBD", "VERB", ["l|0+|1+"], "vlory"),
    ],
)
def test_a_new_word_gets_no_lemma_that_its_ending_excludes(
    word: str, tag: str, upos: str, edits: list[str], lemma: str
) -> None:
    assert LEXICON.lemma(word, tag, upos, edits) == lemma


def test_a_new_word_keeps_the_models_edit_among_the_possible_ones() -> None:
    assert LEXICON.lemma("vlogted", "VBD", "VERB", ["l|0+|1+", "l|0+|2+"]) == "vlogte"
    assert LEXICON.lemma("vlogted", "VBD", "VERB", ["l|0+|2+", "l|0+|1+"]) == "vlogt"
    # Its ending is open: "irregular" forms may have any edit.
    assert LEXICON.lemma("glang", "VBD", "VERB", ["l|0+|3+ing", "l|0+|0+"]) == "gling"


def test_an_irregular_form_is_known_by_any_tag_of_its_part_of_speech() -> None:
    assert LEXICON.lemma("saw", "VBZ", "VERB", ["l|0+|1+"]) == "sa"
    tables = TABLES._replace(endings={**TABLES.endings, "VB": {"": ("l|0+|0+",)}})
    assert Lexicon(tables).lemma("saw", "VB", "VERB", ["l|0+|0+"]) == "see"
    # Not where the form is a lemma itself.
    known = tables._replace(lemmas={"VERB": frozenset({"see", "saw"})})
    assert Lexicon(known).lemma("saw", "VB", "VERB", ["l|0+|0+"]) == "saw"


def test_a_new_base_form_is_not_cut_to_a_known_lemma() -> None:
    assert LEXICON.lemma("checking", "NN", "NOUN", ["l|0+|0+", "l|0+|3+"]) == "checking"
    assert LEXICON.lemma("checking", "NN", "NOUN", ["l|0+|3+", "l|0+|0+"]) == "check"


def test_where_treebanks_differ_the_model_decides() -> None:
    assert LEXICON.lemma("people", "NNS", "NOUN", ["l|0+|0+", "=person"]) == "people"
    assert LEXICON.lemma("people", "NNS", "NOUN", ["l|0+|1+", "=person"]) == "person"
    assert LEXICON.lemma("people", "NNS", "NOUN", ["l|0+|1+"]) == "person"


def test_a_word_that_is_listed_whole_needs_no_edit_of_the_model() -> None:
    assert LEXICON.lemma("saw", "VBD", "VERB", ["l|0+|0+"]) == "see"
    assert LEXICON.certain_lemma("Saw", "VBD", "VERB") == "see"
    assert LEXICON.certain_lemma("chased", "VBD", "VERB") is None
    assert LEXICON.certain_lemma("people", "NNS", "NOUN") is None
    assert LEXICON.certain_lemma("berries", "NNS", "NOUN") == "berry"


@pytest.mark.parametrize(
    ("word", "tag", "upos", "edit", "lemma"),
    [
        ("Paris", "NNP", "PROPN", "k|0+|0+", "Paris"),
        ("saw", "VBD", "AUX", "l|0+|0+", "saw"),
        ("1960s", "NNS", "NOUN", "l|0+|0+", "1960s"),
        ("-", "NN", "NOUN", "l|0+|0+", "-"),
        ("", "NN", "NOUN", "l|0+|0+", ""),
        ("PCs", "NNS", "NOUN", "k|0+|1+", "PC"),
        ("Western", "NN", "NOUN", "k|0+|0+", "Western"),
    ],
)
def test_names_numbers_function_words_and_capitals_stay_with_the_model(
    word: str, tag: str, upos: str, edit: str, lemma: str
) -> None:
    assert LEXICON.lemma(word, tag, upos, [edit]) == lemma


def test_words_are_found_by_their_universal_tag_where_the_list_has_no_other() -> None:
    tables = LexiconTables({"VERB": frozenset({"go"})}, {"VERB": {"^went": ("=go",)}})
    assert Lexicon(tables).lemma("went", "VBD", "VERB", ["l|0+|0+"]) == "go"


def test_a_lexicon_comes_back_from_json_and_is_read_at_its_first_use() -> None:
    data = lexicon_to_json(LEXICON)
    calls = []

    def read() -> LexiconTables:
        calls.append(1)
        return lexicon_from_json(**data)

    lexicon = Lexicon(read)
    assert not calls
    assert lexicon.tables == TABLES
    assert lexicon.lemma("saw", "VBD", "VERB", ["l|0+|0+"]) == "see"
    assert calls == [1]
    known = Inventories(((),), (), (), (), lexicon=lexicon)
    again = Inventories.from_json(known.to_json()).lexicon
    assert again is not None and again.tables == TABLES


def test_words_that_training_saw_come_before_the_lexicon_and_the_models_edits_after_it() -> None:
    edits = ("l|0+|0+", "l|0+|2+", "l|0+|1+", "=be")
    known = Inventories(
        ((),),
        (),
        ("VBD", "VBZ"),
        ("VERB", "AUX"),
        edits,
        seen_lemmas={"VBD": {"stopped": "=be"}},
        lexicon=LEXICON,
    )
    words = {
        "tag": np.asarray([0, 0, 1]),
        "upos": np.asarray([0, 0, 1]),
        "lemma": np.asarray([[0, 1], [1, 2], [3, 0]]),
    }
    prediction = Prediction(words=words, inventories=known)
    assert prediction.column("lemma", ["stopped", "chased", "is"]) == ("be", "chase", "be")
    # Without a lexicon the best edit counts; one edit per word is enough.
    plain = Inventories(((),), (), ("VBD", "VBZ"), ("VERB", "AUX"), edits)
    words["lemma"] = words["lemma"][:, 0]
    prediction = Prediction(words=words, inventories=plain)
    assert prediction.column("lemma", ["stopped", "chased", "is"]) == ("stopped", "chas", "be")
