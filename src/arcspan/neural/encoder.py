"""Words to vectors: a pretrained encoder, or one trained from scratch.

Both take the arrays of `arcspan.prediction.inputs` by name and give hidden[B, n+2, D]: position 0 is the
sentence's beginning, n+1 its end. The two halves of a vector stand for the two directions of reading, from
which the scorers make fenceposts (`scorers.fenceposts`).
"""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor, nn

from arcspan.neural.settings import EncoderSettings
from arcspan.prediction.inputs import SHAPES


class Encoder(nn.Module):
    """What a model asks of any encoder.

    size          D, of the words' vectors
    input_names   the arrays that `forward` takes, in its order: of `PieceInputs.batch` or `WordInputs.batch`

    `forward` gives hidden[B, n+2, D].
    """

    size: int
    input_names: tuple[str, ...]


def architecture_of(config: Any) -> dict[str, Any]:
    """A Hugging Face configuration as plain values, without the folder of whoever loaded it."""
    found: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    found.pop("_name_or_path", None)
    return found


class ScalarMix(nn.Module):
    """A weighted sum of layers, the weights learnt (Peters et al., 2018)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, layers: list[Tensor]) -> Tensor:
        """[R, P, D] from that many of them."""
        shares = self.weights.softmax(-1)
        mixed = layers[0] * shares[0]
        for share, layer in zip(shares[1:], layers[1:], strict=True):
            mixed = mixed + layer * share
        return mixed * self.scale


class PretrainedEncoder(Encoder):
    """Any Hugging Face encoder: last layers mixed, pieces pooled to words."""

    input_names = ("pieces", "mask", "shapes", "index", "weight")

    def __init__(
        self,
        settings: EncoderSettings,
        architecture: dict[str, Any],
        weights_from: str | None = None,
    ) -> None:
        """`architecture` is the encoder's Hugging Face configuration; `weights_from` a folder or hub name."""
        super().__init__()
        import transformers

        most = int(architecture.get("num_hidden_layers", settings.keep))
        kept = {"num_hidden_layers": min(settings.keep, most)} if settings.keep else {}
        quiet = transformers.logging.get_verbosity()
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        try:
            # Saved in half precision, an encoder would be made so: training is in single precision.
            if weights_from is not None:
                self.pretrained = transformers.AutoModel.from_pretrained(
                    weights_from, **kept
                ).float()
            else:
                rest = {name: value for name, value in architecture.items() if name != "model_type"}
                config = transformers.AutoConfig.for_model(
                    architecture["model_type"], **rest | kept
                )
                self.pretrained = transformers.AutoModel.from_config(config).float()
        finally:
            transformers.logging.set_verbosity(quiet)
        if getattr(self.pretrained, "pooler", None) is not None:
            self.pretrained.pooler = None
        config = self.pretrained.config
        self.size = int(config.hidden_size)
        self.layers = max(1, min(settings.layers, int(config.num_hidden_layers)))
        self.mix = ScalarMix(self.layers) if self.layers > 1 else None
        self.shapes: nn.Embedding | None = None
        if settings.shapes:
            self.shapes = nn.Embedding(
                len(SHAPES), self.pretrained.get_input_embeddings().weight.shape[1]
            )
            nn.init.zeros_(self.shapes.weight)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(
        self, pieces: Tensor, mask: Tensor, shapes: Tensor, index: Tensor, weight: Tensor
    ) -> Tensor:
        """hidden[B, n+2, D]; the arrays are those of `PieceInputs.batch`."""
        if self.shapes is None:
            given = {"input_ids": pieces}
        else:
            given = {
                "inputs_embeds": self.pretrained.get_input_embeddings()(pieces)
                + self.shapes(shapes)
            }
        output = self.pretrained(
            **given, attention_mask=mask, output_hidden_states=self.mix is not None
        )
        if self.mix is None:
            hidden = output.last_hidden_state
        else:
            hidden = self.mix(list(output.hidden_states[-self.layers :]))
        flat = hidden.reshape(-1, hidden.shape[-1])
        return self.dropout((flat[index] * weight.unsqueeze(-1)).sum(2))


class LstmEncoder(Encoder):
    """Word and character embeddings under a bidirectional LSTM.

    Each direction is a stack of its own; the right-to-left one reads the sentence turned round by `reverse`,
    which keeps padding at the end for both, so that a sentence's vectors do not depend on its neighbours.
    """

    input_names = ("words", "characters", "reverse")

    def __init__(self, settings: EncoderSettings, words: int, characters: int) -> None:
        super().__init__()
        self.size = 2 * settings.hidden_size
        self.words = nn.Embedding(words, settings.word_size, padding_idx=0)
        self.characters = nn.Embedding(characters, settings.character_size, padding_idx=0)
        self.filters = nn.Conv1d(settings.character_size, settings.character_filters, 3, padding=1)
        entry = settings.word_size + settings.character_filters
        self.forwards = nn.ModuleList()
        self.backwards = nn.ModuleList()
        for layer in range(settings.depth):
            size = self.size if layer else entry
            self.forwards.append(nn.LSTM(size, settings.hidden_size, batch_first=True))
            self.backwards.append(nn.LSTM(size, settings.hidden_size, batch_first=True))
        self.dropout = nn.Dropout(settings.lstm_dropout)
        self.word_dropout = settings.word_dropout
        self.last_dropout = nn.Dropout(settings.dropout)

    def forward(self, words: Tensor, characters: Tensor, reverse: Tensor) -> Tensor:
        """hidden[B, n+2, D]; the arrays are those of `WordInputs.batch`."""
        if self.training and self.word_dropout:
            hide = (torch.rand_like(words, dtype=torch.float) < self.word_dropout) & (words > 3)
            words = words.masked_fill(hide, 1)
        batch, length, spelt = characters.shape
        letters = self.characters(characters.reshape(batch * length, spelt)).transpose(1, 2)
        filtered = self.filters(letters).relu()
        # Padding characters must not win the maximum: after relu, zero never beats a real one.
        filtered = filtered * (characters.reshape(batch * length, 1, spelt) > 0)
        spelling = filtered.amax(-1).reshape(batch, length, -1)
        hidden = self.dropout(torch.cat([self.words(words), spelling], -1))
        for left_to_right, right_to_left in zip(self.forwards, self.backwards, strict=True):
            turn = reverse.unsqueeze(-1)
            backward = right_to_left(hidden.gather(1, turn.expand(-1, -1, hidden.shape[-1])))[0]
            backward = backward.gather(1, turn.expand(-1, -1, backward.shape[-1]))
            hidden = self.dropout(torch.cat([left_to_right(hidden)[0], backward], -1))
        return self.last_dropout(hidden)
