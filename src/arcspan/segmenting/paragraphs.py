"""Where a text is cut before anybody looks at its words: blank lines, and lines that stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from arcspan.segmenting.sentence import Offsets

LONGEST = 200_000  # characters of a paragraph that are looked at together

# A blank line: line breaks with nothing but space between them. \r\n is one line break.
_SPACE = r"[^\S\r\n\x85\u2028]"
_LINE = r"(?:\r\n|\r(?!\n)|[\n\x85\u2028])"
_BLANK_LINE = re.compile(rf"{_LINE}{_SPACE}*{_LINE}\s*|[\f\u2029]\s*")
_VISIBLE = re.compile(r"\S")


class Part(NamedTuple):
    """A paragraph, or `LONGEST` characters of a longer one: where it stands, and which ends of it are here."""

    start: int
    text: str
    first: bool
    last: bool


def blank_mark(text: str) -> str:
    """The text with a space for a byte order mark at its beginning, which is not part of a word."""
    return " " + text[1:] if text.startswith("\ufeff") else text


def paragraphs(pieces: Iterable[str]) -> Iterator[Part]:
    r"""The paragraphs of a text that comes in pieces; what they are does not depend on the pieces.

    >>> [part.text for part in paragraphs(["One\n", "two\n", "\nthr", "ee"])]
    ['One\ntwo', 'three']
    """
    text, shift, begin, first = "", 0, 0, True
    for piece in chain(pieces, (None,)):
        searched = len(text[begin:].rstrip())  # no blank line begins before this
        text, shift, begin = text[begin:] + (piece or ""), shift + begin, 0
        if shift == 0:
            text = blank_mark(text)
        gap = _BLANK_LINE.search(text, searched)
        while begin < len(text):
            whole = gap is not None and gap.end() < len(text)  # a gap at the end may go on in the next piece
            stop = gap.start() if gap and (whole or piece is None) else len(text) if piece is None else None
            limit = begin + LONGEST
            if stop is not None and stop <= limit:
                yield Part(shift + begin, text[begin:stop], first, True)
                begin, first = (gap.end() if gap else len(text)), True
                gap = _BLANK_LINE.search(text, begin)
            elif stop is not None or _VISIBLE.search(text, limit):
                yield Part(shift + begin, text[begin:limit], first, False)
                begin, first = limit, False
            else:
                break


# A list: it begins a paragraph with a mark, and each line with such a mark is an item of its own.
_MARK = rf"{_SPACE}*(?:\d{{1,2}}[.)]|[-*•‣▪]){_SPACE}"
_LIST = re.compile(rf"\s*{_MARK}")
_NEXT_ITEM = re.compile(rf"{_LINE}(?={_MARK})")
# Lines that are not running text: fields of the head of a letter ("From: ..."), and rows of a table, whose
# cells are set apart by tabs or bars. Two of a kind, one below the other, are two sentences.
_ALONE = re.compile(
    r"[^\S\n]*(?:(?P<field>[A-Z][\w-]{1,20}(?: [\w-]{1,20})?:[^\S\n])|(?P<row>[^\n\t|]*(?:\S\t+\S|\|[^|\n]*\|)))"
)


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a paragraph in which sentences begin anew, each with its place: items of a list, or all of it."""
    begin = 0
    for end, after in _items(text) if _LIST.match(text) else _rows(text):
        yield begin, text[begin:end]
        begin = after
    yield begin, text[begin:]


def _items(text: str) -> Iterator[Offsets]:
    return (gap.span() for gap in _NEXT_ITEM.finditer(text))


def _rows(text: str) -> Iterator[Offsets]:
    start = 0
    while end := text.find("\n", start) + 1:
        this = _ALONE.match(text, start)
        below = _ALONE.match(text, end)
        if this and below and this.lastgroup == below.lastgroup:
            yield end - 1, end
        start = end
