"""Escapes for words in files: bracketed text and columns cannot hold every character of a word.

This module changes single words only; `bracketed_text` and `conllu` write whole trees.
"""

from __future__ import annotations

import re

# ASCII white space only: the no-break space and its like are characters of a word.
_BREAKS = re.compile(r"\s+", re.ASCII)
_BRACKET = re.compile("-[LR][RSC]B-")
_ESCAPED = re.compile(r"-[LR][RSC]B-|\\[/*]")
_UNSAFE = re.compile(r"[\s()]|\\(?=[/*])", re.ASCII)
_SAFE = {"(": "-LRB-", ")": "-RRB-", "\\": "\\\\"}
_PLAIN = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "\\/": "/",
    "\\*": "*",
}


def has_breaks(text: str) -> bool:
    """Return True if the text contains ASCII white space."""
    return _BREAKS.search(text) is not None


def one_line(word: str) -> str:
    r"""Return a word as a column can hold it: white space as one space, "_" for an empty word.

    White space of other scripts than ASCII's stays.

    >>> one_line("New \t York\n"), one_line(" ")
    ('New York', '_')
    """
    if has_breaks(word):
        word = _BREAKS.sub(" ", word).strip(" ")
    return word or "_"


def escape(word: str) -> str:
    r"""Write a word so that it can stand between brackets: -LRB- for "(", a no-break space for " ".

    A backslash that would be an escape when read back is doubled.

    >>> escape("friend(s)"), escape("New  York"), escape("\\/")
    ('friend-LRB-s-RRB-', 'New\xa0York', '\\\\/')
    """
    if _UNSAFE.search(word) is None:
        return word
    return _UNSAFE.sub(lambda match: _SAFE.get(match[0], "\u00a0"), one_line(word))


def unescape_brackets(word: str) -> str:
    """Replace -LRB- and its family in a word of a CoNLL file by the brackets they stand for.

    >>> unescape_brackets("-LRB-"), unescape_brackets("1-800")
    ('(', '1-800')
    """
    # Few words have escapes, and a substring test is much faster than the expression.
    if "B-" not in word:
        return word
    return _BRACKET.sub(lambda match: _PLAIN[match[0]], word)


def unescape(word: str) -> str:
    r"""Undo the Penn Treebank's escapes: -LRB- and its family, `\/` and `\*`, wherever in the word.

    >>> unescape("friend-LRB-s-RRB-"), unescape("1\\/2")
    ('friend(s)', '1/2')
    """
    if "B-" not in word and "\\" not in word:
        return word
    return _ESCAPED.sub(lambda match: _PLAIN[match[0]], word)
