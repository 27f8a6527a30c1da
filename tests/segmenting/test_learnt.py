"""The learnt segmenter: what it learns, that nothing is lost, that nothing around a text matters."""

from __future__ import annotations

import itertools
import json
import random
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcspan.errors import BundleError
from arcspan.segmenting import RuleSegmenter, Segmenter, Sentence, paragraphs, segmenter_for
from arcspan.training.config import Config, SegmenterSettings, SegmenterSource
from arcspan.training.segmenter import run_segmenter

Token = tuple[str, tuple[str, ...]]
SUBJECTS: list[list[Token]] = [
    [("Luc", ("Luc",))],
    [("L'", ("L'",)), ("ami", ("ami",))],
    [("Elle", ("Elle",))],
]
VERBS: list[list[Token]] = [
    [("va", ("va",))],
    [("n'", ("n'",)), ("est", ("est",)), ("pas", ("pas",))],
]
PLACES: list[list[Token]] = [
    [("au", ("à", "le")), ("port", ("port",))],
    [("à", ("à",)), ("l'", ("l'",)), ("école", ("école",))],
    [("chez", ("chez",)), ("M.", ("M.",)), ("Roux", ("Roux",))],
]


def french() -> str:
    """A treebank of made-up sentences, as CoNLL-U with multiword tokens and SpaceAfter."""
    sentences = [
        [*subject, *verb, *place_words, (".", (".",))]
        for subject, verb, place_words in itertools.product(SUBJECTS, VERBS, PLACES)
    ]
    random.Random(1).shuffle(sentences)
    lines: list[str] = []
    for number, sentence in enumerate(sentences * 4):
        lines += ["# newpar"] * (number % 5 == 0)
        count = 0
        for position, (form, words) in enumerate(sentence):
            glued = (
                form.endswith("'")
                or sentence[min(position + 1, len(sentence) - 1)][0] == "." != form
            )
            misc = "SpaceAfter=No" if glued else "_"
            if len(words) > 1:
                lines.append(
                    "\t".join([f"{count + 1}-{count + len(words)}", form, *"_______", misc])
                )
            for word in words:
                count += 1
                lines.append(
                    "\t".join([str(count), word, *"____", str(count - 1), "dep", "_", misc])
                )
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("segmenter")
    (folder / "train.conllu").write_text(french(), encoding="utf-8")
    source = [SegmenterSource(str(folder / "train.conllu"))]
    segmenter_settings = SegmenterSettings(
        train=source, dev=source, channels=32, epochs=30, batch=2, rare=2
    )
    run_segmenter(
        Config(output=str(folder), language="fr", segmenter=segmenter_settings), lambda line: None
    )
    (scores,) = json.loads((folder / "segmenter" / "segmenter.json").read_text())["scores"].values()
    assert min(scores.values()) > 97, scores
    return folder / "segmenter"


@pytest.fixture(scope="module")
def segmenter(folder: Path) -> Segmenter:
    return Segmenter.load(folder)


def test_words_and_sentences_are_found_as_the_treebank_has_them(segmenter: Segmenter) -> None:
    first, second = segmenter.split("L'ami va au port. Elle n'est pas chez M. Roux.")
    assert first.words == ("L'", "ami", "va", "à", "le", "port", ".")
    assert first.multiword == ((4, 5, "au"),)
    assert first.offsets[3] == first.offsets[4] == (9, 11)
    assert second.words == ("Elle", "n'", "est", "pas", "chez", "M.", "Roux", ".")
    assert (first.paragraph, second.paragraph) == (True, False)


def test_one_sentence_is_never_split(segmenter: Segmenter) -> None:
    (sentence,) = segmenter.split("Luc va au port. Elle va au port.\n\nLuc", one_sentence=True)
    assert sentence.words.count(".") == 2 and sentence.words[-1] == "Luc"
    assert segmenter.split(" \n", one_sentence=True) == segmenter.split("") == []


def assert_nothing_is_lost(text: str, sentences: list[Sentence]) -> None:
    text, is_covered = paragraphs.blank_mark(text), np.zeros(len(text), bool)
    end = 0
    for sentence in sentences:
        assert (sentence.start, sentence.end) == (sentence.offsets[0][0], sentence.offsets[-1][1])
        assert end <= sentence.start
        end = sentence.end
        shared = {
            number for first, last, _ in sentence.multiword for number in range(first, last + 1)
        }
        for number, (word, (start, stop)) in enumerate(
            zip(sentence.words, sentence.offsets, strict=True), 1
        ):
            assert number in shared or word == text[start:stop]
            assert not any(map(str.isspace, text[start:stop]))
            is_covered[start:stop] = True
    assert all(
        is_covered[position] for position, character in enumerate(text) if not character.isspace()
    )


PIECES = [
    "au ",
    "l'",
    "M. ",
    ". ",
    "\n",
    "\n\n",
    "漢",
    "\u200d",
    "\u0301",
    "👍🏽",
    "http://a.b/",
    "@",
    "1,000",
    "- ",
    "\x00",
    "\t",
]
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@settings(deadline=None)
@given(text=TEXTS)
def test_no_character_but_white_space_is_ever_lost(segmenter: Segmenter, text: str) -> None:
    assert_nothing_is_lost(text, segmenter.split(text))
    assert_nothing_is_lost(text, segmenter.split(text, one_sentence=True))


@settings(deadline=None, max_examples=30)
@given(text=TEXTS, size=st.integers(1, 20), longest=st.integers(5, 50))
def test_the_pieces_in_which_a_text_comes_do_not_matter(
    segmenter: Segmenter, text: str, size: int, longest: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paragraphs, "LONGEST", longest)
        sentences = segmenter.split(text)
        assert (
            list(segmenter.stream(text[i : i + size] for i in range(0, len(text), size)))
            == sentences
        )
    assert_nothing_is_lost(text, sentences)


