"""Cutting a text before its words are known: at blank lines, and around lines that stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

LONGEST = 200_000  # characters of a paragraph that are held at once, so that memory stays bounded

_SPACE = r"[^\S\r\n\x85\u2028]"
_LINE = r"(?:\r\n|\r(?!\n)|[\n\x85\u2028])"  # a line break
# The end of a paragraph: a blank line, a form feed, a paragraph separator. `open` is a line break
# that may turn out to be a blank line when more of the text is there. The bound on spaces bounds
# how much text has to be held until then.
_GAP = re.compile(rf"{_LINE}{_SPACE}{{0,{LONGEST}}}(?:{_LINE}|(?P<open>\Z))|[\f\u2029]")
_VISIBLE = re.compile(r"\S")
blank_mark = partial(re.compile("\\A\ufeff").sub, " ")
"""Replace a byte order mark at the beginning by a space: it is not part of a word, and offsets
stay.
"""


class Part(NamedTuple):
    """A paragraph, or `LONGEST` characters of a longer one.

    start        its place in the whole text
    first, last  whether the paragraph begins, and whether it ends, with this part
    """

    start: int
    text: str
    first: bool
    last: bool


def paragraphs(pieces: Iterable[str]) -> Iterator[Part]:
    r"""Yield the paragraphs of a text that comes in pieces; they do not depend on how it is cut.

    >>> [part.text for part in paragraphs(["One\n", "two\n", "\nthr", "ee"])]
    ['One\ntwo', 'three']
    """
    text = ""  # text[begin:] is not given out yet
    shift = 0  # text[0] is this character of the whole text
    begin = 0
    searched = 0  # no gap begins before text[searched]
    is_first = True  # the next part begins a paragraph
    in_paragraph = True  # text[begin] belongs to a paragraph, not to the gap before one
    for piece in pieces:
        text = text[begin:]
        shift += begin
        searched -= begin
        begin = 0
        is_very_first = shift == 0 and not text
        text += blank_mark(piece) if is_very_first else piece
        while True:
            if not in_paragraph:
                visible = _VISIBLE.search(text, begin)
                begin = searched = visible.start() if visible else len(text)
                in_paragraph = visible is not None
            gap = _GAP.search(text, searched)
            searched = gap.start() if gap else len(text)
            while searched > begin + LONGEST:
                yield Part(shift + begin, text[begin : begin + LONGEST], is_first, False)
                begin += LONGEST
                is_first = False
            # More of the text is needed to know where the paragraph ends.
            if gap is None or gap["open"] is not None:
                break
            if searched > begin:
                yield Part(shift + begin, text[begin:searched], is_first, True)
            begin = gap.end()
            is_first = True
            in_paragraph = False
    while begin < len(text):
        end = begin + LONGEST
        yield Part(shift + begin, text[begin:end], is_first, end >= len(text))
        begin = end
        is_first = False


# A list: it begins a paragraph with a mark, and each line with such a mark is an item of its own.
_MARK = rf"(?:\d{{1,2}}[.)]|[-*•‣▪]){_SPACE}"
_LIST = re.compile(rf"\s*{_MARK}")
_NEXT_ITEM = re.compile(rf"{_LINE}(?={_SPACE}*{_MARK})")
# Lines that are not running text: fields of the head of a letter ("From: ..."), and rows of a
# table, whose cells are set apart by tabs or bars. Two of a kind, one below the other, are two
# sentences.
_ALONE = re.compile(
    r"[^\S\n]*(?=\S)(?:(?P<field>[A-Z][\w-]{1,20}(?: [\w-]{1,20})?:[^\S\n])"
    r"|(?P<row>[^\n\t|]*(?:\S\t+\S|\|[^|\n]*\|)))"
)


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and the text of each block of a paragraph: items of a list, or all of it."""
    if _LIST.match(text):
        gaps = [gap.span() for gap in _NEXT_ITEM.finditer(text)]
    else:
        gaps = _gaps_between_alike_lines(text)
    begin = 0
    for gap_start, gap_end in gaps:
        yield begin, text[begin:gap_start]
        begin = gap_end
    yield begin, text[begin:]


def _gaps_between_alike_lines(text: str) -> list[tuple[int, int]]:
    """Return the line breaks between two fields of a letter's head, or two rows of a table."""
    line_starts = [0] + [line_break.end() for line_break in re.finditer("\n", text)]
    if len(line_starts) == 1:
        return []
    matches = [_ALONE.match(text, start) for start in line_starts]
    line_types = [match and match.lastgroup for match in matches]
    return [
        (start - 1, start)
        for start, (above, below) in zip(line_starts[1:], pairwise(line_types), strict=True)
        if above and above == below
    ]
