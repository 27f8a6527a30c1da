"""BERT's word pieces: the same as the tokenizers library's, and a parser that does without the library."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcspan.errors import MissingExtraError
from arcspan.prediction.inputs import LibraryPieces, PieceInputs
from arcspan.prediction.word_pieces import WordPieces
from arcspan.runtime.bundle import MODELS

ENGLISH = (MODELS / "en" / "tokenizer.json").read_text(encoding="utf-8")
ODD = [
    "",
    " ",
    "[MASK]",
    "a[MASK]b[SEP]",
    "[[CLS]]",
    "[mask]",
    "[SEP",
    "a" * 100,
    "a" * 101,
    "ab-" * 400,
    "ΑΣ",
    "İstanbul",
    "ﬁ",
    "ẞ",
    "e\u0301\u0327",
    "\u1100\u1161\u11a8",
    "각",
    "中文a",
    "it\u2019s",
    "\u00a0x\u3000y",
    "p\u00adh\u200dx\ufe0f",
]


def described(**normalizer: Any) -> dict[str, Any]:
    """The English model's tokenizer.json with other settings of its normalizer."""
    data: dict[str, Any] = json.loads(ENGLISH)
    data["normalizer"]["normalizers"][0].update(normalizer)
    return data


def pieces_of_both(data: dict[str, Any]) -> tuple[WordPieces, LibraryPieces]:
    pieces = WordPieces.from_json(data)
    assert pieces is not None
    return pieces, LibraryPieces(json.dumps(data))


SETTINGS = [(True, None), (False, None), (False, True), (True, False)]
PAIRS = [
    pieces_of_both(described(lowercase=lowercase, strip_accents=strip))
    for lowercase, strip in SETTINGS
]


def test_every_kind_of_character_is_read_as_the_library_reads_it() -> None:
    """All that are in use, and some of the planes of ideographs, private use and nothing."""
    pieces, library = PAIRS[0]
    codes = [
        *range(0xD800),
        *range(0xE000, 0x20000),
        *range(0x20000, 0x110000, 101),
        *range(0xE0000, 0xE01F0),
    ]
    for begin in range(0, len(codes), 500):
        words = [f"a{chr(code)}b" for code in codes[begin : begin + 500]]
        assert pieces.cut(words) == library.cut(words)


@pytest.mark.parametrize(("pieces", "library"), PAIRS)
def test_odd_words_have_the_pieces_of_the_library(
    pieces: WordPieces, library: LibraryPieces
) -> None:
    assert pieces.cut(ODD) == library.cut(ODD)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=50), max_size=5))
def test_any_words_have_the_pieces_of_the_library(words: list[str]) -> None:
    for pieces, library in PAIRS:
        assert pieces.cut(words) == library.cut(words)


@pytest.mark.parametrize("id", [0, 30521, 30522])
def test_both_know_which_pieces_there_are(id: int) -> None:
    pieces, library = PAIRS[0]
    assert pieces.has(id) == library.has(id) == (id < 30522)


def other_kinds() -> list[dict[str, Any]]:
    unlike = json.loads(ENGLISH)
    unlike["added_tokens"][4]["lstrip"] = True
    elsewhere = json.loads(ENGLISH)
    elsewhere["added_tokens"][4]["id"] = 30522
    nameless = json.loads(ENGLISH)
    del nameless["model"]["vocab"]["[UNK]"]
    too_large = json.loads(ENGLISH)
    too_large["model"]["vocab"]["##a"] = 2**32
    return [
        described(clean_text=False),
        {**described(), "pre_tokenizer": {"type": "Whitespace"}},
        {
            **described(),
            "model": {"type": "WordLevel", "vocab": {"[UNK]": 100}, "unk_token": "[UNK]"},
        },
        unlike,
        elsewhere,
        nameless,
        too_large,
    ]


@pytest.mark.parametrize("data", other_kinds())
def test_tokenizers_of_other_kinds_are_left_to_the_library(data: dict[str, Any]) -> None:
    assert WordPieces.from_json(data) is None


def test_the_extra_is_named_where_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    numbers = {"begin": 101, "end": 102, "padding": 0, "unknown": 100}
    assert PieceInputs(ENGLISH, **numbers).prepare([["role"]])
    with pytest.raises(MissingExtraError, match=r"tokenizer is not BERT's needs .*\[tokenizers\]"):
        PieceInputs(json.dumps(described(clean_text=False)), **numbers)


def test_the_english_model_needs_no_tokenizers() -> None:
    code = (
        "import sys\n"
        "sys.modules['tokenizers'] = sys.modules['huggingface_hub'] = None\n"
        "import arcspan\n"
        "print(arcspan.load()('Logic plays a role.')[0].brackets())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("(TOP (S (NP")
