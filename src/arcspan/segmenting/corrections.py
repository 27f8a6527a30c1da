"""Corrections of the learnt segmenter's marks where a rule decides better than the network.

The network has seen few closing quotes after other marks, dates with names of months, words that a
speaker broke off, and headlines in title case. Each rule here is about one of these. The rules look
at the shadow of a block (`characters`), in which all apostrophes and single quotes are one
character, and ahead by a bounded distance.
"""

from __future__ import annotations

import re

import numpy as np

from arcspan.segmenting.base import INSIDE, SENTENCE, TOKEN
from arcspan.segmenting.stops import word_set

# Places between two characters where a token ends for certain.
_TOKEN_ENDS = re.compile(
    r"""
    (?<=[.?!…])(?=['"”»](?:[\s,;:.?!)\]]|\Z))      # ...?' he said: the quote is a token of its own
  | (?<=\d%)(?=[-–]\d) | (?<=\d%[-–])(?=\d)        # 10%-15%
  | (?<=[A-Za-z])(?=[<>]\s?\.?\d)(?!<3(?![\d.]))   # p<0.05, but not love<3
  | (?<=[A-Za-z][<>])(?=[\d.])(?<!<(?=3(?![\d.])))
    """,
    re.VERBOSE,
)
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
# Strings within which no token ends.
_WHOLE_TOKENS = re.compile(
    rf"""
    (?<![\w-])(?:
        \d{{1,2}}-(?i:{_MONTHS})-\d\d(?![\w-])                          # 01-Feb-02
      | (?<=[A-Z][A-Z][A-Z]\ )\d{{1,6}}-\d{{1,2}}(?![\w-])                # ISO 639-3
      | (?P<cut>[^\W\d_]{{2,20}})-(?=\ (?:\w{{1,20}}\ ){{0,2}}(?P=cut)\w)        # a proble- a problem
    )
    """,
    re.VERBOSE,
)
_ITS = re.compile(r"(?<!\w)Its(?=\s+(?P<next>\w+))")
# After these "Its" stands for "It's": "Its not mine".
_AFTER_ITS = word_set(
    "a all already also always an anyway as at because been being better coming easy fine for from fun funny "
    "getting going good gonna great hard her here his i important in it just kind like literally made my "
    "never nice no not now ok okay on one only our over possible probably quite really right so sort still "
    "such terrible that the their there this time to too true up very weird well what where why worth "
    "wrong your"
)
_LINE = re.compile(r"[^\n]+")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_NOT_IN_HEADLINES = re.compile(r"[.?!…:;,\d]")
_HEADLINE_WORDS = range(
    4, 11
)  # fewer may be a name, more a paragraph of somebody who likes capitals


def correct_marks(shadow: str, marks: np.ndarray, *, english: bool) -> None:
    """Change the marks [characters] of a block, given as its shadow, where a rule decides."""
    for match in _TOKEN_ENDS.finditer(shadow):
        last = match.start() - 1
        if marks[last] < TOKEN:
            marks[last] = TOKEN
    if not english:
        return
    for match in _WHOLE_TOKENS.finditer(shadow):
        start, end = match.span()
        marks[start : end - 1] = INSIDE
    for match in _ITS.finditer(shadow):
        if match["next"].lower() not in _AFTER_ITS:
            start, end = match.span()
            marks[start : end - 1] = INSIDE
    for line in _LINE.finditer(shadow):
        if _is_title_case(line[0]):
            # A headline is one sentence; its last character may end one.
            inner = marks[line.start() : line.end() - 1]
            inner[inner == SENTENCE] = TOKEN


def _is_title_case(line: str) -> bool:
    """Return whether a line is a headline: its long words have capitals, and it has no marks."""
    if _NOT_IN_HEADLINES.search(line.rstrip()[:-1]) or len(line.split()) not in _HEADLINE_WORDS:
        return False
    return all(word[0].isupper() for word in _LONG_WORD.findall(line))
