"""Segmenting by rules, for models without a learnt segmenter.

A parser reads the words of its treebank, so the English rules follow what the treebanks of the
English model agree on (UD / OntoNotes style): clitics are words (did|n't, can|not, gon|na), hyphens
and slashes between words are words (well|-|known) unless a prefix is written with a hyphen
(non-profit, e-mail), an abbreviation keeps its full stop. `studies/segmenter/run.py` measures them.
Any other language gets rules that use Unicode properties alone.

Patterns have bounded look-ahead, so time is linear in the text, and the scanner's last alternative
takes any character, so nothing but white space is ever lost.
"""

from __future__ import annotations

import re

import numpy as np

from arcspan.segmenting import characters as shadows
from arcspan.segmenting.base import SENTENCE, TOKEN, WORD, BaseSegmenter, read_marks, spaces
from arcspan.segmenting.sentence import Offsets, TextToken
from arcspan.segmenting.stops import keeps_stop, sentence_ends
from arcspan.segmenting.whole import ADDRESS, PICTURES, THIN, WHOLE, address_end

# A letter, digit or mark of a script that writes spaces; hidden characters may stand inside a word.
_LETTER = f"[^\\W{shadows.HAN}{shadows.HIRAGANA}{shadows.KATAKANA}]"
_RUN = f"{_LETTER}+(?:[{shadows.HIDDEN}{shadows.JOINER}]+{_LETTER}+)*"
# Prefixes and suffixes that stay with their word (LDC's addendum to the treebank guidelines, kept
# by both treebanks of the English model).
_PREFIXES = "|".join(
    f"[{prefix[0].upper()}{prefix[0]}]{prefix[1:]}"
    for prefix in """
    agro ante anti arch auto bi co contra counter cross cyber de di electro extra hetero homo hyper
    infra inter intra macro mal mega meta micro mid mini mono multi neo non over paleo pan para peri
    poly post(?!-hoc) pre pro proto pseudo quasi re semi sub super supra tri ultra un uni vice uh mm
    e(?=-(?:mail|book|commerce|learning|reader|zine)) x(?=-ray) o(?=-kay)
    """.split()  # noqa: SIM905
)
_SUFFIXES = "esque|ette|fest|fold|gate|itis|less|most|rama|wise"


def _scanner(english: bool) -> re.Pattern[str]:
    """Compile the pattern of one token, for English or for any other language."""
    # "end.Next": a space is missing after the full stop, the two are not one word
    inside = r"(?<=\w)(?:['&]|(?<![a-z]{3})\.|\.(?![A-Z][a-z]))(?=\w)"
    if english:
        # "pre- and post-": the hyphen is a word; "th- they": a word that was broken off keeps it.
        broken = r"-(?=\ (?!and\b|or\b|to\b|but\b|versus\b|vs\b))"
        prefixes = f"(?:(?:{_PREFIXES})-(?=\\w)){{0,2}}"
        word = f"{prefixes}{_RUN}(?:{inside}{_RUN})*(?:-(?i:{_SUFFIXES})(?!\\w)|{broken})?"
        number = r"(?<![\w/.-])(?:[1-9]/[2-9]|9/11|24/7)(?![\w/]|,\d)"
    else:
        word = f"{_RUN}(?:(?:{inside}|(?<=\\w)[-‐‑](?=\\w)){_RUN})*"
        number = r"\d+(?:[.,:/]\d+)+(?!\w)"
    return re.compile(
        f"""
        (?P<plain> [A-Za-z]+ )(?=[ ,]|$)
      | {THIN}*
        (?:
          (?P<address> {ADDRESS} )
        | {WHOLE}
        | {number}
        | (?<=\\.)'s(?!\\w) | '\\d0'?s(?!\\w) | '\\d\\d(?!\\w)
        | (?i:'(?:em|cause|til|till|bout|round|cuz|nuff)(?!\\w) | 't(?=(?:is|was|were|will)(?!\\w)))
        | (?:US|AU|NZ|HK|CA|[AC])\\$ | °[CFK](?!\\w) | \\.\\d+(?!\\w)
        | [:;=]['-]?[)(DPp](?=\\ |$) | <3(?!\\w)
        | (?P<word> {word} )
        | {shadows.HAN} | {shadows.HIRAGANA}+ | {shadows.KATAKANA}+
        | {PICTURES}
        | !{{2,}} | \\.{{2,}} | …+ | -{{2,}} | _{{2,}} | ={{2,}} | \\*{{2,}} | ~{{2,}} | [–—]{{2,}} | \'\' | ``
        | [^ ]
        )
        {THIN}*
      | [^ ]
        """,
        re.VERBOSE,
    )


