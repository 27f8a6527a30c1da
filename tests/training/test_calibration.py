"""Temperatures: fitted on a toy treebank, kept in the bundle, used by the parser."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from arcspan.errors import ArcspanError, BundleError
from arcspan.parser import Parser
from arcspan.prediction.confidence import Calibration
from arcspan.runtime.bundle import read_bundle, update_bundle
from arcspan.training.calibration import GRID, Observed, _least_of, calibrate, fit, log_loss, sample
from arcspan.treebanks import Pair
from tests.runtime.random_bundles import load
from tests.toy import toy_pairs


@pytest.fixture
def bundle(toy_bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(toy_bundle, tmp_path / "bundle"))


@pytest.fixture(scope="module")
def unseen() -> list[Pair]:
    """Longer sentences than the model was trained on, so that it makes mistakes."""
    return [pair for pair in toy_pairs(60, seed=77, most=18) if len(pair.dependencies) > 11][:24]


def test_the_least_loss_is_found_between_the_points_of_the_grid() -> None:
    assert _least_of([(np.log(t) - np.log(1.9)) ** 2 for t in GRID]) == pytest.approx(1.9)
    assert _least_of(GRID) == GRID[0]
    assert _least_of([-t for t in GRID]) == GRID[-1]
    assert _least_of([1.0] * len(GRID)) == 1.0


def test_fitted_temperatures_are_kept_and_make_arcs_better_calibrated(
    bundle: Path, unseen: list[Pair]
) -> None:
    def error() -> float:
        parser = Parser(bundle, threads=1)
        p: list[float] = []
        right: list[bool] = []
        for pair in unseen:
            parse = parser.parse(pair.dependencies.words, confidence=True)
            assert parse.confidence is not None
            p += parse.confidence.arcs
            right += [
                a == b
                for a, b in zip(parse.dependencies.heads, pair.dependencies.heads, strict=True)
            ]
        assert 0.5 < np.mean(right) < 1
        return log_loss(np.asarray(p), np.asarray(right))

    # Scores that are far too sure of themselves.
    update_bundle(bundle, {"calibration": {"structure_temperature": 0.1}})
    before = error()
    found = calibrate(bundle, unseen)
    kept = read_bundle(bundle)["calibration"]
    assert kept["structure_temperature"] == found.structure_temperature != 1
    assert kept["sentences"] == len(unseen)
    assert error() < before


def test_the_log_loss_stays_finite() -> None:
    assert log_loss(np.asarray([0.25, 0.75]), np.asarray([False, True])) == pytest.approx(
        -np.log(0.75)
    )
    assert np.isfinite(log_loss(np.asarray([1.0, 0.0]), np.asarray([False, True])))


def test_a_style_that_the_model_does_not_have_is_refused(bundle: Path, unseen: list[Pair]) -> None:
    before = read_bundle(bundle)
    with pytest.raises(ArcspanError, match="no style 'masc': it has only one"):
        calibrate(bundle, unseen, style="masc")
    assert read_bundle(bundle) == before


def test_the_temperature_that_made_the_answers_is_found() -> None:
    draw = np.random.default_rng(4)
    scores = draw.normal(0, 3, (4000, 5))
    chances = np.exp(scores / 2)
    gold = np.asarray([draw.choice(5, p=row / row.sum()) for row in chances])
    # Arcs that are right as often as they say at a temperature of one.
    p = draw.uniform(0.05, 0.95, 4000)
    arcs = np.stack([1 / (1 + ((1 - p) / p) ** (1 / temperature)) for temperature in GRID])
    right = draw.uniform(size=4000) < p
    found = fit(
        [
            Observed(
                spans=arcs[:, :0],
                span_labels=scores[:0],
                span_right=right[:0],
                arcs=arcs,
                arc_right=right,
                node_labels=scores,
                node_gold=gold,
                word_relations=scores / 4,
                word_gold=gold,
                node_predicted=gold,
                word_predicted=gold,
                tree_log_chances=np.zeros(len(GRID)),
                right=False,
            )
        ]
    )
    assert found.label_temperature == pytest.approx(2, rel=0.1)
    assert found.relation_temperature == pytest.approx(0.5, rel=0.1)
    assert found.structure_temperature == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(
    "bad",
    [{"structure_temperature": 0}, {"label_temperature": "hot"}, {"relation_temperature": -1}],
)
def test_a_damaged_calibration_is_refused(bundle: Path, bad: dict[str, object]) -> None:
    update_bundle(bundle, {"calibration": bad})
    with pytest.raises(BundleError, match="calibration"):
        load(bundle)


def test_a_bundle_without_calibration_has_temperatures_of_one(bundle: Path) -> None:
    assert load(bundle).model.calibration == Calibration()


def test_weights_of_labels_become_a_lower_temperature_of_the_structure(bundle: Path) -> None:
    given = {"structure_temperature": 1.6, "label_weight": 0.5, "relation_weight": 0.75}
    update_bundle(bundle, {"calibration": given})
    assert load(bundle).model.calibration == Calibration(1.0)


def test_a_sample_is_spread_evenly() -> None:
    pairs = toy_pairs(10)
    assert sample(pairs, 4) == [pairs[0], pairs[3], pairs[6], pairs[9]]
    assert sample(pairs, 0) == pairs
