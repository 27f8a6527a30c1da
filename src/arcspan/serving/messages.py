"""Requests and answers of `POST /parse`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, field_validator, model_validator

from arcspan.errors import ArcspanError
from arcspan.parser import Confidence, Parse
from arcspan.rendering import Colours, Layer, Layout, to_pdf, to_png
from arcspan.syntax import TreeQuery

MOST_STEPS = 20_000  # of a query in one tree, about 50 milliseconds

Constraint = Annotated[list[int | str], Field(min_length=1, max_length=4)]
Constraints = Annotated[list[Constraint], Field(max_length=1_000)]
Weight = Annotated[float, Field(ge=-1_000, le=1_000, strict=False)]
Preference = Annotated[list[Constraint | Weight], Field(min_length=2, max_length=2)]
Preferences = Annotated[list[Preference], Field(max_length=1_000)]


class ParseRequest(BaseModel):
    """Text, or words; and what to say about them.

    Requests are checked in the thread that answers all clients, and pydantic reports every problem of every branch of
    a union. So what may hold a hundred thousand problems is checked here, up to the first one.
    """

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"text": "Logic plays a maximal role here."},
                {"words": [["Logic", "plays", "a", "role"]], "k": 3, "confidence": True},
                {
                    "words": ["Logic", "plays", "a", "role"],
                    "require": [[2, 4, "NP"]],
                    "forbid": [["arc", 4, 1]],
                },
            ]
        },
    )

    text: SkipValidation[str | list[str] | None] = Field(
        None,
        description="Raw text, or a list of texts; the server splits them into sentences and words.",
    )
    words: SkipValidation[list[str] | list[list[str]] | None] = Field(
        None,
        description="One sentence in words, or a list of such sentences; words are never split.",
    )
    document: SkipValidation[str | list[str] | None] = Field(
        None, description="The text's name, or a list with one name per text, for ids in CoNLL-U."
    )
    k: int = Field(1, ge=1, description="How many of the best trees to give for each sentence.")
    confidence: bool = Field(
        False, description="Whether to give the probability of every span and arc."
    )
    syntax: bool = Field(
        False, description="Whether to give clauses, coordinations, noun phrases and verb groups."
    )
    find: str | None = Field(
        None,
        max_length=1_000,
        description="A query over the trees, such as NP <# {lemma:role}; sentences in JSON have its matches.",
    )
    style: str | None = Field(
        None,
        description="Whose conventions to follow, of those that /health names; null for the default.",
    )
    one_sentence: bool = Field(
        False, description="Whether each text is one sentence, whatever it looks like."
    )
    require: Constraints = Field(
        [],
        description="What the trees of the one sentence must have: [i, j] or [i, j, label] for a constituent over "
        'words i+1..j, ["arc", head, word] or ["arc", head, word, relation], ["head", i, j, head], ["root", word], '
        '["tag", word, tag].',
    )
    forbid: Constraints = Field([], description="What they must not have, written in the same way.")
    prefer: Preferences = Field(
        [],
        description="What they should have: pairs of a constraint and a weight. Trees that meet it are e^weight times "
        "as likely as they were.",
    )
    svg: list[Layout] = Field(
        [],
        max_length=8,
        description='Pictures to give: "wide", "tall" (one word per line), "indented" (a list, for narrow pages), or '
        '"auto", the first of them that is not wider than `width`.',
    )
    width: int = Field(1200, ge=100, le=100_000, description="For pictures, in pixels.")
    layers: Layer | None = Field(None, description="The one tree to draw; null for both.")
    heads: bool = Field(True, description="Whether pictures show the head of every constituent.")
    colours: Colours = Field(
        "auto",
        description='Of pictures: "auto" follows the dark mode, "light" does not, "black" is black and white.',
    )
    rank: int = Field(
        1,
        ge=1,
        description="Which of the k best trees to draw, where Accept names a picture's format.",
    )

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, given: Any) -> Any:
        if isinstance(given, dict) and (unknown := given.keys() - cls.model_fields.keys()):
            name = (
                min(unknown).encode("utf-8", "backslashreplace").decode()
            )  # half a surrogate pair
            raise ValueError(f"{name}: not a field of a request")
        return given

    @field_validator("text", "document", mode="before")
    @classmethod
    def _texts(cls, text: Any) -> Any:
        if text is not None and not all(
            isinstance(one, str) for one in (text if isinstance(text, list) else [text])
        ):
            raise ValueError("give a string, or a list of strings")
        return text

    @field_validator("words", mode="before")
    @classmethod
    def _sentences(cls, words: Any) -> Any:
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

    @field_validator("find")
    @classmethod
    def _pattern(cls, find: str | None) -> str | None:
        if find is not None:
            TreeQuery(find)  # an error points at the place
        return find

    @field_validator("svg", "require", "forbid")
    @classmethod
    def _once(cls, given: list[Any]) -> list[Any]:
        return list({repr(one): one for one in given}.values())

    @model_validator(mode="after")
    def _text_or_words(self) -> ParseRequest:
        if (self.text is None) == (self.words is None):
            raise ValueError('give either "text" or "words"')
        texts = self.text if isinstance(self.text, list) else None
        if self.document is not None and (
            isinstance(self.document, str) != (texts is None)
            or len(self.documents) != len(texts or [""])
            or not all(
                len(name) <= 200 and name.isprintable() and name.strip() for name in self.documents
            )
        ):
            raise ValueError(
                "document: give one name per text, each of 1 to 200 characters without line breaks"
            )
        try:
            for text in self.texts or ["".join(words) for words in self.words or []]:
                text.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(
                "half of a surrogate pair is not a character: send valid Unicode"
            ) from None
        return self

    @property
    def texts(self) -> list[str]:
        """The texts, where there are any."""
        return [self.text] if isinstance(self.text, str) else self.text or []

    @property
    def documents(self) -> list[str]:
        """The names of the texts, where they have any."""
        return [self.document] if isinstance(self.document, str) else self.document or []


class Confidences(BaseModel):
    """Probabilities under the model's own scores."""

    sentence: float = Field(
        description="That all of it is right: both trees with all labels and relations."
    )
    constituency: float = Field(description="That the constituency tree is right, with all labels.")
    dependency: float = Field(description="That the dependency tree is right, with all relations.")
    spans: list[tuple[int, int, float, float]] = Field(
        description="i, j; that these words are a constituent; that it then has its labels."
    )
    arcs: list[float] = Field(description="For each word, that its head is right.")
    relations: list[float] = Field(
        description="For each word, that its relation is right if its head is."
    )


