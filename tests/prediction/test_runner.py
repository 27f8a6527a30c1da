"""Predictions of a bundle: what torch predicts, whatever stands beside a sentence and whoever asks."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcspan import decoding
from arcspan.errors import BundleError, ScoreError
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.model import ParserModel
from arcspan.prediction.outputs import Scores
from arcspan.prediction.query import Query
from arcspan.prediction.results import Prediction
from arcspan.prediction.runner import Budget, Predictor
from arcspan.prediction.search import best, best_structures, kbest
from arcspan.runtime.bundle import MODELS
from tests.runtime.random_bundles import RandomBundle, load, sentences, tagged


def same(first: Prediction, second: Any) -> bool:
    """Whether all numbers are equal, to the last bit of the score."""
    return first.score == second.score and same_trees(first, second)


def same_trees(first: Prediction, second: Any) -> bool:
    names = ("nodes", "heads", "relations")
    return (
        all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
        and first.words.keys() == second.words.keys()
        and all(np.array_equal(first.words[name], second.words[name]) for name in first.words)
    )


def in_torch(bundle: RandomBundle) -> Predictor:
    """The same predictor over the torch models."""
    inventories = bundle.models[0].inventories
    guidelines = Guidelines.of(inventories)
    model = ParserModel(bundle.models, bundle.inputs, inventories, guidelines=guidelines)
    return Predictor(model, Budget(threads=1, cells=4000))


@pytest.fixture
def words() -> list[list[str]]:
    return sentences(60)


def test_trees_and_tags_are_those_of_the_torch_model(
    bundle: RandomBundle, words: list[list[str]]
) -> None:
    queries = [Query(tags=tuple(tags)) for tags in tagged(words)]
    predictions = load(bundle.folder, threads=1).predict(words, queries)
    torch_predictions = in_torch(bundle).predict(words, queries)
    for prediction, torch_prediction in zip(predictions, torch_predictions, strict=True):
        assert same_trees(prediction, torch_prediction)
        assert prediction.score == pytest.approx(torch_prediction.score, abs=1e-3)


def test_neighbours_order_and_threads_change_nothing(
    bundle: RandomBundle, words: list[list[str]]
) -> None:
    predictor = load(bundle.folder, threads=1)
    together = predictor.predict(words)
    alone = [predictor.predict([sentence])[0] for sentence in words]
    backwards = predictor.predict(words[::-1])[::-1]
    threaded = load(bundle.folder, threads=3).predict(words)
    for others in (alone, backwards, threaded):
        assert all(same(expected, other) for expected, other in zip(together, others, strict=True))


LONG_WORDS = [
    *(
        "the",
        "of",
        "in",
        "and",
        "with",
        "(",
        ")",
        ",",
        ".",
        "cells",
        "gene",
        "mice",
        "immunohistochemistry",
    ),
    *(
        "phosphatidylinositol-4,5-bisphosphate",
        "electroretinographically",
        "Slc26a4-null",
        "oligodendrocyte-specific",
    ),
    *(
        "3,3'-diaminobenzidine",
        "C57BL/6J-Apc(Min/+)",
        "cyclooxygenase-2-dependent",
        "glyceraldehyde-3-phosphate",
    ),
]


def test_no_score_depends_on_neighbours_where_words_have_many_pieces() -> None:
    """Scores of such sentences differed by up to 1.4e-4 with the sentences beside them."""
    predictor = load(MODELS / "en", threads=1)
    draw = np.random.default_rng(15)
    words = [draw.choice(LONG_WORDS, size=int(n)).tolist() for n in draw.integers(2, 18, 24)]
    items = predictor.encode([(sentence, Query()) for sentence in words], {})
    batches = [[items[index] for index in indices] for indices in predictor.make_batches(items)]
    assert len(batches) < len(items)
    for scorer in predictor.model.scorers:
        for batch in batches:
            together = scorer.score(predictor.model.arrays([request.sentence for request in batch]))
            for b, item in enumerate(batch):
                alone = scorer.score(predictor.model.arrays([item.sentence]))
                together_scores, expected = (
                    own_scores(together, b, item.n),
                    own_scores(alone, 0, item.n),
                )
                for name, values in expected.items():
                    np.testing.assert_array_equal(
                        together_scores[name], values, err_msg=f"{name} of {item.sentence.words}"
                    )


@pytest.mark.parametrize("boundary", [16, 32, 64])
def test_sentences_share_a_batch_only_where_their_positions_are_of_one_class(
    joint2o: RandomBundle, boundary: int
) -> None:
    """Sums over n + 1 positions are cut alike up to 16, 32 and 64 of them, not beyond."""
    model = load(joint2o.folder, threads=1).model
    below, at, above = (
        model.encode(["the"] * n).batch_key[0] for n in (boundary - 2, boundary - 1, boundary)
    )
    assert below == at != above


def own_scores(scores: Scores, b: int, n: int) -> dict[str, np.ndarray]:
    """All that a batch's scores say of one of its sentences, without the padding."""
    i, j = np.triu_indices(scores.span.shape[1], 1)
    by_name = {"span": scores.span[b, i, j][j <= n], "arc": scores.arc[b, 1 : n + 1, : n + 1]}
    if scores.headed is not None:
        by_name["headed"] = scores.headed[b, j <= n, : n + 1]
    return by_name | {name: values[b, 1 : n + 1] for name, values in scores.words.items()}


