"""Encoders that turn words into vectors: a pretrained one, or an LSTM trained from scratch.

Both take the arrays of `arcspan.prediction.inputs` by name and return hidden[B, n+2, D]: position 0
is the beginning of the sentence, n+1 its end. The two halves of a vector stand for the two
directions of reading, from which the scorers make fenceposts (`scorers.fenceposts`).
"""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor, nn

from arcspan.neural.model_settings import EncoderSettings
from arcspan.prediction.inputs import SHAPES

# Fields of a configuration by which transformers would fetch and run code of others.
_CODE_FIELDS = ("auto_map", "attn_implementation", "experts_implementation", "quantization_config")
# In `WordInputs`, word ids up to this one are special; unknown words have the second id.
_LAST_SPECIAL_WORD = 3
_UNKNOWN_WORD = 1


class Encoder(nn.Module):
    """The interface that a model needs of any encoder.

    size          D, the size of the word vectors
    input_names   the arrays that `forward` takes, in its order: of `PieceInputs.batch` or
                  `WordInputs.batch`

    `forward` returns hidden[B, n+2, D].
    """

    size: int
    input_names: tuple[str, ...]


def architecture_of(config: Any) -> dict[str, Any]:
    """Return a Hugging Face configuration as plain values, without the folder it was read from."""
    architecture: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    architecture.pop("_name_or_path", None)
    return architecture


