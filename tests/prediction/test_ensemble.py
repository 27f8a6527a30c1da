"""Several models as one: averages by name, whatever the numbers and pieces are."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arcspan
from arcspan.errors import BundleError
from arcspan.prediction.query import PLAIN
from arcspan.runtime.bundle import read_bundle, update_bundle
from tests.runtime.random_bundles import RandomBundle, load

WORDS = ["the", "dog", "sees", "the", "unbelievable", "cat", "."]


def changed(bundle: Path, folder: Path, **changes: Any) -> Path:
    """A copy of a bundle with other fields in its configuration."""
    shutil.copytree(bundle, folder)
    if "inventories" in changes:
        changes["inventories"] = read_bundle(folder)["inventories"] | changes["inventories"]
    update_bundle(folder, changes)
    return folder


def test_a_model_with_itself_is_the_model(toy_bundle: Path) -> None:
    alone, twice = arcspan.load(toy_bundle), arcspan.load([toy_bundle, str(toy_bundle)])
    assert twice.parse(WORDS) == alone.parse(WORDS)
    assert [parse.heads for parse in twice.parse(WORDS, k=3)] == [
        parse.heads for parse in alone.parse(WORDS, k=3)
    ]
    assert (
        twice.parse(WORDS).confidence == pickle.loads(pickle.dumps(twice)).parse(WORDS).confidence
    )
    assert arcspan.load(f"{toy_bundle},{toy_bundle}").parse(WORDS) == alone.parse(WORDS)
    assert "and 1 more" in repr(twice)


def test_scores_are_averaged_at_each_models_temperature(
    joint2o: RandomBundle, tmp_path: Path
) -> None:
    warm = changed(joint2o.folder, tmp_path / "warm", calibration={"structure_temperature": 2.0})
    single, ensemble = (
        load(joint2o.folder),
        arcspan.load([joint2o.folder, warm], threads=1).predictor,
    )
    alone, mean = single.distribution(WORDS, PLAIN), ensemble.distribution(WORDS, PLAIN)
    assert np.allclose(mean.parts[0].arc, 0.75 * alone.parts[0].arc, atol=1e-4)
    assert np.allclose(mean.parts[0].headed, 0.75 * alone.parts[0].headed, atol=1e-4)
    heads = np.array([3, 3, 0, 6, 6, 3, 3])
    assert np.allclose(mean.relations(heads), alone.relations(heads), atol=1e-4)


def test_names_are_matched_whatever_their_numbers(joint2o: RandomBundle, tmp_path: Path) -> None:
    """The same graph with its relations renamed: the average of a score and of the one that moved to its place."""
    root, *others = read_bundle(joint2o.folder)["inventories"]["relations"]
    turned = {"relations": [*others, root]}
    other = changed(joint2o.folder, tmp_path / "turned", inventories=turned)
    single, ensemble = (
        load(joint2o.folder),
        arcspan.load([joint2o.folder, other], threads=1).predictor,
    )
    heads = np.array([3, 3, 0, 6, 6, 3, 3])
    rows = single.distribution(WORDS, PLAIN).relations(heads)
    expected = (rows + np.roll(rows, 1, axis=1)) / 2
    assert np.allclose(ensemble.distribution(WORDS, PLAIN).relations(heads), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"relations": ["root", "nsubj", "obj", "punct", "dep"]},
            "relations, only the second has 'dep'",
        ),
        ({"tags": ["NN", "VB", ","]}, "of their tags, only the .* has ','"),
    ],
)
def test_models_that_know_other_names_are_refused(
    joint2o: RandomBundle, tmp_path: Path, names: Any, message: str
) -> None:
    other = changed(joint2o.folder, tmp_path / "other", inventories=names)
    with pytest.raises(BundleError, match=message):
        arcspan.load([joint2o.folder, other])


def test_models_of_other_outputs_are_refused(joint2o: RandomBundle, sep: RandomBundle) -> None:
    with pytest.raises(BundleError, match="its outputs are not those of"):
        arcspan.load([joint2o.folder, sep.folder])
    with pytest.raises(BundleError, match="at least one model"):
        arcspan.load([])


def test_a_model_has_a_version_of_its_own(toy_bundle: Path, tmp_path: Path) -> None:
    parser = arcspan.load(changed(toy_bundle, tmp_path / "new", name="arcspan-xx", version="0.2.0"))
    assert parser.name == "arcspan-xx-0.2.0" and "arcspan-xx-0.2.0" in repr(parser)
    assert "-" not in arcspan.load(changed(toy_bundle, tmp_path / "old", name="xx")).name
