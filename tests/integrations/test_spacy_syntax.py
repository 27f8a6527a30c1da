"""Noun chunks, clauses and coordinations of Docs with Universal Dependencies."""

from __future__ import annotations

import itertools

import pytest

spacy = pytest.importorskip("spacy", reason="spaCy is not installed (arcspan[spacy])")

from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc, DocBin  # noqa: E402


@pytest.fixture(scope="module")
def nlp() -> Language:
    """A pipeline with the English model inside the package."""
    nlp = spacy.blank("en")
    nlp.add_pipe("arcspan", config={"threads": 1})
    return nlp


def chunks(doc: Doc) -> list[str]:
    return [chunk.text for chunk in doc.noun_chunks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Mary gave the old man a red apple in the park.",
            ["Mary", "the old man", "a red apple", "the park"],
        ),
        ("He is a very good doctor.", ["He", "a very good doctor"]),
        (
            "John's dog barked at the three cats and a bird.",
            ["John's dog", "the three cats", "a bird"],
        ),
        ("The city council of New York met on Monday.", ["The city council", "New York", "Monday"]),
        ("Run!", []),
    ],
)
def test_the_chunks_of_a_sentence_are_its_nouns_with_what_belongs_to_them(
    nlp: Language, text: str, expected: list[str]
) -> None:
    """Of the first sentence, spaCy's own rules found one chunk of four."""
    assert chunks(nlp(text)) == expected


def test_chunks_do_not_overlap_and_survive_the_way_through_bytes(nlp: Language) -> None:
    doc = nlp(
        "The old astronomer, who lived near the river bank, saw a strange light with his new telescope."
    )
    bounds = [(chunk.start, chunk.end) for chunk in doc.noun_chunks]
    assert (
        all(end <= start for (_, end), (start, _) in itertools.pairwise(bounds))
        and len(bounds) >= 4
    )
    (restored,) = DocBin(docs=[doc]).get_docs(nlp.vocab)
    assert chunks(restored) == chunks(doc)
    assert next(chunk.text for chunk in doc[:6].noun_chunks) == "The old astronomer"


def test_clauses_and_coordinations_have_the_tokens_of_the_doc(nlp: Language) -> None:
    doc = nlp("It rained.  The old men and women who lived here bought and sold cars.")
    rained, bought, lived, sold = doc._.clauses
    assert (lived.kind, lived.subject.head, lived.text) == ("relative", doc[9], "who lived here")
    assert sold.subject.tokens == list(doc[4:12]) and [o.text for o in sold.objects] == ["cars"]
    assert doc.text[bought.start : bought.end] == bought.text
    assert [c.coordinator.i for c in doc._.coordinations] == [7, 13]
    assert [phrase.text for phrase in doc._.noun_phrases("maximal")][1:] == [
        "The old men and women who lived here",
        "cars",
    ]
    sentence = next(iter(doc.sents))
    assert [verb.text for verb in sentence._.verb_groups] == ["rained"] and rained.parent is None
