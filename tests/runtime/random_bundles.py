"""Bundles of small models with random weights: every system and both kinds of input, with the torch model beside.

Random weights make every tree possible and no two scores alike, so a mistake in the runtime shows. Exporting
takes long, so the bundles are kept beside this file; the torch models are made anew from the same numbers.

    python -m tests.runtime.random_bundles
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from arcspan.neural.encoder import LstmEncoder, PretrainedEncoder
from arcspan.neural.model import Model
from arcspan.neural.model_settings import EncoderSettings, ModelSettings
from arcspan.prediction.inputs import PieceInputs, WordInputs
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.runner import Budget, Predictor
from arcspan.runtime.bundle import FORMAT, write_bundle
from arcspan.runtime.loading import load_predictor

WORDS = [
    *("the", "a", "dog", "cat", "tree", "role", "plays", "sees", "Logic"),
    *("Ada", ",", ".", "and", "in", "(", ")", "unbelievable", "42"),
]
INVENTORIES = Inventories(
    ((), ("S",), ("NP",), ("VP",), ("S", "VP"), ("NP", "NP")),
    ("root", "nsubj", "obj", "punct", "parataxis"),
    ("NN", "VB", "."),
    ("NOUN", "VERB", "PUNCT"),
)


@dataclass(frozen=True)
class RandomBundle:
    """A bundle's folder, the torch models it was made of, their inputs."""

    folder: Path
    models: list[Model]
    inputs: PieceInputs | WordInputs


BUNDLES = Path(__file__).parent / "bundles"
SYSTEMS = {"joint2o": {"pieces": True}, "joint1o": {"gold_tags": True}, "sep": {}}


def random_bundle(system: str) -> RandomBundle:
    """A bundle that is kept, and its torch models."""
    options = SYSTEMS[system]
    inputs = _piece_inputs() if options.get("pieces") else WordInputs.count([WORDS], least=1)
    parts = ("constituency", "dependency") if system == "sep" else ("both",)
    models = [_model(system, part, inputs, options.get("gold_tags", False)) for part in parts]
    return RandomBundle(BUNDLES / system, models, inputs)


def write(system: str) -> None:
    """Export a bundle."""
    from arcspan.training.export import _export_model

    source = random_bundle(system)
    source.folder.parent.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=source.folder.parent))
    components = [
        _export_model(model, source.inputs, work, f"{model.part}-", "fp32", {})
        for model in source.models
    ]
    config = {
        "format": FORMAT,
        "name": system,
        "language": "en",
        "system": system,
        "components": components,
        "inventories": INVENTORIES.to_json(),
        "inputs": source.inputs.to_json(),
    }
    texts = {"tokenizer.json": source.inputs.text} if isinstance(source.inputs, PieceInputs) else {}
    write_bundle(work, source.folder, config, texts)


def _model(system: str, part: str, inputs: PieceInputs | WordInputs, gold_tags: bool) -> Model:
    if isinstance(inputs, PieceInputs):
        architecture: dict[str, Any] = {
            "model_type": "bert",
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 48,
            "vocab_size": 64,
            "max_position_embeddings": 64,
        }
        encoder: Any = PretrainedEncoder(EncoderSettings(layers=2, shapes=True), architecture)
    else:
        settings = EncoderSettings(
            kind="lstm", word_size=8, character_size=4, character_filters=8, hidden_size=16, depth=1
        )
        encoder = LstmEncoder(settings, len(inputs.words) + 4, len(inputs.characters) + 4)
    sizes = dict.fromkeys(
        ("span_size", "arc_size", "label_size", "relation_size", "headed_size", "tag_size"), 12
    )
    model = Model(
        ModelSettings(system=system, gold_tags=gold_tags, **sizes), encoder, INVENTORIES, part
    )  # type: ignore[arg-type]
    draw = np.random.default_rng(5)
    for parameter in model.parameters():
        shape = tuple(parameter.shape)
        values = (
            draw.normal(scale=0.4, size=shape)
            if len(shape) > 1
            else draw.uniform(0.2, 1, size=shape)
        )
        parameter.data = torch.from_numpy(values.astype(np.float32))
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None:
            torch.nn.init.zeros_(module.weight.data[module.padding_idx])
    return model.eval()


def _piece_inputs() -> PieceInputs:
    letters = sorted(set("".join(WORDS).lower()))
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *letters,
        *(f"##{letter}" for letter in letters),
    ]
    known = {
        piece: id for id, piece in enumerate(dict.fromkeys([*vocabulary, "the", "dog", "##ing"]))
    }
    tokenizer = Tokenizer(models.WordPiece(known, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PieceInputs(
        tokenizer.to_str(),
        begin=2,
        end=3,
        padding=0,
        unknown=1,
        window=40,
        overlap=12,
        pieces_per_word=8,
    )


def load(
    folder: Path, *, threads: int | None = None, memory_limit: int = 2 << 30, **options: Any
) -> Predictor:
    """The predictor of a bundle."""
    return load_predictor(folder, Budget(threads=threads, memory=memory_limit), **options)[0]


def sentences(count: int, *, longest: int = 30, seed: int = 1) -> list[list[str]]:
    """Random sentences of 1 to `longest` words."""
    draw = np.random.default_rng(seed)
    return [draw.choice(WORDS, size=int(n)).tolist() for n in draw.integers(1, longest + 1, count)]


def tagged(sentences: Sequence[Sequence[str]], seed: int = 2) -> list[list[str]]:
    """Random tags for sentences, an unknown one among them."""
    draw = np.random.default_rng(seed)
    return [draw.choice([*INVENTORIES.tags, "??"], size=len(words)).tolist() for words in sentences]


if __name__ == "__main__":
    for system in SYSTEMS:
        write(system)
