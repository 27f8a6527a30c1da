"""Words to arrays: pieces, windows, pooling, vocabularies."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from arcspan.errors import BundleError
from arcspan.prediction.inputs import PieceInputs, WordInputs, inputs_from_json


def make_inputs(**options: Any) -> PieceInputs:
    """A word-piece tokenizer that knows single lower-case letters, so a word has as many pieces as letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    for letter in letters:
        vocabulary[letter] = len(vocabulary)
        vocabulary[f"##{letter}"] = len(vocabulary)
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocabulary,
        },
    }
    tokenizer["normalizer"] = options.pop("normalizer", tokenizer["normalizer"])
    numbers: dict[str, int] = {"begin": 2, "end": 3, "padding": 0, "unknown": 1}
    return PieceInputs(json.dumps(tokenizer), **{**numbers, **options})


def vectors(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Words' vectors where a piece's vector is its own id: what pooling makes of them."""
    flat = arrays["pieces"].reshape(-1).astype(np.float64)
    return (flat[arrays["index"]] * arrays["weight"]).sum(-1)


def test_a_word_is_the_mean_of_its_pieces_and_ends_are_the_special_ones() -> None:
    inputs = make_inputs()
    encoded = vectors(inputs.batch(inputs.prepare([["ab", "c"], ["d"]])))
    vocabulary = {"a": 4, "##b": 7, "c": 8, "d": 10}
    assert encoded[0].tolist() == [2, (vocabulary["a"] + vocabulary["##b"]) / 2, vocabulary["c"], 3]
    assert encoded[1].tolist() == [2, vocabulary["d"], 3, 0]


def test_the_first_piece_stands_for_a_word_on_request() -> None:
    inputs = make_inputs(pooling="first")
    assert vectors(inputs.batch(inputs.prepare([["ab", "cd"]])))[0].tolist() == [2, 4, 8, 3]


@pytest.mark.parametrize("word", ["", "\u200b", "\x07", "\ud800", "\u0301"])
def test_a_word_without_pieces_still_gets_a_vector(word: str) -> None:
    inputs = make_inputs()
    encoded = vectors(inputs.batch(inputs.prepare([["a", word, "c"]])))
    assert encoded[0].tolist() == [2, 4, 1, 8, 3]


def test_of_a_very_long_word_some_pieces_are_read() -> None:
    inputs = make_inputs(pieces_per_word=3)
    ids, counts, *_ = inputs.prepare([["abcdef", "a"]])[0]
    assert counts.tolist() == [3, 1]
    assert len(ids) == 4


def test_no_more_of_a_word_is_cut_into_pieces_than_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word of 900,000 characters stopped all threads for seconds."""
    inputs = make_inputs(pieces_per_word=3)
    cut = inputs._pieces.cut
    cut_words: list[str] = []

    def spy(words: list[str]) -> Any:
        cut_words.extend(words)
        return cut(words)

    monkeypatch.setattr(inputs._pieces, "cut", spy)
    (long, short) = inputs.prepare([["a-" * 450_000], ["a-a"]])
    assert len(cut_words[0]) < 1_000
    assert long[0].tolist() == short[0].tolist()


def test_a_long_sentence_is_read_in_windows_and_every_word_from_the_best_one() -> None:
    words = list("abcdefghijklmnopqrstuvwxyz") * 3
    in_one_window, cut = make_inputs(), make_inputs(window=20, overlap=6)
    arrays = cut.batch(cut.prepare([words, ["a", "b"]]))
    assert arrays["pieces"].shape[1] == 20
    assert arrays["mask"].sum(1).max() == 20
    expected = vectors(in_one_window.batch(in_one_window.prepare([words, ["a", "b"]])))
    assert np.array_equal(vectors(arrays), expected)
    # Away from the sentence's ends, no word is read at the edge of a window.
    columns = arrays["index"][0, 6:-6, 0] % 20
    assert columns.min() >= 3
    assert columns.max() <= 16


def test_an_empty_sentence_is_begin_and_end() -> None:
    inputs = make_inputs()
    arrays = inputs.batch(inputs.prepare([[]]))
    assert vectors(arrays)[0].tolist() == [2, 3]


def test_a_sentence_has_the_same_vectors_whatever_stands_beside_it() -> None:
    inputs = make_inputs()
    alone = vectors(inputs.batch(inputs.prepare([["abc", "d"]])))[0]
    beside = vectors(inputs.batch(inputs.prepare([["abcdefg"] * 9, ["abc", "d"]])))[1]
    assert beside[: len(alone)].tolist() == alone.tolist()


def test_vocabularies_leave_out_rare_words_and_fall_back_to_lower_case() -> None:
    inputs = WordInputs.count([["the", "the", "dog"], ["The", "dog"]], least=2)
    assert inputs.words == ["dog", "the"]
    arrays = inputs.batch(inputs.prepare([["The", "dog", "ran"]]))
    assert arrays["words"].tolist() == [[2, 5, 4, 1, 3]]
    assert arrays["reverse"].tolist() == [[4, 3, 2, 1, 0]]


def test_of_a_long_word_the_first_and_the_last_characters_are_read() -> None:
    inputs = WordInputs.count([["abcdefghij"]], least=1)
    inputs.characters_read = 4
    expected = [inputs.characters.index(letter) + inputs.special for letter in "abij"]
    for word in ("abcdefghij", "abij"):
        (encoding,) = inputs.prepare([[word]])
        assert encoding.spellings == [expected]


def test_reversal_keeps_padding_at_the_end() -> None:
    inputs = WordInputs(["a"], ["a"])
    arrays = inputs.batch(inputs.prepare([["a"], ["a", "a", "a"]]))
    assert arrays["reverse"].tolist() == [[2, 1, 0, 3, 4], [4, 3, 2, 1, 0]]


def test_inputs_come_back_from_json_the_same() -> None:
    inputs = make_inputs(window=40)
    read_back = inputs_from_json(json.loads(json.dumps(inputs.to_json())), inputs.text)
    sentences = [["ab", "c"], ["Def"]]
    for name, array in inputs.batch(inputs.prepare(sentences)).items():
        assert np.array_equal(array, read_back.batch(read_back.prepare(sentences))[name])


@pytest.mark.parametrize("name", ["begin", "end", "padding", "unknown"])
def test_a_special_piece_that_the_tokenizer_does_not_have_is_refused(name: str) -> None:
    """It ended in an error of onnxruntime, at the first sentence."""
    with pytest.raises(BundleError, match=f"{name} = 1000000000 is not a token"):
        make_inputs(**{name: 10**9})


def test_a_tokenizer_that_lengthens_texts_without_bound_is_refused() -> None:
    """A letter became a megabyte, a text all memory."""

    def steps(*contents: str) -> dict[str, Any]:
        normalizers = [
            {"type": "Replace", "pattern": {"String": "a"}, "content": content}
            for content in contents
        ]
        return {"type": "Sequence", "normalizers": normalizers}

    assert make_inputs(normalizer=steps("aaa", "b" * 100)).prepare([["a"]])
    for contents in (["a" * 1_000_000], ["a" * 40, "a" * 40]):
        with pytest.raises(BundleError, match="times as long"):
            make_inputs(normalizer=steps(*contents))