class ScalarMix(nn.Module):
    """A weighted sum of layers with learnt weights (Peters et al., 2018)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, layers: list[Tensor]) -> Tensor:
        """Return [R, P, D] from as many layers of that shape as there are weights."""
        shares = self.weights.softmax(-1)
        mixed = layers[0] * shares[0]
        for share, layer in zip(shares[1:], layers[1:], strict=True):
            mixed = mixed + layer * share
        return mixed * self.scale


class PretrainedEncoder(Encoder):
    """A Hugging Face encoder whose last layers are mixed and whose pieces are pooled to words."""

    input_names = ("pieces", "mask", "shapes", "index", "weight")

    def __init__(
        self,
        settings: EncoderSettings,
        architecture: dict[str, Any],
        weights_from: str | None = None,
    ) -> None:
        """Build the encoder from its Hugging Face configuration, or from a folder or hub name."""
        super().__init__()
        self.pretrained = _load_pretrained(settings.keep, architecture, weights_from)
        if getattr(self.pretrained, "pooler", None) is not None:
            # Nothing reads the pooled vector: its weights would be saved and never trained.
            self.pretrained.pooler = None
        config = self.pretrained.config
        self.size = int(config.hidden_size)
        self.layers = max(1, min(settings.layers, int(config.num_hidden_layers)))
        self.mix = ScalarMix(self.layers) if self.layers > 1 else None
        self.shapes: nn.Embedding | None = None
        if settings.shapes:
            piece_size = self.pretrained.get_input_embeddings().weight.shape[1]
            self.shapes = nn.Embedding(len(SHAPES), piece_size)
            # Zeros: before training, the encoder reads what it was pretrained to read.
            nn.init.zeros_(self.shapes.weight)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(
        self, pieces: Tensor, mask: Tensor, shapes: Tensor, index: Tensor, weight: Tensor
    ) -> Tensor:
        """Return hidden[B, n+2, D]; the arrays are those of `PieceInputs.batch`."""
        if self.shapes is None:
            piece_inputs = {"input_ids": pieces}
        else:
            embeddings = self.pretrained.get_input_embeddings()(pieces)
            piece_inputs = {"inputs_embeds": embeddings + self.shapes(shapes)}
        output = self.pretrained(
            **piece_inputs, attention_mask=mask, output_hidden_states=self.mix is not None
        )
        if self.mix is None:
            hidden = output.last_hidden_state
        else:
            hidden = self.mix(list(output.hidden_states[-self.layers :]))
        # The pieces of a word may lie in several windows: `index` counts through all of them.
        flat = hidden.reshape(-1, hidden.shape[-1])
        return self.dropout((flat[index] * weight.unsqueeze(-1)).sum(2))


def _load_pretrained(
    kept_layers: int, architecture: dict[str, Any], weights_from: str | None
) -> Any:
    """Return the transformer, with pretrained weights or with random ones.

    kept_layers   layers to keep, from the first; 0: all
    """
    import transformers

    changes = {}
    if kept_layers:
        layers = int(architecture.get("num_hidden_layers", kept_layers))
        changes = {"num_hidden_layers": min(kept_layers, layers)}
    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        # No code of the hub is run, whatever a folder or an architecture from a bundle names.
        if weights_from is not None:
            model = transformers.AutoModel.from_pretrained(
                weights_from, trust_remote_code=False, **changes
            )
        else:
            options = {**architecture, **changes}
            for name in list(options):
                if name.lstrip("_").startswith(_CODE_FIELDS):
                    del options[name]
            model_type = options.pop("model_type")
            config = transformers.AutoConfig.for_model(model_type, **options)
            model = transformers.AutoModel.from_config(config, trust_remote_code=False)
        # An encoder saved in half precision comes in half precision: training needs single.
        return model.float()
    finally:
        transformers.logging.set_verbosity(verbosity)


class LstmEncoder(Encoder):
    """Word and character embeddings below a bidirectional LSTM.

    Each direction is a stack of its own; the right-to-left one reads the sentence reversed by
    `reverse`, which keeps padding at the end for both, so that the vectors of a sentence do not
    depend on the other sentences of its batch.
    """

    input_names = ("words", "characters", "reverse")

    def __init__(self, settings: EncoderSettings, words: int, characters: int) -> None:
        """Build the encoder for vocabularies of these sizes, special ids included."""
        super().__init__()
        self.size = 2 * settings.hidden_size
        self.words = nn.Embedding(words, settings.word_size, padding_idx=0)
        self.characters = nn.Embedding(characters, settings.character_size, padding_idx=0)
        self.filters = nn.Conv1d(settings.character_size, settings.character_filters, 3, padding=1)
        self.forwards = nn.ModuleList()
        self.backwards = nn.ModuleList()
        input_size = settings.word_size + settings.character_filters
        for _ in range(settings.depth):
            self.forwards.append(nn.LSTM(input_size, settings.hidden_size, batch_first=True))
            self.backwards.append(nn.LSTM(input_size, settings.hidden_size, batch_first=True))
            input_size = self.size
        self.dropout = nn.Dropout(settings.lstm_dropout)
        self.word_dropout = settings.word_dropout
        self.last_dropout = nn.Dropout(settings.dropout)

    def forward(self, words: Tensor, characters: Tensor, reverse: Tensor) -> Tensor:
        """Return hidden[B, n+2, D]; the arrays are those of `WordInputs.batch`."""
        if self.training and self.word_dropout:
            # Some words are hidden, so that the vector of unknown words is learnt.
            is_hidden = torch.rand_like(words, dtype=torch.float) < self.word_dropout
            is_hidden &= words > _LAST_SPECIAL_WORD
            words = words.masked_fill(is_hidden, _UNKNOWN_WORD)
        spelling = self._spelling(characters)
        hidden = self.dropout(torch.cat([self.words(words), spelling], -1))
        order = reverse.unsqueeze(-1)
        for left_to_right, right_to_left in zip(self.forwards, self.backwards, strict=True):
            backward = right_to_left(hidden.gather(1, order.expand(-1, -1, hidden.shape[-1])))[0]
            backward = backward.gather(1, order.expand(-1, -1, backward.shape[-1]))
            hidden = self.dropout(torch.cat([left_to_right(hidden)[0], backward], -1))
        return self.last_dropout(hidden)

    def _spelling(self, characters: Tensor) -> Tensor:
        """Return [B, n+2, filters] from characters[B, n+2, letters]."""
        batch, length, letters = characters.shape
        vectors = self.characters(characters.reshape(batch * length, letters)).transpose(1, 2)
        filtered = self.filters(vectors).relu()
        # Padding must not win the maximum: after relu, zero never exceeds a real character.
        filtered = filtered * (characters.reshape(batch * length, 1, letters) > 0)
        return filtered.amax(-1).reshape(batch, length, -1)