class TreesAnswer(BaseModel):
    """One pair of trees."""

    tags: list[str] = Field(
        description="A part-of-speech tag for each word, of the treebank's own set."
    )
    upos: list[str] = Field(description="A universal part-of-speech tag for each word.")
    lemmas: list[str] = Field(description='A lemma for each word; "" where the model gives none.')
    features: list[str] = Field(
        description='Morphological features for each word, such as "Number=Sing".'
    )
    heads: list[int] | None = Field(
        description="The head of each word; words are 1..n, 0 is the root. Null from a model without dependencies."
    )
    relations: list[str] | None = Field(description="The relation of each word to its head.")
    constituents: list[tuple[int, int, str]] | None = Field(
        description="i, j, label of each constituent, over words i+1..j; top-down, from left to right. Null from a "
        "model without constituents."
    )
    brackets: str | None = Field(description="The constituency tree in brackets.")
    conllu: str | None = Field(description="The dependency tree in CoNLL-U.")
    score: float | None = Field(description="In the model's own unit.")
    rank: int | None = Field(
        None, description="1 for the best trees, 2 for the second best, where k > 1."
    )
    confidence: Confidences | None = Field(
        None, description="Where it was asked for and the model knows it."
    )
    syntax: dict[str, list[dict[str, Any]]] | None = Field(
        None,
        description="Where it was asked for: clauses, coordinations, noun_phrases, verb_groups, with their spans.",
    )
    matches: list[dict[str, Any]] | None = Field(
        None,
        description="Of `find`: label, text and span (i, j) of each node that fits, its word (0 for a constituent), "
        "head word and place in the text, and the nodes that the query names.",
    )
    svg: dict[str, str] | None = Field(
        None, description="The pictures that were asked for, by layout."
    )


class SentenceAnswer(TreesAnswer):
    """One sentence with its best trees."""

    text: str = Field(
        description="The sentence as it was written; its words with spaces where words were given."
    )
    words: list[str]
    offsets: list[tuple[int, int]] | None = Field(
        description="Characters (Unicode code points) of the request's text for each word; null for words."
    )
    multiword: list[tuple[int, int, str]] = Field(
        description="Tokens of several words, such as can't: first word, last word (from 1), form."
    )
    paragraph: bool = Field(description="Whether a paragraph of the text begins with the sentence.")
    space_after: bool = Field(description="Whether white space follows the sentence in the text.")
    approximate: bool = Field(description="Whether the sentence was too long for the exact search.")
    reason: str | None = Field(
        None, description="Why there are fewer trees than asked for, or no confidence."
    )
    error: str | None = Field(
        None, description="Why this sentence could not be parsed; its trees say nothing then."
    )
    alternatives: list[TreesAnswer] | None = Field(
        None, description="The second best trees and so on, for k > 1."
    )


class ParseAnswer(BaseModel):
    """All sentences of a request, in order."""

    document: str | None = Field(None, description="The name that the request gives the text.")
    sentences: list[SentenceAnswer]


class TextsAnswer(BaseModel):
    """Where a list of texts was given: the sentences of each, in order."""

    texts: list[ParseAnswer]


