"""Models and training states on disk: safetensors and JSON, written atomically, checked when read.

A run's folder holds versioned sub-folders and small pointer files:

    last.json -> steps/000120/    model, optimizer, average: what --resume continues from
    best.json -> models/000080/   the model with the best dev scores so far

Every write has a folder of its own. A pointer is replaced in one step after the folder it names is
complete and on disk, and only then are older folders removed: a kill at any moment, or a full disk,
leaves the last good state.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Container
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file

from arcspan._version import __version__
from arcspan.errors import BundleError, ConfigError
from arcspan.files import atomic_write, dump
from arcspan.neural.encoder import Encoder, LstmEncoder, PretrainedEncoder, architecture_of
from arcspan.neural.model import Model
from arcspan.neural.model_settings import EncoderSettings, ModelSettings
from arcspan.parts import find_part
from arcspan.prediction.inputs import Inputs, PieceInputs, WordInputs, inputs_from_json
from arcspan.prediction.outputs import Inventories
from arcspan.runtime.bundle import checksum
from arcspan.settings import read

FORMAT = 2


class Checkpoint:
    """The pointers of a run's folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def write(
        self,
        pointer: str,
        target_name: str,
        tensors: dict[str, dict[str, torch.Tensor]],
        texts: dict[str, str],
        state: dict[str, Any],
    ) -> None:
        """Write a folder with these files, then point to it.

        tensors   by the name of their file, `NAME.safetensors`
        texts     by the name of their file
        """
        target = self.folder / target_name
        number = 1
        # After resuming, a folder of the same step may exist and still be pointed to.
        while target.exists():
            number += 1
            target = self.folder / f"{target_name}-{number}"
        partial = target.with_name(target.name + ".part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            for name, group in tensors.items():
                # A fixed order makes equal states equal files.
                arrays = {key: group[key].detach().cpu().contiguous() for key in sorted(group)}
                save_file(arrays, partial / f"{name}.safetensors")
            for name, text in texts.items():
                (partial / name).write_text(text, encoding="utf-8")
            files = sorted(partial.iterdir())
            checksums = {file.name: checksum(file) for file in files}
            # The files have to be on disk before the folder gets its name, and the folder
            # before the pointer: a power cut may come between any two steps.
            for file in files:
                _sync(file)
            os.replace(partial, target)
            _sync(target.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        content = {
            "format": FORMAT,
            "folder": target.relative_to(self.folder).as_posix(),
            "sha256": checksums,
            "state": state,
        }
        with atomic_write(self.folder / f"{pointer}.json") as pointer_file:
            pointer_file.write(dump({**content, "checksum": _checksum(content)}))
        # The folder before, and what kills left incomplete.
        for folder in target.parent.iterdir():
            if folder != target:
                shutil.rmtree(folder, ignore_errors=True)

    def open(self, pointer: str) -> tuple[Path, dict[str, Any]]:
        """Return the folder of a pointer, its checksums verified, and the state stored with it."""
        path = self.folder / f"{pointer}.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BundleError(
                f"{self.folder}: no {pointer}.json: is this the folder of a training run?"
            ) from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise BundleError(f"{path}: not a checkpoint's pointer: {error}") from None
        format = content.get("format") if isinstance(content, dict) else None
        if format != FORMAT:
            raise BundleError(
                f"{path}: format {format} is not {FORMAT}, which arcspan {__version__} reads"
            )
        if content.pop("checksum", None) != _checksum(content):
            raise BundleError(f"{path}: damaged (its checksum differs from the one in it)")
        folder = self.folder / content["folder"]
        # A run may come from somebody else: its files lie inside it, and all have a checksum.
        if not folder.resolve().is_relative_to(self.folder.resolve()):
            raise BundleError(f"{path}: damaged: {content['folder']!r} is not a folder of this run")
        if folder.is_dir():
            for file in sorted(folder.iterdir()):
                if file.name not in content["sha256"]:
                    raise BundleError(f"{file}: not a file of this run: {path} does not list it")
        for name, expected in content["sha256"].items():
            file = folder / name
            if not file.is_file():
                raise BundleError(f"{file}: missing")
            if checksum(file) != expected:
                raise BundleError(
                    f"{file}: damaged (its checksum differs from the one in {pointer}.json)"
                )
        return folder, content["state"]


class SavedModel(NamedTuple):
    """A model that was read from disk.

    description   the content of its model.json
    state         stored with the pointer to it: step, epoch, dev scores, configuration
    """

    model: Model
    inputs: Inputs
    description: dict[str, Any]
    state: dict[str, Any]


def model_texts(model: Model, encoder: EncoderSettings, inputs: Inputs) -> dict[str, str]:
    """Return the text files of a saved model: all but the weights that is needed to build it."""
    architecture = None
    if isinstance(model.encoder, PretrainedEncoder):
        architecture = architecture_of(model.encoder.pretrained.config)
    description = {
        "format": FORMAT,
        "arcspan": __version__,
        "part": model.part,
        "model": asdict(model.settings),
        "encoder": asdict(encoder),
        "architecture": architecture,
        "inventories": model.inventories.to_json(),
        "inputs": inputs.to_json(),
    }
    texts = {"model.json": dump(description)}
    if isinstance(inputs, PieceInputs):
        texts["tokenizer.json"] = inputs.text
    return texts


def build(
    part: str,
    settings: ModelSettings,
    encoder_settings: EncoderSettings,
    architecture: dict[str, Any] | None,
    inventories: Inventories,
    inputs: Inputs,
    weights_from: str | None = None,
    trusted_parts: Container[str] = (),
) -> Model:
    """Return a network with random weights, or with an encoder's from a folder or hub name.

    trusted_parts   names of parts outside of installed packages that may be imported (`find_part`)
    """
    encoder: Encoder
    if encoder_settings.kind == "pretrained":
        assert architecture is not None
        encoder = PretrainedEncoder(encoder_settings, architecture, weights_from)
    elif encoder_settings.kind == "lstm":
        assert isinstance(inputs, WordInputs)
        words = len(inputs.words) + inputs.special
        characters = len(inputs.characters) + inputs.special
        encoder = LstmEncoder(encoder_settings, words, characters)
    else:
        make_encoder = find_part("encoders", encoder_settings.kind, trusted=trusted_parts)
        encoder = make_encoder(encoder_settings, inputs)
    return Model(settings, encoder, inventories, part, trusted_parts)


def load_model(
    folder: Path, trusted_parts: Container[str] = ()
) -> tuple[Model, Inputs, dict[str, Any]]:
    """Return a saved model in evaluation mode, its inputs, and its description."""
    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    tokenizer = folder / "tokenizer.json"
    text = tokenizer.read_text(encoding="utf-8") if tokenizer.exists() else None
    inputs = inputs_from_json(description["inputs"], text)
    # Another version may have written settings that this one does not know: `others`.
    model = build(
        description["part"],
        read(ModelSettings, description["model"], others=True),
        read(EncoderSettings, description["encoder"], others=True),
        description["architecture"],
        Inventories.from_json(description["inventories"]),
        inputs,
        trusted_parts=trusted_parts,
    )
    model.load_state_dict(load_file(folder / "model.safetensors"))
    return model.eval(), inputs, description


def load_parts(run: Path, trusted_parts: Container[str] = ()) -> dict[str, SavedModel]:
    """Return the best model of a run, or both of a SEP run, by part."""
    saved = {}
    for folder in (run, run / "constituency", run / "dependency"):
        if (folder / "best.json").exists():
            model_folder, state = Checkpoint(folder).open("best")
            model, inputs, description = load_model(model_folder, trusted_parts)
            saved[model.part] = SavedModel(model, inputs, description, state)
    if not saved:
        Checkpoint(run).open("best")  # raises the error that says what is missing
    if "both" not in saved and len(saved) == 1 and not (run / "best.json").exists():
        raise ConfigError(
            f"{run}: only one half of the SEP parser is trained; continue with --resume"
        )
    return saved


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(dump(content).encode()).hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
