"""Removing markup from a text before it is split, while offsets remain those of the original.

A pattern matches what is not running text; its replacement has the offsets of the whole match.
Patterns are bounded, or consume what they have looked at, so time is linear in the text.
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
"""A pattern of what is removed, and its replacement."""

# Elements that end a paragraph; others stand inside one.
_BLOCKS = word_set(
    "address article aside blockquote body caption center dd div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 head header hr html li main nav ol option p pre section table "
    "tbody td tfoot th thead title tr ul"
)


def _tag_replacement(match: re.Match[str]) -> str:
    """Return the line breaks that a tag of HTML stands for."""
    name = (match["name"] or "").lower()
    if name in _BLOCKS:
        return "\n\n"
    return "\n" if name == "br" else ""


def _entity_replacement(match: re.Match[str]) -> str:
    """Return the character of an entity; a no-break space becomes a plain one."""
    return html.unescape(match[0]).replace("\xa0", " ")


def _joined_replacement(match: re.Match[str]) -> str:
    """Return the first letter after a hyphen at the end of a line, with the hyphen before a
    capital.
    """
    letter = match["letter"]
    return letter if letter.islower() else "-" + letter


RULES: dict[str, tuple[Rule, ...]] = {
    "html": (
        (r"<!--(?:[^-]|-(?!->))*(?:-->|\Z)", ""),
        (r"(?is)<(script|style)\b[^<>]{0,2000}>.*?(?:</\1\s{0,9}>|\Z)", ""),
        (
            r"</?(?P<name>[A-Za-z][A-Za-z0-9]{0,20})\b[^<>]{0,2000}>|<![^<>]{0,2000}>",
            _tag_replacement,
        ),
        (
            r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
            _entity_replacement,
        ),
    ),
    # A word that was divided at the end of a line; before a capital letter the hyphen belongs to
    # the word.
    "hyphens": (
        (
            r"(?<=[^\W\d_])[-\xad‐][ \t]{0,9}\r?\n[ \t]{0,99}(?P<letter>[^\W\d_])",
            _joined_replacement,
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
    # "[12:01] Ann: hello", "<ann> hello": each message begins a paragraph.
    "chat": (
        (
            r"(?m)^[ \t]{0,9}(?:[\[(]?(?:\d{1,4}[-/.]\d\d?[-/.]\d{1,4},? )?\d\d?:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?"
            r"[\])]?[ \t]{0,9}(?:-[ \t])?)?(?:<[^<>\n]{1,40}>|[^\W\d_][\w.'-]{0,30}(?: [\w.'-]{1,30})?:)[ \t]",
            "\n\n",
        ),
    ),
}


class CleanText:
    """A text without its markup; each character has its start and end in the original."""

    def __init__(self, original: str, kinds: Iterable[str]) -> None:
        self.original = original
        self.text = original
        self._starts = np.arange(len(original))
        self._ends = self._starts + 1
        for kind in kinds:
            if kind not in RULES:
                raise ArcspanError(
                    f"there are rules to remove {', '.join(RULES)} from a text, not {kind!r}"
                )
            for rule in RULES[kind]:
                self._replace(*rule)

    def _replace(self, pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> None:
        """Replace the matches of a pattern; characters of a replacement get the offsets of the
        match.
        """
        texts: list[str] = []
        starts: list[np.ndarray] = []
        ends: list[np.ndarray] = []
        copied = 0  # the text before this character is in the lists
        for match in re.finditer(pattern, self.text):
            match_start, match_end = match.span()
            new = replacement if isinstance(replacement, str) else replacement(match)
            texts += [self.text[copied:match_start], new]
            starts.append(self._starts[copied:match_start])
            starts.append(np.full(len(new), self._starts[match_start]))
            ends.append(self._ends[copied:match_start])
            ends.append(np.full(len(new), self._ends[match_end - 1]))
            copied = match_end
        if copied:
            self.text = "".join([*texts, self.text[copied:]])
            self._starts = np.concatenate([*starts, self._starts[copied:]])
            self._ends = np.concatenate([*ends, self._ends[copied:]])

    def sentences(self, segmenter: BaseSegmenter) -> Iterator[Sentence]:
        """Yield the sentences of the remaining text, with the offsets of the original."""
        for sentence in segmenter.stream([self.text]):
            offsets = tuple(
                (int(self._starts[start]), int(self._ends[end - 1]))
                for start, end in sentence.offsets
            )
            yield replace(
                sentence, offsets=offsets, text=self.original[offsets[0][0] : offsets[-1][1]]
            )


def clean_sentences(segmenter: BaseSegmenter, text: str, kinds: Iterable[str]) -> list[Sentence]:
    """Return the sentences of a text without its markup, for `parser.pipe`.

    kinds  the rules to apply: "html", "hyphens", "subtitles", "chat"

    >>> from arcspan.segmenting import RuleSegmenter
    >>> text = "<p>R&amp;D is <b>exam-\\nple</b>.</p>"
    >>> (sentence,) = clean_sentences(RuleSegmenter(), text, ["html", "hyphens"])
    >>> sentence.words
    ('R&D', 'is', 'example', '.')
    >>> [text[start:end] for start, end in sentence.offsets]
    ['R&amp;D', 'is', 'exam-\\nple', '.']
    """
    return list(CleanText(text, kinds).sentences(segmenter))
