"""The lexicon of a bundle: written, read when it is first used, and refused where it is damaged."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest

from arcspan.errors import BundleError
from arcspan.parser import Parser
from arcspan.prediction.lexicon import Lexicon, LexiconTables, lexicon_to_json
from arcspan.runtime import bundle as bundles
from arcspan.runtime.bundle import MODELS, pack_lexicon, read_bundle, read_lexicon, update_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.runtime.schema import LEMMAS, LEXICON

CONTENT = {
    "lemmas": {"VERB": ["sleep"]},
    "endings": {"VBD": {"l|0+|2+ep": ["^slept"]}},
    "seen_lemmas": {"VBD": {"=go": ["went"]}},
}


@pytest.fixture
def with_lexicon(toy_bundle: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    shutil.copytree(toy_bundle, folder)
    tables = LexiconTables({"VERB": frozenset({"sleep"})}, {"VBD": {"^slept": ("l|0+|2+ep",)}})
    names = dict(read_bundle(folder)["inventories"])
    names["lexicon"] = lexicon_to_json(Lexicon(tables))
    names["seen_lemmas"] = CONTENT["seen_lemmas"]
    update_bundle(folder, {"inventories": names})
    return folder


def test_a_bundle_without_a_lexicon_still_loads(toy_bundle: Path) -> None:
    assert "lexicon" not in read_bundle(toy_bundle)
    predictor, _ = load_predictor(toy_bundle)
    assert predictor.model.inventories.lexicon is None


def test_a_bundle_with_a_lexicon_has_one_file_for_all_its_lemmas(with_lexicon: Path) -> None:
    config = read_bundle(with_lexicon)
    assert config["lexicon"] == LEXICON
    assert "seen_lemmas" not in config
    assert not (with_lexicon / LEMMAS).exists()
    predictor, _ = load_predictor(with_lexicon)
    inventories = predictor.model.inventories
    assert inventories.seen_lemmas == {"VBD": {"went": "=go"}}
    assert inventories.lexicon is not None
    assert inventories.lexicon.lemma("slept", "VBD", "VERB", ["l|0+|0+"]) == "sleep"
    # It stays when something else is changed.
    update_bundle(with_lexicon, {"licence": "none"})
    assert read_bundle(with_lexicon)["lexicon"] == LEXICON


def test_the_lexicon_is_read_when_a_lemma_is(with_lexicon: Path) -> None:
    predictor, _ = load_predictor(with_lexicon)
    (with_lexicon / LEXICON).write_bytes(b"no longer a lexicon")
    lexicon = predictor.model.inventories.lexicon
    assert lexicon is not None
    with pytest.raises(BundleError, match=f"{LEXICON}: damaged: LZMAError"):
        lexicon.lemma("slept", "VBD", "VERB", ["l|0+|0+"])


def test_a_damaged_lexicon_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / LEXICON
    file.write_bytes(pack_lexicon(CONTENT))
    assert read_lexicon(file).seen_lemmas == CONTENT["seen_lemmas"]
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    with pytest.raises(BundleError, match="damaged: cut off"):
        read_lexicon(file)
    file.write_bytes(lzma.compress(b'{"lemmas": []}'))
    with pytest.raises(BundleError, match="damaged"):
        read_lexicon(file)
    # A few bytes that stand for many are not unpacked.
    monkeypatch.setattr(bundles, "MOST_LEXICON", 1000)
    file.write_bytes(lzma.compress(b" " * 100_000))
    with pytest.raises(BundleError, match="over 1,000 bytes"):
        read_lexicon(file)


@pytest.mark.skipif(not (MODELS / "en").is_dir(), reason="this checkout has no English model")
@pytest.mark.parametrize("model", ["en", "en-fast"])
def test_everyday_words_have_lemmas_that_are_words(model: str) -> None:
    parser = Parser(model, threads=1)
    sentences = {
        "The dog chased the cats .": ["the", "dog", "chase", "the", "cat", "."],
        "She baked it yesterday .": ["she", "bake", "it", "yesterday", "."],
        "They worried about the berries .": ["they", "worry", "about", "the", "berry", "."],
        "He slept and forgave us .": ["he", "sleep", "and", "forgive", "we", "."],
        "She is stopping it now .": ["she", "be", "stop", "it", "now", "."],
    }
    for text, lemmas in sentences.items():
        assert list(parser.parse(text.split()).lemmas) == lemmas
    chased = parser.parse(["The", "dog", "chased", "the", "cats", "."])
    assert [match.word for match in chased.find("{lemma:chase}")] == [3]


@pytest.mark.skipif(not (MODELS / "en").is_dir(), reason="this checkout has no English model")
@pytest.mark.parametrize("model", ["en", "en-fast"])
def test_the_lexicon_of_a_shipped_model_is_small_and_names_its_sources(model: str) -> None:
    assert (MODELS / model / LEXICON).stat().st_size <= 300_000
    sources = read_bundle(MODELS / model)["lexicon_sources"]
    assert any("lemminflect" in source["name"] for source in sources)
    assert all(source["licence"] for source in sources)