def test_scores_are_the_same_to_the_last_bit_in_any_company(segmenter: Segmenter) -> None:
    sentence = "Elle n'est pas chez M. Roux. L'ami va à l'école."
    alone = segmenter.scores(inputs(segmenter, sentence))
    assert (segmenter.scores(inputs(segmenter, sentence)) == alone).all()
    long = " ".join(
        [sentence] * 40
    )  # several windows: what is far from both ends does not feel them
    scores = segmenter.scores(inputs(segmenter, long))
    assert scores.shape == (5, len(long))
    middle = scores[:, 10 * 49 : 11 * 49]
    assert np.allclose(middle, scores[:, 20 * 49 : 21 * 49], atol=1e-4)
    by_thread: list[list[Sentence]] = []
    threads = [
        threading.Thread(target=lambda: by_thread.append(segmenter.split(long))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (
        all(sentences == segmenter.split(long) for sentences in by_thread) and len(by_thread) == 4
    )


def inputs(segmenter: Segmenter, text: str) -> np.ndarray:
    from arcspan.segmenting.learnt import features

    return features(text, segmenter._alphabet, segmenter._rules)


def test_a_paragraph_of_any_length_is_split_as_its_sentences_are(
    segmenter: Segmenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paragraphs, "LONGEST", 5000)
    text = "Luc va au port. " * 2000  # more than is held at once
    sentences = segmenter.split(text)
    assert len(sentences) == 2000
    assert {sentence.words for sentence in sentences} == {("Luc", "va", "à", "le", "port", ".")}
    assert [sentence.start for sentence in sentences] == list(range(0, len(text), 16))


def test_a_word_without_end_is_cut(segmenter: Segmenter, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a" * 12_000
    assert [sentence.words for sentence in segmenter.split(text)] == [(text,)]
    monkeypatch.setattr(paragraphs, "LONGEST", 5000)
    sentences = segmenter.split(text)
    assert_nothing_is_lost(text, sentences)
    assert len(sentences) == 3


def test_addresses_numbers_and_pictures_are_never_torn_apart(segmenter: Segmenter) -> None:
    for unit in (
        "http://a.fr/b_(c)?d=e",
        "x@y.co.uk",
        "#hashtag2024",
        "1,000,000.50",
        "2023-12-31",
        "👨‍👩‍👧‍👦",
        "🇫🇷",
    ):
        (sentence,) = segmenter.split(f"Luc {unit} au", one_sentence=True)
        assert sentence.words == ("Luc", unit, "à", "le")


def test_a_bundle_without_segmenter_has_rules_and_says_so_for_other_languages(
    folder: Path, tmp_path: Path
) -> None:
    assert isinstance(segmenter_for(folder, "fr"), Segmenter)
    assert isinstance(segmenter_for(tmp_path, "en"), RuleSegmenter)
    assert segmenter_for(tmp_path, None).language == "en"
    with pytest.warns(UserWarning, match="no segmenter for its language 'fr'"):
        assert segmenter_for(tmp_path, "fr").language == "fr"


def test_a_damaged_segmenter_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no segmenter"):
        Segmenter.load(tmp_path)
    (tmp_path / "segmenter.onnx").write_bytes((folder / "segmenter.onnx").read_bytes())
    (tmp_path / "segmenter.json").write_text('{"format": 99}')
    with pytest.raises(BundleError, match=r"format should be .* not 99"):
        Segmenter.load(tmp_path)


def test_a_segmenter_without_an_end_is_refused(tmp_path: Path) -> None:
    for name, other in (("segmenter.json", "segmenter.onnx"), ("segmenter.onnx", "segmenter.json")):
        (tmp_path / name).symlink_to("/dev/zero")
        (tmp_path / other).touch()
        with pytest.raises(BundleError, match=f"{name}: no such file"):
            Segmenter.load(tmp_path)
        (tmp_path / name).unlink()
        (tmp_path / other).unlink()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("language", None),
        ("letters", ["a"]),
        ("context", -1),
        ("context", True),
        ("context", 10**9),
        ("threshold", float("nan")),
        ("expansions", {}),
        ("expansions", {"table": {"du": []}, "prefixes": {}, "suffixes": {}}),
    ],
)
def test_forged_settings_are_refused_by_name(
    folder: Path, tmp_path: Path, name: str, value: object
) -> None:
    """They ended in a KeyError, or in as much memory as they asked for."""
    (tmp_path / "segmenter.onnx").write_bytes((folder / "segmenter.onnx").read_bytes())
    settings = json.loads((folder / "segmenter.json").read_text())
    (tmp_path / "segmenter.json").write_text(json.dumps({**settings, name: value}))
    with pytest.raises(BundleError, match=rf"segmenter\.json: damaged: {name}\b"):
        Segmenter.load(tmp_path)


def test_a_graph_that_does_not_fit_its_settings_is_refused(folder: Path, tmp_path: Path) -> None:
    """It ended in an error of onnxruntime or of numpy."""
    settings = json.loads((folder / "segmenter.json").read_text())
    graph = (folder / "segmenter.onnx").read_bytes()
    for change in ({"letters": "".join(map(chr, range(0x100, 0x800)))}, {"context": 0}):
        segmenter = Segmenter(graph, {**settings, **change})
        with pytest.raises(BundleError, match="the segmenter's graph"):
            segmenter.split("Luc va \u07ff \u07fe au sud.")
    (tmp_path / "segmenter.json").write_text(json.dumps(settings))
    (tmp_path / "segmenter.onnx").write_bytes(b"not a graph")
    with pytest.raises(BundleError, match="not an ONNX graph"):
        Segmenter.load(tmp_path)
