"""Write answers: the parses of each sentence as bytes, which `join` puts together.

JSON is written here; all other formats are those of `arcspan.formats` with a media type.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.formats import FORMATS, Entry, Format, OutputOptions, formats_with
from arcspan.parser import Parse, Sentence
from arcspan.serving.messages import ParseRequest
from arcspan.syntax import TreeQuery

MOST_STEPS = 20_000  # of a query in one tree, about 50 milliseconds
JSON = "application/json"
# Fields of a sentence that its alternative trees do not repeat.
OF_SENTENCES = (
    "text",
    "words",
    "offsets",
    "multiword",
    "paragraph",
    "space_after",
    "approximate",
    "error",
)


def output_options(request: ParseRequest) -> OutputOptions:
    """Return the options of output that a request sets."""
    return OutputOptions(
        syntax=request.syntax,
        confidence=request.confidence,
        # JSON may have several layouts; a picture has the first.
        layout=request.svg[0] if request.svg else "auto",
        layers=request.layers,
        heads=request.heads,
        colours=request.colours,
        width=request.width,
    )


def check_options(request: ParseRequest, format: Format | None) -> None:
    """Raise ArcspanError for an option that the format does not take.

    JSON (None) takes all but rank.
    """
    if request.rank > 1 and (format is None or not format.is_picture):
        raise ArcspanError("rank: only a picture shows one of the k best trees")
    if format is None:
        return
    if request.find is not None:
        raise ArcspanError(f"find: only {JSON} has matches, not {format.media_type}")
    option = format.unused_option(output_options(request))
    if option is not None:
        # The field `svg` names layouts.
        field = "svg" if option == "layout" else option
        media_types = [other.media_type for other in formats_with(option) if other.media_type]
        names = ", ".join([JSON, *media_types])
        raise ArcspanError(f"{field}: {format.media_type} has no such option, only {names}")


class AnswerWriter:
    """The writer of one request's answer.

    texts   the sentences of each text
    format  None for JSON
    """

    def __init__(
        self,
        request: ParseRequest,
        texts: Sequence[Sequence[Sentence]],
        format: Format | None,
        max_words_beyond: int,
    ) -> None:
        self.request = request
        self.format = format
        self.max_words_beyond = max_words_beyond
        self._options = output_options(request)
        self._query = None if request.find is None else TreeQuery(request.find, steps=MOST_STEPS)
        # The document of each sentence, and its number there from 1.
        self._positions: list[tuple[str | None, int]] = []
        names: Sequence[str | None] = request.documents or [None] * len(texts)
        for name, sentences in zip(names, texts, strict=True):
            self._positions += [(name, number) for number in range(1, len(sentences) + 1)]

    def __call__(self, index: int, parses: list[Parse]) -> bytes:
        """Write the k best parses of the sentence of that index in the request."""
        if self.format is None:
            content = self._sentence(parses)
            compact = (",", ":")
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=compact)
            return text.encode("utf-8")
        if self.format.is_picture:
            rank = self.request.rank
            if rank > len(parses):
                raise ArcspanError(
                    f"rank: there are {len(parses)} trees, not {rank}; k is their number"
                )
            parses = [parses[rank - 1]]
        document, number = self._positions[index]
        # A single text without a name is no document.
        is_document = document is not None or isinstance(self.request.text, list)
        pieces = []
        for parse in parses:
            entry = Entry(
                parse,
                document,
                number=None if document is None else number,
                starts_document=is_document and number == 1,
            )
            pieces.append(self._write(self.format, entry, self._options))
        return b"".join(pieces)

    def _write(self, format: Format, entry: Entry, options: OutputOptions) -> bytes:
        assert format.write is not None
        if options.confidence and not self._has_confidence(entry.parse):
            options = replace(options, confidence=False)
        content = format.write(entry, options)
        return content.encode("utf-8") if isinstance(content, str) else content

    def join(self, texts: Sequence[Sequence[bytes]]) -> bytes:
        """Put the sentences of each text together."""
        if self.format is not None:
            return b"".join(b"".join(pieces) for pieces in texts)
        names = self.request.documents
        answers = []
        for number, pieces in enumerate(texts):
            name = f'"document":{json.dumps(names[number])},' if names else ""
            answers.append(b'{%s"sentences":[%s]}' % (name.encode(), b",".join(pieces)))
        has_list = isinstance(self.request.text, list)
        return b'{"texts":[%s]}' % b",".join(answers) if has_list else answers[0]

    def _sentence(self, parses: list[Parse]) -> dict[str, Any]:
        """Return the parses of a sentence in the shape of `SentenceAnswer`."""
        request = self.request
        # The best trees stand beside the sentence's words, the others in a list.
        best, *others = [self._trees(parse) for parse in parses]
        if others:
            for trees in others:
                for name in OF_SENTENCES:
                    trees.pop(name, None)
            best["alternatives"] = others
        length = len(parses[0].words)
        if length > self.max_words_beyond and (request.k > 1 or request.confidence):
            best["reason"] = (
                f"a sentence of {length} words: this server gives other trees than the best, and "
                f"probabilities, for up to {self.max_words_beyond} words"
            )
        elif request.confidence and best["confidence"] is None and parses[0].error is None:
            best["reason"] = (
                "this sentence is too long to sum over all its trees in the available memory"
            )
        return best

    def _trees(self, parse: Parse) -> dict[str, Any]:
        request = self.request
        # Before `to_dict`, which gives probabilities of phrases where they are known.
        confidence = parse.confidence if self._has_confidence(parse) else None
        trees = parse.to_dict(syntax=request.syntax)
        trees["conllu"] = parse.conllu() if "dependency" in parse.layers else None
        if not math.isfinite(parse.score):
            trees["score"] = None  # JSON has no name for it
        if request.confidence:
            trees["confidence"] = confidence and confidence.to_dict()
        if self._query is not None:
            matches = parse.find(self._query) if parse.error is None else []
            with_probabilities = confidence is not None
            trees["matches"] = [
                match.to_dict(probabilities=with_probabilities) for match in matches
            ]
        if request.svg:
            trees["svg"] = {}
            for layout in request.svg:
                options = replace(self._options, layout=layout)
                svg = self._write(FORMATS["svg"], Entry(parse), options)
                trees["svg"][layout] = svg.decode("utf-8")
        return trees

    def _has_confidence(self, parse: Parse) -> bool:
        """Return whether probabilities of a parse are asked for, and this server gives them."""
        is_short = len(parse.words) <= self.max_words_beyond
        return self.request.confidence and is_short and parse.error is None
