"""The requests of `POST /parse`, checked; answers are described in `page/openapi.json`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, field_validator, model_validator

from arcspan.parser import FORMS, list_forms
from arcspan.rendering import Colours, Layer, Layout
from arcspan.syntax import TreeQuery

# A keyword and the fields of the longest form.
_MOST_ITEMS = 1 + max(len(form.fields) for form in FORMS.values())
Constraint = Annotated[list[int | str], Field(min_length=1, max_length=_MOST_ITEMS)]
Constraints = Annotated[list[Constraint], Field(max_length=1_000)]
Weight = Annotated[float, Field(ge=-1_000, le=1_000, strict=False)]
Preference = Annotated[list[Constraint | Weight], Field(min_length=2, max_length=2)]
Preferences = Annotated[list[Preference], Field(max_length=1_000)]

EXAMPLES = [
    {"text": "Logic plays a maximal role here."},
    {"words": [["Logic", "plays", "a", "role"]], "k": 3, "confidence": True},
    {
        "words": ["Logic", "plays", "a", "role"],
        "require": [[2, 4, "NP"]],
        "forbid": [["arc", 4, 1]],
    },
]
LONGEST_NAME = 200  # characters of a document's name


class ParseRequest(BaseModel):
    """Text or words, with options."""

    # pydantic reports every problem of every branch of a union. So fields that can hold a hundred
    # thousand problems skip its validation, and are checked below, up to the first problem.

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        use_attribute_docstrings=True,
        json_schema_extra={"examples": EXAMPLES},
    )

    text: SkipValidation[str | list[str] | None] = None
    """Raw text, or a list of texts; the server splits them into sentences and words."""
    words: SkipValidation[list[str] | list[list[str]] | None] = None
    """One sentence in words, or a list of such sentences; words are never split."""
    document: SkipValidation[str | list[str] | None] = None
    """The text's name, or a list with one name per text, for ids in CoNLL-U."""
    k: int = Field(1, ge=1)
    """How many of the best trees to give for each sentence."""
    confidence: bool = False
    """Whether to give the probability of every span and arc."""
    syntax: bool = False
    """Whether to give clauses, coordinations, noun phrases and verb groups."""
    find: str | None = Field(None, max_length=1_000)
    """A query over the trees, such as NP <# {lemma:role}; sentences in JSON have its matches."""
    style: str | None = None
    """Whose conventions to follow, of those that /health names; null for the default."""
    one_sentence: bool = False
    """Whether each text is one sentence, whatever it looks like."""
    require: Constraints = Field(
        [],
        description="What the trees of the one sentence must have: "
        f"{list_forms('json')}. Spans cover words i+1..j and need no keyword: [i, j, label].",
    )
    forbid: Constraints = []
    """What they must not have, written in the same way."""
    prefer: Preferences = []
    """What they should have: pairs of a constraint and a weight. Trees that meet it are e^weight
    times as likely as they were."""
    svg: list[Layout] = Field([], max_length=8)
    """Pictures to give: "wide", "tall" (one word per line), "indented" (a list, for narrow pages),
    or "auto", the first of them that is not wider than `width`."""
    width: int = Field(1200, ge=100, le=100_000)
    """For pictures, in pixels."""
    layers: Layer | None = None
    """The one tree to draw; null for both."""
    heads: bool = True
    """Whether pictures show the head of every constituent."""
    colours: Colours = "auto"
    """Of pictures: "auto" follows the dark mode, "light" does not, "black" is black and white."""
    rank: int = Field(1, ge=1)
    """Which of the k best trees to draw, where Accept names a picture's format."""

    @model_validator(mode="before")
    @classmethod
    def _check_field_names(cls, fields: Any) -> Any:
        unknown = fields.keys() - cls.model_fields.keys() if isinstance(fields, dict) else ()
        if unknown:
            # Half a surrogate pair can be a name in JSON, but not be sent.
            name = min(unknown).encode("utf-8", "backslashreplace").decode()
            raise ValueError(f"{name}: not a field of a request")
        return fields

    @field_validator("text", "document", mode="before")
    @classmethod
    def _check_texts(cls, text: Any) -> Any:
        texts = text if isinstance(text, list) else [text]
        if text is not None and not all(isinstance(element, str) for element in texts):
            raise ValueError("give a string, or a list of strings")
        return text

    @field_validator("words", mode="before")
    @classmethod
    def _check_words(cls, words: Any) -> Any:
        if words is None:
            return None
        if not isinstance(words, list):
            raise ValueError("give a list of words, or a list of such lists")
        is_nested = not words or isinstance(words[0], list)
        sentences = words if is_nested else [words]
        for number, sentence in enumerate(sentences, 1):
            if not isinstance(sentence, list) or not sentence:
                raise ValueError(f"sentence {number} is not a list of at least one word")
            for position, word in enumerate(sentence, 1):
                if not isinstance(word, str) or not word.strip():
                    raise ValueError(
                        f"sentence {number}, word {position} is not a string "
                        "with a visible character"
                    )
        return sentences

    @field_validator("find")
    @classmethod
    def _check_query(cls, find: str | None) -> str | None:
        if find is not None:
            TreeQuery(find)  # raises an error that points at the position
        return find

    @field_validator("svg", "require", "forbid")
    @classmethod
    def _drop_repetitions(cls, elements: list[Any]) -> list[Any]:
        return list({repr(element): element for element in elements}.values())

    @model_validator(mode="after")
    def _check_together(self) -> ParseRequest:
        if (self.text is None) == (self.words is None):
            raise ValueError('give either "text" or "words"')
        if self.document is not None:
            self._check_documents()
        try:
            for text in self.texts or ["".join(words) for words in self.words or []]:
                text.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(
                "half of a surrogate pair is not a character: send valid Unicode"
            ) from None
        return self

    def _check_documents(self) -> None:
        # A list of texts has a list of names; a text, or all the words, has one name.
        has_list = isinstance(self.text, list)
        fits = has_list == isinstance(self.document, list)
        if has_list:
            fits = fits and len(self.documents) == len(self.texts)
        for name in self.documents:
            fits = fits and len(name) <= LONGEST_NAME and name.isprintable() and bool(name.strip())
        if not fits:
            raise ValueError(
                f"document: give one name per text, each of 1 to {LONGEST_NAME} characters "
                "without line breaks"
            )

    @property
    def texts(self) -> list[str]:
        """Return the texts as a list; empty where words are given."""
        return [self.text] if isinstance(self.text, str) else self.text or []

    @property
    def documents(self) -> list[str]:
        """Return the names of the texts as a list; empty where they have none."""
        return [self.document] if isinstance(self.document, str) else self.document or []