def test_a_small_memory_limit_makes_small_batches_and_the_same_trees(joint2o: RandomBundle) -> None:
    words = sentences(20, longest=12)
    plenty = load(joint2o.folder, threads=2)
    little = load(joint2o.folder, threads=2, memory_limit=plenty.model.chart_bytes(12))
    items = little.encode([(sentence, Query()) for sentence in words], {})
    assert len(list(little.make_batches(items))) > len(list(plenty.make_batches(items)))
    pairs = zip(plenty.predict(words), little.predict(words), strict=True)
    assert all(same(expected, other) and not other.approximate for expected, other in pairs)


def test_batches_hold_every_sentence_once_and_like_lengths_together(
    joint2o: RandomBundle, words: list[list[str]]
) -> None:
    predictor = load(joint2o.folder)
    items = predictor.encode([(sentence, Query()) for sentence in words], {})
    batches = list(predictor.make_batches(items))
    assert sorted(index for batch in batches for index in batch) == list(range(len(words)))
    for batch in batches:
        widest = max(items[index].sentence.cost for index in batch)
        assert len(batch) == 1 or widest * len(batch) <= predictor.budget.cells


def test_a_sentence_longer_than_the_window_is_parsed_exactly(joint2o: RandomBundle) -> None:
    predictor = load(joint2o.folder)
    words = [*sentences(1, seed=4)[0], *["unbelievable"] * 30]
    assert predictor.model.encode(words).cost > 3 * 40
    (prediction,) = predictor.predict([words])
    (expected,) = in_torch(joint2o).predict([words])
    assert same_trees(prediction, expected)
    assert not prediction.approximate


def test_an_empty_sentence_has_an_empty_prediction(bundle: RandomBundle) -> None:
    predictor = load(bundle.folder)
    empty, other = predictor.predict([[], ["the", "dog"]])
    assert empty.error is None
    assert empty.heads is not None and len(empty.heads) == 0
    assert other.heads is not None and len(other.heads) == 2


def test_a_sentence_that_fails_loses_no_neighbour(
    joint2o: RandomBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*sentences(30, seed=9), ["dog"] * 7, ["the", "", "dog"]]
    predictor = load(joint2o.folder, threads=2)
    expected = predictor.predict(words)

    def fails_on_seven_words(scores: Scores, lengths: Any, *, apart: bool) -> decoding.Decoded:
        if 7 in lengths:
            raise ScoreError("a score is NaN")
        return best_structures(scores, lengths)

    monkeypatch.setattr("arcspan.prediction.search.best_structures", fails_on_seven_words)
    predictions = predictor.predict(words)
    assert any(len(sentence) == 7 for sentence in words)
    for sentence, prediction, before in zip(words, predictions, expected, strict=True):
        if "" in sentence:
            assert prediction.error == "word 2 of the sentence is empty"
        elif len(sentence) == 7:
            assert prediction.error is not None and "NaN" in prediction.error
        else:
            assert prediction.error is None and same(prediction, before)


