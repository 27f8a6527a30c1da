"""What a segmenter learns from: marks on the characters of a treebank's texts, shown in many
styles.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from arcspan.segmenting.base import SENTENCE, TOKEN, WORD
from arcspan.training.segmenter import plain_text
from arcspan.training.segmenting_data import EXPANDED, GoldText, documents, varied

LINE = "\t_\t_\t_\t_\t{head}\tdep\t_\t{misc}"


def block(*tokens: str, comments: str = "") -> str:
    """A sentence of CoNLL-U: "au=à le" is a multiword token, "L'+" has no space after it."""
    lines, count = [], 0
    for token in tokens:
        form, _, words = token.rstrip("+").partition("=")
        misc = "SpaceAfter=No" if token.endswith("+") else "_"
        inside = words.split() if words else [form]
        if words:
            lines.append(
                f"{count + 1}-{count + len(inside)}\t{form}" + LINE.format(head="_", misc=misc)
            )
        for word in inside:
            count += 1
            lines.append(f"{count}\t{word}" + LINE.format(head=count - 1, misc=misc))
    return comments + "\n".join(lines) + "\n\n"


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "a.conllu"
    path.write_text(
        block(
            "I",
            "can't=ca n't+",
            ".",
            comments="# newdoc id = 1\n# genre = web\n# newpar\n# text = I can't.\n",
        )
        + block("Va", "au=à le", "port+", ".+")
        + block("ou_bien", "non", comments="# newpar\n# text = ou bien non\n")
        + block("lost", comments="# text = found\n")
        + block("Yes", "!", comments="# newdoc id = 2\n# genre = essay\n"),
        encoding="utf-8",
    )
    return path


def test_marks_say_where_words_tokens_and_sentences_end(treebank: Path) -> None:
    first, second, third = next(documents(treebank))
    assert first.text == "I can't." and first.paragraph
    assert [(place, int(first.marks[place])) for place in np.flatnonzero(first.marks)] == [
        *((0, TOKEN), (3, WORD), (6, TOKEN), (7, SENTENCE))
    ]
    assert second.text == "Va au port." and second.glued and not second.paragraph, (
        "put together from SpaceAfter"
    )
    assert second.marks[4] == TOKEN | EXPANDED and second.expansions == (("au", ("à", "le")),)
    assert third.text == "ou bien non", "a word with a space in it is two"
    assert third.marks[1] == third.marks[6] == TOKEN


def test_brackets_and_spaces_are_found_as_other_treebanks_write_them(tmp_path: Path) -> None:
    path = tmp_path / "b.conllu"
    path.write_text(
        block("C'_est_bon", "-LRB-", "oui", comments="# text = C'est bon (oui\n"), encoding="utf-8"
    )
    ((gold,),) = documents(path)
    assert [int(place) for place in np.flatnonzero(gold.marks)] == [4, 8, 10, 13]


def test_documents_are_chosen_by_genre_and_number_and_a_text_without_its_words_is_left_out(
    treebank: Path,
) -> None:
    assert [len(document) for document in documents(treebank)] == [3, 1]
    assert [document[0].text for document in documents(treebank, without=["web"])] == ["Yes !"]
    assert [len(document) for document in documents(treebank, without=["2"])] == [3]
    assert len(list(documents(treebank, every=2))) == 1


def test_a_plain_text_has_the_sentences_of_the_treebank(treebank: Path) -> None:
    text, sentences = plain_text(next(documents(treebank)))
    assert text == "I can't. Va au port.\n\nou bien non"
    assert sentences[0].multiword == ((2, 3, "can't"),)
    assert sentences[1].words == ("Va", "à", "le", "port", ".")
    assert [text[sentence.start : sentence.end] for sentence in sentences] == [
        "I can't.",
        "Va au port.",
        "ou bien non",
    ]


def test_every_style_shows_the_same_words_and_marks_their_ends(treebank: Path) -> None:
    document: list[GoldText] = [gold for gold in next(documents(treebank)) for _ in range(9)]
    seen = set()
    for seed in range(300):
        shown = varied(document, random.Random(seed))
        text = "\n\n".join(paragraph.text for paragraph in shown)
        assert all(
            len(paragraph.text) == len(paragraph.marks) and paragraph.text for paragraph in shown
        )
        marks = np.concatenate([np.append(paragraph.marks, (0, 0)) for paragraph in shown])[:-2]
        ended = np.flatnonzero(marks % EXPANDED == SENTENCE)
        assert len(ended) == len(document)
        assert all(not text[place].isspace() for place in np.flatnonzero(marks))
        letters = "".join(text.split()).lower().replace("’", "'").replace(".", "")
        assert letters == "".join("".join(gold.text.split()) for gold in document).lower().replace(
            ".", ""
        )
        seen |= {"wrapped"} if "Va\nau" in text else set()
        seen |= {"lower"} if text.islower() else {"upper"} if text.isupper() else set()
        seen |= {"lines"} if "\n" in text and "\n\n" not in text else set()
        seen |= {"one line"} if "\n" not in text else set()
        seen |= {"unfinished"} if "port " in text else set()
        seen |= {"wide"} if ".  " in text else set()
    assert seen == {"wrapped", "lower", "upper", "lines", "one line", "unfinished", "wide"}