_SCANNERS = {True: _scanner(True), False: _scanner(False)}


def _scan(shadow: str, english: bool) -> list[Offsets]:
    """Return the start and end of each word of a shadow, in order."""
    words: list[Offsets] = []
    match_at = _SCANNERS[english].match
    start = 0
    while start < len(shadow):
        if shadow[start] == " ":
            start += 1
            continue
        match = match_at(shadow, start)
        assert match is not None  # the last alternative takes any character
        end = match.end()
        is_word = match.lastgroup in ("plain", "word")
        has_stop = is_word and shadow.startswith(".", end)
        if has_stop and keeps_stop(shadow, words, start, end, english):
            end += 1
        elif match.lastgroup == "address":
            end = address_end(shadow, start, end)
        if is_word and english:
            words += _split_clitics(shadow, start, end)
        else:
            words.append((start, end))
        start = end
    return words


_NOT = re.compile(r"(?i:n't)$")
_CLITIC = re.compile(r"(?i:'(?:s|re|ve|ll|d|m))$")
# Two words that are written as one, with a space where the second begins.
_PAIRS = (
    "gon na",
    "wan na",
    "got ta",
    "can not",
    "gim me",
    "lem me",
    "lot ta",
    "y' all",
    "d' you",
    "d' ye",
)
_TWO_WORDS = {
    pair.replace(" ", ""): pair.index(" ") for pair in (*_PAIRS, "t' is", "t' was", "more 'n")
}
_LONGEST_CLITIC_HOST = 64  # a longer "word" is data, not English


def _split_clitics(shadow: str, start: int, end: int) -> list[Offsets]:
    """Cut an English word before its clitics: did|n't, she|'d|'ve, can|not."""
    if end - start > _LONGEST_CLITIC_HOST:
        return [(start, end)]
    # Offsets are those of the word as it is written: "İ" is longer in lower case.
    word = shadow[start:end]
    if word.lower() in _TWO_WORDS:
        middle = start + _TWO_WORDS[word.lower()]
        return [(start, middle), (middle, end)]
    parts: list[Offsets] = []
    while "'" in word:
        clitic = _NOT.search(word) or _CLITIC.search(word)
        if clitic is None or clitic.start() == 0:
            break
        # 1930's: a plural that is written with an apostrophe after a number is one word.
        if word[clitic.start() - 1].isdigit() and word.endswith("'s"):
            break
        parts.append((start + clitic.start(), end))
        end = start + clitic.start()
        word = word[: clitic.start()]
    parts.append((start, end))
    return parts[::-1]


_CLITICS = frozenset(("n't", "'s", "'re", "'ve", "'ll", "'d", "'m"))
_SECONDS = frozenset(word[middle:] for word, middle in _TWO_WORDS.items())


class RuleSegmenter(BaseSegmenter):
    r"""A segmenter by rules: those for English, or for any other language code those of Unicode.

    >>> [sentence.words for sentence in RuleSegmenter().split("It didn't work.\nDr. Who left!")]
    [('It', 'did', "n't", 'work', '.'), ('Dr.', 'Who', 'left', '!')]
    >>> text = "We cannot say: No. It's well-known."
    >>> (sentence,) = RuleSegmenter().split(text, one_sentence=True)
    >>> sentence.multiword
    ((2, 3, 'cannot'), (8, 9, "It's"))
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language

    def tokens(self, block: str) -> list[list[TextToken]]:
        """Return the sentences of a block, each a list of tokens."""
        marks = self.marks(block)
        return read_marks(block, marks, spaces(block), marks < 0, lambda form: None)

    def marks(self, block: str) -> np.ndarray:
        """Return the mark of each character of a block: int64 [characters]."""
        english = self.language == "en"
        shadow = block.translate(shadows.SHADOW)
        words = _scan(shadow, english)
        marks = np.zeros(len(block), np.int64)
        if words:
            starts, ends = np.array(words).T
            marks[ends - 1] = TOKEN
            is_followed_at_once = starts[1:] == ends[:-1] if english else np.zeros(0, bool)
            for i in np.flatnonzero(is_followed_at_once).tolist():
                # Two words of one token: it|'s, can|not.
                second = shadow[ends[i] : ends[i + 1]].lower()
                token = shadow[starts[i] : ends[i + 1]].lower()
                if second in _CLITICS or (second in _SECONDS and token in _TWO_WORDS):
                    marks[ends[i] - 1] = WORD
            last_words = np.array(list(sentence_ends(shadow, words, english))) - 1
            marks[ends[last_words] - 1] = SENTENCE
        return marks
