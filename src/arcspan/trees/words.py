"""How words are written in files: what brackets and columns cannot hold, and the Penn Treebank's escapes."""

from __future__ import annotations

import re

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}

_BREAKS = re.compile(r"\s+", re.ASCII)
_ESCAPED = re.compile(r"(-[LR][RSC]B-)|\\([/*])")
_BRACKET = re.compile("-[LR][RSC]B-")
_UNSAFE = re.compile(r"[\s()]|\\(?=[/*])", re.ASCII)
_SAFE = {"(": "-LRB-", ")": "-RRB-", "\\": "\\\\"}


def has_breaks(text: str) -> bool:
    """Whether there is white space of ASCII in it."""
    return _BREAKS.search(text) is not None


def one_line(word: str) -> str:
    r"""A word as a column can hold it: white space is one space, none at the ends, and something is always there.

    White space of other scripts than ASCII's stays.

    >>> one_line("New \t York\n"), one_line(" ")
    ('New York', '_')
    """
    if has_breaks(word):
        word = _BREAKS.sub(" ", word).strip(" ")
    return word or "_"


def escape(word: str) -> str:
    r"""Write a word so that it can stand between brackets: -LRB- for "(", a no-break space for white space.

    A backslash that would be an escape when read back is doubled.

    >>> escape("friend(s)"), escape("New  York"), escape("\\/")
    ('friend-LRB-s-RRB-', 'New\xa0York', '\\\\/')
    """
    if _UNSAFE.search(word) is None:
        return word
    return _UNSAFE.sub(lambda match: _SAFE.get(match[0], "\u00a0"), one_line(word))


def unescape_brackets(word: str) -> str:
    """A word of a CoNLL file with -LRB- and its family as the brackets that they stand for.

    >>> unescape_brackets("-LRB-"), unescape_brackets("1-800")
    ('(', '1-800')
    """
    return _BRACKET.sub(lambda match: _BRACKETS[match[0]], word) if "B-" in word else word


def unescape(word: str) -> str:
    r"""Undo the Penn Treebank's escapes: -LRB- and its family, `\/` and `\*`, wherever in the word.

    >>> unescape("friend-LRB-s-RRB-"), unescape("1\\/2")
    ('friend(s)', '1/2')
    """
    if "B-" not in word and "\\" not in word:
        return word
    return _ESCAPED.sub(lambda match: _BRACKETS[match[1]] if match[1] else match[2], word)
