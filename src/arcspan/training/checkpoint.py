"""Models and training states on disk: safetensors and JSON, whole or not at all, checked when read.

A run's folder holds versioned sub-folders and small pointer files:

    last.json -> steps/000120/    model, optimizer, average: what --resume continues from
    best.json -> models/000080/   the model with the best dev scores so far

Every write has a folder of its own. A pointer is replaced in one step after the folder it names is complete and on
disk, and only then are older folders removed: a kill at any moment, or a full disk, leaves the last good state.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

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
        place: str,
        tensors: dict[str, dict[str, torch.Tensor]],
        texts: dict[str, str],
        state: dict[str, Any],
    ) -> None:
        """Write a folder with these files (`NAME.safetensors` of tensors, texts as they are), then point to it."""
        target = self.folder / place
        number = 1
        while target.exists():
            number += 1
            target = self.folder / f"{place}-{number}"
        partial = target.with_name(target.name + ".part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            for name, group in tensors.items():
                # A fixed order makes equal states equal files.
                save_file(
                    {key: group[key].detach().cpu().contiguous() for key in sorted(group)},
                    partial / f"{name}.safetensors",
                )
            for name, text in texts.items():
                (partial / name).write_text(text, encoding="utf-8")
            sums = {file.name: checksum(file) for file in sorted(partial.iterdir())}
            for file in partial.iterdir():
                _sync(file)
            os.replace(partial, target)
            _sync(target.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        found = {
            "format": FORMAT,
            "folder": target.relative_to(self.folder).as_posix(),
            "sha256": sums,
            "state": state,
        }
        with atomic_write(self.folder / f"{pointer}.json") as out:
            out.write(dump({**found, "checksum": _checksum(found)}))
        for other in target.parent.iterdir():
            if other != target:  # the one before, and what kills left half done
                shutil.rmtree(other, ignore_errors=True)

    def open(self, name: str) -> tuple[Path, dict[str, Any]]:
        """The folder that a pointer names, its checksums verified, and the state kept with it."""
        path = self.folder / f"{name}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise BundleError(
                f"{self.folder}: no {name}.json: is this the folder of a training run?"
            ) from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise BundleError(f"{path}: not a checkpoint's pointer: {error}") from None
        format = found.get("format") if isinstance(found, dict) else None
        if format != FORMAT:
            raise BundleError(
                f"{path}: format {format} is not {FORMAT}, which arcspan {__version__} reads"
            )
        if found.pop("checksum", None) != _checksum(found):
            raise BundleError(f"{path}: damaged (its checksum differs from the one in it)")
        folder = self.folder / found["folder"]
        for file, expected in found["sha256"].items():
            if not (folder / file).is_file():
                raise BundleError(f"{folder / file}: missing")
            if checksum(folder / file) != expected:
                raise BundleError(
                    f"{folder / file}: damaged (its checksum differs from the one in {name}.json)"
                )
        return folder, found["state"]


def model_texts(model: Model, encoder: EncoderSettings, inputs: Inputs) -> dict[str, str]:
    """The text files of a saved model: all that is needed to build it again, but the weights."""
    pretrained = isinstance(model.encoder, PretrainedEncoder)
    description = {
        "format": FORMAT,
        "arcspan": __version__,
        "part": model.part,
        "model": asdict(model.settings),
        "encoder": asdict(encoder),
        "architecture": architecture_of(model.encoder.pretrained.config) if pretrained else None,
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
    encoder: EncoderSettings,
    architecture: dict[str, Any] | None,
    inventories: Inventories,
    inputs: Inputs,
    weights_from: str | None = None,
) -> Model:
    """A network with random weights, or with those of a pretrained encoder from a folder or hub name."""
    made: Encoder
    if encoder.kind == "pretrained":
        assert architecture is not None
        made = PretrainedEncoder(encoder, architecture, weights_from)
    elif encoder.kind != "lstm":
        made = find_part("encoders", encoder.kind)(encoder, inputs)
    else:
        assert isinstance(inputs, WordInputs)
        sizes = (len(known) + inputs.special for known in (inputs.words, inputs.characters))
        made = LstmEncoder(encoder, *sizes)
    return Model(settings, made, inventories, part)


def load_model(folder: Path) -> tuple[Model, Inputs, dict[str, Any]]:
    """A saved model in evaluation mode, what it reads, and its description."""
    description = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    tokenizer = folder / "tokenizer.json"
    text = tokenizer.read_text(encoding="utf-8") if tokenizer.exists() else None
    inputs = inputs_from_json(description["inputs"], text)
    model = build(
        description["part"],
        read(ModelSettings, description["model"], others=True),
        read(EncoderSettings, description["encoder"], others=True),
        description["architecture"],
        Inventories.from_json(description["inventories"]),
        inputs,
    )
    model.load_state_dict(load_file(folder / "model.safetensors"))
    return model.eval(), inputs, description


def load_parts(folder: Path) -> dict[str, tuple[Model, Inputs, dict[str, Any], dict[str, Any]]]:
    """The best model of a run, or both of a SEP run: part -> (model, inputs, description, state)."""
    out = {}
    for own in (folder, folder / "constituency", folder / "dependency"):
        if (own / "best.json").exists():
            place, state = Checkpoint(own).open("best")
            model, inputs, description = load_model(place)
            out[model.part] = (model, inputs, description, state)
    if not out:
        Checkpoint(folder).open("best")
    if "both" not in out and len(out) == 1 and not (folder / "best.json").exists():
        raise ConfigError(
            f"{folder}: only one half of the SEP parser is trained; continue with --resume"
        )
    return out


def _checksum(data: dict[str, Any]) -> str:
    return hashlib.sha256(dump(data).encode()).hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
