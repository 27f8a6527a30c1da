"""The script that scores the English model: figures, genres, and the file that the tables are made of."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from arcspan.evaluation import evaluate
from arcspan.treebanks import Pair
from arcspan.trees import DependencyTree
from tests.toy import toy_pairs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def score() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", ROOT / "studies" / "english" / "score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_relation(pair: Pair, old: str, new: str) -> Pair:
    c, d = pair
    relations = [new if relation == old else relation for relation in d.relations]
    return Pair(c, DependencyTree(d.heads, relations, d.words, d.tags, d.upos))


def test_each_genre_is_scored_by_itself(score: ModuleType) -> None:
    gold = toy_pairs(6)
    predicted = [*gold[:3], *(with_relation(pair, "nsubj", "obj") for pair in gold[3:])]
    found = score.by_genre(["news", "news", "news", "bio", "bio", "bio"], gold, predicted)
    assert list(found) == ["bio", "news"]
    assert found["news"]["las"] == found["news"]["f1"] == found["news"]["tag_accuracy"] == 100
    assert found["bio"]["las"] < found["bio"]["uas"] == 100
    assert found["bio"]["sentences"] == 3


def test_relation_subtypes_and_punctuation_do_not_count(score: ModuleType) -> None:
    gold = toy_pairs(6)
    predicted = [with_relation(with_relation(pair, "nsubj", "nsubj:pass"), "punct", "dep") for pair in gold]
    assert score.by_genre(["news"] * 6, gold, predicted)["news"]["las"] == 100


def test_a_genre_is_the_second_part_of_a_sentences_name(score: ModuleType, tmp_path: Path) -> None:
    line = "1\tYes\t_\tINTJ\tUH\t_\t0\troot\t_\t_\n"
    path = tmp_path / "gum.conllu"
    path.write_text(
        f"# sent_id = GUM_whow_parachute-1\n{line}\n# sent_id = GUM_bio_byron-7\n{line}\n", encoding="utf-8"
    )
    assert score.genres(str(path)) == ["whow", "bio"]


def test_a_summary_says_how_much_was_scored(score: ModuleType) -> None:
    gold = toy_pairs(6)
    found = score.summary(evaluate(gold, gold))
    assert found["sentences"] == 6
    assert found["words"] == sum(len(pair.constituency.words) for pair in gold)
    assert found["evalb_errors"] == 0
