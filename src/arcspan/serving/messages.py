"""Requests and answers of `POST /parse`."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from arcspan.parser import Parse

Layout = Literal["wide", "tall"]


class ParseRequest(BaseModel):
    """Text, or words; and what to say about them."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"text": "Logic plays a maximal role here."},
                {"words": [["Logic", "plays", "a", "role"]], "k": 3, "confidence": True},
            ]
        },
    )

    text: str | None = Field(None, description="Raw text; the server splits it into sentences and words.")
    words: list[str] | list[list[str]] | None = Field(
        None, description="One sentence in words, or a list of such sentences; words are never split."
    )
    k: int = Field(1, ge=1, description="How many of the best trees to give for each sentence.")
    confidence: bool = Field(False, description="Whether to give the probability of every span and arc.")
    svg: list[Layout] = Field([], description='Pictures to give: "wide", "tall" (one word a line), or both.')

    @field_validator("words", mode="before")
    @classmethod
    def _sentences(cls, words: Any) -> Any:
        """Check here, for one clear message: pydantic reports both branches of a union."""
        if words is None:
            return None
        if not isinstance(words, list):
            raise ValueError("give a list of words, or a list of such lists")
        sentences = words if words and isinstance(words[0], list) else [words] if words else []
        for number, sentence in enumerate(sentences, 1):
            if not isinstance(sentence, list) or not sentence:
                raise ValueError(f"sentence {number} is not a list of at least one word")
            for place, word in enumerate(sentence, 1):
                if not isinstance(word, str) or not word.strip():
                    raise ValueError(
                        f"sentence {number}, word {place} is not a string with a visible character"
                    )
        return sentences

    @model_validator(mode="after")
    def _text_or_words(self) -> ParseRequest:
        if (self.text is None) == (self.words is None):
            raise ValueError('give either "text" or "words"')
        for text in [self.text or "", *(word for sentence in self.words or [] for word in sentence)]:
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise ValueError("half of a surrogate pair is no character: send valid Unicode")
        return self


class Confidences(BaseModel):
    """Probabilities under the model's own scores."""

    sentence: float = Field(description="That all of it is right: both trees with all labels and relations.")
    spans: list[tuple[int, int, float, float]] = Field(
        description="i, j; that these words are a constituent; that it then has its labels."
    )
    arcs: list[float] = Field(description="For each word, that its head is right.")
    relations: list[float] = Field(description="For each word, that its relation is right if its head is.")


class TreesAnswer(BaseModel):
    """One pair of trees."""

    tags: list[str] = Field(description="A part-of-speech tag for each word, of the treebank's own set.")
    upos: list[str] = Field(description="A universal part-of-speech tag for each word.")
    heads: list[int] = Field(description="The head of each word; words are 1..n, 0 is the root.")
    relations: list[str] = Field(description="The relation of each word to its head.")
    constituents: list[tuple[int, int, str]] = Field(
        description="i, j, label of each constituent, over words i+1..j; top-down, from left to right."
    )
    brackets: str = Field(description="The constituency tree in brackets.")
    conllu: str = Field(description="The dependency tree in CoNLL-U.")
    score: float | None = Field(description="In the model's own unit.")
    confidence: Confidences | None = Field(None, description="Where it was asked for and the model knows it.")
    svg: dict[str, str] | None = Field(None, description="The pictures that were asked for, by layout.")


class SentenceAnswer(TreesAnswer):
    """One sentence with its best trees."""

    text: str = Field(
        description="The sentence as it was written; its words with spaces where words were given."
    )
    words: list[str]
    offsets: list[tuple[int, int]] | None = Field(
        description="Characters (Unicode code points) of the request's text for each word; null for words."
    )
    approximate: bool = Field(description="Whether the sentence was too long for the exact search.")
    error: str | None = Field(
        None, description="Why this sentence could not be parsed; its trees say nothing then."
    )
    alternatives: list[TreesAnswer] | None = Field(
        None, description="The second best trees and so on, for k > 1."
    )


class ParseAnswer(BaseModel):
    """All sentences of a request, in order."""

    sentences: list[SentenceAnswer]


class ErrorContent(BaseModel):
    """What went wrong."""

    status: int
    code: str = Field(description="For programs.")
    message: str = Field(description="For people.")


class ErrorAnswer(BaseModel):
    """Every answer that is no success."""

    error: ErrorContent


def sentence_answer(parses: list[Parse], confidence: bool, layouts: list[Layout]) -> dict[str, Any]:
    """A sentence's k best parses as plain data (the shape of `SentenceAnswer`)."""
    best = parses[0]
    found: dict[str, Any] = {
        "text": best.text if best.text is not None else " ".join(best.words),
        "words": best.words,
        "offsets": best.offsets,
        "approximate": best.approximate,
        **_trees(best, confidence, layouts),
    }
    if best.error is not None:
        found["error"] = best.error
    if len(parses) > 1:
        found["alternatives"] = [_trees(parse, confidence, layouts) for parse in parses[1:]]
    return found


def _trees(parse: Parse, confidence: bool, layouts: list[Layout]) -> dict[str, Any]:
    sure = parse.confidence if confidence and parse.error is None else None
    found: dict[str, Any] = {
        "tags": parse.tags,
        "upos": parse.upos,
        "heads": parse.dependencies.heads,
        "relations": parse.dependencies.relations,
        "constituents": parse.constituency.spans,
        "brackets": parse.brackets(),
        "conllu": parse.conllu(),
        "score": _finite(parse.score),
    }
    if confidence:
        found["confidence"] = None if sure is None else sure.to_dict()
    if layouts:
        found["svg"] = {
            layout: parse.to_svg(layout=layout, **({} if sure is None else {"confidence": sure}))
            for layout in layouts
        }
    return found


def _finite(value: Any) -> float | None:
    """A number that JSON can write, or None."""
    return float(value) if value is not None and math.isfinite(value) else None
