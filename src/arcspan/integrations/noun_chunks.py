"""`doc.noun_chunks` of a spaCy Doc with Universal Dependencies.

spaCy's own rules for English look for the relations of its English models (dobj, pobj), so that of "Mary gave the old
man a red apple in the park" they find one chunk of four. A chunk is a noun or pronoun that is not a part of another
chunk, with what belongs to it on its left as far as that reaches without a gap (articles, adjectives, numbers,
possessors, compounds), and the rest of a name on its right; prepositions, relative clauses and appositions are not
part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NOUNS = ("NOUN", "PROPN", "PRON")
LEFT = frozenset({"det", "amod", "nummod", "nmod", "compound", "flat", "poss", "predet", "advmod", "clf"})
RIGHT = frozenset({"flat", "fixed", "goeswith", "compound", "nummod"})
WITHIN = frozenset({"compound", "flat", "fixed", "goeswith", "det", "clf", "expl", "nummod"})


def noun_chunks(doclike: Any) -> Iterator[tuple[int, int, int]]:
    """The chunks of a Doc or Span as spaCy takes them: first token, the token after the last, the label NP."""
    label = doclike.doc.vocab.strings.add("NP")
    end = -1
    for word in doclike:
        if word.pos_ not in NOUNS or word.i < end or _is_part(word):
            continue
        start = word.i
        for child in reversed(list(word.lefts)):
            if _relation(child) in LEFT and not _has_case(child):
                start = child.left_edge.i
            elif _relation(child) != "punct":
                break
        last = word.i
        for child in word.rights:
            if _relation(child) not in RIGHT:
                break
            last = child.right_edge.i
        start = max(start, end)
        end = last + 1
        yield start, end, label


def _relation(token: Any) -> str:
    """The relation without its subtype, of the old English relations too."""
    relation: str = token.dep_.partition(":")[0]
    return relation


def _is_part(word: Any) -> bool:
    """Whether a noun belongs to the chunk of the noun that it depends on, which comes after it or is a name."""
    is_possessor = word.dep_ in ("nmod:poss", "poss") and word.i < word.head.i
    return _relation(word) in WITHIN or is_possessor


def _has_case(token: Any) -> bool:
    """Whether a preposition is before a modifier; the 's of a possessor is behind it."""
    return any(_relation(child) == "case" for child in token.lefts)
