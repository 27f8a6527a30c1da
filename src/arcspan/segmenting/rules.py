"""Segmenting by rules, where nothing was learnt.

A parser reads the words of its treebank, so the English rules follow what the treebanks of the English
model agree on (UD / OntoNotes style): clitics are words (did|n't, can|not, gon|na), hyphens and slashes
between words are words (well|-|known) unless a prefix is written with a hyphen (non-profit, e-mail), an
abbreviation keeps its full stop. `studies/segmenter/run.py` measures them. Any other language gets
rules that only look at Unicode properties.
"""

from __future__ import annotations

import numpy as np

from arcspan.segmenting.base import BaseSegmenter
from arcspan.segmenting.characters import shadow_of
from arcspan.segmenting.ends import sentence_ends
from arcspan.segmenting.marks import SENTENCE, TOKEN, WORD, read_marks, spaces
from arcspan.segmenting.sentence import Token
from arcspan.segmenting.words import is_clitic, scan


class RuleSegmenter(BaseSegmenter):
    r"""Sentences and words by rules: those for English, or for any other language code those of Unicode.

    >>> [sentence.words for sentence in RuleSegmenter().split("It didn't work.\nDr. Who left!")]
    [('It', 'did', "n't", 'work', '.'), ('Dr.', 'Who', 'left', '!')]
    >>> (sentence,) = RuleSegmenter().split("We cannot say: No. It's well-known.", one_sentence=True)
    >>> sentence.multiword
    ((2, 3, 'cannot'), (8, 9, "It's"))
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language

    def tokens(self, block: str) -> list[list[Token]]:
        """The sentences of a block."""
        marks = self.marks(block)
        return read_marks(block, marks, spaces(block), marks < 0, lambda form: None)

    def marks(self, block: str) -> np.ndarray:
        """For each character of a block what ends after it: nothing, a WORD inside a token, a TOKEN, a SENTENCE."""
        english = self.language == "en"
        shadow = shadow_of(block)
        words = scan(shadow, 0, len(block), english)
        marks = np.zeros(len(block), np.int64)
        if words:
            starts, ends = np.array(words).T
            marks[ends - 1] = TOKEN
            for i in np.flatnonzero(starts[1:] == ends[:-1]).tolist() if english else ():
                if is_clitic(shadow, starts[i], ends[i], ends[i + 1]):
                    marks[ends[i] - 1] = WORD
            marks[ends[np.array(list(sentence_ends(shadow, words, english))) - 1] - 1] = SENTENCE
        return marks