class ErrorContent(BaseModel):
    """What went wrong."""

    status: int
    code: str = Field(description="For programs.")
    message: str = Field(description="For people.")


class ErrorAnswer(BaseModel):
    """Every answer but a success."""

    error: ErrorContent


Write = Callable[[list[Parse]], bytes]


def _json(request: ParseRequest, max_words_beyond: int) -> Write:
    """A function that writes a sentence's parses as JSON, in the shape of `SentenceAnswer`."""
    query = None if request.find is None else TreeQuery(request.find, steps=MOST_STEPS)

    def write(parses: list[Parse]) -> bytes:
        short = len(parses[0].words) <= max_words_beyond
        trees = [_trees(parse, request, short, query) for parse in parses]
        found, own = trees[0], TreesAnswer.model_fields
        if len(parses) > 1:
            found["alternatives"] = [
                {name: one[name] for name in own if name in one} for one in trees[1:]
            ]
        if not short and (request.k > 1 or request.confidence):
            found["reason"] = (
                f"a sentence of {len(parses[0].words)} words: this server gives other trees than the best, and "
                f"probabilities, for up to {max_words_beyond} words"
            )
        elif request.confidence and found["confidence"] is None and parses[0].error is None:
            found["reason"] = (
                "this sentence is too long to sum over all its trees in the memory that there is"
            )
        return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
            "utf-8"
        )

    return write


def name_sentences(document: str, sentences: list[bytes]) -> bytes:
    r"""A document in CoNLL-U, with ids; each of its sentences may have several parses.

    >>> name_sentences("a", [b"1\tGo\n\n1\tGo\n\n"])
    b'# newdoc id = a\n# sent_id = a-1\n1\tGo\n\n# sent_id = a-1-2\n1\tGo\n\n'
    """
    found = [f"# newdoc id = {document}\n".encode()] if sentences else []
    for number, parses in enumerate(sentences, 1):
        for rank, parse in enumerate(parses.split(b"\n\n")[:-1], 1):
            name = f"{document}-{number}" + (f"-{rank}" if rank > 1 else "")
            found.append(f"# sent_id = {name}\n".encode() + parse + b"\n\n")
    return b"".join(found)


FILES: dict[str, Write] = {
    "text/x-conllu": lambda parses: "".join(parse.conllu() for parse in parses).encode("utf-8"),
    "text/x-brackets": lambda parses: "".join(parse.brackets() + "\n" for parse in parses).encode(
        "utf-8"
    ),
}
PICTURES = ("image/svg+xml", "image/png", "application/pdf", "application/x-tex")
FORMATS = (*FILES, *PICTURES)  # besides JSON


def writer(request: ParseRequest, kind: str, max_words_beyond: int) -> Write:
    """A function that writes a sentence's parses in one of `FORMATS`, or in JSON where the kind is ""."""
    if kind in FILES:
        return FILES[kind]
    return _picture(request, kind, max_words_beyond) if kind else _json(request, max_words_beyond)


def _picture(request: ParseRequest, kind: str, max_words_beyond: int) -> Write:
    """A function that draws the tree of the request's rank."""

    def write(parses: list[Parse]) -> bytes:
        if request.rank > len(parses):
            raise ArcspanError(
                f"rank: there are {len(parses)} trees, not {request.rank}; k says how many are found"
            )
        parse = parses[request.rank - 1]
        if kind == "application/x-tex":
            return parse.to_tikz(layers=request.layers).encode("utf-8")
        short = len(parse.words) <= max_words_beyond
        svg = _svg(
            parse, request, request.svg[0] if request.svg else "auto", _sure(parse, request, short)
        )
        return {"image/png": to_png, "application/pdf": to_pdf}.get(kind, str.encode)(svg)

    return write


def _sure(parse: Parse, request: ParseRequest, short: bool) -> Confidence | None:
    return parse.confidence if request.confidence and short and parse.error is None else None


def _svg(parse: Parse, request: ParseRequest, layout: Layout, sure: Confidence | None) -> str:
    look = {name: getattr(request, name) for name in ("width", "layers", "heads", "colours")}
    return parse.to_svg(layout=layout, confidence=sure, **look)


def _trees(
    parse: Parse, request: ParseRequest, short: bool, query: TreeQuery | None
) -> dict[str, Any]:
    sure = _sure(
        parse, request, short
    )  # before what follows, which gives probabilities where they are known
    found = parse.to_dict(syntax=request.syntax)
    found["conllu"] = parse.conllu() if "dependency" in parse.layers else None
    if not math.isfinite(parse.score):
        found["score"] = None  # JSON has no name for it
    if request.confidence:
        found["confidence"] = None if sure is None else sure.to_dict()
    if query is not None:
        matches = parse.find(query) if parse.error is None else []
        found["matches"] = [match.to_dict(probabilities=sure is not None) for match in matches]
    if request.svg:
        found["svg"] = {layout: _svg(parse, request, layout, sure) for layout in request.svg}
    return found
