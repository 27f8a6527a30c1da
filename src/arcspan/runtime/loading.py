"""A model bundle at work: its graphs, inputs and inventories put into a predictor."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from arcspan.errors import ArcspanError, BundleError
from arcspan.prediction.confidence import Calibration
from arcspan.prediction.inputs import PieceInputs, WordInputs, inputs_from_json
from arcspan.prediction.label_rules import Labelling, RuleTable
from arcspan.prediction.outputs import Inventories, Style
from arcspan.prediction.predictor import Budget, Predictor
from arcspan.runtime.bundle import read_bundle
from arcspan.runtime.session import Session, providers


def load_predictor(
    folder: str | os.PathLike[str],
    budget: Budget | None = None,
    *,
    verify: bool = True,
    decode: str = "best",
    labelling: bool | None = None,
    guidelines: bool | None = None,
    device: str = "cpu",
) -> tuple[Predictor, dict[str, Any]]:
    """The predictor of a bundle, and the bundle's configuration.

    labelling  whether labels and relations are chosen together; None: as the bundle says
    guidelines  whether universal relations obey their guidelines; None: as the bundle says, else yes
    """
    folder = Path(folder)
    chosen = providers(device)
    config = read_bundle(folder, verify=verify)
    try:
        inventories = Inventories.from_json(config["inventories"])
        inputs = _read_inputs(folder, config["inputs"])
        sessions = [Session(folder, component, inventories, chosen) for component in config["components"]]
    except BundleError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise BundleError(f"{folder / 'config.json'}: damaged: {type(error).__name__}: {error}") from None
    for session in sessions:
        session.load()
    styles = {name: Style(*numbers) for name, numbers in config.get("styles", {}).items()}
    predictor = Predictor(
        sessions,
        inputs,
        inventories,
        budget,
        decode=decode,
        calibration=Calibration.from_config(config),
        labelling=_read_labelling(folder, config, inventories, labelling),
        guidelines=bool(config.get("guidelines", True)) if guidelines is None else guidelines,
        styles=styles,
    )
    return predictor, config


def _read_inputs(folder: Path, settings: dict[str, Any]) -> PieceInputs | WordInputs:
    tokenizer = folder / "tokenizer.json"
    if settings["kind"] != PieceInputs.kind:
        return inputs_from_json(settings)
    try:
        return inputs_from_json(settings, tokenizer.read_text(encoding="utf-8"))
    except (BundleError, UnicodeDecodeError) as error:
        raise BundleError(f"{tokenizer}: damaged: {error}") from None


def _read_labelling(
    folder: Path, config: dict[str, Any], known: Inventories, wanted: bool | None
) -> Labelling | None:
    settings = config.get("labelling")
    if wanted and not settings:
        raise ArcspanError(
            f"{folder}: labelling=True, but this bundle has no rules (arcspan export --labelling)"
        )
    if not settings or not (settings.get("on") if wanted is None else wanted):
        return None
    try:
        data = json.loads((folder / settings["rules"]).read_text(encoding="utf-8"))
        table = RuleTable(data["rules"], known.labels, known.tags, known.relations)
        labels_only = bool(settings.get("labels_only"))
        return Labelling(table, settings["weight"], settings.get("candidates", 5), labels_only=labels_only)
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BundleError(f"{folder}: labelling rules are damaged: {type(error).__name__}: {error}") from None
