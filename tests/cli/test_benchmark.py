from __future__ import annotations

import json

import numpy as np
import pytest

from arcspan.cli import run
from arcspan.cli.benchmark import make_batches, mixture, peak_memory

SHORT = ["--lengths", "3,5", "--batch", "1,2", "--sentences", "4", "--seconds", "0.001"]


def test_every_search_is_in_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["benchmark", "decode", *SHORT]) == 0
    shown = capsys.readouterr().out
    for name in (
        "cky",
        "eisner",
        "eisner_satta",
        "eisner_satta 2nd order",
        "naive",
        "batched eisner_satta 2nd order",
    ):
        assert f"\n{name} " in shown
    assert "B=2" in shown and "n=5" in shown and "milliseconds" in shown


def test_json_holds_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["benchmark", "decode", *SHORT, "--no-rivals", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["mixture"]) == {"1", "2"}
    assert result["lengths"]["5"]["cky"]["milliseconds"] > 0
    assert "naive" not in result["lengths"]["5"]


@pytest.mark.parametrize("device", ["nowhere", "cuda:99", "meta:x"])
def test_a_device_that_is_not_there_is_refused(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["benchmark", "decode", *SHORT, "--device", device]) == 2
    assert f"--device {device}: " in capsys.readouterr().err


def test_lengths_that_are_no_numbers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["benchmark", "decode", "--lengths", "ten"]) == 2
    assert "ten" in capsys.readouterr().err


def test_the_mixture_is_like_the_penn_treebank() -> None:
    lengths = mixture(20_000)
    assert np.mean(lengths) == pytest.approx(23.5, abs=0.3)
    assert np.std(lengths) == pytest.approx(11, abs=0.3)
    assert min(lengths) >= 1 and max(lengths) <= 120


def test_batches_hold_every_sentence_once_with_neighbours_of_like_length() -> None:
    batches = make_batches([9, 2, 7, 3, 1], 2)
    assert [batch[2].tolist() for batch in batches] == [[1, 2], [3, 7], [9]]
    assert batches[1][3].shape == (2, 8, 8, 8)


def test_peak_memory_sees_a_large_array() -> None:
    peak = peak_memory(lambda: np.ones(2**24, np.uint8).sum())
    assert peak is None or 0.9 * 2**24 < peak < 2**25
