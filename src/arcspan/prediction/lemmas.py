"""Lemmas as edits of words: a model predicts the edit, so that it can lemmatize words it has never
seen.

An edit is a short text, `casing|prefix|suffix` or `=lemma`. Word and lemma are compared in lower
case; what they share in the middle (their longest common substring) stays, and what stands before
and after it is replaced:

    `l|0+|3+y`    lower case; take nothing off the front; take three letters off the end, add y:
    flies, fly `k|0+|0+`     casing as the word has it: names
    `u|0+|0+`     upper case throughout;  `t` first letter upper case
    `=be`         the lemma itself, where it shares nothing with the word

The edits of UDPipe (Straka et al., 2019) are of the same kind.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

# Lower, as the word has it, title, upper: the first that gives the lemma is chosen.
_CASINGS = "lktu"


def edit_of(word: str, lemma: str) -> str:
    """Return the edit that makes the lemma of the word.

    >>> edit_of("flies", "fly"), edit_of("Paris", "Paris"), edit_of("was", "be"), edit_of("Dogs", "dog")
    ('l|0+|3+y', 'k|0+|0+', '=be', 'l|0+|1+')
    """
    w = word.lower()
    m = lemma.lower()
    # Letters whose lower case is longer: positions would not match.
    if len(w) != len(word) or len(m) != len(lemma):
        return f"={lemma}"
    start, lemma_start, length = SequenceMatcher(None, w, m, autojunk=False).find_longest_match()
    if length:
        prefix = f"{start}+{m[:lemma_start]}"
        suffix = f"{len(w) - start - length}+{m[lemma_start + length :]}"
        for casing in _CASINGS:
            edit = f"{casing}|{prefix}|{suffix}"
            if "|" not in m and lemma_of(edit, word) == lemma:
                return edit
    return f"={lemma}"


# A treebank has some hundred edits, and most words share a few.
@lru_cache(maxsize=4096)
def _read_edit(edit: str) -> tuple[str, int, str, int, str]:
    casing, prefix, suffix = edit.split("|")
    front, before = prefix.split("+", 1)
    back, after = suffix.split("+", 1)
    return casing, int(front), before, int(back), after


def lemma_of(edit: str, word: str) -> str:
    """Return the lemma that an edit makes of a word; the word in lower case where the edit does not
    fit.

    >>> lemma_of("l|0+|3+y", "Tries"), lemma_of("=be", "were"), lemma_of("l|0+|3+y", "I")
    ('try', 'be', 'i')
    """
    if edit.startswith("="):
        return edit[1:]
    casing, front, before, back, after = _read_edit(edit)
    # An edit that leaves nothing of the word does not fit it.
    if front + back >= max(len(word), 1):
        return word.lower()
    middle = word[front : len(word) - back]
    lemma = before + middle + after
    if casing == "k":
        return lemma
    lemma = lemma.lower()
    if casing == "u":
        return lemma.upper()
    return lemma[:1].upper() + lemma[1:] if casing == "t" else lemma
