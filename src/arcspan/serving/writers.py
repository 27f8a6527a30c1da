"""The formats of answers: each writes the parses of one sentence as bytes, which `join` puts together."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.parser import Confidence, Parse
from arcspan.rendering import Layout, to_pdf, to_png
from arcspan.serving.messages import ParseRequest
from arcspan.syntax import TreeQuery

MOST_STEPS = 20_000  # of a query in one tree, about 50 milliseconds
JSON = "application/json"
CONLLU = "text/x-conllu"
FILES: dict[str, Callable[[Parse], str]] = {
    CONLLU: Parse.conllu,
    "text/x-brackets": lambda parse: parse.brackets() + "\n",
}
PICTURES = ("image/svg+xml", "image/png", "application/pdf", "application/x-tex")
CONVERTED = ("image/png", "application/pdf")  # need the extra `pictures`
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
FORMATS = (*FILES, *PICTURES)  # besides JSON


class AnswerWriter:
    """The writer of one request's answer, in one of `FORMATS`, or in JSON if the media type is ""."""

    def __init__(self, request: ParseRequest, media_type: str, max_words_beyond: int) -> None:
        self.request = request
        self.media_type = media_type
        self.max_words_beyond = max_words_beyond
        self._query = None if request.find is None else TreeQuery(request.find, steps=MOST_STEPS)

    def __call__(self, parses: list[Parse]) -> bytes:
        """Write the k best parses of a sentence."""
        if self.media_type in FILES:
            return "".join(map(FILES[self.media_type], parses)).encode("utf-8")
        if self.media_type in PICTURES:
            return self._picture(parses)
        content = self._sentence(parses)
        compact = (",", ":")
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=compact).encode(
            "utf-8"
        )

    def join(self, texts: Sequence[Sequence[bytes]]) -> bytes:
        """Put the sentences of each text together."""
        has_list = isinstance(self.request.text, list)
        names = self.request.documents
        if self.media_type == CONLLU and names:
            return b"".join(map(name_sentences, names, texts))
        if self.media_type:
            begin = b"# newdoc\n" if self.media_type == CONLLU and has_list else b""
            return b"".join(begin + b"".join(pieces) for pieces in texts if pieces)
        answers = []
        for number, pieces in enumerate(texts):
            name = f'"document":{json.dumps(names[number])},' if names else ""
            answers.append(b'{%s"sentences":[%s]}' % (name.encode(), b",".join(pieces)))
        return b'{"texts":[%s]}' % b",".join(answers) if has_list else answers[0]

    def _sentence(self, parses: list[Parse]) -> dict[str, Any]:
        """Return the parses of a sentence in the shape of `SentenceAnswer`."""
        request = self.request
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
        confidence = self._confidence(parse)
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
            trees["svg"] = {layout: self._svg(parse, layout, confidence) for layout in request.svg}
        return trees

    def _picture(self, parses: list[Parse]) -> bytes:
        """Draw the tree of the request's rank."""
        request = self.request
        if request.rank > len(parses):
            raise ArcspanError(
                f"rank: there are {len(parses)} trees, not {request.rank}; k is their number"
            )
        parse = parses[request.rank - 1]
        if self.media_type == "application/x-tex":
            return parse.to_tikz(layers=request.layers).encode("utf-8")
        layout = request.svg[0] if request.svg else "auto"
        svg = self._svg(parse, layout, self._confidence(parse))
        if self.media_type == "image/png":
            return to_png(svg)
        return to_pdf(svg) if self.media_type == "application/pdf" else svg.encode("utf-8")

    def _confidence(self, parse: Parse) -> Confidence | None:
        is_short = len(parse.words) <= self.max_words_beyond
        return (
            parse.confidence if self.request.confidence and is_short and not parse.error else None
        )

    def _svg(self, parse: Parse, layout: Layout, confidence: Confidence | None) -> str:
        request = self.request
        return parse.to_svg(
            layout=layout,
            confidence=confidence,
            width=request.width,
            layers=request.layers,
            heads=request.heads,
            colours=request.colours,
        )


def name_sentences(document: str, sentences: Sequence[bytes]) -> bytes:
    r"""Add ids to a document in CoNLL-U; each of its sentences may have several parses.

    >>> name_sentences("a", [b"1\tGo\n\n1\tGo\n\n"])
    b'# newdoc id = a\n# sent_id = a-1\n1\tGo\n\n# sent_id = a-1-2\n1\tGo\n\n'
    """
    blocks = [f"# newdoc id = {document}\n".encode()] if sentences else []
    for number, parses in enumerate(sentences, 1):
        for rank, parse in enumerate(parses.split(b"\n\n")[:-1], 1):
            name = f"{document}-{number}"
            if rank > 1:
                name += f"-{rank}"
            blocks.append(f"# sent_id = {name}\n".encode() + parse + b"\n\n")
    return b"".join(blocks)
