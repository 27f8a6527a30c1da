"""Strings that are never split, in any language: addresses, telephone numbers, dates, numbers,
paths.

The rules use these patterns as they scan. They overrule the learnt segmenter, which has seen few
such strings. They match the shadow of a text (`characters`), and look ahead a bounded distance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from arcspan.segmenting import characters as shadows

# of an address on the web
_ADDRESS_CHARACTER = f'[^\\s<>"“”«»{shadows.STOP}{shadows.HAN}{shadows.HIRAGANA}]'
_DOMAINS = "com|org|net|edu|gov|mil|int|info|biz|io|ai|uk|us|de|fr|es|it|nl|ch|at|eu|ca|au|nz|jp|cn|br|ru|se|dk|pl"
ADDRESS = f"""
    (?i:(?:https?|ftps?|file)://|www\\.(?=\\w)|mailto:(?=\\w)|doi:(?=\\d)){_ADDRESS_CHARACTER}+
  | [\\w.+-]{{1,64}}@(?:[\\w-]{{1,63}}\\.){{1,8}}[^\\W\\d_]{{2,24}}
  | (?:[^\\W_](?:[\\w-]{{0,62}}[^\\W_])?\\.){{1,8}}(?:{_DOMAINS})(?![\\w@'-]|\\.\\w)(?:/{_ADDRESS_CHARACTER}*)?
"""
WHOLE = """
    \\+\\d{7,15}(?:-\\d{3,})? | (?:\\+?\\d{1,3}-)?\\d{3}-(?:\\d{3}-)?\\d{4}(?![\\w-])
  | [12]\\d{3}-[01]\\d-[0-3]\\d(?:T[\\d:.]{4,12}Z?)?(?![\\w-]) | \\d{1,2}/\\d{1,2}/\\d{2,4}(?![\\w/]|,\\d)
  | [0-2]?\\d:[0-5]\\d(?::[0-5]\\d)?(?![\\w:,])
  | \\d{1,3}(?:,\\d{3})+(?!\\d)(?:\\.\\d+)?
  | \\#(?=\\w{0,128}[a-z])(?=\\w{3})[^\\W\\d]\\w{0,128}(?![\\w-]) | @[^\\W\\d]\\w{1,63}
  | (?<!\\S)(?:~|\\.{0,2})(?:/[\\w.+-]{0,63}\\w){2,32}/? | [A-Za-z]:\\\\[\\w\\\\.-]{1,128}\\w
  | (?:[^\\W\\d_]\\.){2,8}(?!\\w) | [A-Za-z]\\+\\+(?!\\w) | [CFJ]\\#(?!\\w) | \\.NET(?!\\w)
"""
# Characters without width: they belong to the one before them, or to the next where they begin a
# word.
THIN = f"[{shadows.MARK}{shadows.HIDDEN}{shadows.JOINER}{shadows.BREAK}]"
PICTURES = f"""
    (?:{shadows.FLAG}{THIN}*){{2}} | {shadows.PICTURE}{THIN}*(?:(?<={shadows.JOINER}){shadows.PICTURE}{THIN}*)*
"""
_SEARCH = re.compile(
    f"""
    (?P<apart> (?<![\\w@.])(?P<address> {ADDRESS} ) | {PICTURES} )
  | (?<![\\w@.])(?: {WHOLE} | \\d+\\.\\d+(?![\\w.]) )
  | [^ ]{THIN}+ | (?:(?<=\\ )|^){THIN}+[^ ]
    """,
    re.VERBOSE,
)
_TRAILING = ".,;:!?'\"’)]}*…"


def whole_spans(shadow: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the (start, end, stands alone) of strings within which no word ends.

    A string that stands alone is one word: a word begins and ends with it for certain.
    """
    for match in _SEARCH.finditer(shadow):
        start, end = match.span()
        if match["address"]:
            end = address_end(shadow, start, end)
        yield start, end, match["apart"] is not None


def address_end(shadow: str, begin: int, end: int) -> int:
    """Return the end of an address without the punctuation that follows it.

    A closing bracket belongs to the address if it was opened there.
    """
    opened = shadow.count("(", begin, end) - shadow.count(")", begin, end)
    while end - begin > 1 and shadow[end - 1] in _TRAILING:
        if shadow[end - 1] == ")":
            if opened >= 0:
                break
            opened += 1
        end -= 1
    return end
