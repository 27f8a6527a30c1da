"""Where sentences end among the words of a paragraph, by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from arcspan.segmenting.abbreviations import OPENERS, word_set
from arcspan.segmenting.characters import STOP
from arcspan.segmenting.sentence import Offsets


def sentence_ends(shadow: str, tokens: list[Offsets], english: bool) -> Iterator[int]:
    """Positions in `tokens` after which a sentence ends, the last position included."""
    count = len(tokens)
    position = 0
    while position < count:
        start, stop = tokens[position]
        position += 1
        if shadow[stop - 1] in ".?!…" or STOP in shadow[start : min(stop, start + 4)]:
            mark, here = _with_closers(shadow, tokens, position)
            if here < count and _is_end(shadow, tokens, mark, here, english):
                yield here
            position = here
    if count:
        yield count


def _with_closers(shadow: str, tokens: list[Offsets], position: int) -> tuple[int, int]:
    """What stands behind a full stop and belongs before the break: quotes, brackets, citations.

    Returns the position of the last full stop among them, and the position after all of them.
    """
    mark = position - 1
    while position < len(tokens):
        start, stop = tokens[position]
        text = shadow[start:stop]
        adjacent = start == tokens[position - 1][1]
        if adjacent and text in _CLOSERS:
            position += 1
        elif adjacent and text in _MARKS:
            mark = position
            position += 1
        elif text == "[" and (citation := _CITATION.match(shadow, start)):
            while position < len(tokens) and tokens[position][1] <= citation.end():
                position += 1
        else:
            break
    return mark, position


def _is_end(shadow: str, tokens: list[Offsets], mark: int, here: int, english: bool) -> bool:
    """Whether the sentence that has its full stop at token `mark` ends before token `here`."""
    text = shadow[slice(*tokens[mark])]
    following = shadow[slice(*tokens[here])]
    if STOP in text:
        return following not in _NEVER_FIRST
    if tokens[here][0] == tokens[here - 1][1]:
        return english and mark > 0 and _GLUED.match(shadow, tokens[mark - 1][1] - 3) is not None
    if following in _NEVER_FIRST:
        return False
    if _ITEM.match(shadow, tokens[here][0]):
        return True
    words = (shadow[start:stop] for start, stop in tokens[here : here + 6])
    opener = next((word for word in words if word[0].isalnum()), "")
    if text[-1] == "." and len(text) > 1 and text[-2] != ".":  # an abbreviation
        lower = text[:-1].lower()
        if here == mark + 1 and opener[:1].isdigit():
            return False
        return opener[:1].isupper() and (
            (lower in _ALWAYS_END and opener.lower() not in _TIMES)
            or (lower in _MAY_END and opener.lower() in OPENERS)
        )
    if opener[:1].islower() and opener.islower():
        return _ends_before_lower(shadow, tokens, mark, here)
    quoted = here > mark + 1 and text in "?!…" and shadow[tokens[here - 1][0]] in "\"”'’»"
    return not (quoted and english and _SAID.match(shadow, tokens[here][0]))


def _ends_before_lower(shadow: str, tokens: list[Offsets], mark: int, here: int) -> bool:
    """A small letter follows: the sentence ends where the word before the full stop is not an abbreviation."""
    if mark == 0 or here != mark + 1 or shadow[slice(*tokens[mark])] != ".":
        return False
    start, stop = tokens[mark - 1]
    word = shadow[start:stop]
    return stop == tokens[mark][0] and (word in ")]" or (len(word) > 3 and word.isalpha() and word.islower()))


_CLOSERS = frozenset("\"'”’)]}»›」』）】〉》″") | {"''"}
_MARKS = frozenset("?!.") | {STOP, "…", "..."}
_GLUED = re.compile(r"[a-z]{3}[.?!][A-Z][a-z]")
_CITATION = re.compile(r"\[[\d,–\- ]{1,24}\]")
_ITEM = re.compile(r"\((?:[A-Za-z]|\d{1,2}|[ivx]{1,4})(?:[-–,] ?[a-z])?\)|[*•†‡§¶·] *\w")
_SAID = re.compile(
    r"(?:I|[Hh]e|[Ss]he|[Ww]e|[Tt]hey|[A-Z]\w{1,15}(?: [A-Z]\w{1,15})?|[Tt]he \w{1,15}) "
    r"(?:said|asked|cried|shouted|replied|answered|whispered|yelled|howled|screamed|exclaimed|called|muttered|says|asks)\b"
)
_NEVER_FIRST = frozenset(",;:.?!)]}%/&=<>+-–—…，、；：－") | {"--", "...", "..", "]"}
_MAY_END = word_set(
    """
    etc a.m p.m u.s d.c u.k u.n u.s.a inc ltd corp co jr sr al ph.d n.y l.a
    """
)
_ALWAYS_END = word_set("etc a.m p.m")
_TIMES = word_set(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun january
    february march april may june july august september october november december est edt et cst cdt ct mst
    mdt pst pdt pt gmt utc cet bst eastern central mountain pacific
    """
)
