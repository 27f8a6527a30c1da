"""The sizes and choices that a model is built by, with the paper's values as defaults.

They are read from TOML, written as JSON beside the weights, and read again by later versions.
"""

from __future__ import annotations

from dataclasses import dataclass

from arcspan.settings import described

SYSTEMS = ("sep", "mtl", "joint1o", "joint2o")


@dataclass(frozen=True)
class EncoderSettings:
    """The encoder, which turns words into vectors."""

    kind: str = described(
        "pretrained",
        "pretrained (a Hugging Face encoder), lstm (trained from scratch), or one's own: package.module:Class",
        choices=("pretrained", "lstm"),
        part="encoders",
    )
    path: str = described("", "folder or hub name of the pretrained encoder")
    keep: int = described(
        0, "how many layers of the pretrained encoder are kept, from the first; 0: all", least=0
    )
    layers: int = described(4, "how many of the last layers are mixed by learned scalars", least=1)
    pooling: str = described(
        "mean", "a word is the mean of its pieces, or the first", choices=("mean", "first")
    )
    dropout: float = described(0.1, "dropout on the words' vectors", least=0, most=0.95)
    shapes: bool = described(False, "add features of upper and lower case, for uncased encoders")
    word_size: int = described(100, "lstm: size of word embeddings", least=1)
    character_size: int = described(50, "lstm: size of character embeddings", least=1)
    character_filters: int = described(100, "lstm: filters over the characters of a word", least=1)
    hidden_size: int = described(400, "lstm: units in each direction", least=1)
    depth: int = described(3, "lstm: layers", least=1, most=100)
    lstm_dropout: float = described(
        0.33, "lstm: dropout of embeddings and between layers", least=0, most=0.95
    )
    word_dropout: float = described(
        0.2,
        "lstm: share of words hidden in training, so that unknown words are learnt",
        least=0,
        most=0.95,
    )
    least_count: int = described(2, "lstm: words seen less often have no embedding of their own")


@dataclass(frozen=True)
class ModelSettings:
    """One of the paper's four systems: the outputs, their scorers and their loss."""

    start: str = described(
        "",
        'begin with the weights of a run, a bundle, or "en": its encoder and sizes are taken, too',
    )
    system: str = described("joint2o", "sep, mtl, joint1o or joint2o", choices=SYSTEMS)
    loss: str = described(
        "crf",
        "crf (likelihood), margin (max-margin with Hamming cost), or one's own: package.module:Class",
        choices=("crf", "margin"),
        part="losses",
    )
    cost: str = described(
        "both",
        "margin: cost of wrong spans and arcs (both), or of arcs but the root's (arcs: the authors' code)",
        choices=("both", "arcs"),
    )
    span_size: int = described(500, "size of the span MLPs", least=1)
    arc_size: int = described(500, "size of the arc MLPs", least=1)
    label_size: int = described(100, "size of the label MLPs", least=1)
    relation_size: int = described(100, "size of the relation MLPs", least=1)
    headed_size: int = described(500, "second order: size of the word and span MLPs", least=1)
    separate_hooked: bool = described(
        False, "second order: score hooked spans with parameters of their own"
    )
    labeller: str = described(
        "biaffine",
        "labels and relations by biaffine (the paper) or by mlp (smaller, faster)",
        choices=("biaffine", "mlp"),
    )
    intermediate: str = described(
        "empty",
        "label of nodes that are not constituents: empty (one for all) or parent (the paper's VP* below a VP)",
        choices=("empty", "parent"),
    )
    tag_size: int = described(128, "size of the MLP that predicts tags", least=1)
    mlp_dropout: float = described(0.33, "dropout of every MLP", least=0, most=0.95)
    tags: bool = described(True, "predict part-of-speech tags")
    rows: bool = described(True, "predict lemmas and features, where the treebank has them")
    scorers: dict[str, str] = described(
        {}, 'scorers of one\'s own, by output: { arc = "package.module:Class" }'
    )
    search: str = described(
        "labelled",
        "labelled: the best labelled trees; two-stage, as in the paper: the best trees, which are labelled then",
        choices=("labelled", "two-stage"),
    )
    decoder: str = described(
        "", "a search of one's own: package.module:function; empty: the exact ones"
    )
    gold_tags: bool = described(
        False, "read part-of-speech tags as input, added to the words' vectors"
    )
