"""What a model is made of: every size and choice, with the paper's values as defaults.

These are plain frozen data classes so that they can be read from TOML, written as JSON beside the weights,
and read again by a later version.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SYSTEMS = ("sep", "mtl", "joint1o", "joint2o")


def described(default: Any, text: str) -> Any:
    """A field with a default and one line of documentation."""
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: type(default)(default), metadata={"doc": text})
    return field(default=default, metadata={"doc": text})


@dataclass(frozen=True)
class EncoderSettings:
    """How words become vectors."""

    kind: str = described("pretrained", "pretrained (a Hugging Face encoder) or lstm (trained from scratch)")
    path: str = described("", "folder or hub name of the pretrained encoder")
    layers: int = described(4, "how many of the last layers are mixed by learned scalars")
    pooling: str = described("mean", "a word is the mean of its pieces, or the first")
    dropout: float = described(0.1, "dropout on the words' vectors")
    window: int = described(0, "most pieces read at once; 0: as many as the encoder takes")
    overlap: int = described(128, "pieces that neighbouring windows of a long sentence share")
    shapes: bool = described(False, "add features of upper and lower case, for uncased encoders")
    word_size: int = described(100, "lstm: size of word embeddings")
    character_size: int = described(50, "lstm: size of character embeddings")
    character_filters: int = described(100, "lstm: filters over the characters of a word")
    hidden_size: int = described(400, "lstm: units in each direction")
    depth: int = described(3, "lstm: layers")
    lstm_dropout: float = described(0.33, "lstm: dropout of embeddings and between layers")
    word_dropout: float = described(
        0.2, "lstm: share of words hidden in training, so that unknown words are learnt"
    )
    least_count: int = described(2, "lstm: words seen less often have no embedding of their own")


@dataclass(frozen=True)
class ModelSettings:
    """What is scored, how, and how it is trained: one of the paper's four systems."""

    system: str = described("joint2o", "sep, mtl, joint1o or joint2o")
    loss: str = described("margin", "margin (max-margin with Hamming cost) or crf")
    span_size: int = described(500, "size of the span MLPs")
    arc_size: int = described(500, "size of the arc MLPs")
    label_size: int = described(100, "size of the label MLPs")
    relation_size: int = described(100, "size of the relation MLPs")
    headed_size: int = described(500, "second order: size of the word and span MLPs")
    separate_hooked: bool = described(False, "second order: score hooked spans with parameters of their own")
    labeller: str = described(
        "biaffine", "labels and relations by biaffine (the paper) or by mlp (smaller, faster)"
    )
    tag_size: int = described(128, "size of the MLP that predicts tags")
    mlp_dropout: float = described(0.33, "dropout of every MLP")
    tags: bool = described(True, "predict part-of-speech tags")
    gold_tags: bool = described(False, "read part-of-speech tags as input, added to the words' vectors")


@dataclass(frozen=True)
class Inventories:
    """What can be predicted. A label is a unary chain, outermost first; the empty chain is no constituent."""

    labels: tuple[tuple[str, ...], ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]

    def to_json(self) -> dict[str, list[Any]]:
        """Lists only, as JSON has them."""
        return {
            "labels": [list(chain) for chain in self.labels],
            "relations": list(self.relations),
            "tags": list(self.tags),
            "upos": list(self.upos),
        }

    @classmethod
    def from_json(cls, data: dict[str, list[Any]]) -> Inventories:
        """The inverse of `to_json`."""
        return cls(
            tuple(tuple(chain) for chain in data["labels"]),
            tuple(data["relations"]),
            tuple(data["tags"]),
            tuple(data["upos"]),
        )
