"""Tokenizers of every family cut words given one by one as they cut them in running text."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from arcspan.neural.encoder import PretrainedEncoder
from arcspan.neural.model_settings import EncoderSettings
from arcspan.training.encoders import make_inputs, pretrained_architecture
from tests.training.test_pretrained import small_bert

SENTENCES = [
    "The parser reads a sentence and looks for the tree with the highest score .",
    "A maximal projection is the largest constituent that a word heads .",
    "In 1999 some 250 linguists met in Zürich ; most of them had come by train .",
    "Les feuilles des arbres tombent déjà , écrit -elle dans sa lettre d' automne .",
    "Der Zug nach München hat wieder einmal zwölf Minuten Verspätung .",
]
SPECIAL = ["<s>", "</s>", "<pad>", "<unk>"]
CUT = Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+")


def byte_level(steps: list[pre_tokenizers.PreTokenizer]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)
    return tokenizer


def word_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def sentence_piece(model: models.Model, scheme: str) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    return tokenizer


def marked_by_normalizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    return tokenizer


FAMILIES = {
    "WordPiece": word_piece,
    "byte-level BPE": lambda: byte_level([pre_tokenizers.ByteLevel(add_prefix_space=False)]),
    "byte-level BPE after digits are cut": lambda: byte_level(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    ),
    "byte-level BPE with its own pattern": lambda: byte_level(
        [
            pre_tokenizers.Split(CUT, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ),
    "SentencePiece unigram": lambda: sentence_piece(models.Unigram(), "always"),
    "SentencePiece BPE, no mark at the beginning": lambda: sentence_piece(
        models.BPE(unk_token="<unk>"), "never"
    ),
    "SentencePiece BPE, marked by its normalizer": marked_by_normalizer,
}


def saved(tokenizer: Tokenizer, folder: Path) -> Path:
    """An encoder's folder with this tokenizer under the generic class, trained on the sentences."""
    kinds = {"WordPiece": trainers.WordPieceTrainer, "Unigram": trainers.UnigramTrainer}
    trainer = kinds.get(type(tokenizer.model).__name__, trainers.BpeTrainer)
    more = {"unk_token": "<unk>"} if trainer is trainers.UnigramTrainer else {}
    if isinstance(tokenizer.pre_tokenizer, (pre_tokenizers.ByteLevel, pre_tokenizers.Sequence)):
        more["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [" " + sentence for sentence in SENTENCES] * 3,
        trainer(vocab_size=400, special_tokens=SPECIAL, show_progress=False, **more),
    )
    names = dict(zip(("bos_token", "eos_token", "pad_token", "unk_token"), SPECIAL, strict=True))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(
        folder
    )
    transformers.BertConfig(vocab_size=400).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("family", FAMILIES)
def test_words_given_one_by_one_are_cut_as_after_a_space(tmp_path: Path, family: str) -> None:
    tokenizer = FAMILIES[family]()
    folder = saved(tokenizer, tmp_path / "encoder")
    inputs = make_inputs(EncoderSettings(kind="pretrained", path=str(folder)), [])
    for sentence in SENTENCES:
        words = sentence.split()
        ids, counts, *_ = inputs.prepare([words])[0]
        # In running text after a space, which each tokenizer reads as it does between two words.
        running = tokenizer.encode(" " + sentence, add_special_tokens=False)
        assert [tokenizer.id_to_token(id) for id in ids] == running.tokens
        spaces = [place for place, letter in enumerate(" " + sentence) if letter == " "]
        of_word = [bisect_left(spaces, end) for _, end in running.offsets]
        assert counts.tolist() == [of_word.count(word) for word in range(1, len(words) + 1)]


def test_an_encoder_saved_in_half_precision_is_trained_in_single_precision(tmp_path: Path) -> None:
    folder = small_bert(tmp_path / "bert")
    transformers.AutoModel.from_pretrained(folder).bfloat16().save_pretrained(folder)
    settings = EncoderSettings(kind="pretrained", path=str(folder))
    architecture = pretrained_architecture(settings)
    assert architecture is not None
    assert settings.path not in str(architecture)  # which goes into bundles
    for weights_from in (settings.path, None):
        encoder = PretrainedEncoder(settings, architecture, weights_from)
        assert {parameter.dtype for parameter in encoder.parameters()} == {torch.float32}
