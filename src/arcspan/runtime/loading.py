"""A model bundle at work: its graphs, inputs and inventories put into a predictor."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arcspan.errors import BundleError, ConfigError
from arcspan.parts import find_part
from arcspan.prediction.confidence import Calibration
from arcspan.prediction.ensemble import Member, combine
from arcspan.prediction.inputs import PieceInputs, WordInputs, inputs_from_json
from arcspan.prediction.outputs import Inventories, Style, words_to_edits
from arcspan.prediction.predictor import Budget, Predictor
from arcspan.runtime.bundle import MODELS, read_bundle
from arcspan.runtime.schema import Lemmas
from arcspan.runtime.session import Session, providers
from arcspan.settings import read


def load_predictor(
    folder: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    budget: Budget | None = None,
    *,
    verify: bool | None = None,
    guidelines: bool | None = None,
    device: str = "cpu",
) -> tuple[Predictor, dict[str, Any]]:
    """The predictor of a bundle, or of several as an ensemble, and the configuration of the (first) bundle.

    verify      whether to compare its files with their checksums; None: unless it is inside the package
    guidelines  whether universal relations obey their guidelines; None: as the bundle says, else yes
    """
    folders = [folder] if isinstance(folder, (str, os.PathLike)) else folder
    members, configs = zip(
        *(_load_member(Path(one), verify, device) for one in folders), strict=True
    )
    config = configs[0]
    model = members[0] if len(members) == 1 else combine(members)
    predictor = Predictor(
        model.scorers,
        model.inputs,
        model.inventories,
        budget,
        calibration=model.calibration,
        guidelines=bool(config.get("guidelines", True)) if guidelines is None else guidelines,
        decoder=find_part("decoders", config["decoder"], installed=True)
        if config.get("decoder")
        else None,
        search=str(config.get("search", "labelled")),
        styles={name: Style(*numbers) for name, numbers in config.get("styles", {}).items()},
    )
    return predictor, config


def _load_member(folder: Path, verify: bool | None, device: str) -> tuple[Member, dict[str, Any]]:
    """The model of a bundle, and the bundle's configuration."""
    chosen = providers(device)
    if verify is None:
        verify = folder.parent != MODELS
    config = read_bundle(folder, verify=verify)
    try:
        inventories = Inventories.from_json(config["inventories"])
        if "seen_lemmas" in config:
            inventories = replace(
                inventories, seen_lemmas=LemmaFile(folder / config["seen_lemmas"])
            )
        inputs = _read_inputs(folder, config["inputs"])
        sessions = [
            Session(folder, component, inventories, chosen, verify=verify)
            for component in config["components"]
        ]
    except BundleError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise BundleError(
            f"{folder / 'config.json'}: damaged: {type(error).__name__}: {error}"
        ) from None
    for session in sessions:
        session.load()
    return Member(
        str(folder), list(sessions), inputs, inventories, Calibration.from_config(config)
    ), config


class LemmaFile(Mapping[str, Mapping[str, str]]):
    """`Inventories.seen_lemmas` of a bundle, read from its file when it is first looked into."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[str, dict[str, str]] | None = None

    def _table(self) -> dict[str, dict[str, str]]:
        if self._read is None:  # two threads may both read it: they read the same
            try:
                data = {"seen_lemmas": json.loads(self.path.read_text(encoding="utf-8"))}
                self._read = words_to_edits(read(Lemmas, data).seen_lemmas)
            except (OSError, RecursionError, ValueError) as error:
                reason = (
                    error if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
                )
                raise BundleError(f"{self.path}: damaged: {reason}") from None
        return self._read

    def __getitem__(self, tag: str) -> Mapping[str, str]:
        return self._table()[tag]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())


def _read_inputs(folder: Path, settings: dict[str, Any]) -> PieceInputs | WordInputs:
    tokenizer = folder / "tokenizer.json"
    if settings["kind"] != PieceInputs.kind:
        return inputs_from_json(settings)
    try:
        return inputs_from_json(settings, tokenizer.read_text(encoding="utf-8"))
    except (BundleError, UnicodeDecodeError) as error:
        raise BundleError(f"{tokenizer}: damaged: {error}") from None
