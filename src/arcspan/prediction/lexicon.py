"""Lexicons: which edit makes the lemma of a word, by the word's ending and by the lemmas of a language.

A model predicts an edit for every word (`prediction.lemmas`), and may take "chased" for a form of
"chas". A lexicon knows better: it has the lemmas of a language, for each ending the edits that occur
with it, and single words that their ending does not tell ("slept"). It decides only about words of the
tags that it lists; names, numbers and function words stay with the model.

This module reads lexicons. `training.lexicons` makes them of treebanks and word lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from arcspan.lazy import lazy
from arcspan.prediction.lemmas import lemma_of

# Before a word that is listed whole; no word that a lexicon decides about begins with it.
WHOLE = "^"
# Among the edits of an ending: others may occur with it, too. No edit looks like this.
OPEN = "*"
# Words are looked up in a cache first; it is emptied when it is full.
_CACHE_SIZE = 1 << 16

Edits = tuple[str, ...]


class LexiconTables(NamedTuple):
    """The content of a lexicon.

    lemmas   by universal tag
    endings  by tag: the edits of an ending, the most frequent one first, or of a whole word
    """

    lemmas: Mapping[str, frozenset[str]]
    endings: Mapping[str, Mapping[str, Edits]]


class Lexicon:
    """The lemmas of a language, and the edits that its endings and single words have.

    tables  or a function that reads them, which is called at the first use

    >>> verbs = {"": ("l|0+|0+", "*"), "sed": ("l|0+|1+", "l|0+|2+"), "^slept": ("l|0+|2+ep",)}
    >>> lexicon = Lexicon(LexiconTables({"VERB": frozenset({"chase", "sleep"})}, {"VBD": verbs}))
    >>> lexicon.lemma("chased", "VBD", "VERB", ["l|0+|2+", "l|0+|1+"])
    'chase'
    >>> lexicon.lemma("slept", "VBD", "VERB", ["l|0+|2+"])
    'sleep'
    """

    def __init__(self, tables: LexiconTables | Callable[[], LexiconTables]) -> None:
        self._source = tables
        self.certain: dict[tuple[str, str, str], str] = {}
        """Lemmas by word, tag and universal tag that were looked up and need no model's edits."""
        self._chosen: dict[tuple[Any, ...], str] = {}

    @lazy
    def tables(self) -> LexiconTables:
        """Return the content, which is read now if it was not before."""
        return self._source() if callable(self._source) else self._source

    def lemma(self, word: str, tag: str, upos: str, edits: Sequence[str]) -> str:
        """Return the lemma of a word.

        tag    the tag that the endings are listed by: the treebank's own, or the universal one
        edits  those that the model finds likeliest, the best one first
        """
        key = (word, tag, upos, *edits)
        lemma = self._chosen.get(key)
        if lemma is not None:
            return lemma
        if len(self._chosen) + len(self.certain) >= _CACHE_SIZE:
            self._chosen.clear()
            self.certain.clear()
        # The model decides about capitals.
        lemma = self.certain_lemma(word, tag, upos) if word.islower() else None
        if lemma is not None:
            self.certain[word, tag, upos] = lemma
            return lemma
        lemma = lemma_of(self._choose(word, tag, upos, edits), word)
        self._chosen[key] = lemma
        return lemma

    def has_lemma(self, lemma: str) -> bool:
        """Return whether it is a lemma of any part of speech."""
        return any(lemma in lemmas for lemmas in self.tables.lemmas.values())

    def certain_lemma(self, word: str, tag: str, upos: str) -> str | None:
        """Return the lemma of a word whatever a model predicts, None where that depends on it."""
        endings = self._endings(tag, upos)
        if endings is None or not _is_plain(word):
            return None
        form = word.lower()
        whole = endings.get(WHOLE + form)
        if whole is not None:
            return lemma_of(whole[0], word) if len(whole) == 1 else None
        listed = longest_ending(endings, form)
        if listed is None or OPEN in listed:
            return None
        lemma = lemma_of(listed[0], word)
        return lemma if lemma.lower() in self.tables.lemmas[upos] else None

    def _endings(self, tag: str, upos: str) -> Mapping[str, Edits] | None:
        """Return the endings of a tag, None where the lexicon leaves its words to the model."""
        if upos not in self.tables.lemmas:
            return None
        # A word list without the treebank's tags is listed by universal ones.
        return self.tables.endings.get(tag) or self.tables.endings.get(upos)

    def _choose(self, word: str, tag: str, upos: str, edits: Sequence[str]) -> str:
        best = edits[0]
        endings = self._endings(tag, upos)
        if endings is None or not _is_plain(word):
            return best
        form = word.lower()
        whole = endings.get(WHOLE + form)
        if whole is not None:
            # Where treebanks differ ("people"), the model knows the conventions in question.
            return _with_casing(next((edit for edit in edits if edit in whole), whole[0]), best)
        listed = longest_ending(endings, form)
        if listed is None:
            return best
        usual = [edit for edit in listed if edit != OPEN]
        is_open = OPEN in listed
        lemmas = self.tables.lemmas[upos]
        told = lemma_of(usual[0] if usual else best, form).lower()
        if form not in lemmas and told not in lemmas:
            irregular = self._irregular(form, lemmas)
            if irregular is not None:
                return _with_casing(irregular, best)
        # A base form that nobody has listed is a new word and no form of another one.
        if usual and _with_casing(usual[0], best) == best and lemma_of(best, form) == form:
            return best
        likely = [edit for edit in edits if is_open or edit in usual]
        # Where nearly all words have one edit it comes first, otherwise the model's order counts.
        first = [] if is_open else usual[:1]
        for edit in (*first, *likely, *usual, best):
            if lemma_of(edit, form).lower() in lemmas:
                return _with_casing(edit, best)
        # A new word: the model's best edit that is possible with this ending.
        return _with_casing((*likely, *usual, best)[0], best)

    def _irregular(self, form: str, lemmas: frozenset[str]) -> str | None:
        """Return the edit of a form that is listed whole with another tag: the model may have the
        wrong one ("spokesmen" as a singular).
        """
        for of_tag in self.tables.endings.values():
            edits = of_tag.get(WHOLE + form, ())
            # Several edits are several conventions, between which the model chooses.
            if len(edits) == 1 and lemma_of(edits[0], form).lower() in lemmas:
                return edits[0]
        return None