def test_threads_may_share_a_predictor(joint2o: RandomBundle, words: list[list[str]]) -> None:
    predictor = load(joint2o.folder, threads=2)
    expected = predictor.predict(words)
    by_thread: dict[int, list[Prediction]] = {}
    callers = [
        threading.Thread(
            target=lambda number=number: by_thread.update({number: predictor.predict(words)})
        )
        for number in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(by_thread) == 4
    for predictions in by_thread.values():
        assert all(
            same(prediction, other) for prediction, other in zip(predictions, expected, strict=True)
        )


def _scores(predictor: Predictor, words: Sequence[Sequence[str]], answer: Any) -> None:
    answer.put([prediction.score for prediction in predictor.predict(words)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_goes_on_with_its_parents_predictor(
    sep: RandomBundle, words: list[list[str]]
) -> None:
    predictor = load(sep.folder, threads=2)
    expected = [prediction.score for prediction in predictor.predict(words)]
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=_scores, args=(predictor, words, answer))
    child.start()
    assert answer.get(timeout=300) == expected
    child.join()
    assert [prediction.score for prediction in predictor.predict(words)] == expected


@pytest.mark.parametrize("output", ["label", "relation", "tag"])
def test_a_model_that_says_nan_gives_no_tree(joint2o: RandomBundle, output: str) -> None:
    """Trees were made of NaN, where several were asked for or the sentence was long."""
    predictor = load(joint2o.folder, threads=1)
    small = load(joint2o.folder, threads=1, memory_limit=predictor.model.chart_bytes(4))
    words = sentences(1, seed=4)[0][:3] * 4
    for either in (predictor, small):
        (scorer,) = either.model.scorers
        says_nan(scorer, output)
        (prediction,) = either.predict([words])
        assert prediction.error is not None and f"scores of '{output}' are NaN" in prediction.error
    for ask in (best, lambda charts: kbest(charts, 0, 2)):
        with pytest.raises(ScoreError, match=f"scores of '{output}' are NaN"):
            ask(predictor.charts(words))


def says_nan(scorer: Any, output: str) -> None:
    """Make a scorer say NaN of an output."""
    label, score = scorer.label, scorer.score

    def bad_label(*arguments: Any) -> list[np.ndarray]:
        named_scores = zip(("label", "relation"), label(*arguments), strict=True)
        return [values * np.nan if name == output else values for name, values in named_scores]

    def bad_score(*arguments: Any, **options: Any) -> Scores:
        scores = score(*arguments, **options)
        words = {
            name: part * np.nan if name == output else part for name, part in scores.words.items()
        }
        return scores._replace(words=words)

    scorer.label, scorer.score = bad_label, bad_score


def test_a_damaged_bundle_is_named(joint1o: RandomBundle, tmp_path: Path) -> None:
    def damaged(name: str, change: Any) -> str:
        folder = tmp_path / name.replace(".", "-")
        shutil.copytree(joint1o.folder, folder)
        change(folder / name)
        with pytest.raises(BundleError) as caught:
            load(folder).predict([["the", "dog"]])
        return str(caught.value)

    assert "damaged" in damaged(
        "both-score.onnx", lambda file: file.write_bytes(file.read_bytes()[:-100])
    )
    assert "missing" in damaged("both-label.onnx", lambda file: file.unlink())
    assert "damaged" in damaged("config.json", lambda file: file.write_text("{"))
    assert "missing" in damaged("checksums.json", lambda file: file.unlink())


def test_a_bundle_of_a_newer_format_asks_for_a_newer_arcspan(
    joint1o: RandomBundle, tmp_path: Path
) -> None:
    folder = tmp_path / "newer"
    shutil.copytree(joint1o.folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "format": 99}))
    with pytest.raises(BundleError, match="install a newer arcspan"):
        load(folder)


def test_a_graph_that_is_no_graph_is_named_even_where_nothing_was_verified(
    joint1o: RandomBundle, tmp_path: Path
) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(joint1o.folder, folder)
    (folder / "both-score.onnx").write_bytes(b"no graph")
    with pytest.raises(BundleError, match=r"both-score\.onnx"):
        load(folder, verify=False).predict([["the", "dog"]])


def test_parsing_needs_no_torch(toy_bundle: Path) -> None:
    import subprocess

    code = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "import arcspan\n"
        f"print(arcspan.load({str(toy_bundle)!r}).parse(['Logic', 'plays', 'a', 'role', '.']).brackets())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("(TOP (S ")
