"""Temperatures and labelling rules: fitted on a toy treebank, kept in the bundle, used by the parser."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from arcspan.errors import ArcspanError, BundleError
from arcspan.evaluation.calibration import expected_calibration_error
from arcspan.parser import Parser
from arcspan.prediction.confidence import Calibration
from arcspan.runtime.bundle import read_bundle, update_bundle
from arcspan.training.calibration import GRID, Observed, _least_of, calibrate, fit, sample
from arcspan.training.labelling import WORTH, add_labelling, count_rules
from arcspan.treebanks import Pair
from arcspan.trees import learn_rules
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
            right += [a == b for a, b in zip(parse.dependencies.heads, pair.dependencies.heads, strict=True)]
        assert 0.5 < np.mean(right) < 1
        return expected_calibration_error(p, right, bins=8)

    # Scores that are far too sure of themselves.
    update_bundle(bundle, {"calibration": {"structure_temperature": 0.1}})
    before = error()
    found = calibrate(bundle, unseen)
    kept = read_bundle(bundle)["calibration"]
    assert kept["structure_temperature"] == found.structure_temperature != 1
    assert kept["sentences"] == len(unseen)
    assert error() < before


def test_a_style_that_the_model_does_not_have_is_refused(bundle: Path, unseen: list[Pair]) -> None:
    before = read_bundle(bundle)
    for fitted in (calibrate, partial(add_labelling, train=unseen)):
        with pytest.raises(ArcspanError, match="no style 'masc': it has only one"):
            fitted(bundle, **{"pairs" if fitted is calibrate else "dev": unseen}, style="masc")
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
            )
        ]
    )
    assert found.label_temperature == pytest.approx(2, rel=0.1)
    assert found.relation_temperature == pytest.approx(0.5, rel=0.1)
    assert found.structure_temperature == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize(
    "bad", [{"structure_temperature": 0}, {"label_temperature": "hot"}, {"relation_temperature": -1}]
)
def test_a_damaged_calibration_is_refused(bundle: Path, bad: dict[str, object]) -> None:
    update_bundle(bundle, {"calibration": bad})
    with pytest.raises(BundleError, match="calibration"):
        load(bundle)


def test_a_bundle_without_calibration_has_temperatures_of_one(bundle: Path) -> None:
    assert load(bundle).calibration == Calibration()


def test_a_sample_is_spread_evenly() -> None:
    pairs = toy_pairs(10)
    assert sample(pairs, 4) == [pairs[0], pairs[3], pairs[6], pairs[9]]
    assert sample(pairs, 0) == pairs


def test_rules_are_those_that_learnt_rules_saw() -> None:
    pairs = toy_pairs(40)
    counted, learnt = count_rules(pairs), learn_rules(pairs)
    assert counted["S VP NP"] == learnt.seen_relations("S", "VP", "NP")
    assert counted["VP VBZ NP"].keys() == {"obj"}
    assert set(count_rules(pairs, tags=False)) & {"VP _ NP", "PP NP _"} == {"VP _ NP", "PP NP _"}


def test_rules_are_kept_in_the_bundle_and_on_where_they_help(bundle: Path, unseen: list[Pair]) -> None:
    settings = add_labelling(bundle, toy_pairs(80), unseen)
    assert read_bundle(bundle)["labelling"] == settings
    plain = Parser(bundle, threads=1, labelling=False)
    fitting = Parser(bundle, threads=1, labelling=True)
    assert plain.predictor.labelling is None
    assert fitting.predictor.labelling is not None
    assert fitting.predictor.labelling.weight == settings["weight"]
    assert (Parser(bundle, threads=1).predictor.labelling is not None) == settings["on"]
    dev = settings["dev"]
    assert settings["on"] == (max(dev.values()) - dev["0.0"] >= WORTH)
    words = [pair.dependencies.words for pair in unseen]
    # What is found one by one and in batches is the same, and rules change no structure.
    together = list(fitting.pipe(words))
    assert together == [fitting.parse(one) for one in words]
    for one, other in zip(together, plain.pipe(words), strict=True):
        assert one.dependencies.heads == other.dependencies.heads
        assert {span[:2] for span in one.constituency.spans} == {
            span[:2] for span in other.constituency.spans
        }
    best = fitting.parse(words[0], k=2)[0]
    assert (best.constituency, best.dependencies) == (together[0].constituency, together[0].dependencies)


def test_damaged_rules_are_refused(bundle: Path) -> None:
    settings = {"rules": "labelling.json", "weight": 0.5, "on": True}
    update_bundle(bundle, {"labelling": settings}, {"labelling.json": json.dumps({"rules": {"S VP": {}}})})
    with pytest.raises(BundleError, match="labelling rules are damaged"):
        load(bundle)
