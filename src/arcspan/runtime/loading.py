"""Load a model bundle, or several as an ensemble, into a `Predictor`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from arcspan.errors import BundleError, ConfigError
from arcspan.lazy import lazy
from arcspan.parts import find_part
from arcspan.prediction.confidence import Calibration
from arcspan.prediction.ensemble import combine
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.inputs import PieceInputs, WordInputs, inputs_from_json
from arcspan.prediction.lexicon import Lexicon, lexicon_from_json
from arcspan.prediction.model import ParserModel
from arcspan.prediction.outputs import Inventories, Style, words_to_edits
from arcspan.prediction.runner import Budget, Predictor
from arcspan.runtime.bundle import MODELS, read_bundle, read_lexicon
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
    """Return the predictor of a bundle, or of several, and the configuration of the (first) bundle.

    verify      whether to compare files with their checksums; None: unless they are inside the
                package
    guidelines  whether universal relations follow their guidelines; None: as the bundle says, else
                yes
    """
    folders = [folder] if isinstance(folder, (str, os.PathLike)) else folder
    loaded = [_load_model(Path(path), verify, device) for path in folders]
    models = [model for model, _ in loaded]
    config = loaded[0][1]
    if guidelines is None:
        guidelines = bool(config.get("guidelines", True))
    decoder = None
    if config.get("decoder"):
        decoder = find_part("decoders", config["decoder"])
    styles = {name: Style(*numbers) for name, numbers in config.get("styles", {}).items()}
    model = replace(
        models[0] if len(models) == 1 else combine(models),
        styles=styles,
        guidelines=Guidelines.of(models[0].inventories) if guidelines else None,
        two_stage=config.get("search") == "two-stage",
        decoder=decoder,
    )
    return Predictor(model, budget), config


def _load_model(
    folder: Path, verify: bool | None, device: str
) -> tuple[ParserModel, dict[str, Any]]:
    """Return the model of a bundle, and the bundle's configuration."""
    device_providers = providers(device)
    if verify is None:
        # The installer has checked the files inside the package.
        verify = folder.parent != MODELS
    config = read_bundle(folder, verify=verify)
    try:
        inventories = Inventories.from_json(config["inventories"])
        inventories = _with_lemmas(inventories, folder, config)
        inputs = _read_inputs(folder, config["inputs"])
        sessions = [
            Session(folder, component, inventories, device_providers, verify=verify)
            for component in config["components"]
        ]
    except BundleError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BundleError(f"{folder / 'config.json'}: damaged: {reason}") from None
    for session in sessions:
        session.load()
    calibration = Calibration.from_config(config)
    return ParserModel(sessions, inputs, inventories, calibration, name=str(folder)), config


class LemmaFile(Mapping[str, Mapping[str, str]]):
    """`Inventories.seen_lemmas` of a bundle, read from its file when it is first used."""

    def __init__(self, read_seen: Callable[[], Mapping[str, Mapping[str, list[str]]]]) -> None:
        self._read_seen = read_seen

    # Without a lock: two threads that both read the file read the same.
    @lazy
    def _table(self) -> dict[str, dict[str, str]]:
        return words_to_edits(self._read_seen())

    def __getitem__(self, tag: str) -> Mapping[str, str]:
        return self._table[tag]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _with_lemmas(inventories: Inventories, folder: Path, config: Mapping[str, Any]) -> Inventories:
    """Return inventories with the seen lemmas and the lexicon of a bundle, if it has them."""
    if "lexicon" in config:
        # One file has both: it is read once, by whichever is used first.
        content = cache(lambda: read_lexicon(folder / config["lexicon"]))
        return replace(
            inventories,
            seen_lemmas=LemmaFile(lambda: content().seen_lemmas),
            lexicon=Lexicon(lambda: lexicon_from_json(content().lemmas, content().endings)),
        )
    if "seen_lemmas" in config:
        path = folder / config["seen_lemmas"]
        return replace(inventories, seen_lemmas=LemmaFile(lambda: _read_seen_lemmas(path)))
    return inventories


def _read_seen_lemmas(path: Path) -> dict[str, dict[str, list[str]]]:
    try:
        data = {"seen_lemmas": json.loads(path.read_text(encoding="utf-8"))}
        return read(Lemmas, data).seen_lemmas
    except ConfigError as error:
        raise BundleError(f"{path}: damaged: {error}") from None
    except (OSError, RecursionError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BundleError(f"{path}: damaged: {reason}") from None


def _read_inputs(folder: Path, settings: dict[str, Any]) -> PieceInputs | WordInputs:
    if settings["kind"] != PieceInputs.kind:
        return inputs_from_json(settings)
    tokenizer = folder / "tokenizer.json"
    try:
        return inputs_from_json(settings, tokenizer.read_text(encoding="utf-8"))
    except (BundleError, UnicodeDecodeError) as error:
        raise BundleError(f"{tokenizer}: damaged: {error}") from None