def _with_casing(edit: str, best: str) -> str:
    """Return an edit as the model has it: whether capitals stay ("Western", "PCs") is its choice."""
    return best if edit == f"l{best[1:]}" else edit


def longest_ending(endings: Mapping[str, Edits], form: str) -> Edits | None:
    """Return the edits of the longest ending that is listed and that the form has."""
    for start in range(len(form) + 1):
        if form[start:] in endings:
            return endings[form[start:]]
    return None


def _is_plain(word: str) -> bool:
    """Return whether a word consists of letters, with hyphens between them."""
    return word.replace("-", "").isalpha() and word[-1] != "-"


def lexicon_to_json(lexicon: Lexicon) -> dict[str, Any]:
    """Return lists and tables only; `lexicon_from_json` is the inverse.

    Endings stand under their edits, one edit per line: most endings share a few lists of edits.
    """
    endings: dict[str, dict[str, list[str]]] = {}
    for tag, of_tag in sorted(lexicon.tables.endings.items()):
        by_edits = endings[tag] = {}
        for ending, edits in sorted(of_tag.items()):
            by_edits.setdefault("\n".join(edits), []).append(ending)
    lemmas = {upos: sorted(lemmas) for upos, lemmas in sorted(lexicon.tables.lemmas.items())}
    return {"lemmas": lemmas, "endings": endings}


def lexicon_from_json(
    lemmas: Mapping[str, Sequence[str]], endings: Mapping[str, Mapping[str, Sequence[str]]]
) -> LexiconTables:
    """Return the tables of a lexicon from the two tables of its file."""
    edits_of: dict[str, dict[str, Edits]] = {}
    for tag, by_edits in endings.items():
        of_tag = edits_of[tag] = {}
        for lines, listed in by_edits.items():
            of_tag.update(dict.fromkeys(listed, tuple(lines.split("\n"))))
    return LexiconTables({upos: frozenset(words) for upos, words in lemmas.items()}, edits_of)
