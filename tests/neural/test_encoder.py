"""Encoders: a sentence's vectors do not depend on its neighbours, and layers are mixed as learnt."""

from __future__ import annotations

import torch

from arcspan.neural.encoder import LstmEncoder, ScalarMix
from arcspan.neural.model_settings import EncoderSettings
from arcspan.prediction.inputs import WordInputs

SETTINGS = EncoderSettings(
    kind="lstm",
    word_size=6,
    character_size=5,
    character_filters=4,
    hidden_size=7,
    depth=2,
    word_dropout=0.5,
)
INPUTS = WordInputs(["the", "dog", "barks"], list("thedogbarks"))


def vectors(encoder: LstmEncoder, sentences: list[list[str]]) -> torch.Tensor:
    arrays = INPUTS.batch(INPUTS.prepare(sentences))
    with torch.no_grad():
        return encoder(**{name: torch.from_numpy(arrays[name]) for name in encoder.input_names})


def encoder() -> LstmEncoder:
    torch.manual_seed(1)
    special = WordInputs.special
    return LstmEncoder(SETTINGS, len(INPUTS.words) + special, len(INPUTS.characters) + special)


def test_padding_changes_nothing() -> None:
    lstm = encoder().eval()
    short, long = ["the", "dog"], ["the", "dog", "barks", "extraordinarily", "the", "dog"]
    alone, beside = vectors(lstm, [short]), vectors(lstm, [short, long])
    assert alone.shape == (1, 4, lstm.size)
    torch.testing.assert_close(beside[:1, :4], alone)


def test_both_directions_see_the_whole_sentence() -> None:
    lstm = encoder().eval()
    first, second = vectors(lstm, [["the", "dog", "barks"]]), vectors(lstm, [["the", "dog", "dog"]])
    assert not torch.allclose(first[0, 1], second[0, 1])


def test_words_are_hidden_in_training_only() -> None:
    lstm = encoder()
    lstm.dropout.p = lstm.last_dropout.p = 0.0
    sentence = [["the", "dog", "barks"]]
    assert not torch.allclose(vectors(lstm, sentence), vectors(lstm, sentence))
    lstm.eval()
    assert torch.equal(vectors(lstm, sentence), vectors(lstm, sentence))


def test_layers_are_mixed_by_their_shares() -> None:
    mix = ScalarMix(2)
    layers = [torch.ones(1, 2, 3), torch.full((1, 2, 3), 3.0)]
    torch.testing.assert_close(mix(layers), torch.full((1, 2, 3), 2.0))
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, torch.log(torch.tensor(3.0)).item()]))
        mix.scale.fill_(2.0)
    torch.testing.assert_close(mix(layers), torch.full((1, 2, 3), 5.0))
