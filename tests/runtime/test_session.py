"""The ONNX graphs: what is refused at load, scores in one run or several, labels one at a time or together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from arcspan.errors import BundleError
from arcspan.runtime import bundle as bundle_module
from arcspan.runtime import session as session_module
from arcspan.runtime.bundle import checksum
from arcspan.runtime.session import providers
from tests.runtime.random_bundles import RandomBundle, load, sentences


def forged(source: Path, folder: Path, name: str, change: Callable[[Any], Any]) -> Path:
    """A copy of a bundle with a JSON file that was changed, and the checksum that fits it."""
    shutil.copytree(source, folder)
    content, sums = (json.loads((folder / file).read_text()) for file in (name, "checksums.json"))
    (folder / name).write_text(json.dumps(change(content)))
    (folder / "checksums.json").write_text(json.dumps({**sums, name: checksum(folder / name)}))
    return folder


def cut_relations(config: Any) -> Any:
    config["inventories"]["relations"].pop()
    return config


def swap_graphs(config: Any) -> Any:
    for component in config["components"]:
        component["score"], component["label"] = component["label"], component["score"]
    return config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            cut_relations,
            r"both-label\.onnx: the graph scores 5 of 'relation', the inventories have 4",
        ),
        (swap_graphs, r"both-label\.onnx: the graph does not make 'arc', which config\.json names"),
    ],
)
def test_graphs_that_do_not_fit_the_inventories_are_refused_at_load(
    joint2o: RandomBundle, tmp_path: Path, change: Callable[[Any], Any], message: str
) -> None:
    """Relations that were cut ended in an internal error at the first sentence."""
    with pytest.raises(BundleError, match=message):
        load(forged(joint2o.folder, tmp_path / "bundle", "config.json", change))


@pytest.mark.parametrize("content", [{"a": 1}, [], None])
def test_a_forged_tokenizer_is_refused_by_name(
    joint2o: RandomBundle, tmp_path: Path, content: object
) -> None:
    """It ended in an internal error."""
    folder = forged(joint2o.folder, tmp_path / "bundle", "tokenizer.json", lambda _: content)
    with pytest.raises(BundleError, match=r"tokenizer\.json: damaged: not a tokenizer"):
        load(folder)


def test_a_tokenizer_that_lost_pieces_is_an_error_of_the_bundle(
    joint2o: RandomBundle, tmp_path: Path
) -> None:
    def lose(content: Any) -> Any:
        del content["model"]["vocab"]["[UNK]"]
        return content

    folder = forged(joint2o.folder, tmp_path / "bundle", "tokenizer.json", lose)
    with pytest.raises(BundleError, match="unknown = 1 is not a token of the tokenizer"):
        load(folder)


def panicking(content: Any) -> Any:
    """A tokenizer whose pattern backtracks without end: the library panics, which is not an Exception."""
    pattern = {"Regex": "(a|b|ab)*(bc|c)$"}
    return {
        **content,
        "pre_tokenizer": {
            "type": "Split",
            "pattern": pattern,
            "behavior": "Isolated",
            "invert": False,
        },
    }


def test_a_tokenizer_that_panics_is_an_error_of_the_bundle(
    joint2o: RandomBundle, tmp_path: Path
) -> None:
    predictor = load(forged(joint2o.folder, tmp_path / "bundle", "tokenizer.json", panicking))
    with pytest.raises(BundleError, match=r"the tokenizer fails: .*retry-limit"):
        predictor.predict([["ab" * 30]])


def test_a_device_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = ["CoreMLExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: installed)
    for device, first in (("cuda", installed[1]), ("coreml", installed[0]), ("auto", installed[1])):
        assert providers(device) == [first, "CPUExecutionProvider"]
    assert providers("cpu") == ["CPUExecutionProvider"]
    with pytest.warns(UserWarning, match="device='directml': .*using the CPU"):
        assert providers("directml") == ["CPUExecutionProvider"]


def test_second_order_scores_do_not_depend_on_the_number_of_runs(joint2o: RandomBundle) -> None:
    predictor = load(joint2o.folder)
    (session,) = predictor.model.scorers
    words = [sentence for sentence in sentences(40) if 10 <= len(sentence) <= 15]
    arrays = predictor.model.inputs.batch(predictor.model.inputs.prepare(words))
    once, often = session.score(arrays), session.score(arrays, largest_run=1)
    assert once.headed is not None and often.headed is not None
    np.testing.assert_array_equal(once.headed, often.headed)
    np.testing.assert_array_equal(once.hidden["hidden"], often.hidden["hidden"])


def test_first_order_scores_come_without_second_order_ones(joint2o: RandomBundle) -> None:
    predictor = load(joint2o.folder)
    (session,) = predictor.model.scorers
    arrays = predictor.model.inputs.batch(predictor.model.inputs.prepare([["the", "dog"]]))
    first_order = session.score(arrays, headed=False)
    assert first_order.headed is None
    np.testing.assert_array_equal(first_order.span, session.score(arrays).span)


def test_a_label_alone_is_scored_as_among_others(joint2o: RandomBundle) -> None:
    predictor = load(joint2o.folder)
    (session,) = predictor.model.scorers
    scores = session.score(
        predictor.model.inputs.batch(predictor.model.inputs.prepare([["the", "dog", "sees"]]))
    )
    b, i, j = np.zeros(3, dtype=np.int64), np.array([0, 0, 1]), np.array([1, 2, 3])
    together = session.label(scores.hidden, [b, i, j], [b, j, i])
    for row in range(3):
        row_slice = slice(row, row + 1)
        alone = session.label(
            scores.hidden,
            [b[row_slice], i[row_slice], j[row_slice]],
            [b[row_slice], j[row_slice], i[row_slice]],
        )
        for own_scores, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_array_equal(own_scores, all_of_them[row_slice])


def test_graphs_are_loaded_once(joint1o: RandomBundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making the predictor dropped them, and the first sentence loaded them again."""
    loaded: list[Path] = []
    real = session_module._load

    def count(file: Path, *more: Any) -> Any:
        loaded.append(file)
        return real(file, *more)

    monkeypatch.setattr(session_module, "_load", count)
    load(joint1o.folder).predict([["the", "dog"]])
    assert len(loaded) == len(set(loaded)) == 2


def test_the_model_inside_the_package_is_verified_only_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(path: Path) -> str:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(bundle_module, "checksum", refuse)
    assert load(bundle_module.MODELS / "en").model.styles
    with pytest.raises(AssertionError, match="was read"):
        load(bundle_module.MODELS / "en", verify=True)
