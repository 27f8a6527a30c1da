"""The script that scores the English model: figures, genres, and the file that the tables are made
of.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from arcspan.treebanks import Pair
from arcspan.trees import DependencyTree
from tests.toy import toy_pairs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def score() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "score", ROOT / "studies" / "english" / "score.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_relation(pair: Pair, old: str, new: str) -> Pair:
    c, d = pair
    relations = [new if relation == old else relation for relation in d.relations]
    return Pair(c, DependencyTree(d.heads, relations, d.words, d.tags, d.upos))


def figures(
    score: ModuleType, gold: list[Pair], predicted: list[Pair], layers: str = "cd"
) -> dict[str, float]:
    scores: dict[str, float] = score.figures(
        score.Part("toy", "dev", None, layers), gold, predicted
    )
    return scores


def test_subtypes_and_punctuation_count_where_the_name_says_so(score: ModuleType) -> None:
    gold = toy_pairs(6)
    predicted = [
        with_relation(with_relation(pair, "nsubj", "nsubj:pass"), "punct", "dep") for pair in gold
    ]
    scores = figures(score, gold, predicted)
    assert scores["las_words"] == scores["uas"] == scores["f1"] == 100
    assert scores["las_subtypes"] < scores["las"] < 100
    assert scores["sentences"] == 6 and scores["words"] == sum(len(pair.words) for pair in gold)


def test_a_treebank_of_one_layer_has_the_figures_of_that_layer(score: ModuleType) -> None:
    gold = toy_pairs(6)
    arcs = figures(score, [Pair(None, pair.dependencies) for pair in gold], gold, "d")  # type: ignore[arg-type]
    assert arcs["las"] == 100 and "f1" not in arcs
    spans = figures(score, [Pair(pair.constituency, None) for pair in gold], gold, "c")  # type: ignore[arg-type]
    assert spans["f1"] == 100 and "las" not in spans and "las_words" not in spans


def test_the_name_of_a_sentence_tells_its_genre(score: ModuleType) -> None:
    genres = {part.treebank: part.genre for part in score.PARTS if part.genre}
    assert genres["gum"]("GUM_whow_parachute-1") == "whow"
    assert genres["ewt"]("weblog-blogspot.com_nominations-0001") == "weblog"
