"""Lemmas as edits of words: what a model predicts is the edit, so that it can lemmatize words it has never seen.

An edit is a short text, `casing|prefix|suffix` or `=lemma`. Word and lemma are compared in lower case; what they
share in the middle (their longest common substring) stays, and what stands before and after it is replaced:

    `l|0+|3+y`    lower case; take nothing off the front; take three letters off the end, add y: flies, fly
    `k|0+|0+`     casing as the word has it: names
    `u|0+|0+`     upper case throughout;  `t` first letter upper case
    `=be`         the lemma itself, where it shares nothing with the word

The edits of UDPipe (Straka et al., 2019) are of the same kind.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

_CASINGS = "lktu"  # lower, kept, title, upper: the first that gives the lemma is taken


def edit_of(word: str, lemma: str) -> str:
    """The edit that makes the lemma of the word.

    >>> edit_of("flies", "fly"), edit_of("Paris", "Paris"), edit_of("was", "be"), edit_of("Dogs", "dog")
    ('l|0+|3+y', 'k|0+|0+', '=be', 'l|0+|1+')
    """
    w, m = word.lower(), lemma.lower()
    # Letters whose lower case is longer: positions would not match.
    if len(w) != len(word) or len(m) != len(lemma):
        return f"={lemma}"
    start, at, length = SequenceMatcher(None, w, m, autojunk=False).find_longest_match()
    if length:
        change = f"{start}+{m[:at]}|{len(w) - start - length}+{m[at + length :]}"
        for casing in _CASINGS:
            edit = f"{casing}|{change}"
            if "|" not in m and lemma_of(edit, word) == lemma:
                return edit
    return f"={lemma}"


@lru_cache(maxsize=4096)
def _parts(edit: str) -> tuple[str, int, str, int, str]:
    casing, *changes = edit.split("|")
    (begin, before), (end, after) = (change.split("+", 1) for change in changes)
    return casing, int(begin), before, int(end), after


def lemma_of(edit: str, word: str) -> str:
    """The lemma that an edit makes of a word; the word in lower case where the edit does not fit.

    >>> lemma_of("l|0+|3+y", "Tries"), lemma_of("=be", "were"), lemma_of("l|0+|3+y", "I")
    ('try', 'be', 'i')
    """
    if edit.startswith("="):
        return edit[1:]
    casing, begin, before, end, after = _parts(edit)
    if begin + end >= len(word) + (not word):
        return word.lower()
    kept = word[begin : len(word) - end]
    if casing == "k":
        return before + kept + after
    made = (before + kept + after).lower()
    if casing == "u":
        return made.upper()
    return made[:1].upper() + made[1:] if casing == "t" else made
