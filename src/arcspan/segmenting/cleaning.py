"""Markup taken out of a text before it is split, with every word where it stood in the original.

A pattern finds what is not running text, and what stands in its place keeps the place of the whole match. Patterns
are bounded, or take what they have looked at, so time is linear in the text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from arcspan.errors import ArcspanError
from arcspan.segmenting.base import BaseSegmenter
from arcspan.segmenting.sentence import Sentence
from arcspan.segmenting.stops import word_set

Rule = tuple[str, str | Callable[[re.Match[str]], str]]
"""A pattern of what is taken out, and what stands in its place."""

# Elements that end a paragraph; others stand inside one.
_BLOCKS = word_set(
    "address article aside blockquote body caption center dd div dl dt fieldset figcaption figure footer form h1 h2 h3 "
    "h4 h5 h6 head header hr html li main nav ol option p pre section table tbody td tfoot th thead title tr ul"
)


def _tag(found: re.Match[str]) -> str:
    name = (found[1] or "").lower()
    return "\n\n" if name in _BLOCKS else "\n" if name == "br" else ""


RULES: dict[str, tuple[Rule, ...]] = {
    "html": (
        (r"<!--(?:[^-]|-(?!->))*(?:-->|\Z)", ""),
        (r"(?is)<(script|style)\b[^<>]{0,2000}>.*?(?:</\1\s{0,9}>|\Z)", ""),
        (r"</?([A-Za-z][A-Za-z0-9]{0,20})\b[^<>]{0,2000}>|<![^<>]{0,2000}>", _tag),
        (
            r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
            lambda found: html.unescape(found[0]).replace("\xa0", " "),
        ),
    ),
    # A word that was divided at the end of a line; what goes on with a capital letter was written with the hyphen.
    "hyphens": (
        (
            r"(?<=[^\W\d_])[-\xad‐][ \t]{0,9}\r?\n[ \t]{0,99}([^\W\d_])",
            lambda found: found[1] if found[1].islower() else "-" + found[1],
        ),
        ("\xad", ""),
    ),
    # Numbers and times of SubRip and WebVTT; a sentence may go on in the next subtitle.
    "subtitles": (
        (r"\AWEBVTT[^\n]{0,200}\n", ""),
        (
            r"(?m)(?:(?:\r?\n){2})?^(?:\d{1,6}[ \t]{0,9}\r?\n)?"
            r"(?:\d{1,3}:)?\d\d:\d\d[,.]\d{3}[ \t]{1,9}-->[^\n]{0,200}(?:\n|\Z)",
            "\n",
        ),
    ),
    # "[12:01] Ann: hello", "<ann> hello": what somebody says begins a paragraph.
    "chat": (
        (
            r"(?m)^[ \t]{0,9}(?:[\[(]?(?:\d{1,4}[-/.]\d\d?[-/.]\d{1,4},? )?\d\d?:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?"
            r"[\])]?[ \t]{0,9}(?:-[ \t])?)?(?:<[^<>\n]{1,40}>|[^\W\d_][\w.'-]{0,30}(?: [\w.'-]{1,30})?:)[ \t]",
            "\n\n",
        ),
    ),
}


class CleanText:
    """A text from which something was taken out; each character has its place in the original."""

    def __init__(self, original: str, kinds: Iterable[str]) -> None:
        self.original = self.text = original
        self._starts = np.arange(len(original))
        self._ends = self._starts + 1
        for kind in kinds:
            if kind not in RULES:
                raise ArcspanError(
                    f"what can be taken out of a text is {', '.join(RULES)}, not {kind!r}"
                )
            for rule in RULES[kind]:
                self._replace(*rule)

    def _replace(self, pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> None:
        texts: list[str] = []
        places: list[tuple[np.ndarray, np.ndarray]] = []
        end = 0
        for found in re.finditer(pattern, self.text):
            start, stop = found.span()
            new = replacement if isinstance(replacement, str) else replacement(found)
            texts += [self.text[end:start], new]
            places.append((self._starts[end:start], self._ends[end:start]))
            places.append(
                (np.full(len(new), self._starts[start]), np.full(len(new), self._ends[stop - 1]))
            )
            end = stop
        if end:
            places.append((self._starts[end:], self._ends[end:]))
            self.text = "".join([*texts, self.text[end:]])
            self._starts, self._ends = (
                np.concatenate(parts) for parts in zip(*places, strict=True)
            )

    def sentences(self, segmenter: BaseSegmenter) -> Iterator[Sentence]:
        """The sentences of the text that is left, with the offsets of the original."""
        for sentence in segmenter.stream([self.text]):
            offsets = tuple(
                (int(self._starts[start]), int(self._ends[end - 1]))
                for start, end in sentence.offsets
            )
            yield replace(
                sentence, offsets=offsets, text=self.original[offsets[0][0] : offsets[-1][1]]
            )


def clean_sentences(segmenter: BaseSegmenter, text: str, kinds: Iterable[str]) -> list[Sentence]:
    """The sentences of a text without its markup, "html", "hyphens", "subtitles" or "chat"; `parser.pipe` takes them.

    >>> from arcspan.segmenting import RuleSegmenter
    >>> text = "<p>R&amp;D is <b>exam-\\nple</b>.</p>"
    >>> (sentence,) = clean_sentences(RuleSegmenter(), text, ["html", "hyphens"])
    >>> sentence.words
    ('R&D', 'is', 'example', '.')
    >>> [text[start:end] for start, end in sentence.offsets]
    ['R&amp;D', 'is', 'exam-\\nple', '.']
    """
    return list(CleanText(text, kinds).sentences(segmenter))
