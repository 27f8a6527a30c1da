"""Clauses, coordinations and noun phrases of a spaCy Doc with Universal Dependencies.

`doc._.clauses`, `doc._.coordinations`, `doc._.verb_groups`, `doc._.noun_phrases(kind)` are those of `arcspan.syntax`
with spaCy's tokens. So are `doc.noun_chunks`: spaCy's rules look for the relations of its English models (dobj,
pobj), and of "Mary gave the old man a red apple in the park" find one chunk of four.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any

from arcspan.syntax import Syntax
from arcspan.trees import ConstituencyTree, DependencyTree

Constituents = Callable[[Any], ConstituencyTree | None]


def syntax_of(sentence: Any, constituents: Constituents = lambda sentence: None) -> Syntax:
    """The syntax of a sentence's span; `constituents` gives its constituency tree, where there is one."""
    tokens = [token for token in sentence if not token.is_space]
    places = {token.i: m for m, token in enumerate(tokens, 1)}
    heads = [0 if token.head.i == token.i else places.get(token.head.i, 0) for token in tokens]
    root = heads.index(0) + 1 if 0 in heads else 0
    heads = [head or (0 if m == root else root) for m, head in enumerate(heads, 1)]
    columns = zip(*((t.text, t.tag_, t.pos_, t.lemma_, str(t.morph)) for t in tokens), strict=True)
    tree = DependencyTree(heads, ["root" if t.dep_ == "ROOT" else t.dep_ for t in tokens], *columns)
    offsets = [(token.idx, token.idx + len(token.text)) for token in tokens]
    text = sentence.doc.text[offsets[0][0] : offsets[-1][1]] if offsets else None
    return Syntax(constituents(sentence), tree, tokens=tokens, text=text, offsets=offsets)


def _sentences(doclike: Any) -> Iterator[Any]:
    """The sentences of a Doc; those that a span is in, or has in it."""
    start, end = getattr(doclike, "start", 0), getattr(doclike, "end", len(doclike))
    return (sent for sent in doclike.doc.sents if sent.start < end and sent.end > start)


def noun_chunks(doclike: Any) -> Iterator[tuple[int, int, int]]:
    """The base noun phrases of a Doc or Span as spaCy takes them: first token, token after the last, the label NP."""
    label = doclike.doc.vocab.strings.add("NP")
    low, high = getattr(doclike, "start", 0), getattr(doclike, "end", len(doclike))
    for sentence in _sentences(doclike):
        for phrase in syntax_of(sentence).noun_phrases("base"):
            start, end = phrase.tokens[0].i, phrase.tokens[-1].i + 1
            if low <= start and end <= high:
                yield start, end, label


def set_extensions(holder: Any, constituents: Constituents) -> None:
    """Register the extensions of a Doc or Span."""

    def found(doclike: Any, get: Callable[[Syntax], list[Any]]) -> list[Any]:
        return [one for sentence in _sentences(doclike) for one in get(syntax_of(sentence, constituents))]

    def noun_phrases(doclike: Any, kind: Any = "base") -> list[Any]:
        return found(doclike, lambda syntax: syntax.noun_phrases(kind))

    for name in ("clauses", "coordinations", "verb_groups"):
        holder.set_extension(name, getter=partial(found, get=attrgetter(name)), force=True)
    holder.set_extension("noun_phrases", method=noun_phrases, force=True)
