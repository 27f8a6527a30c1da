"""Where a text is cut before anybody looks at its words: blank lines, and lines that stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

LONGEST = 200_000  # characters of a paragraph that are held at once

_SPACE = r"[^\S\r\n\x85\u2028]"
_LINE = r"(?:\r\n|\r(?!\n)|[\n\x85\u2028])"  # a line break
# What ends a paragraph: a blank line, a form feed, a paragraph separator. `open`: what may turn out to be a blank line
# when more of the text is there. The bound on spaces bounds how much text has to be held to know.
_GAP = re.compile(rf"{_LINE}{_SPACE}{{0,{LONGEST}}}(?:{_LINE}|(?P<open>\Z))|[\f\u2029]")
_VISIBLE = re.compile(r"\S")
blank_mark = partial(re.compile("\\A\ufeff").sub, " ")
"""The text with a space for a byte order mark at its beginning, which is not part of a word."""


class Part(NamedTuple):
    """A paragraph, or `LONGEST` characters of a longer one: where it stands, and which ends of it are here."""

    start: int
    text: str
    first: bool
    last: bool


def paragraphs(pieces: Iterable[str]) -> Iterator[Part]:
    r"""The paragraphs of a text that comes in pieces; what they are does not depend on the pieces.

    >>> [part.text for part in paragraphs(["One\n", "two\n", "\nthr", "ee"])]
    ['One\ntwo', 'three']
    """
    # text[begin:] is to be done; text[0] is the shift-th character
    text, shift, begin, first = "", 0, 0, True
    searched, inside = 0, True  # no gap begins before text[searched]; `inside` a paragraph or a gap
    for piece in pieces:
        text, shift, searched, begin = text[begin:], shift + begin, searched - begin, 0
        text += piece if shift or text else blank_mark(piece)
        while True:
            if not inside:
                visible = _VISIBLE.search(text, begin)
                begin = searched = visible.start() if visible else len(text)
                inside = visible is not None
            gap = _GAP.search(text, searched)
            searched = gap.start() if gap else len(text)
            while searched > begin + LONGEST:
                yield Part(shift + begin, text[begin : begin + LONGEST], first, False)
                begin, first = begin + LONGEST, False
            if gap is None or gap["open"] is not None:
                break
            if searched > begin:
                yield Part(shift + begin, text[begin:searched], first, True)
            begin, first, inside = gap.end(), True, False
    while begin < len(text):
        end = begin + LONGEST
        yield Part(shift + begin, text[begin:end], first, end >= len(text))
        begin, first = end, False


# A list: it begins a paragraph with a mark, and each line with such a mark is an item of its own.
_MARK = rf"(?:\d{{1,2}}[.)]|[-*•‣▪]){_SPACE}"
_LIST = re.compile(rf"\s*{_MARK}")
_NEXT_ITEM = re.compile(rf"{_LINE}(?={_SPACE}*{_MARK})")
# Lines that are not running text: fields of the head of a letter ("From: ..."), and rows of a table, whose
# cells are set apart by tabs or bars. Two of a kind, one below the other, are two sentences.
_ALONE = re.compile(
    r"[^\S\n]*(?=\S)(?:(?P<field>[A-Z][\w-]{1,20}(?: [\w-]{1,20})?:[^\S\n])|(?P<row>[^\n\t|]*(?:\S\t+\S|\|[^|\n]*\|)))"
)


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a paragraph in which sentences begin anew, each with its place: items of a list, or all of it."""
    begin = 0
    if _LIST.match(text):
        gaps = [gap.span() for gap in _NEXT_ITEM.finditer(text)]
    else:
        starts = [0, *(gap.end() for gap in re.finditer("\n", text))]
        lines = [_ALONE.match(text, start) for start in starts] if len(starts) > 1 else []
        kinds = [line and line.lastgroup for line in lines]
        pairs = zip(starts[1:], pairwise(kinds), strict=True)
        gaps = [(start - 1, start) for start, (kind, below) in pairs if kind and kind == below]
    for end, after in gaps:
        yield begin, text[begin:end]
        begin = after
    yield begin, text[begin:]
